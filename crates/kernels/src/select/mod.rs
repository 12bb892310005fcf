//! Spreads values over the valid slots of a column (expand), keeps the selected ones (compress), and provides the
//! bitmap operations for both.
//!
//! Parquet stores only the values that are not null ([definition
//! levels](https://parquet.apache.org/docs/file-format/nulls/) mark their slots), while a column in memory has a slot
//! for every row. Bitmaps are LSB-first: bit `i` is bit `i % 8` of byte `i / 8`, and start at any bit offset.
//!
//! ```text
//! validity    1  0  1  1  0          selection   1  0  1  1  0
//! on entry    .  .  a  b  c          values      a  b  c  d  e
//! expanded    a  0  b  c  0          compressed  a  c  d
//! ```
//!
//! Contract: every length is checked before anything is written; bits of an output bitmap outside the requested range
//! stay unchanged.
#![expect(unsafe_code, reason = "dispatch to the code of the current tier, bytes seen as elements")]

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
pub(crate) mod bitmap;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod blocks;
#[cfg(target_arch = "aarch64")]
mod neon;
#[cfg(test)]
mod reference;
mod scalar;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod tables;
#[cfg(test)]
mod tests;

use crate::KernelError;
use crate::tier::dispatch;
use bitmap::check_range;

/// Checks the arguments that every expansion shares.
fn check_expand(len: usize, value_count: usize, validity: &[u8], bit_offset: usize) -> Result<(), KernelError> {
    let valid = count_ones(validity, bit_offset, len)?;
    if valid == value_count {
        Ok(())
    } else {
        Err(KernelError::LengthMismatch { expected: valid, actual: value_count })
    }
}

/// Checks the arguments that every selection shares.
fn check_compress(len: usize, selection: &[u8], bit_offset: usize, out_len: usize) -> Result<(), KernelError> {
    let selected = count_ones(selection, bit_offset, len)?;
    if selected <= out_len { Ok(()) } else { Err(KernelError::LengthMismatch { expected: selected, actual: out_len }) }
}

macro_rules! dispatch_to {
    ($f:ident $args:tt : ($($tier:ident)*)) => { dispatch!($f $args: $($tier)*) };
}

macro_rules! element_functions {
    ($($element:ty, $expand_in_place:ident: $expand:ident, $compress:ident, $tiers:tt;)*) => { $(
        #[doc = concat!("Spreads `", stringify!($element), "` values over the valid slots, in place.")]
        ///
        /// On entry the last `value_count` elements of `values` are the non-null values in order (elements before them
        /// are ignored); on exit element `i` has its value if bit `validity_bit_offset + i` of `validity` is set, and
        /// zero otherwise.
        ///
        /// # Errors
        /// [`KernelError::InputTooShort`] if `validity` ends before the last slot, [`KernelError::LengthMismatch`] if
        /// `value_count` is not the number of valid slots.
        pub fn $expand_in_place(
            values: &mut [$element],
            value_count: usize,
            validity: &[u8],
            validity_bit_offset: usize,
        ) -> Result<(), KernelError> {
            check_expand(values.len(), value_count, validity, validity_bit_offset)?;
            fn kernel(values: &mut [$element], value_count: usize, validity: &[u8], bit_offset: usize) {
                dispatch_to!($expand(values, value_count, validity, bit_offset): $tiers)
            }
            kernel(values, value_count, validity, validity_bit_offset);
            Ok(())
        }

        #[doc = concat!("Moves the selected `", stringify!($element), "` values to the front of `out`, in order.")]
        ///
        /// Element `i` of `values` is selected if bit `bit_offset + i` of `selection` is set. Returns the number of
        /// selected elements. Later elements of `out` may be overwritten.
        ///
        /// # Errors
        /// [`KernelError::InputTooShort`] if `selection` ends before the last value, [`KernelError::LengthMismatch`] if
        /// `out` has no room for the selected values.
        pub fn $compress(
            values: &[$element],
            selection: &[u8],
            bit_offset: usize,
            out: &mut [$element],
        ) -> Result<usize, KernelError> {
            check_compress(values.len(), selection, bit_offset, out.len())?;
            fn kernel(values: &[$element], selection: &[u8], bit_offset: usize, out: &mut [$element]) -> usize {
                dispatch_to!($compress(values, selection, bit_offset, out): $tiers)
            }
            Ok(kernel(values, selection, bit_offset, out))
        }
    )* };
}

element_functions! {
    u8, expand_in_place_u8: expand_u8, compress_u8, (avx512 avx2 neon);
    u16, expand_in_place_u16: expand_u16, compress_u16, (avx512 avx2 neon);
    u32, expand_in_place_u32: expand_u32, compress_u32, (avx512 avx2 neon);
    u64, expand_in_place_u64: expand_u64, compress_u64, (avx512 avx2 neon);
    u128, expand_in_place_u128: expand_u128, compress_u128, (avx512 avx2);
}

