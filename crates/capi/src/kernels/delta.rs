//! DELTA_BINARY_PACKED: whole pages, and decoders that stop and resume at any value.

use lath_kernels::delta;

use crate::call::call;
use crate::pointers::Pointers;
use crate::status::{Failure, Status};

/// The implementation of `lath_delta_decode_i32` and `lath_delta_decode_i64`.
fn decode_page<T: delta::Integer>(
    pointers: Pointers,
    src: &[u8],
    out: &mut [T],
    decoded: *mut usize,
    end: *mut usize,
) -> Result<(), Failure> {
    let mut decoder = delta::Decoder::<T>::new(src)?;
    let count = decoder.decode(src, out)?;
    // Skip the remaining values to find the end.
    if !end.is_null() {
        pointers.write("end", end, decoder.end(src)?)?;
    }
    pointers.write("decoded", decoded, count)
}

/// A decoder for a DELTA_BINARY_PACKED page of INT32, with a position in it. One thread at a time may use it.
#[derive(Debug)]
pub struct DeltaI32(delta::Decoder<i32>);

/// Decodes a page: writes its values to `out`, as many as fit, and their number to `decoded`.
///
/// `src` contains the page's values as stored in the file, from the header on; bytes may follow. It needs no alignment.
/// `end` gets the number of bytes of all values, which is the offset of the strings in DELTA_LENGTH_BYTE_ARRAY; it may
/// be null.
///
/// # Safety
/// `src` points to `src_len` bytes, `out` to room for `out_len` values that do not overlap them, `decoded` to room for
/// a number; `end` is null or points to room for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lath_delta_decode_i32(
    src: *const u8,
    src_len: usize,
    out: *mut i32,
    out_len: usize,
    decoded: *mut usize,
    end: *mut usize,
) -> Status {
    let work = |pointers: Pointers| {
        let src = pointers.slice("src", src, src_len)?;
        decode_page(pointers, src, pointers.slice_mut("out", out, out_len)?, decoded, end)
    };
    // SAFETY: the caller guarantees the conditions of the section above, which cover all pointers in `work`.
    unsafe { call(work) }
}

/// Creates a decoder for a page, at its first value. `value_count`, which may be null, gets the number of values that
/// the header announces. It is not checked against the bytes, so do not allocate by it alone.
///
/// The decoder does not keep `src`: every later call takes the same bytes again. Free it with `lath_delta_i32_free`.
///
/// # Safety
/// `src` points to `src_len` bytes, `decoder` to room for a pointer, and `value_count` is null or points to room for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lath_delta_i32_new(
    src: *const u8,
    src_len: usize,
    decoder: *mut *mut DeltaI32,
    value_count: *mut usize,
) -> Status {
    let work = |pointers: Pointers| {
        let new = delta::Decoder::<i32>::new(pointers.slice("src", src, src_len)?)?;
        pointers.write_unless_null("value_count", value_count, new.value_count())?;
        pointers.give("decoder", decoder, DeltaI32(new))
    };
    // SAFETY: the caller guarantees the conditions of the section above, which cover all pointers in `work`.
    unsafe { call(work) }
}

/// Decodes the next values: `out_len` of them, or all that remain. Writes their number to `decoded`. After an error the
/// decoder cannot be used any more.
///
/// # Safety
/// `decoder` comes from `lath_delta_i32_new`, and no other thread uses it. `src` points to `src_len` bytes, the same as
/// when it was created; other bytes give other values or an error. `out` points to room for `out_len` values that do
/// not overlap them, `decoded` to room for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lath_delta_i32_decode(
    decoder: *mut DeltaI32,
    src: *const u8,
    src_len: usize,
    out: *mut i32,
    out_len: usize,
    decoded: *mut usize,
) -> Status {
    let work = |pointers: Pointers| {
        let src = pointers.slice("src", src, src_len)?;
        let out = pointers.slice_mut("out", out, out_len)?;
        let count = pointers.get_mut("decoder", decoder)?.0.decode(src, out)?;
        pointers.write("decoded", decoded, count)
    };
    // SAFETY: the caller guarantees the conditions of the section above, which cover all pointers in `work`.
    unsafe { call(work) }
}

/// Skips the next `count` values, or all that remain. Writes their number to `skipped`.
///
/// # Safety
/// The same as for `lath_delta_i32_decode`; `skipped` points to room for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lath_delta_i32_skip(
    decoder: *mut DeltaI32,
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
/// `decoder` is null, or comes from `lath_delta_i32_new` and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lath_delta_i32_free(decoder: *mut DeltaI32) {
    let work = |pointers: Pointers| pointers.take("decoder", decoder).map(drop);
    // SAFETY: the caller guarantees the conditions of the section above, which cover all pointers in `work`.
    unsafe { call(work) };
}

/// The output size in bytes that `lath_delta_encode_i32` requires for `count` values: more than it writes.
#[unsafe(no_mangle)]
pub extern "C" fn lath_delta_max_encoded_len_i32(count: usize) -> usize {
    std::panic::catch_unwind(|| delta::max_encoded_len::<i32>(count)).unwrap_or(usize::MAX)
}

/// Encodes all values of a page, in blocks of 128 values and miniblocks of 32. Writes the number of bytes to `written`.
///
/// `out_len` is at least `lath_delta_max_encoded_len_i32(count)`; there may be up to 2^31 - 1 values.
///
/// # Safety
/// `values` points to `count` values, `out` to room for `out_len` bytes that do not overlap them, `written` to room for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lath_delta_encode_i32(
    values: *const i32,
    count: usize,
    out: *mut u8,
    out_len: usize,
    written: *mut usize,
) -> Status {
    let work = |pointers: Pointers| {
        let values = pointers.slice("values", values, count)?;
        let len = delta::encode_i32(values, pointers.slice_mut("out", out, out_len)?)?;
        pointers.write("written", written, len)
    };
    // SAFETY: the caller guarantees the conditions of the section above, which cover all pointers in `work`.
    unsafe { call(work) }
}

