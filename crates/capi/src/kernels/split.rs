//! BYTE_STREAM_SPLIT.

use lath_kernels::byte_stream_split;

use crate::call::call;
use crate::pointers::Pointers;
use crate::status::Status;

/// Decodes the values from `first` on of a page of `value_count` values of `width` bytes each: as many as fit into
/// `out_len` bytes, which is a multiple of the width.
///
/// `src` contains the page's values: `width` streams of `value_count` bytes one after another. Neither pointer needs
/// alignment.
///
/// # Safety
/// `src` points to `src_len` bytes, `out` to room for `out_len` bytes that do not overlap them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lath_byte_stream_split_decode(
    src: *const u8,
    src_len: usize,
    value_count: usize,
    width: usize,
    first: usize,
    out: *mut u8,
    out_len: usize,
) -> Status {
    let work = |pointers: Pointers| {
        let src = pointers.slice("src", src, src_len)?;
        Ok(byte_stream_split::decode(src, value_count, width, first, pointers.slice_mut("out", out, out_len)?)?)
    };
    // SAFETY: the caller guarantees the conditions of the section above, which cover all pointers in `work`.
    unsafe { call(work) }
}

/// Encodes values of `width` bytes as the values from `first` on of a page of `value_count` values. `out` is the whole
/// page, of which only the bytes of these values are written.
///
/// `values_len`, in bytes, is a multiple of the width; `out_len` is `value_count * width` or more.
///
/// # Safety
/// `values` points to `values_len` bytes, `out` to `out_len` bytes that do not overlap them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lath_byte_stream_split_encode(
    values: *const u8,
    values_len: usize,
    value_count: usize,
    width: usize,
    first: usize,
    out: *mut u8,
    out_len: usize,
) -> Status {
    let work = |pointers: Pointers| {
        let values = pointers.slice("values", values, values_len)?;
        Ok(byte_stream_split::encode(values, value_count, width, first, pointers.slice_mut("out", out, out_len)?)?)
    };
    // SAFETY: the caller guarantees the conditions of the section above, which cover all pointers in `work`.
    unsafe { call(work) }
}
