//! Split-block Bloom filters, as Parquet files hold them.
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
//! A value that is in the filter finds all its bits set; one that is not finds them set by chance only. In a file a header
//! stands before the bitset, which is the caller's to read and write.
//!
//! Many checks at once go through one filter ([`check_many`], [`count_many`]), or one key through many filters
//! ([`check_filters`], [`count_filters`]). Nothing branches on what a block holds, so that blocks which no cache has are
//! fetched many at a time. Answers are bitmaps: check `i` is bit `i mod 64` of word `i / 64`, and the bits behind the last
//! check are zero. A block that was read by itself, the one that [`block_index`] names, is a filter of one block.
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

/// Checks whose answers are one word of a bitmap.
const WORD: usize = 64;

/// Filters of more bytes have their blocks fetched early: a second-level cache holds no more.
const LARGE: usize = 1 << 20;

/// What a key is multiplied with for each word of a block.
const SALT: [u32; 8] =
    [0x47B6_137B, 0x4497_4D91, 0x8824_AD5B, 0xA2B7_289D, 0x7054_95C7, 0x2DF1_424B, 0x9EFC_4947, 0x5C6B_FB31];

/// Sets the bits of a hash.
///
/// # Errors
/// [`KernelError::LengthMismatch`] where the bitset is not a whole number of blocks, from one on and up to 2³².
pub fn insert(bitset: &mut [u8], hash: u64) -> Result<(), KernelError> {
    insert_many(bitset, &[hash])
}

/// Sets the bits of all hashes.
///
/// # Errors
/// As [`insert`].
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

/// Whether all bits of a hash are set: if not, no value with that hash is in the filter.
///
/// # Errors
/// As [`insert`].
#[inline]
pub fn check(bitset: &[u8], hash: u64) -> Result<bool, KernelError> {
    Ok(check_one(Blocks::new(bitset)?.of(hash), hash))
}

/// Checks each hash: bit `i` of the bitmap `out` says whether all bits of hash `i` are set.
///
/// # Errors
/// As [`insert`]; also where `out` has not one word for every 64 hashes or part of them.
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

/// Number of hashes of which all bits are set.
///
/// # Errors
/// As [`insert`].
pub fn count_many(bitset: &[u8], hashes: &[u64]) -> Result<usize, KernelError> {
    let mut count = 0;
    check_hashes(Blocks::new(bitset)?, hashes, |answers| count += answers.count_ones() as usize);
    Ok(count)
}

/// Checks one hash against many filters of any sizes: bit `i` of the bitmap `out` says whether filter `i` has all bits set.
///
/// # Errors
/// As [`insert`], for each filter; also where `out` has not one word for every 64 filters or part of them.
pub fn check_filters(filters: &[&[u8]], hash: u64, out: &mut [u64]) -> Result<(), KernelError> {
    check_out(filters.len(), out)?;
    let mut words = out.iter_mut();
    each_word_of_filters(filters, hash, |answers| {
        if let Some(word) = words.next() {
            *word = answers;
        }
    })
}

/// Number of filters that have all bits of a hash set.
///
/// # Errors
/// As [`insert`], for each filter.
pub fn count_filters(filters: &[&[u8]], hash: u64) -> Result<usize, KernelError> {
    let mut count = 0;
    each_word_of_filters(filters, hash, |answers| count += answers.count_ones() as usize)?;
    Ok(count)
}

/// The block in which a filter of so many blocks has the bits of a hash; 0 for a filter of none.
#[inline]
pub fn block_index(hash: u64, block_count: usize) -> usize {
    // Below the count, which fits.
    ((u128::from(hash >> 32) * block_count as u128) >> 32) as usize
}

/// Hands the answers to `take`, 64 at a time.
fn each_word_of_filters(filters: &[&[u8]], hash: u64, mut take: impl FnMut(u64)) -> Result<(), KernelError> {
    // While one group is checked, the blocks of the next are under way.
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
        // SAFETY: a tier is reached where its gate has tested every feature that its code uses.
        return unsafe { avx512::check(block, hash) };
    }
    #[cfg(target_arch = "x86_64")]
    if Tier::Avx2.is_reached() {
        // SAFETY: a tier is reached where its gate has tested every feature that the callee enables.
        return unsafe { avx2::check(block, hash) };
    }
    check_at_any(block, hash)
}

/// Away from the path of a processor with AVX2, where one jump more is a tenth of a check.
#[cold]
#[inline(never)]
fn check_at_any(block: &Block, hash: u64) -> bool {
    dispatch!(check(block, hash): avx2 sse41 neon)
}

/// Hands the answers to `take`, 64 at a time.
fn check_hashes(blocks: Blocks<'_>, hashes: &[u64], mut take: impl FnMut(u64)) {
    if blocks.len_bytes() <= LARGE {
        return check_all(blocks, hashes, take);
    }
    // While one group is checked, the blocks of the next are under way.
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

/// Refuses a bitmap that is not one for so many answers.
fn check_out(checks: usize, out: &[u64]) -> Result<(), KernelError> {
    let expected = checks.div_ceil(WORD);
    if out.len() != expected {
        return Err(KernelError::LengthMismatch { expected, actual: out.len() });
    }
    Ok(())
}
