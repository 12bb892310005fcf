//! Packing and unpacking of integers that are stored in `width` bits each.
//!
//! [`pack_u32`] and [`pack_u64`] write, and [`unpack_u8`], [`unpack_u32`] and [`unpack_u64`] read, the order of the
//! [RLE/bit-packing hybrid and of
//! DELTA_BINARY_PACKED](https://parquet.apache.org/docs/file-format/data-pages/encodings/#run-length-encoding--bit-packing-hybrid-rle--3):
//! values fill each byte from its least significant bit on. Width 3:
//!
//! ```text
//! byte      0        1        2
//! bits   76543210 76543210 76543210
//! value  22111000 54443332 77766655
//! ```
//!
//! [`unpack_msb_u8`] reads the deprecated
//! [BIT_PACKED](https://parquet.apache.org/docs/file-format/data-pages/encodings/#bit-packed-deprecated-bit_packed--4)
//! order, which fills each byte from its most significant bit on:
//!
//! ```text
//! byte      0        1        2
//! bits   76543210 76543210 76543210
//! value  00011122 23334445 55666777
//! ```
//!
//! `n` values take up `ceil(n × width / 8)` bytes. Fewer are an error; further bytes are allowed, and their contents do
//! not matter. Width 0 stores nothing and gives zeros.
#![expect(unsafe_code, reason = "calls the tier that the processor has")]

#[cfg(target_arch = "x86_64")]
pub(crate) mod avx2;
#[cfg(target_arch = "x86_64")]
pub(crate) mod avx512;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(crate) mod lanes;
#[cfg(target_arch = "aarch64")]
pub(crate) mod neon;
pub(crate) mod pack;
#[cfg(test)]
pub(crate) mod reference;
pub(crate) mod scalar;
#[cfg(test)]
mod tests;

pub use pack::{pack_u32, pack_u64};

use crate::KernelError;
use crate::tier::dispatch;

/// Unpacks `out.len()` values of `width` bits (at most 8), least significant bit first.
///
/// # Errors
/// If `width` is over 8, or `src` ends before the last value.
pub fn unpack_u8(src: &[u8], width: u32, out: &mut [u8]) -> Result<(), KernelError> {
    check(src, width, 8, out.len())?;
    unpack_checked_u8(src, width, out);
    Ok(())
}

/// Unpacks `out.len()` values of `width` bits (at most 32), least significant bit first.
///
/// ```
/// let mut values = [0; 8];
/// lath_kernels::bitpack::unpack_u32(&[0b1000_1000, 0b1100_0110, 0b1111_1010], 3, &mut values)?;
/// assert_eq!(values, [0, 1, 2, 3, 4, 5, 6, 7]);
/// # Ok::<(), lath_kernels::KernelError>(())
/// ```
///
/// # Errors
/// If `width` is over 32, or `src` ends before the last value.
pub fn unpack_u32(src: &[u8], width: u32, out: &mut [u32]) -> Result<(), KernelError> {
    check(src, width, 32, out.len())?;
    unpack_checked_u32(src, width, out);
    Ok(())
}

/// Unpacks `out.len()` values of `width` bits (at most 64), least significant bit first.
///
/// # Errors
/// If `width` is over 64, or `src` ends before the last value.
pub fn unpack_u64(src: &[u8], width: u32, out: &mut [u64]) -> Result<(), KernelError> {
    check(src, width, 64, out.len())?;
    unpack_checked_u64(src, width, out);
    Ok(())
}

/// Unpacks `out.len()` values of `width` bits (at most 8), most significant bit first, the order of the deprecated
/// BIT_PACKED encoding of levels.
///
/// # Errors
/// If `width` is over 8, or `src` ends before the last value.
pub fn unpack_msb_u8(src: &[u8], width: u32, out: &mut [u8]) -> Result<(), KernelError> {
    check(src, width, 8, out.len())?;
    scalar::unpack_msb_u8(src, width, out);
    Ok(())
}

/// `width` is at most 8; bytes past the end of `src` count as zeros. This also applies to the next two, up to 32 and
/// 64.
fn unpack_checked_u8(src: &[u8], width: u32, out: &mut [u8]) {
    dispatch!(unpack_u8(src, width, out): avx512 avx2 neon);
}

fn unpack_checked_u32(src: &[u8], width: u32, out: &mut [u32]) {
    dispatch!(unpack_u32(src, width, out): avx512 avx2 neon);
}

fn unpack_checked_u64(src: &[u8], width: u32, out: &mut [u64]) {
    dispatch!(unpack_u64(src, width, out): avx512 avx2 neon);
}

/// The number of bytes of `count` values of `width` bits.
#[inline]
pub fn packed_len(count: usize, width: u32) -> usize {
    let width = width as usize;
    count / 8 * width + (count % 8 * width).div_ceil(8)
}

#[inline]
fn check(src: &[u8], width: u32, max: u32, count: usize) -> Result<(), KernelError> {
    if width > max {
        return Err(KernelError::WidthOutOfRange { width, max });
    }
    let needed = packed_len(count, width);
    if src.len() < needed {
        return Err(KernelError::InputTooShort { needed, available: src.len() });
    }
    Ok(())
}
