//! `slack | Snappy's raw format`: the same bytes as the `snap` crate, or an error as well, whatever room there is to
//! spare.

use crate::Input;
use lath_kernels::snappy::{decompress, decompressed_len};

const LIMIT: usize = 1 << 20;

/// Checks one input.
///
/// # Panics
/// If the input is handled wrongly.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let slack = usize::from(input.byte());
    let src = input.rest();
    let Ok(len) = decompressed_len(&src) else { return };
    if len > LIMIT {
        return;
    }
    let expected = snap::raw::Decoder::new().decompress_vec(&src);
    let mut out = vec![0; len + slack];
    match (decompress(&src, &mut out), expected) {
        (Ok(written), Ok(expected)) => assert_eq!(out[..written], expected),
        (Err(_), Err(_)) => {}
        (actual, expected) => panic!("{actual:?} where the crate gives {:?}", expected.map(|bytes| bytes.len())),
    }
}
