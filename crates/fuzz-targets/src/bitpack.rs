//! `width | count | packed values`, compared with reading bit by bit.

use crate::Input;
use lath_kernels::bitpack;

/// Checks one input.
///
/// # Panics
/// If the input is handled wrongly.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let width = u32::from(input.byte() % 70);
    let count = input.short();
    let src = input.rest();
    let bit = |i: usize| u64::from(src[i / 8] >> (i % 8) & 1);
    let value = |i: usize| (0..width as usize).fold(0, |value, b| value | bit(i * width as usize + b) << b);

    let mut out = vec![0; count];
    if bitpack::unpack_u64(&src, width, &mut out).is_ok() {
        assert!(out.iter().enumerate().all(|(i, &v)| v == value(i)));
    }
    let mut out = vec![0; count];
    if bitpack::unpack_u32(&src, width, &mut out).is_ok() {
        assert!(out.iter().enumerate().all(|(i, &v)| u64::from(v) == value(i)));
    }
    let mut out = vec![0; count];
    if bitpack::unpack_u8(&src, width, &mut out).is_ok() {
        assert!(out.iter().enumerate().all(|(i, &v)| u64::from(v) == value(i)));
    }
    let mut out = vec![0; count];
    if bitpack::unpack_msb_u8(&src, width, &mut out).is_ok() {
        let bit = |i: usize| src[i / 8] >> (7 - i % 8) & 1;
        let value = |i: usize| (0..width as usize).fold(0, |value, b| value << 1 | bit(i * width as usize + b));
        assert!(out.iter().enumerate().all(|(i, &v)| v == value(i)));
    }
}
