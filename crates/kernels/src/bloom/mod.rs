//! Split-block Bloom filters, as in Parquet files.
//!
//! A filter is a bitset of blocks of 256 bits, each eight words of 32 bits. A value is its XXH64 hash with seed 0
//! ([`xxhash`](crate::xxhash)): the upper half chooses a block, the lower half one bit in each of the block's words.
//!
//! ```text
//! hash     63            32 31             0
//!         │  block choice  │       key       │
//!
//! block    = block choice · number of blocks >> 32
//! bit i    = (key · SALT[i] mod 2³²) >> 27                            for each word i
//!
//! bitset  │ block 0                                 │ block 1 │ …
//!         │ word 0 │ word 1 │ … │ word 7 │
//!           32 bits, little-endian: bit b is bit b mod 8 of byte b / 8
//! ```
//!
//! A value in the filter finds all its bits set; any other value finds them set only by chance. In a file a header
//! precedes the bitset; the caller reads and writes it.
//!
//! Many checks at once go through one filter ([`check_many`], [`count_many`]), or one key through many filters
//! ([`check_filters`], [`count_filters`]). No branch depends on the contents of a block, so uncached blocks are fetched
//! many at a time. Answers are bitmaps: check `i` is bit `i mod 64` of word `i / 64`, and the bits after the last check
//! are zero. A single block, the one that [`block_index`] names, is a filter of one block.
//!
//! [Specification](https://parquet.apache.org/docs/file-format/bloomfilter/).

#![expect(unsafe_code, reason = "dispatch to functions that need the features of their tier")]

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod blocks;
#[cfg(target_arch = "aarch64")]
mod neon;
mod scalar;
#[cfg(target_arch = "x86_64")]
mod sse41;

#[cfg(test)]
mod reference;
#[cfg(test)]
mod tests;

use blocks::{Blocks, BlocksMut, prefetch};

use crate::KernelError;
#[cfg(target_arch = "x86_64")]
use crate::Tier;
use crate::tier::dispatch;

/// Bytes of a block.
pub const BLOCK_LEN: usize = 32;

type Block = [u8; BLOCK_LEN];

/// The number of checks with answers in one word of a bitmap.
const WORD: usize = 64;

/// The blocks of filters with more bytes are prefetched, because they do not fit a second-level cache.
const LARGE: usize = 1 << 20;

/// The factor of a key for each word of a block.
const SALT: [u32; 8] =
    [0x47B6_137B, 0x4497_4D91, 0x8824_AD5B, 0xA2B7_289D, 0x7054_95C7, 0x2DF1_424B, 0x9EFC_4947, 0x5C6B_FB31];

/// Sets the bits of a hash.
///
/// # Errors
/// [`KernelError::LengthMismatch`] if the bitset is not a whole number of blocks, from one to 2³².
pub fn insert(bitset: &mut [u8], hash: u64) -> Result<(), KernelError> {
    insert_many(bitset, &[hash])
}

/// Sets the bits of all hashes.
///
/// # Errors
/// The same as [`insert`].
pub fn insert_many(bitset: &mut [u8], hashes: &[u64]) -> Result<(), KernelError> {
    let mut blocks = BlocksMut::new(bitset)?;
    if blocks.len_bytes() <= LARGE {
        insert_all(&mut blocks, hashes);
        return Ok(());
    }
    let mut groups = hashes.chunks(WORD).peekable();
    while let Some(group) = groups.next() {
        for &hash in groups.peek().copied().unwrap_or_default() {
            prefetch(blocks.of(hash));
        }
        insert_all(&mut blocks, group);
    }
    Ok(())
}

/// Returns whether all bits of a hash are set. If not, no value with that hash is in the filter.
///
/// # Errors
/// The same as [`insert`].
#[inline]
pub fn check(bitset: &[u8], hash: u64) -> Result<bool, KernelError> {
    Ok(check_one(Blocks::new(bitset)?.of(hash), hash))
}

/// Checks each hash: bit `i` of the bitmap `out` tells whether all bits of hash `i` are set.
///
/// # Errors
/// The same as [`insert`]; also if `out` does not have one word per 64 hashes, rounded up.
pub fn check_many(bitset: &[u8], hashes: &[u64], out: &mut [u64]) -> Result<(), KernelError> {
    let blocks = Blocks::new(bitset)?;
    check_out(hashes.len(), out)?;
    let mut words = out.iter_mut();
    check_hashes(blocks, hashes, |answers| {
        if let Some(word) = words.next() {
            *word = answers;
        }
    });
    Ok(())
}

/// The number of hashes whose bits are all set.
///
/// # Errors
/// The same as [`insert`].
pub fn count_many(bitset: &[u8], hashes: &[u64]) -> Result<usize, KernelError> {
    let mut count = 0;
    check_hashes(Blocks::new(bitset)?, hashes, |answers| count += answers.count_ones() as usize);
    Ok(count)
}

