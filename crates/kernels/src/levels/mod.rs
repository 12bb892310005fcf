//! Definition and repetition levels to masks, validity bitmaps and list offsets.
//!
//! A column's [levels](https://parquet.apache.org/docs/file-format/nestedencoding/) give for every entry how deep it is
//! defined and at which depth it repeats. Compared with a threshold they become masks of one bit an entry, and
//! everything that Arrow needs follows from masks: an entry that repeats no deeper than a list's parent starts a slot
//! of the list, an entry that is defined at least as deep as its element is an element, and so on.
//!
//! ```text
//! list<int32> [[1,2],[],null,[3]]      entry      0 1 2 3 4
//! (optional list, required element)    repetition 0 1 0 0 0     slots    = rep <= 0   1 0 1 1 1
//!                                      definition 2 2 1 0 2     elements = def >= 2   1 1 0 0 1
//!                                                               validity = def >= 1   1 . 1 0 1 (at slots)
//!                                      offsets at slots         0 2 2 2, then 3
//! ```
//!
//! Levels are bytes. Masks are words: entry `i` is bit `i % 64` of word `i / 64`; bits past the last entry are zero.
//! Bitmaps (as in Arrow) are bytes, LSB-first. Every length is checked before anything is written.
#![expect(unsafe_code, reason = "dispatch to the code of the current tier")]

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod histogram;
#[cfg(target_arch = "aarch64")]
mod neon;
#[cfg(test)]
mod reference;
mod scalar;
#[cfg(test)]
mod tests;

use crate::KernelError;
use crate::select::bitmap::check_range;
use crate::tier::dispatch;

fn same_len(expected: usize, actual: usize) -> Result<(), KernelError> {
    if expected == actual { Ok(()) } else { Err(KernelError::LengthMismatch { expected, actual }) }
}

/// Sets the bit of every entry whose level is at least `threshold`.
///
/// # Errors
/// [`KernelError::LengthMismatch`] if `out` is not one word per 64 levels, rounded up.
pub fn ge_mask(levels: &[u8], threshold: u8, out: &mut [u64]) -> Result<(), KernelError> {
    same_len(levels.len().div_ceil(64), out.len())?;
    fn kernel(levels: &[u8], threshold: u8, out: &mut [u64]) {
        dispatch!(ge_mask(levels, threshold, out): avx512 avx2 neon);
    }
    kernel(levels, threshold, out);
    Ok(())
}

/// Sets the bit of every entry whose level is at most `threshold`.
///
/// # Errors
/// [`KernelError::LengthMismatch`] if `out` is not one word per 64 levels, rounded up.
pub fn le_mask(levels: &[u8], threshold: u8, out: &mut [u64]) -> Result<(), KernelError> {
    same_len(levels.len().div_ceil(64), out.len())?;
    fn kernel(levels: &[u8], threshold: u8, out: &mut [u64]) {
        dispatch!(le_mask(levels, threshold, out): avx512 avx2 neon);
    }
    kernel(levels, threshold, out);
    Ok(())
}

/// Sets the bit of every entry whose level is `value`.
///
/// # Errors
/// [`KernelError::LengthMismatch`] if `out` is not one word per 64 levels, rounded up.
pub fn eq_mask(levels: &[u8], value: u8, out: &mut [u64]) -> Result<(), KernelError> {
    same_len(levels.len().div_ceil(64), out.len())?;
    fn kernel(levels: &[u8], value: u8, out: &mut [u64]) {
        dispatch!(eq_mask(levels, value, out): avx512 avx2 neon);
    }
    kernel(levels, value, out);
    Ok(())
}

/// Clears the bits of `a` that are not set in `b`.
///
/// # Errors
/// [`KernelError::LengthMismatch`] if the masks differ in length.
pub fn and(a: &mut [u64], b: &[u64]) -> Result<(), KernelError> {
    same_len(a.len(), b.len())?;
    for (a, b) in a.iter_mut().zip(b) {
        *a &= b;
    }
    Ok(())
}

/// The number of set bits.
pub fn count(mask: &[u64]) -> usize {
    dispatch!(count(mask): avx2)
}

/// Appends to the bitmap `out`, from `out_bit_offset` on, the bits of `bits` at the positions where `mask` is set, in
/// order, and returns their number. Bits of `out` before and after them stay unchanged.
///
/// # Errors
/// [`KernelError::LengthMismatch`] if the masks differ in length, [`KernelError::InputTooShort`] if `out` has no room.
pub fn extract(bits: &[u64], mask: &[u64], out: &mut [u8], out_bit_offset: usize) -> Result<usize, KernelError> {
    same_len(bits.len(), mask.len())?;
    check_range(out.len(), out_bit_offset, count(mask))?;
    fn kernel(bits: &[u64], mask: &[u64], out: &mut [u8], out_bit_offset: usize) -> usize {
        dispatch!(extract(bits, mask, out, out_bit_offset): avx2)
    }
    Ok(kernel(bits, mask, out, out_bit_offset))
}

macro_rules! list_offsets {
    ($name:ident, $offset:ty) => {
        /// Offsets of the lists whose slots start at the set bits of `slots`: for the `j`-th of them, `out[j]` is
        /// `start` plus the number of bits of `elements` set at earlier positions. Returns `start` plus all of them,
        /// which is the offset that closes the last list.
        ///
        /// # Errors
        /// [`KernelError::LengthMismatch`] if the masks differ in length or `out` has not one offset a slot,
        /// [`KernelError::OffsetOverflow`] if the closing offset does not fit the type, [`KernelError::Malformed`] if
        /// `start` is negative.
        pub fn $name(
            slots: &[u64],
            elements: &[u64],
            start: $offset,
            out: &mut [$offset],
        ) -> Result<$offset, KernelError> {
            same_len(slots.len(), elements.len())?;
            same_len(count(slots), out.len())?;
            if start < 0 {
                return Err(KernelError::Malformed { what: "list offset below zero" });
            }
            let total = count(elements);
            let end = <$offset>::try_from(total)
                .ok()
                .and_then(|total| start.checked_add(total))
                .ok_or(KernelError::OffsetOverflow { position: out.len() })?;
            fn kernel(slots: &[u64], elements: &[u64], start: $offset, out: &mut [$offset]) {
                dispatch!($name(slots, elements, start, out): avx2)
            }
            kernel(slots, elements, start, out);
            Ok(end)
        }
    };
}

list_offsets!(list_offsets_i32, i32);
list_offsets!(list_offsets_i64, i64);

/// The position of the `n`-th set bit, counted from zero, or `None` if fewer are set. With the mask of entries at
/// repetition level 0 it is the entry at which row `n` starts.
pub fn nth_set(mask: &[u64], n: usize) -> Option<usize> {
    dispatch!(nth_set(mask, n): avx2)
}

/// Adds to `counts[l]` the number of entries whose level is `l`; there is a counter for every level that may occur.
///
/// ```
/// let mut counts = [0; 3];
/// lath_kernels::levels::histogram(&[2, 2, 1, 0, 2], &mut counts)?;
/// assert_eq!(counts, [1, 1, 3]);
/// # Ok::<(), lath_kernels::KernelError>(())
/// ```
///
/// # Errors
/// [`KernelError::Malformed`] if a level has no counter.
pub fn histogram(levels: &[u8], counts: &mut [i64]) -> Result<(), KernelError> {
    histogram::add(levels, counts)
}
