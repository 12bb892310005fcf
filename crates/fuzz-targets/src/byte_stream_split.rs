//! `width | value count | first value | streams`, compared with selecting each byte.

use crate::Input;
use lath_kernels::byte_stream_split::decode;

/// Checks one input.
///
/// # Panics
/// If the input is handled wrongly.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let width = usize::from(input.byte() % 40);
    let (value_count, first) = (input.short(), input.short());
    let src = input.rest();
    let count = value_count.saturating_sub(first).min(src.len());
    let mut out = vec![0; count * width];
    if decode(&src, value_count, width, first, &mut out).is_ok() {
        let byte = |i: usize| src[i % width * value_count + first + i / width];
        assert!(out.iter().enumerate().all(|(i, &b)| b == byte(i)));
    }
}
