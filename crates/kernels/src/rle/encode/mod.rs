//! Encoding of a page's levels, dictionary indices or booleans.
//!
//! Each bit of a 64-bit word tells whether a value equals the next. Runs that pay start where enough consecutive bits
//! are set at a multiple of eight values after the last repeated run (bit-packed runs have whole groups), and end at
//! the next clear bit. Everything else goes to bit-packed runs.
//!
//! A repeated run between bit-packed ones costs its header, its value and another header. It needs enough groups of
//! equal values for this to be no more than the groups would take up, and twice as many if that is a byte or less,
//! because runs cost readers time:
//!
//! ```text
//! width             1     2, 3    from 4 on
//! equal values      32    16      8
//! ```

#[cfg(target_arch = "x86_64")]
mod avx2;
mod runs;
mod scalar;
#[cfg(test)]
mod tests;

use crate::KernelError;
use crate::select::bitmap::check_range;
use crate::tier::dispatch;

/// The number of bytes by which stores may exceed their output.
const SLACK: usize = 32;

/// The output size in bytes that `encode_…` requires for `count` values of `width` bits: the worst case, and some more
/// for wide stores.
pub fn max_encoded_len(count: usize, width: u32) -> usize {
    let groups = count.div_ceil(8);
    // A repeated run and the header after it take no more than its groups would; headers of long bit-packed runs have
    // at most one more byte per 64 groups.
    groups.saturating_mul(width as usize).saturating_add(groups / 64 + 16 + SLACK)
}

/// Encodes values of `width` bits (at most 8), all of a page, and returns the length of the encoded bytes. Bits of a
/// value above the width are dropped.
///
/// ```
/// use lath_kernels::rle;
///
/// let levels = [[1; 40].as_slice(), &[0, 1, 1, 0]].concat();
/// let mut bytes = vec![0; rle::max_encoded_len(levels.len(), 1)];
/// let len = rle::encode_u8(&levels, 1, &mut bytes)?;
/// assert_eq!(bytes[..len], [40 << 1, 1, 1 << 1 | 1, 0b0110]);
/// # Ok::<(), lath_kernels::KernelError>(())
/// ```
///
/// # Errors
/// If `width` is over 8, or `out` is shorter than [`max_encoded_len`].
pub fn encode_u8(values: &[u8], width: u32, out: &mut [u8]) -> Result<usize, KernelError> {
    check(values.len(), width, 8, out)?;
    Ok(encode_checked_u8(values, width, out))
}

/// Encodes values of `width` bits (at most 32), all of a page, and returns the length of the encoded bytes. Bits of a value
/// above the width are dropped.
///
/// # Errors
/// If `width` is over 32, or `out` is shorter than [`max_encoded_len`].
pub fn encode_u32(values: &[u32], width: u32, out: &mut [u8]) -> Result<usize, KernelError> {
    check(values.len(), width, 32, out)?;
    Ok(encode_checked_u32(values, width, out))
}

/// Encodes `count` bits of `bitmap` (bit 0 of byte 0 is the least significant) from bit `bit_offset` on as values of width
/// 1, all of a page, and returns the length of the encoded bytes.
///
/// # Errors
/// If `bitmap` is too short, or `out` is shorter than [`max_encoded_len`] for width 1.
pub fn encode_bits(bitmap: &[u8], bit_offset: usize, count: usize, out: &mut [u8]) -> Result<usize, KernelError> {
    check_range(bitmap.len(), bit_offset, count)?;
    check(count, 1, 1, out)?;
    Ok(encode_checked_bits(bitmap, bit_offset, count, out))
}

fn encode_checked_u8(values: &[u8], width: u32, out: &mut [u8]) -> usize {
    dispatch!(encode_u8(values, width, out): avx2)
}

fn encode_checked_u32(values: &[u32], width: u32, out: &mut [u8]) -> usize {
    dispatch!(encode_u32(values, width, out): avx2)
}

fn encode_checked_bits(bitmap: &[u8], bit_offset: usize, count: usize, out: &mut [u8]) -> usize {
    dispatch!(encode_bits(bitmap, bit_offset, count, out): avx2)
}

fn check(count: usize, width: u32, max: u32, out: &[u8]) -> Result<(), KernelError> {
    if width > max {
        return Err(KernelError::WidthOutOfRange { width, max });
    }
    let expected = max_encoded_len(count, width);
    if out.len() < expected {
        return Err(KernelError::LengthMismatch { expected, actual: out.len() });
    }
    Ok(())
}
