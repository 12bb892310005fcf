//! DELTA_BINARY_PACKED: whole pages, and decoders that stop and resume at any value.

use lath_kernels::delta;

use crate::call::call;
use crate::pointers::Pointers;
use crate::status::{Failure, Status};

/// What `lath_delta_decode_i32` and `lath_delta_decode_i64` do.
fn decode_page<T: delta::Integer>(
    pointers: Pointers,
    src: &[u8],
    out: &mut [T],
    decoded: *mut usize,
    end: *mut usize,
) -> Result<(), Failure> {
    let mut decoder = delta::Decoder::<T>::new(src)?;
    let count = decoder.decode(src, out)?;
    // To find it, all values that are left are passed over.
    if !end.is_null() {
        pointers.write("end", end, decoder.end(src)?)?;
    }
    pointers.write("decoded", decoded, count)
}

/// A decoder of a DELTA_BINARY_PACKED page of INT32, at some value of it. One thread at a time may use it.
#[derive(Debug)]
pub struct DeltaI32(delta::Decoder<i32>);

/// Decodes a page: its values to `out`, as many as there is room for, and their number to `decoded`.
///
/// `src` is the page's values as the file has them, from the header on; bytes may follow. It needs no alignment. `end` gets the number
/// of bytes that all values take up, which is where the strings of DELTA_LENGTH_BYTE_ARRAY begin; it may be null.
///
/// # Safety
/// `src` points to `src_len` bytes, `out` to room for `out_len` values that do not overlap them, `decoded` to room for a number, and
/// `end` is null or does too.
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
    // SAFETY: the section above asks the caller for what `work` does with pointers.
    unsafe { call(work) }
}

/// Makes a decoder of a page, at its first value. `value_count`, which may be null, gets the number of values that the header
/// announces: it is not checked against the bytes, so do not allocate on its word alone.
///
/// The decoder keeps nothing of `src`: every later call takes the same bytes again. Give it to `lath_delta_i32_free` in the end.
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
    // SAFETY: the section above asks the caller for what `work` does with pointers.
    unsafe { call(work) }
}

/// Decodes the next values: `out_len` of them or all that remain. Their number goes to `decoded`. After an error the decoder is of
/// no further use.
///
/// # Safety
/// `decoder` comes from `lath_delta_i32_new`, and no other thread uses it. `src` points to `src_len` bytes, those that it was made of;
/// others give other values or an error. `out` points to room for `out_len` values that do not overlap them, `decoded` to room for a
/// number.
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
    // SAFETY: the section above asks the caller for what `work` does with pointers.
    unsafe { call(work) }
}

/// Passes over the next `count` values or all that remain. Their number goes to `skipped`.
///
/// # Safety
/// As for `lath_delta_i32_decode`; `skipped` points to room for a number.
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
    // SAFETY: the section above asks the caller for what `work` does with pointers.
    unsafe { call(work) }
}

/// Frees a decoder; null is allowed.
///
/// # Safety
/// `decoder` is null, or comes from `lath_delta_i32_new` and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lath_delta_i32_free(decoder: *mut DeltaI32) {
    let work = |pointers: Pointers| pointers.take("decoder", decoder).map(drop);
    // SAFETY: the section above asks the caller for what `work` does with pointers.
    unsafe { call(work) };
}

/// The bytes of output that `lath_delta_encode_i32` of `count` values asks for: more than it writes.
#[unsafe(no_mangle)]
pub extern "C" fn lath_delta_max_encoded_len_i32(count: usize) -> usize {
    std::panic::catch_unwind(|| delta::max_encoded_len::<i32>(count)).unwrap_or(usize::MAX)
}

/// Encodes all values of a page, in blocks of 128 values and miniblocks of 32. The number of bytes goes to `written`.
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
    // SAFETY: the section above asks the caller for what `work` does with pointers.
    unsafe { call(work) }
}

/// A decoder of a DELTA_BINARY_PACKED page of INT64, at some value of it. One thread at a time may use it.
#[derive(Debug)]
pub struct DeltaI64(delta::Decoder<i64>);

/// Decodes a page: its values to `out`, as many as there is room for, and their number to `decoded`.
///
/// `src` is the page's values as the file has them, from the header on; bytes may follow. It needs no alignment. `end` gets the number
/// of bytes that all values take up, which is where the strings of DELTA_LENGTH_BYTE_ARRAY begin; it may be null.
///
/// # Safety
/// `src` points to `src_len` bytes, `out` to room for `out_len` values that do not overlap them, `decoded` to room for a number, and
/// `end` is null or does too.
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
    // SAFETY: the section above asks the caller for what `work` does with pointers.
    unsafe { call(work) }
}

/// Makes a decoder of a page, at its first value. `value_count`, which may be null, gets the number of values that the header
/// announces: it is not checked against the bytes, so do not allocate on its word alone.
///
/// The decoder keeps nothing of `src`: every later call takes the same bytes again. Give it to `lath_delta_i64_free` in the end.
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
    // SAFETY: the section above asks the caller for what `work` does with pointers.
    unsafe { call(work) }
}

/// Decodes the next values: `out_len` of them or all that remain. Their number goes to `decoded`. After an error the decoder is of
/// no further use.
///
/// # Safety
/// `decoder` comes from `lath_delta_i64_new`, and no other thread uses it. `src` points to `src_len` bytes, those that it was made of;
/// others give other values or an error. `out` points to room for `out_len` values that do not overlap them, `decoded` to room for a
/// number.
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
    // SAFETY: the section above asks the caller for what `work` does with pointers.
    unsafe { call(work) }
}

/// Passes over the next `count` values or all that remain. Their number goes to `skipped`.
///
/// # Safety
/// As for `lath_delta_i64_decode`; `skipped` points to room for a number.
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
    // SAFETY: the section above asks the caller for what `work` does with pointers.
    unsafe { call(work) }
}

/// Frees a decoder; null is allowed.
///
/// # Safety
/// `decoder` is null, or comes from `lath_delta_i64_new` and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lath_delta_i64_free(decoder: *mut DeltaI64) {
    let work = |pointers: Pointers| pointers.take("decoder", decoder).map(drop);
    // SAFETY: the section above asks the caller for what `work` does with pointers.
    unsafe { call(work) };
}

/// The bytes of output that `lath_delta_encode_i64` of `count` values asks for: more than it writes.
#[unsafe(no_mangle)]
pub extern "C" fn lath_delta_max_encoded_len_i64(count: usize) -> usize {
    std::panic::catch_unwind(|| delta::max_encoded_len::<i64>(count)).unwrap_or(usize::MAX)
}

/// Encodes all values of a page, in blocks of 128 values and miniblocks of 32. The number of bytes goes to `written`.
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
    // SAFETY: the section above asks the caller for what `work` does with pointers.
    unsafe { call(work) }
}
