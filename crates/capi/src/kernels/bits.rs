//! Integers that are stored in a fixed number of bits each.

use lath_kernels::bitpack;

use crate::call::call;
use crate::pointers::Pointers;
use crate::status::Status;

/// Unpacks `count` values of `width` bits, at most 8, least significant bit first, as in the RLE/bit-packed hybrid and
/// DELTA_BINARY_PACKED. `src` needs no alignment, and may be longer than the values.
///
/// # Safety
/// `src` points to `src_len` bytes, `out` to room for `count` values that do not overlap them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lath_bitunpack_u8(
    src: *const u8,
    src_len: usize,
    width: u32,
    out: *mut u8,
    count: usize,
) -> Status {
    let work = |pointers: Pointers| {
        let src = pointers.slice("src", src, src_len)?;
        Ok(bitpack::unpack_u8(src, width, pointers.slice_mut("out", out, count)?)?)
    };
    // SAFETY: the caller guarantees the conditions of the section above, which cover all pointers in `work`.
    unsafe { call(work) }
}

/// Unpacks `count` values of `width` bits, at most 32, least significant bit first, as in the RLE/bit-packed hybrid and
/// DELTA_BINARY_PACKED. `src` needs no alignment, and may be longer than the values.
///
/// # Safety
/// `src` points to `src_len` bytes, `out` to room for `count` values that do not overlap them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lath_bitunpack_u32(
    src: *const u8,
    src_len: usize,
    width: u32,
    out: *mut u32,
    count: usize,
) -> Status {
    let work = |pointers: Pointers| {
        let src = pointers.slice("src", src, src_len)?;
        Ok(bitpack::unpack_u32(src, width, pointers.slice_mut("out", out, count)?)?)
    };
    // SAFETY: the caller guarantees the conditions of the section above, which cover all pointers in `work`.
    unsafe { call(work) }
}

/// Unpacks `count` values of `width` bits, at most 64, least significant bit first, as in the RLE/bit-packed hybrid and
/// DELTA_BINARY_PACKED. `src` needs no alignment, and may be longer than the values.
///
/// # Safety
/// `src` points to `src_len` bytes, `out` to room for `count` values that do not overlap them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lath_bitunpack_u64(
    src: *const u8,
    src_len: usize,
    width: u32,
    out: *mut u64,
    count: usize,
) -> Status {
    let work = |pointers: Pointers| {
        let src = pointers.slice("src", src, src_len)?;
        Ok(bitpack::unpack_u64(src, width, pointers.slice_mut("out", out, count)?)?)
    };
    // SAFETY: the caller guarantees the conditions of the section above, which cover all pointers in `work`.
    unsafe { call(work) }
}
