//! `start | length | key | surrounding bytes`: every search in a node's arrays answers as defined, wherever its bytes
//! lie in the surrounding ones, and even if they lie after its end.

use crate::Input;
use lath_kernels::bytesearch::{
    find_byte_mask, find_byte_mask_within, lower_bound, lower_bound_within, upper_bound, upper_bound_within,
};

/// Checks one input.
///
/// # Panics
/// If the input is handled wrongly.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let (start, len, key) = (input.short(), input.short(), input.byte());
    let around = input.rest();
    let bytes: Vec<u8> = around.iter().copied().skip(start).take(len).collect();

    let mut sorted = bytes.clone();
    sorted.sort_unstable();
    for bytes in [&bytes, &sorted] {
        let below = bytes.iter().filter(|byte| **byte < key).count();
        let at_most = bytes.iter().filter(|byte| **byte <= key).count();
        assert_eq!([lower_bound(bytes, key), upper_bound(bytes, key)], [below, at_most]);
        assert_eq!(find_byte_mask(bytes, key), mask(bytes, key));
    }
    assert_eq!(lower_bound(&sorted, key), sorted.partition_point(|byte| *byte < key));
    assert_eq!(lower_bound_within(&around, start, len, key), lower_bound(&bytes, key));
    assert_eq!(upper_bound_within(&around, start, len, key), upper_bound(&bytes, key));
    assert_eq!(find_byte_mask_within(&around, start, len, key), mask(&bytes, key));
}

fn mask(bytes: &[u8], needle: u8) -> u64 {
    bytes.iter().take(64).enumerate().fold(0, |mask, (i, &byte)| mask | u64::from(byte == needle) << i)
}
