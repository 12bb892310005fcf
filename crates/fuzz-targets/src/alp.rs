//! `kind | first value | page or values`: decoding any page from any value gives the same as decoding from the first,
//! or an error; encoded values decode to the same bits.

use crate::Input;
use lath_kernels::alp::{self, Candidates, Float};

/// The maximum number of values that are decoded from a page, whatever it announces.
const MAX_VALUES: usize = 1 << 16;

/// Checks one input.
///
/// # Panics
/// If the input is handled wrongly.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let (kind, first) = (input.byte() % 4, input.short());
    let src = input.rest();
    match kind {
        0 => decode::<f32, _>(&src, first, f32::to_bits),
        1 => decode::<f64, _>(&src, first, f64::to_bits),
        2 => {
            let values = src.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect();
            encode(values, f32::to_bits);
        }
        _ => {
            let values = src.as_chunks().0.iter().map(|&bytes| f64::from_le_bytes(bytes)).collect();
            encode(values, f64::to_bits);
        }
    }
}

fn decode<T: Float, B: PartialEq>(src: &[u8], first: usize, bits: fn(T) -> B) {
    let Ok(count) = alp::value_count(src) else {
        assert!(alp::decode::<T>(src, 0, &mut []).is_err(), "a page without a count has values");
        return;
    };
    assert!(alp::decode(src, count, &mut [T::default()]).is_err(), "a value behind the last one");
    let mut all = vec![T::default(); count.min(MAX_VALUES)];
    let first = first % (all.len() + 1);
    let mut rest = vec![T::default(); all.len() - first];
    if alp::decode(src, 0, &mut all).is_ok() {
        alp::decode(src, first, &mut rest).expect("part of a page that decodes");
        assert!(all[first..].iter().zip(&rest).all(|(&a, &b)| bits(a) == bits(b)));
    }
}

fn encode<T: Float, B: PartialEq>(values: Vec<T>, bits: fn(T) -> B) {
    let candidates = Candidates::find(&values);
    let mut page = vec![0xa5; alp::max_encoded_len::<T>(values.len())];
    let len = alp::encode(&values, &candidates, &mut page).expect("there is room");
    if values.len() <= 8 << 10 {
        assert_eq!(alp::estimate_len(&values, &candidates), len);
    }
    let mut out = vec![T::default(); values.len()];
    alp::decode(&page[..len], 0, &mut out).expect("a page of ours");
    assert!(out.iter().zip(&values).all(|(&out, &value)| bits(out) == bits(value)));
}
