//! `definition levels: width, length, runs | repetition levels: width, runs`: masks, validity, list offsets, and
//! spreading and selecting of values by them.

use crate::{Input, in_batches};
use lath_kernels::rle::Decoder;
use lath_kernels::{levels, select};

const LIMIT: usize = 5_000;

fn decode(width: u32, runs: &[u8]) -> Vec<u8> {
    let Ok(mut decoder) = Decoder::new(width) else { return Vec::new() };
    in_batches(LIMIT, LIMIT, |out| decoder.decode_u8(runs, out)).0
}

fn bits(mask: &[u64], len: usize) -> Vec<bool> {
    (0..len).map(|i| mask[i / 64] >> (i % 64) & 1 == 1).collect()
}

/// Checks one input.
///
/// # Panics
/// If the input is handled wrongly.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let (def_width, rep_width, threshold) = (input.byte() % 9, input.byte() % 9, input.byte());
    let split = input.short();
    let runs = input.rest();
    let (def_runs, rep_runs) = runs.split_at(split.min(runs.len()));
    let mut def = decode(def_width.into(), def_runs);
    let mut rep = decode(rep_width.into(), rep_runs);
    let len = def.len().min(rep.len());
    def.truncate(len);
    rep.truncate(len);

    let words = len.div_ceil(64);
    let (mut valid, mut slots, mut equal) = (vec![0; words], vec![0; words], vec![0; words]);
    levels::ge_mask(&def, threshold, &mut valid).expect("the mask has the length");
    levels::le_mask(&rep, threshold, &mut slots).expect("the mask has the length");
    levels::eq_mask(&rep, threshold, &mut equal).expect("the mask has the length");
    assert_eq!(bits(&valid, len), def.iter().map(|&level| level >= threshold).collect::<Vec<_>>());
    assert_eq!(bits(&slots, len), rep.iter().map(|&level| level <= threshold).collect::<Vec<_>>());
    assert_eq!(bits(&equal, len), rep.iter().map(|&level| level == threshold).collect::<Vec<_>>());

    let slot_count = levels::count(&slots);
    let mut offsets = vec![0; slot_count];
    let end = levels::list_offsets_i32(&slots, &valid, 5, &mut offsets).expect("few elements");
    assert_eq!(end as usize, 5 + levels::count(&valid));
    assert!(offsets.is_sorted());
    let nth = usize::from(threshold);
    let expected = (0..len).filter(|&i| rep[i] <= threshold).nth(nth);
    assert_eq!(levels::nth_set(&slots, nth), expected);

    let mut validity = vec![0; slot_count.div_ceil(8) + 1];
    let extracted = levels::extract(&valid, &slots, &mut validity, 3).expect("there is room");
    assert_eq!(extracted, slot_count);
    let value_count = select::count_ones(&validity, 3, slot_count).expect("the bits are there");
    let mut values: Vec<u32> = (0..slot_count as u32).collect();
    select::expand_in_place_u32(&mut values, value_count, &validity, 3).expect("the counts agree");
    let mut back = vec![0; value_count];
    assert_eq!(select::compress_u32(&values, &validity, 3, &mut back), Ok(value_count));
    assert!(back.iter().copied().eq((slot_count - value_count) as u32..slot_count as u32));
}
