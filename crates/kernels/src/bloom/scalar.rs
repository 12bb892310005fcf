//! Portable filters, word by word.

use super::blocks::{Blocks, BlocksMut};
use super::{Block, SALT, WORD};

pub(super) fn insert_all(blocks: &mut BlocksMut<'_>, hashes: &[u64]) {
    for &hash in hashes {
        let words = blocks.of(hash).as_chunks_mut::<4>().0;
        for (word, bit) in words.iter_mut().zip(bits(hash)) {
            *word = (u32::from_le_bytes(*word) | bit).to_le_bytes();
        }
    }
}

#[inline]
pub(super) fn check(block: &Block, hash: u64) -> bool {
    check_bits(block, &bits(hash))
}

pub(super) fn check_hashes(blocks: Blocks<'_>, hashes: &[u64], mut take: impl FnMut(u64)) {
    for hashes in hashes.chunks(WORD) {
        let answers = hashes.iter().map(|&hash| check(blocks.of(hash), hash));
        take(answers.enumerate().fold(0, |word, (i, answer)| word | u64::from(answer) << i));
    }
}

pub(super) fn check_refs(blocks: &[&Block], hash: u64) -> u64 {
    let bits = bits(hash);
    let answers = blocks.iter().map(|block| check_bits(block, &bits));
    answers.enumerate().fold(0, |word, (i, answer)| word | u64::from(answer) << i)
}

#[inline(always)]
fn check_bits(block: &Block, bits: &[u32; 8]) -> bool {
    let words = block.as_chunks::<4>().0;
    let missing = words.iter().zip(bits).fold(0, |missing, (word, bit)| missing | bit & !u32::from_le_bytes(*word));
    missing == 0
}

/// The bit of a hash in each word.
#[inline(always)]
fn bits(hash: u64) -> [u32; 8] {
    SALT.map(|salt| 1 << ((hash as u32).wrapping_mul(salt) >> 27))
}