/// A decoder for a DELTA_BINARY_PACKED page of INT64, with a position in it. One thread at a time may use it.
#[derive(Debug)]
pub struct DeltaI64(delta::Decoder<i64>);

/// Decodes a page: writes its values to `out`, as many as fit, and their number to `decoded`.
///
/// `src` contains the page's values as stored in the file, from the header on; bytes may follow. It needs no alignment.
/// `end` gets the number of bytes of all values, which is the offset of the strings in DELTA_LENGTH_BYTE_ARRAY; it may
/// be null.
///
/// # Safety
/// `src` points to `src_len` bytes, `out` to room for `out_len` values that do not overlap them, `decoded` to room for
/// a number; `end` is null or points to room for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lath_delta_decode_i64(
    src: *const u8,
    src_len: usize,
    out: *mut i64,
    out_len: usize,
    decoded: *mut usize,
    end: *mut usize,
) -> Status {
    let work = |pointers: Pointers| {
        let src = pointers.slice("src", src, src_len)?;
        decode_page(pointers, src, pointers.slice_mut("out", out, out_len)?, decoded, end)
    };
    // SAFETY: the caller guarantees the conditions of the section above, which cover all pointers in `work`.
    unsafe { call(work) }
}

/// Creates a decoder for a page, at its first value. `value_count`, which may be null, gets the number of values that
/// the header announces. It is not checked against the bytes, so do not allocate by it alone.
///
/// The decoder does not keep `src`: every later call takes the same bytes again. Free it with `lath_delta_i64_free`.
///
/// # Safety
/// `src` points to `src_len` bytes, `decoder` to room for a pointer, and `value_count` is null or points to room for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lath_delta_i64_new(
    src: *const u8,
    src_len: usize,
    decoder: *mut *mut DeltaI64,
    value_count: *mut usize,
) -> Status {
    let work = |pointers: Pointers| {
        let new = delta::Decoder::<i64>::new(pointers.slice("src", src, src_len)?)?;
        pointers.write_unless_null("value_count", value_count, new.value_count())?;
        pointers.give("decoder", decoder, DeltaI64(new))
    };
    // SAFETY: the caller guarantees the conditions of the section above, which cover all pointers in `work`.
    unsafe { call(work) }
}

/// Decodes the next values: `out_len` of them, or all that remain. Writes their number to `decoded`. After an error the
/// decoder cannot be used any more.
///
/// # Safety
/// `decoder` comes from `lath_delta_i64_new`, and no other thread uses it. `src` points to `src_len` bytes, the same as
/// when it was created; other bytes give other values or an error. `out` points to room for `out_len` values that do
/// not overlap them, `decoded` to room for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lath_delta_i64_decode(
    decoder: *mut DeltaI64,
    src: *const u8,
    src_len: usize,
    out: *mut i64,
    out_len: usize,
    decoded: *mut usize,
) -> Status {
    let work = |pointers: Pointers| {
        let src = pointers.slice("src", src, src_len)?;
        let out = pointers.slice_mut("out", out, out_len)?;
        let count = pointers.get_mut("decoder", decoder)?.0.decode(src, out)?;
        pointers.write("decoded", decoded, count)
    };
    // SAFETY: the caller guarantees the conditions of the section above, which cover all pointers in `work`.
    unsafe { call(work) }
}

/// Skips the next `count` values, or all that remain. Writes their number to `skipped`.
///
/// # Safety
/// The same as for `lath_delta_i64_decode`; `skipped` points to room for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lath_delta_i64_skip(
    decoder: *mut DeltaI64,
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
/// `decoder` is null, or comes from `lath_delta_i64_new` and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lath_delta_i64_free(decoder: *mut DeltaI64) {
    let work = |pointers: Pointers| pointers.take("decoder", decoder).map(drop);
    // SAFETY: the caller guarantees the conditions of the section above, which cover all pointers in `work`.
    unsafe { call(work) };
}

/// The output size in bytes that `lath_delta_encode_i64` requires for `count` values: more than it writes.
#[unsafe(no_mangle)]
pub extern "C" fn lath_delta_max_encoded_len_i64(count: usize) -> usize {
    std::panic::catch_unwind(|| delta::max_encoded_len::<i64>(count)).unwrap_or(usize::MAX)
}

/// Encodes all values of a page, in blocks of 128 values and miniblocks of 32. Writes the number of bytes to `written`.
///
/// `out_len` is at least `lath_delta_max_encoded_len_i64(count)`; there may be up to 2^31 - 1 values.
///
/// # Safety
/// `values` points to `count` values, `out` to room for `out_len` bytes that do not overlap them, `written` to room for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lath_delta_encode_i64(
    values: *const i64,
    count: usize,
    out: *mut u8,
    out_len: usize,
    written: *mut usize,
) -> Status {
    let work = |pointers: Pointers| {
        let values = pointers.slice("values", values, count)?;
        let len = delta::encode_i64(values, pointers.slice_mut("out", out, out_len)?)?;
        pointers.write("written", written, len)
    };
    // SAFETY: the caller guarantees the conditions of the section above, which cover all pointers in `work`.
    unsafe { call(work) }
}
