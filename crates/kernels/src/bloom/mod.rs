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
//! A filter of half the blocks is this one with every two neighbouring blocks united, because half the number of blocks
//! halves the choice; so a filter that turned out too large can be folded.
//!
//! [Specification](https://parquet.apache.org/docs/file-format/bloomfilter/).

#![expect(unsafe_code, reason = "dispatch to functions that need the features of their tier")]

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "aarch64")]
mod neon;
mod scalar;

#[cfg(test)]
mod reference;
#[cfg(test)]
mod tests;

use crate::KernelError;
use crate::tier::dispatch;

/// Bytes of a block.
pub const BLOCK_LEN: usize = 32;

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
    check_len(bitset.len())?;
    insert_all(bitset.as_chunks_mut().0, hashes);
    Ok(())
}

/// Whether all bits of a hash are set: if not, no value with that hash is in the filter.
///
/// # Errors
/// As [`insert`].
pub fn check(bitset: &[u8], hash: u64) -> Result<bool, KernelError> {
    check_len(bitset.len())?;
    Ok(scalar::check(bitset.as_chunks().0, hash))
}

/// Unites every two neighbouring blocks, so that the first half of the bitset is the filter of the same hashes with half
/// as many blocks. Returns the length of that half in bytes.
///
/// # Errors
/// As [`insert`], and where the number of blocks is odd.
pub fn fold(bitset: &mut [u8]) -> Result<usize, KernelError> {
    check_len(bitset.len())?;
    let blocks = bitset.len() / BLOCK_LEN;
    if !blocks.is_multiple_of(2) {
        return Err(KernelError::LengthMismatch { expected: (blocks + 1) * BLOCK_LEN, actual: bitset.len() });
    }
    scalar::fold(bitset.as_chunks_mut().0);
    Ok(bitset.len() / 2)
}

fn insert_all(blocks: &mut [[u8; BLOCK_LEN]], hashes: &[u64]) {
    dispatch!(insert_all(blocks, hashes): avx2 neon);
}

/// Refuses what is no bitset.
fn check_len(len: usize) -> Result<(), KernelError> {
    if len == 0 || !len.is_multiple_of(BLOCK_LEN) || (len / BLOCK_LEN) as u64 > 1 << 32 {
        let expected = len.clamp(1, BLOCK_LEN << 24).next_multiple_of(BLOCK_LEN);
        return Err(KernelError::LengthMismatch { expected, actual: len });
    }
    Ok(())
}

/// The block of a hash: below `block_count`, which is no more than 2³².
#[inline(always)]
fn block_of(hash: u64, block_count: usize) -> usize {
    // Less than 2³² times 2³² at most is less than 2⁶⁴.
    (((hash >> 32) * block_count as u64) >> 32) as usize
}