/// Checks one hash against many filters of any sizes: bit `i` of the bitmap `out` tells whether filter `i` has all bits
/// set.
///
/// # Errors
/// The same as [`insert`], for each filter; also if `out` does not have one word per 64 filters, rounded up.
pub fn check_filters(filters: &[&[u8]], hash: u64, out: &mut [u64]) -> Result<(), KernelError> {
    check_out(filters.len(), out)?;
    let mut words = out.iter_mut();
    each_word_of_filters(filters, hash, |answers| {
        if let Some(word) = words.next() {
            *word = answers;
        }
    })
}

/// The number of filters with all bits of a hash set.
///
/// # Errors
/// The same as [`insert`], for each filter.
pub fn count_filters(filters: &[&[u8]], hash: u64) -> Result<usize, KernelError> {
    let mut count = 0;
    each_word_of_filters(filters, hash, |answers| count += answers.count_ones() as usize)?;
    Ok(count)
}

/// The index of the block with the bits of a hash in a filter of `block_count` blocks; 0 for an empty filter.
#[inline]
pub fn block_index(hash: u64, block_count: usize) -> usize {
    // Less than the count, which fits.
    ((u128::from(hash >> 32) * block_count as u128) >> 32) as usize
}

/// Passes the answers to `take`, 64 at a time.
fn each_word_of_filters(filters: &[&[u8]], hash: u64, mut take: impl FnMut(u64)) -> Result<(), KernelError> {
    // While one group is checked, the blocks of the next are being fetched.
    let mut groups = [[const { &[0; BLOCK_LEN] }; WORD]; 2];
    let mut under_way = 0;
    let mut turn = 0;
    for filters in filters.chunks(WORD) {
        for (to, filter) in groups[turn].iter_mut().zip(filters) {
            *to = Blocks::new(filter)?.of(hash);
            prefetch(to);
        }
        turn = 1 - turn;
        if under_way > 0 {
            take(check_refs(&groups[turn][..under_way], hash));
        }
        under_way = filters.len();
    }
    if under_way > 0 {
        take(check_refs(&groups[1 - turn][..under_way], hash));
    }
    Ok(())
}

fn insert_all(blocks: &mut BlocksMut<'_>, hashes: &[u64]) {
    dispatch!(insert_all(blocks, hashes): avx2 sse41 neon);
}

#[inline(always)]
fn check_one(block: &Block, hash: u64) -> bool {
    #[cfg(target_arch = "x86_64")]
    if Tier::Avx512.is_reached() {
        // SAFETY: a tier is reached only after its gate has tested every feature that its code uses.
        return unsafe { avx512::check(block, hash) };
    }
    #[cfg(target_arch = "x86_64")]
    if Tier::Avx2.is_reached() {
        // SAFETY: a tier is reached only after its gate has tested every feature that the callee enables.
        return unsafe { avx2::check(block, hash) };
    }
    check_at_any(block, hash)
}

/// Out of the path of a processor with AVX2, where one more jump is a tenth of a check.
#[cold]
#[inline(never)]
fn check_at_any(block: &Block, hash: u64) -> bool {
    dispatch!(check(block, hash): avx2 sse41 neon)
}

/// Passes the answers to `take`, 64 at a time.
fn check_hashes(blocks: Blocks<'_>, hashes: &[u64], mut take: impl FnMut(u64)) {
    if blocks.len_bytes() <= LARGE {
        return check_all(blocks, hashes, take);
    }
    // While one group is checked, the blocks of the next are being fetched.
    let mut groups = hashes.chunks(WORD).peekable();
    while let Some(group) = groups.next() {
        for &hash in groups.peek().copied().unwrap_or_default() {
            prefetch(blocks.of(hash));
        }
        check_all(blocks, group, &mut take);
    }
}

fn check_all(blocks: Blocks<'_>, hashes: &[u64], take: impl FnMut(u64)) {
    if !blocks.is_counted_by_32_bits() {
        return scalar::check_hashes(blocks, hashes, take);
    }
    dispatch!(check_hashes(blocks, hashes, take): avx512 avx2 sse41 neon);
}

/// The answers of up to 64 blocks.
fn check_refs(blocks: &[&Block], hash: u64) -> u64 {
    dispatch!(check_refs(blocks, hash): avx512 avx2 sse41 neon)
}

/// Rejects a bitmap that does not fit the number of answers.
fn check_out(checks: usize, out: &[u64]) -> Result<(), KernelError> {
    let expected = checks.div_ceil(WORD);
    if out.len() != expected {
        return Err(KernelError::LengthMismatch { expected, actual: out.len() });
    }
    Ok(())
}
