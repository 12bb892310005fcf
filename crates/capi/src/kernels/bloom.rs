//! Split-block Bloom filters.

use lath_kernels::bloom;

use crate::call::call;
use crate::pointers::{Bytes, Pointers};
use crate::status::{Failure, Status};

/// The number of filters whose addresses are copied to the stack at a time: a multiple of the checks in a word.
const FILTERS: usize = 512;

/// Checks whether a filter may have a value with this hash (XXH64 with seed 0, see `lath_xxh64`): writes `false` only
/// if it has none.
///
/// `bitset` is the filter as stored in a Parquet file, without its header: a whole number of blocks of 32 bytes, at
/// least one. It needs no alignment.
///
/// # Safety
/// `bitset` points to `bitset_len` bytes, `found` to room for a `bool`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lath_bloom_check(bitset: *const u8, bitset_len: usize, hash: u64, found: *mut bool) -> Status {
    let work = |pointers: Pointers| {
        let answer = bloom::check(pointers.slice("bitset", bitset, bitset_len)?, hash)?;
        pointers.write("found", found, answer)
    };
    // SAFETY: the caller guarantees the conditions of the section above, which cover all pointers in `work`.
    unsafe { call(work) }
}

/// Checks whether a filter may have values with these hashes: bit `i % 64` of `found[i / 64]` is the answer for hash
/// `i`. Bits after the last one are zero.
///
/// `found_len` is `(hash_count + 63) / 64`, in words.
///
/// # Safety
/// `bitset` points to `bitset_len` bytes, `hashes` to `hash_count` hashes, `found` to `found_len` words that overlap neither.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lath_bloom_check_many(
    bitset: *const u8,
    bitset_len: usize,
    hashes: *const u64,
    hash_count: usize,
    found: *mut u64,
    found_len: usize,
) -> Status {
    let work = |pointers: Pointers| {
        let bitset = pointers.slice("bitset", bitset, bitset_len)?;
        let hashes = pointers.slice("hashes", hashes, hash_count)?;
        Ok(bloom::check_many(bitset, hashes, pointers.slice_mut("found", found, found_len)?)?)
    };
    // SAFETY: the caller guarantees the conditions of the section above, which cover all pointers in `work`.
    unsafe { call(work) }
}

/// Checks which of many filters may have a value with this hash: bit `i % 64` of `found[i / 64]` is the answer for
/// filter `i`. Bits after the last one are zero. Filters may differ in length.
///
/// `found_len` is `(filter_count + 63) / 64`, in words.
///
/// # Safety
/// `filters` points to `filter_count` structures with the address and length of a filter each; `found` points to
/// `found_len` words that overlap none of them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lath_bloom_check_filters(
    filters: *const Bytes,
    filter_count: usize,
    hash: u64,
    found: *mut u64,
    found_len: usize,
) -> Status {
    let work = |pointers: Pointers| {
        let filters = pointers.slice("filters", filters, filter_count)?;
        let found = pointers.slice_mut("found", found, found_len)?;
        if found.len() != filters.len().div_ceil(64) {
            let wanted = filters.len().div_ceil(64);
            return Err(Failure::invalid(format!("found has {found_len} words, {filter_count} filters need {wanted}")));
        }
        let mut group = [&[][..]; FILTERS];
        for (filters, found) in filters.chunks(FILTERS).zip(found.chunks_mut(FILTERS / 64)) {
            for (filter, bytes) in group.iter_mut().zip(filters) {
                *filter = pointers.slice("a filter", bytes.data, bytes.len)?;
            }
            bloom::check_filters(&group[..filters.len()], hash, found)?;
        }
        Ok(())
    };
    // SAFETY: the caller guarantees the conditions of the section above, which cover all pointers in `work`.
    unsafe { call(work) }
}

/// Inserts values with these hashes into a filter.
///
/// # Safety
/// `bitset` points to `bitset_len` bytes that no other thread uses during the call, `hashes` to `hash_count` hashes
/// that do not overlap them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lath_bloom_insert(
    bitset: *mut u8,
    bitset_len: usize,
    hashes: *const u64,
    hash_count: usize,
) -> Status {
    let work = |pointers: Pointers| {
        let bitset = pointers.slice_mut("bitset", bitset, bitset_len)?;
        Ok(bloom::insert_many(bitset, pointers.slice("hashes", hashes, hash_count)?)?)
    };
    // SAFETY: the caller guarantees the conditions of the section above, which cover all pointers in `work`.
    unsafe { call(work) }
}

/// The number of the block in which a filter of `block_count` blocks stores the bits of a hash. A reader of a file
/// needs only this block, bytes `32 * index` to `32 * index + 31` of the bitset, which is a filter of one block itself.
#[unsafe(no_mangle)]
pub extern "C" fn lath_bloom_block_index(hash: u64, block_count: usize) -> usize {
    bloom::block_index(hash, block_count)
}
