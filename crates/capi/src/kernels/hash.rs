//! XXH64 with seed 0, the hash of Parquet's Bloom filters.

use lath_kernels::{ByteStrings, xxhash};

use crate::call::call;
use crate::pointers::Pointers;
use crate::status::{Failure, Status};

/// The hash of `len` bytes.
///
/// # Safety
/// `bytes` points to `len` bytes, `hash` to room for a hash.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lath_xxh64(bytes: *const u8, len: usize, hash: *mut u64) -> Status {
    let work = |pointers: Pointers| pointers.write("hash", hash, xxhash::xxh64(pointers.slice("bytes", bytes, len)?));
    // SAFETY: the caller guarantees the conditions of the section above, which cover all pointers in `work`.
    unsafe { call(work) }
}

/// The hashes of `count` values of `width` bytes each, one after another: `hashes[i]` is the hash of value `i`. Numbers
/// are hashed in the form of Parquet's PLAIN encoding, little-endian.
///
/// Fastest for widths of 1, 2, 4, 8 and 16 if `values` is aligned to the width; alignment is not required.
///
/// # Safety
/// `values` points to `count * width` bytes, `hashes` to room for `count` hashes that do not overlap them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lath_xxh64_fixed(values: *const u8, width: usize, count: usize, hashes: *mut u64) -> Status {
    let work = |pointers: Pointers| {
        let len =
            count.checked_mul(width).ok_or_else(|| Failure::invalid("count * width is over the address space"))?;
        let hashes = pointers.slice_mut("hashes", hashes, count)?;
        if cfg!(target_endian = "little") {
            match width {
                1 => return Ok(xxhash::hash_u8s(pointers.slice("values", values, count)?, hashes)?),
                2 if values.cast::<u16>().is_aligned() => {
                    return Ok(xxhash::hash_u16s(pointers.slice("values", values.cast(), count)?, hashes)?);
                }
                4 if values.cast::<u32>().is_aligned() => {
                    return Ok(xxhash::hash_u32s(pointers.slice("values", values.cast(), count)?, hashes)?);
                }
                8 if values.cast::<u64>().is_aligned() => {
                    return Ok(xxhash::hash_u64s(pointers.slice("values", values.cast(), count)?, hashes)?);
                }
                16 if values.cast::<u128>().is_aligned() => {
                    return Ok(xxhash::hash_u128s(pointers.slice("values", values.cast(), count)?, hashes)?);
                }
                _ => {}
            }
        }
        if width == 0 {
            hashes.fill(xxhash::xxh64(&[]));
            return Ok(());
        }
        let strings = ByteStrings::Fixed { data: pointers.slice("values", values, len)?, width };
        Ok(xxhash::hash_strings(strings, 0, hashes)?)
    };
    // SAFETY: the caller guarantees the conditions of the section above, which cover all pointers in `work`.
    unsafe { call(work) }
}

/// The hashes of `count` strings: string `i` is bytes `offsets[i]` to `offsets[i + 1] - 1` of `data`, as in Arrow's
/// strings and binary values. Offsets may be anything: `LATH_STATUS_CORRUPT` if one is outside of the data or less than
/// the one before it.
///
/// # Safety
/// `data` points to `data_len` bytes, `offsets` to `count + 1` offsets, `hashes` to room for `count` hashes that overlap neither.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lath_xxh64_strings(
    data: *const u8,
    data_len: usize,
    offsets: *const i32,
    count: usize,
    hashes: *mut u64,
) -> Status {
    let work = |pointers: Pointers| {
        let data = pointers.slice("data", data, data_len)?;
        let offsets = pointers.slice("offsets", offsets, count.saturating_add(1))?;
        let hashes = pointers.slice_mut("hashes", hashes, count)?;
        Ok(xxhash::hash_strings(ByteStrings::Offsets32 { data, offsets }, 0, hashes)?)
    };
    // SAFETY: the caller guarantees the conditions of the section above, which cover all pointers in `work`.
    unsafe { call(work) }
}

/// Like `lath_xxh64_strings`, with wide offsets.
///
/// # Safety
/// The same as for `lath_xxh64_strings`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lath_xxh64_large_strings(
    data: *const u8,
    data_len: usize,
    offsets: *const i64,
    count: usize,
    hashes: *mut u64,
) -> Status {
    let work = |pointers: Pointers| {
        let data = pointers.slice("data", data, data_len)?;
        let offsets = pointers.slice("offsets", offsets, count.saturating_add(1))?;
        let hashes = pointers.slice_mut("hashes", hashes, count)?;
        Ok(xxhash::hash_strings(ByteStrings::Offsets64 { data, offsets }, 0, hashes)?)
    };
    // SAFETY: the caller guarantees the conditions of the section above, which cover all pointers in `work`.
    unsafe { call(work) }
}