/// Spreads values of `width` bytes over the valid slots, in place, like [`expand_in_place_u8`] for fixed-length values.
/// Fast if `width` is 1, 2, 4, 8 or 16 and `values` is aligned to it, otherwise run by run.
///
/// `values` has `width` bytes a slot; its last `value_count × width` bytes are the non-null values. A width of zero
/// leaves nothing to move.
///
/// # Errors
/// [`KernelError::LengthMismatch`] if `values` is not a whole number of slots or `value_count` is not the number of
/// valid slots, [`KernelError::InputTooShort`] if `validity` ends before the last slot.
pub fn expand_bytes_in_place(
    width: usize,
    values: &mut [u8],
    value_count: usize,
    validity: &[u8],
    validity_bit_offset: usize,
) -> Result<(), KernelError> {
    if width == 0 {
        return if values.is_empty() {
            Ok(())
        } else {
            Err(KernelError::LengthMismatch { expected: 0, actual: values.len() })
        };
    }
    let len = values.len() / width;
    if len * width != values.len() {
        return Err(KernelError::LengthMismatch { expected: len * width, actual: values.len() });
    }
    if width == 1 {
        return expand_in_place_u8(values, value_count, validity, validity_bit_offset);
    }
    macro_rules! as_elements {
        ($element:ty, $expand:ident) => {
            // SAFETY: every bit pattern is a value of an integer type, before and after.
            if let ([], values, []) = unsafe { values.align_to_mut::<$element>() } {
                return $expand(values, value_count, validity, validity_bit_offset);
            }
        };
    }
    match width {
        2 => as_elements!(u16, expand_in_place_u16),
        4 => as_elements!(u32, expand_in_place_u32),
        8 => as_elements!(u64, expand_in_place_u64),
        16 => as_elements!(u128, expand_in_place_u128),
        _ => {}
    }
    check_expand(len, value_count, validity, validity_bit_offset)?;
    scalar::expand_bytes(width, values, value_count, validity, validity_bit_offset);
    Ok(())
}

/// Spreads the `value_count` bits of `src` from `src_offset` on over the valid ones of `len` slots: bit `out_offset + i`
/// of `out` becomes slot `i`'s value if bit `validity_offset + i` of `validity` is set, else zero.
///
/// # Errors
/// [`KernelError::InputTooShort`] if a bitmap (`out` too) ends before its range does, [`KernelError::LengthMismatch`]
/// if `value_count` is not the number of valid slots.
#[expect(clippy::too_many_arguments, reason = "three bitmaps, each with its offset")]
pub fn expand_bits(
    src: &[u8],
    src_offset: usize,
    value_count: usize,
    validity: &[u8],
    validity_offset: usize,
    len: usize,
    out: &mut [u8],
    out_offset: usize,
) -> Result<(), KernelError> {
    check_range(src.len(), src_offset, value_count)?;
    check_range(out.len(), out_offset, len)?;
    check_expand(len, value_count, validity, validity_offset)?;
    fn kernel(
        src: &[u8],
        src_offset: usize,
        validity: &[u8],
        validity_offset: usize,
        len: usize,
        out: &mut [u8],
        out_offset: usize,
    ) {
        dispatch!(expand_bits(src, src_offset, validity, validity_offset, len, out, out_offset): avx2);
    }
    kernel(src, src_offset, validity, validity_offset, len, out, out_offset);
    Ok(())
}

/// Appends to `out`, from bit `out_offset` on, the bits of `src` whose slot is selected, and returns their number. Slot
/// `i` of `len` is bit `src_offset + i` of `src` and bit `selection_offset + i` of `selection`.
///
/// # Errors
/// [`KernelError::InputTooShort`] if a bitmap (`out` too) ends before its range does.
pub fn compress_bits(
    src: &[u8],
    src_offset: usize,
    selection: &[u8],
    selection_offset: usize,
    len: usize,
    out: &mut [u8],
    out_offset: usize,
) -> Result<usize, KernelError> {
    check_range(src.len(), src_offset, len)?;
    let selected = count_ones(selection, selection_offset, len)?;
    check_range(out.len(), out_offset, selected)?;
    fn kernel(
        src: &[u8],
        src_offset: usize,
        selection: &[u8],
        selection_offset: usize,
        len: usize,
        out: &mut [u8],
        out_offset: usize,
    ) -> usize {
        dispatch!(compress_bits(src, src_offset, selection, selection_offset, len, out, out_offset): avx2)
    }
    Ok(kernel(src, src_offset, selection, selection_offset, len, out, out_offset))
}

/// The number of set bits among the `len` bits from `bit_offset` on.
///
/// # Errors
/// [`KernelError::InputTooShort`] if `bitmap` ends before the range does.
pub fn count_ones(bitmap: &[u8], bit_offset: usize, len: usize) -> Result<usize, KernelError> {
    check_range(bitmap.len(), bit_offset, len)?;
    fn kernel(bitmap: &[u8], bit_offset: usize, len: usize) -> usize {
        dispatch!(count_ones(bitmap, bit_offset, len): avx2)
    }
    Ok(kernel(bitmap, bit_offset, len))
}

/// Copies `len` bits from `src_offset` in `src` to `dst_offset` in `dst`.
///
/// # Errors
/// [`KernelError::InputTooShort`] if either bitmap ends before its range does.
pub fn copy_bits(
    src: &[u8],
    src_offset: usize,
    dst: &mut [u8],
    dst_offset: usize,
    len: usize,
) -> Result<(), KernelError> {
    check_range(src.len(), src_offset, len)?;
    check_range(dst.len(), dst_offset, len)?;
    scalar::copy_bits(src, src_offset, dst, dst_offset, len);
    Ok(())
}

/// Sets the `len` bits from `offset` on to `value`.
///
/// # Errors
/// [`KernelError::InputTooShort`] if `dst` ends before the range does.
pub fn fill_bits(dst: &mut [u8], offset: usize, len: usize, value: bool) -> Result<(), KernelError> {
    check_range(dst.len(), offset, len)?;
    scalar::fill_bits(dst, offset, len, value);
    Ok(())
}
