//! Packing, the inverse of unpacking: values of `width` bits one after another, from each byte's least significant bit on.
//!
//! `n` values take up [`packed_len`](super::packed_len) bytes. Bits of a value above the width are dropped; unused bits
//! of the last byte are zeros; later bytes of the output stay unchanged. Width 0 stores nothing.
//!
//! Tiers get the whole output and may write anything after the last value within it: encoders that continue from there
//! need no special case for the end of a run.

#[cfg(target_arch = "x86_64")]
pub(crate) mod avx2;
#[cfg(target_arch = "x86_64")]
mod places;
pub(crate) mod scalar;
#[cfg(test)]
mod tests;

use super::packed_len;
use crate::KernelError;
use crate::tier::dispatch;

/// Packs the low `width` bits (at most 32) of each value, least significant bit first, and returns the number of bytes.
///
/// ```
/// let mut bytes = [0; 3];
/// assert_eq!(lath_kernels::bitpack::pack_u32(&[0, 1, 2, 3, 4, 5, 6, 7], 3, &mut bytes)?, 3);
/// assert_eq!(bytes, [0b1000_1000, 0b1100_0110, 0b1111_1010]);
/// # Ok::<(), lath_kernels::KernelError>(())
/// ```
///
/// # Errors
/// If `width` is over 32, or `out` has less than [`packed_len`](super::packed_len) bytes.
pub fn pack_u32(values: &[u32], width: u32, out: &mut [u8]) -> Result<usize, KernelError> {
    let out = room(values.len(), width, 32, out)?;
    pack_checked_u32(values, width, out);
    Ok(out.len())
}

/// Packs the low `width` bits (at most 64) of each value, least significant bit first, and returns the number of bytes.
///
/// # Errors
/// If `width` is over 64, or `out` has less than [`packed_len`](super::packed_len) bytes.
pub fn pack_u64(values: &[u64], width: u32, out: &mut [u8]) -> Result<usize, KernelError> {
    let out = room(values.len(), width, 64, out)?;
    pack_checked_u64(values, width, out);
    Ok(out.len())
}

/// `width` is at most 32, and `out` has the bytes. This also applies to the next one, up to 64.
pub(crate) fn pack_checked_u32(values: &[u32], width: u32, out: &mut [u8]) {
    dispatch!(pack_u32(values, width, out): avx2);
}

pub(crate) fn pack_checked_u64(values: &[u64], width: u32, out: &mut [u8]) {
    dispatch!(pack_u64(values, width, out): avx2);
}

/// The bytes of `out` for `count` values.
#[inline]
fn room(count: usize, width: u32, max: u32, out: &mut [u8]) -> Result<&mut [u8], KernelError> {
    if width > max {
        return Err(KernelError::WidthOutOfRange { width, max });
    }
    let expected = packed_len(count, width);
    let actual = out.len();
    out.get_mut(..expected).ok_or(KernelError::LengthMismatch { expected, actual })
}
