//! The RLE/bit-packed hybrid of levels, booleans and dictionary indices.

use lath_kernels::rle;

use crate::call::call;
use crate::pointers::Pointers;
use crate::status::Status;

/// A decoder of the RLE/bit-packed hybrid, with a position in it. One thread at a time may use it.
#[derive(Debug)]
pub struct Rle(rle::Decoder);

/// Creates a decoder of values of `width` bits, at most 32, at the first run. The caller handles the bytes around the
/// runs in a page (a length of four bytes before levels, a byte with the width before dictionary indices). Free the
/// decoder with `lath_rle_free`.
///
/// # Safety
/// `decoder` points to room for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lath_rle_new(width: u32, decoder: *mut *mut Rle) -> Status {
    let work = |pointers: Pointers| pointers.give("decoder", decoder, Rle(rle::Decoder::new(width)?));
    // SAFETY: the caller guarantees the conditions of the section above, which cover all pointers in `work`.
    unsafe { call(work) }
}

/// Decodes the next values: `out_len` of them, or all that remain. Writes their number to `decoded`. After an error the
/// decoder cannot be used any more.
///
/// `src` contains all runs, the same bytes in every call.
///
/// # Safety
/// `decoder` comes from `lath_rle_new`, and no other thread uses it. `src` points to `src_len` bytes, `out` to room for `out_len` values
/// that do not overlap them, `decoded` to room for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lath_rle_decode_u32(
    decoder: *mut Rle,
    src: *const u8,
    src_len: usize,
    out: *mut u32,
    out_len: usize,
    decoded: *mut usize,
) -> Status {
    let work = |pointers: Pointers| {
        let src = pointers.slice("src", src, src_len)?;
        let out = pointers.slice_mut("out", out, out_len)?;
        let count = pointers.get_mut("decoder", decoder)?.0.decode_u32(src, out)?;
        pointers.write("decoded", decoded, count)
    };
    // SAFETY: the caller guarantees the conditions of the section above, which cover all pointers in `work`.
    unsafe { call(work) }
}

/// Decodes the next values: `out_len` of them, or all that remain. Writes their number to `decoded`. The width is at
/// most 8. After an error the decoder cannot be used any more.
///
/// `src` contains all runs, the same bytes in every call.
///
/// # Safety
/// `decoder` comes from `lath_rle_new`, and no other thread uses it. `src` points to `src_len` bytes, `out` to room for `out_len` values
/// that do not overlap them, `decoded` to room for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lath_rle_decode_u8(
    decoder: *mut Rle,
    src: *const u8,
    src_len: usize,
    out: *mut u8,
    out_len: usize,
    decoded: *mut usize,
) -> Status {
    let work = |pointers: Pointers| {
        let src = pointers.slice("src", src, src_len)?;
        let out = pointers.slice_mut("out", out, out_len)?;
        let count = pointers.get_mut("decoder", decoder)?.0.decode_u8(src, out)?;
        pointers.write("decoded", decoded, count)
    };
    // SAFETY: the caller guarantees the conditions of the section above, which cover all pointers in `work`.
    unsafe { call(work) }
}

/// Skips the next `count` values, or all that remain. Writes their number to `skipped`.
///
/// # Safety
/// The same as for `lath_rle_decode_u32`; `skipped` points to room for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lath_rle_skip(
    decoder: *mut Rle,
    src: *const u8,
    src_len: usize,
    count: usize,
    skipped: *mut usize,
) -> Status {
    let work = |pointers: Pointers| {
        let src = pointers.slice("src", src, src_len)?;
        let count = pointers.get_mut("decoder", decoder)?.0.skip(src, count)?;
        pointers.write("skipped", skipped, count)
    };
    // SAFETY: the caller guarantees the conditions of the section above, which cover all pointers in `work`.
    unsafe { call(work) }
}

/// Frees a decoder; null is allowed.
///
/// # Safety
/// `decoder` is null, or comes from `lath_rle_new` and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lath_rle_free(decoder: *mut Rle) {
    let work = |pointers: Pointers| pointers.take("decoder", decoder).map(drop);
    // SAFETY: the caller guarantees the conditions of the section above, which cover all pointers in `work`.
    unsafe { call(work) };
}
