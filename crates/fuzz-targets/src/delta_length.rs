//! DELTA_LENGTH_BYTE_ARRAY: lengths, then bytes, to offsets and to views.

use crate::in_batches;
use lath_kernels::byte_array::length_views;
use lath_kernels::delta::{Decoder, lengths_to_offsets_i32, lengths_to_offsets_i64};

const LIMIT: usize = 3_000;

/// Checks one input.
///
/// # Panics
/// If the input is handled wrongly.
pub fn run(data: &[u8]) {
    let src = data.to_vec();
    let Ok(mut decoder) = Decoder::<i32>::new(&src) else { return };
    if decoder.value_count() > LIMIT {
        return;
    }
    let Ok(start) = decoder.end(&src) else { return };
    let (lengths, error) = in_batches(LIMIT, LIMIT, |out| decoder.decode(&src, out));
    assert!(error.is_none(), "the end was found, so the values are there");

    let sound = lengths.iter().all(|&len| len >= 0);
    let total: i64 = lengths.iter().map(|&len| i64::from(len)).sum();
    let mut ends = vec![0; lengths.len()];
    let end = lengths_to_offsets_i64(&lengths, 0, &mut ends);
    assert_eq!(end.ok(), sound.then_some(total));
    let mut ends = vec![0; lengths.len()];
    let end = lengths_to_offsets_i32(&lengths, 0, &mut ends);
    assert_eq!(end.ok().map(i64::from), sound.then_some(total).filter(|&total| total <= i64::from(i32::MAX)));

    let mut views = vec![0; lengths.len()];
    if let Ok(end) = length_views(&src, start, &lengths, 7, &mut views) {
        assert_eq!(end as i64, start as i64 + total);
        assert!(views.iter().zip(&lengths).all(|(&view, &len)| view as u32 == len as u32));
    }
}
