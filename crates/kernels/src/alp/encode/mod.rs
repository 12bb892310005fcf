//! Encoding of all values of a page, in vectors of 1,024.
//!
//! A value becomes the integer nearest to `value × 10^exponent × 10^-factor`. If that integer does not give the same
//! bits back, the value is a *miss* and is stored as an exception: NaN, infinities, −0.0, and numbers that are no short
//! decimals. A zero takes its place among the packed integers.
//!
//! Values are processed in blocks of 64, so that the misses of a block are the bits of a word.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod candidates;
#[cfg(target_arch = "aarch64")]
mod neon;
mod scalar;
#[cfg(test)]
mod tests;
mod vector;

pub use candidates::{Candidates, estimate_len};

use super::Float;
use super::page::{OFFSET, PAGE_HEADER, exception, vector_header};
use super::scale::Scale;
use crate::KernelError;
use crate::tier::dispatch;
use vector::Integers;

/// The number of values per word of bits.
pub(super) const BLOCK: usize = 64;
/// The number of values in every vector but a page's last: the specification's default.
const VECTOR: usize = 1 << LOG_VECTOR;
const LOG_VECTOR: u8 = 10;

/// The maximum number of bytes that [`encode`] writes for `count` values: the size of a page that consists of
/// exceptions.
pub fn max_encoded_len<T: Float>(count: usize) -> usize {
    let of_vectors = count.div_ceil(VECTOR).saturating_mul(OFFSET + vector_header::<T>());
    count.saturating_mul(exception::<T>()).saturating_add(of_vectors).saturating_add(PAGE_HEADER)
}

/// Encodes all values of a page, each vector with the best of the candidates, and returns the length of the page.
///
/// Any candidates are valid; candidates for other values only make the page longer. Every value decodes to its exact
/// bits, including NaNs.
///
/// ```
/// use lath_kernels::alp;
///
/// let values: Vec<f32> = (0..2_000).map(|number| number as f32 / 100.0).collect();
/// let mut page = vec![0; alp::max_encoded_len::<f32>(values.len())];
/// let len = alp::encode(&values, &alp::Candidates::find(&values), &mut page)?;
/// // Less than half of what PLAIN takes.
/// assert!(len < 4_000);
/// # Ok::<(), lath_kernels::KernelError>(())
/// ```
///
/// # Errors
/// If `out` is shorter than [`max_encoded_len`], or the page could be too long for its offsets, which takes hundreds of
/// millions of values.
pub fn encode<T: Float>(values: &[T], candidates: &Candidates<T>, out: &mut [u8]) -> Result<usize, KernelError> {
    let (expected, actual) = (max_encoded_len::<T>(values.len()), out.len());
    let (Ok(count), Ok(_)) = (i32::try_from(values.len()), u32::try_from(expected)) else {
        return Err(KernelError::Malformed { what: "ALP number of values" });
    };
    let Some((header, body)) = out.get_mut(..expected).and_then(|page| page.split_first_chunk_mut::<PAGE_HEADER>())
    else {
        return Err(KernelError::LengthMismatch { expected, actual });
    };
    header[..3].copy_from_slice(&[0, 0, LOG_VECTOR]);
    header[3..].copy_from_slice(&count.to_le_bytes());
    let mut integers = Integers::default();
    let mut end = values.len().div_ceil(VECTOR) * OFFSET;
    for (index, vector) in values.chunks(VECTOR).enumerate() {
        body[index * OFFSET..][..OFFSET].copy_from_slice(&(end as u32).to_le_bytes());
        let scale = candidates.best_for(vector, &mut integers);
        end += integers.encode(vector, &scale, &mut body[end..]);
    }
    Ok(PAGE_HEADER + end)
}

/// Converts values to integers, and sets the bits of misses, whose integers may be anything. Returns the minimum and
/// the maximum of the other integers as values of the type, or +∞ and −∞ if there are none.
///
/// `out` and `misses` have an entry for each block.
pub(super) fn digitize_f32(
    values: &[[f32; BLOCK]],
    scale: &Scale<f32>,
    out: &mut [[u32; BLOCK]],
    misses: &mut [u64],
) -> (f32, f32) {
    dispatch!(digitize_f32(values, scale, out, misses): avx512 avx2 neon)
}

pub(super) fn digitize_f64(
    values: &[[f64; BLOCK]],
    scale: &Scale<f64>,
    out: &mut [[u64; BLOCK]],
    misses: &mut [u64],
) -> (f64, f64) {
    dispatch!(digitize_f64(values, scale, out, misses): avx512 avx2 neon)
}

/// Subtracts `base` from each integer.
pub(super) fn rebase_u32(integers: &mut [u32], base: u32) {
    dispatch!(rebase_u32(integers, base): avx512 avx2 neon);
}

pub(super) fn rebase_u64(integers: &mut [u64], base: u64) {
    dispatch!(rebase_u64(integers, base): avx512 avx2 neon);
}
