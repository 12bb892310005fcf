//! Encoding of all values of a page.
//!
//! A block is 128 values in 4 miniblocks of 32, the smallest that the format allows, for both types: an outlier widens
//! only 32 values. Blocks of twice the size would save about two bytes per 64 values, and 7 hundredths of the time of
//! decoding.
//!
//! Lengths of byte arrays are encoded as `i32` values.
//!
//! The last block is padded with its smallest delta: these deltas pack to zeros, and miniblocks that consist of them
//! have width 0, which stores nothing, as the format requires for miniblocks that are not needed.

#[cfg(target_arch = "x86_64")]
mod avx2;
mod blocks;
mod scalar;
#[cfg(test)]
mod tests;

use blocks::{BLOCK, MINIBLOCKS};

use super::Integer;
use crate::KernelError;
use crate::tier::dispatch;

/// The maximum number of bytes in a page's header: three ULEB128 integers and a zigzag one.
const HEADER: usize = 2 + 1 + 5 + 10;
/// The number of bytes by which stores may exceed their output.
const SLACK: usize = 64;

/// The output size in bytes that [`encode_i32`] or [`encode_i64`] requires for `count` values: the worst case, and some
/// more for wide stores.
pub fn max_encoded_len<T: Integer>(count: usize) -> usize {
    let blocks = count.saturating_sub(1).div_ceil(BLOCK);
    blocks.saturating_mul(10 + MINIBLOCKS + BLOCK * size_of::<T>()).saturating_add(HEADER + SLACK)
}

/// Encodes all values of a page, and returns the length of the encoded bytes.
///
/// ```
/// use lath_kernels::delta;
///
/// let mut bytes = vec![0; delta::max_encoded_len::<i32>(5)];
/// let len = delta::encode_i32(&[7, 5, 3, 1, 2], &mut bytes)?;
/// // Blocks of 128, miniblocks of 32, five values, the first is 7; the least delta is −2, and above it are 0 0 0 3.
/// assert_eq!(bytes[..len], [&[128, 1, 4, 5, 14, 3, 2, 0, 0, 0, 0b1100_0000], &[0; 7][..]].concat());
/// # Ok::<(), lath_kernels::KernelError>(())
/// ```
///
/// # Errors
/// If `out` is shorter than [`max_encoded_len`], or there are 2^31 values or more.
pub fn encode_i32(values: &[i32], out: &mut [u8]) -> Result<usize, KernelError> {
    check::<i32>(values.len(), out)?;
    Ok(encode_checked_i32(values, out))
}

/// Encodes all values of a page, and returns the length of the encoded bytes.
///
/// # Errors
/// If `out` is shorter than [`max_encoded_len`], or there are 2^31 values or more.
pub fn encode_i64(values: &[i64], out: &mut [u8]) -> Result<usize, KernelError> {
    check::<i64>(values.len(), out)?;
    Ok(encode_checked_i64(values, out))
}

fn encode_checked_i32(values: &[i32], out: &mut [u8]) -> usize {
    dispatch!(encode_i32(values, out): avx2)
}

fn encode_checked_i64(values: &[i64], out: &mut [u8]) -> usize {
    dispatch!(encode_i64(values, out): avx2)
}

fn check<T: Integer>(count: usize, out: &[u8]) -> Result<(), KernelError> {
    if i32::try_from(count).is_err() {
        return Err(KernelError::Malformed { what: "DELTA value count" });
    }
    let expected = max_encoded_len::<T>(count);
    if out.len() < expected {
        return Err(KernelError::LengthMismatch { expected, actual: out.len() });
    }
    Ok(())
}
