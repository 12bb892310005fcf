//! Minimum and maximum values, as in the
//! [statistics](https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift) of pages and
//! column chunks. Values are the non-null ones, without slots for nulls.
//!
//! | function | order |
//! | --- | --- |
//! | [`min_max_i32`], [`min_max_i64`], [`min_max_u32`], [`min_max_u64`] | integer order |
//! | [`float_range_f16`], [`float_range_f32`], [`float_range_f64`] | both orders of the specification for floating point: see [`FloatRange`] |
//! | [`min_max_strings`] | unsigned bytes, a prefix before a longer string; returns positions |
//! | [`min_max_big_endian`] | two's complement, as in FIXED_LEN_BYTE_ARRAY decimals; returns positions |
#![expect(unsafe_code, reason = "calls the tier that the processor has")]

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod floats;
mod integers;
#[cfg(target_arch = "aarch64")]
mod neon;
mod scalar;
mod strings;
#[cfg(test)]
mod tests;

pub use floats::FloatRange;
pub use strings::{min_max_big_endian, min_max_strings};

use crate::tier::dispatch;
use crate::{ByteStrings, KernelError};

/// The smallest and the largest value, `None` without values.
pub fn min_max_i32(values: &[i32]) -> Option<(i32, i32)> {
    dispatch!(min_max_i32(values): avx512 avx2 neon)
}

/// The smallest and the largest value, `None` without values.
pub fn min_max_i64(values: &[i64]) -> Option<(i64, i64)> {
    dispatch!(min_max_i64(values): avx512 avx2 neon)
}

/// The smallest and the largest value, `None` without values.
pub fn min_max_u32(values: &[u32]) -> Option<(u32, u32)> {
    dispatch!(min_max_u32(values): avx512 avx2 neon)
}

/// The smallest and the largest value, `None` without values.
pub fn min_max_u64(values: &[u64]) -> Option<(u64, u64)> {
    dispatch!(min_max_u64(values): avx512 avx2 neon)
}

/// The range of values of 16 bits, little-endian.
pub fn float_range_f16(values: &[[u8; 2]]) -> FloatRange<[u8; 2]> {
    dispatch!(float_range_f16(values): avx512 avx2 neon)
}

/// The range of the values.
///
/// ```
/// let range = lath_kernels::statistics::float_range_f32(&[0.0, f32::NAN, 2.5]);
/// assert_eq!(range.nan_count, 1);
/// assert_eq!(range.in_total_order(), Some((0.0, 2.5)));
/// // A zero may stand for either, so the least is the negative one.
/// assert!(range.in_type_order().is_some_and(|(min, _)| min.is_sign_negative()));
/// ```
pub fn float_range_f32(values: &[f32]) -> FloatRange<f32> {
    dispatch!(float_range_f32(values): avx512 avx2 neon)
}

/// The range of the values.
pub fn float_range_f64(values: &[f64]) -> FloatRange<f64> {
    dispatch!(float_range_f64(values): avx512 avx2 neon)
}

/// Compares strings by their bytes; `sign` is the bit of their first eight that is ordered the other way round.
fn extreme_positions(strings: ByteStrings<'_>, sign: u64) -> Result<Option<(usize, usize)>, KernelError> {
    dispatch!(positions(strings, sign): avx2)
}
