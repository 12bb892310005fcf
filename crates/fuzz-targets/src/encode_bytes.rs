//! `width | seed lengths | bytes`: byte strings and BYTE_STREAM_SPLIT decode to the input, and dictionary codes to the
//! interned strings.

use crate::Input;
use lath_kernels::dictionary::{SLACK, StringSlot, Strings, slot_count};
use lath_kernels::{ByteStrings, byte_array, byte_stream_split, delta};

/// The maximum number of strings in a dictionary, so that larger ones are abandoned.
const DISTINCT: usize = 64;

/// Checks one input.
///
/// # Panics
/// If the input is handled wrongly.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let (width, longest) = (usize::from(input.byte() % 40), usize::from(input.byte()));
    let bytes = input.rest();
    split_streams(&bytes, width);

    // Each length is derived from the byte at its string's start.
    let mut offsets = vec![0];
    let mut end = 0;
    while let Some(&byte) = bytes.get(end) {
        let len = usize::from(byte) % (longest + 1);
        end = (end + len).min(bytes.len());
        offsets.push(end as i32);
        if len == 0 && offsets.len() > 2_000 || end == bytes.len() {
            break;
        }
        if len == 0 {
            end += 1;
            offsets.push(end as i32);
        }
    }
    let strings = ByteStrings::Offsets32 { data: &bytes, offsets: &offsets };
    let values: Vec<&[u8]> = offsets.windows(2).map(|ends| &bytes[ends[0] as usize..ends[1] as usize]).collect();
    plain(strings, &values);
    delta_length(strings, &values);
    delta_byte_array(strings, &values);
    dictionary(strings, &values);
}

fn split_streams(bytes: &[u8], width: usize) {
    let count = bytes.len().checked_div(width).unwrap_or(0);
    let values = &bytes[..count * width];
    let (mut page, mut back) = (vec![0; values.len()], vec![0; values.len()]);
    byte_stream_split::encode(values, count, width, 0, &mut page).expect("there is room");
    byte_stream_split::decode(&page, count, width, 0, &mut back).expect("the page is whole");
    assert_eq!(back, values);
}

fn plain(strings: ByteStrings<'_>, values: &[&[u8]]) {
    let total: usize = values.iter().map(|value| value.len()).sum();
    let mut page = vec![0; total + 4 * values.len()];
    assert_eq!(byte_array::encode_plain(strings, &mut page), Ok(page.len()));
    let (mut lengths, mut back) = (vec![0; values.len()], vec![0; total]);
    byte_array::plain_lengths(&page, 0, &mut lengths).expect("the page is whole");
    byte_array::copy_plain(&page, 0, &lengths, &mut back).expect("the page is whole");
    assert!(lengths.iter().map(|&len| len as usize).eq(values.iter().map(|value| value.len())));
    assert_eq!(back, values.concat());
}

fn encoded_and_back(lengths: &[i32]) -> Vec<i32> {
    let mut page = vec![0; delta::max_encoded_len::<i32>(lengths.len())];
    let len = delta::encode_i32(lengths, &mut page).expect("there is room");
    let mut back = vec![0; lengths.len()];
    let mut decoder = delta::DecoderI32::new(&page[..len]).expect("the header is sound");
    assert_eq!(decoder.decode(&page[..len], &mut back), Ok(lengths.len()));
    back
}

fn delta_length(strings: ByteStrings<'_>, values: &[&[u8]]) {
    let mut lengths = vec![0; values.len()];
    let total = byte_array::lengths(strings, &mut lengths).expect("offsets are sound");
    let mut joined = vec![0; total];
    assert_eq!(byte_array::concat(strings, &mut joined), Ok(total));
    assert_eq!(joined, values.concat());
    assert!(encoded_and_back(&lengths).iter().map(|&len| len as usize).eq(values.iter().map(|value| value.len())));
}

fn delta_byte_array(strings: ByteStrings<'_>, values: &[&[u8]]) {
    let (mut prefixes, mut suffix_lengths) = (vec![0; values.len()], vec![0; values.len()]);
    let total: usize = values.iter().map(|value| value.len()).sum();
    let mut suffixes = vec![0; total];
    let len = byte_array::prefix_split(strings, &[], &mut prefixes, &mut suffix_lengths, &mut suffixes);
    suffixes.truncate(len.expect("there is room"));
    let (prefixes, suffix_lengths) = (encoded_and_back(&prefixes), encoded_and_back(&suffix_lengths));
    let (mut back, mut lengths) = (vec![0; total], vec![0; values.len()]);
    byte_array::prefix_join(&prefixes, &suffix_lengths, &suffixes, &[], &mut back, &mut lengths)
        .expect("prefixes are of the values before");
    assert!(lengths.iter().map(|&len| len as usize).eq(values.iter().map(|value| value.len())));
    assert_eq!(back, values.concat());
}

fn dictionary(strings: ByteStrings<'_>, values: &[&[u8]]) {
    let mut slots = vec![StringSlot::EMPTY; slot_count(DISTINCT)];
    let mut page = vec![0; 4_000 + SLACK];
    let mut codes = vec![0; values.len()];
    let mut table = Strings::new(&mut slots, &mut page).expect("slots are a power of two");
    let taken = table.intern(strings, 0, &mut codes).expect("offsets are sound");
    let mut distinct = Vec::new();
    let mut rest = table.page();
    while let Some((len, behind)) = rest.split_first_chunk::<4>() {
        let (value, behind) = behind.split_at(u32::from_le_bytes(*len) as usize);
        assert!(!distinct.contains(&value), "a string stands twice in the dictionary");
        distinct.push(value);
        rest = behind;
    }
    assert_eq!(distinct.len(), table.len());
    assert!(codes[..taken].iter().zip(values).all(|(&code, value)| distinct[code as usize] == *value));
    assert!(taken == values.len() || !distinct.contains(&values[taken]), "a known string was not taken");
}
