//! Portable filters, word by word.

use super::{BLOCK_LEN, SALT, block_of};

pub(super) fn insert_all(blocks: &mut [[u8; BLOCK_LEN]], hashes: &[u64]) {
    let count = blocks.len();
    for &hash in hashes {
        let words = blocks[block_of(hash, count)].as_chunks_mut::<4>().0;
        for (word, bit) in words.iter_mut().zip(bits(hash)) {
            *word = (u32::from_le_bytes(*word) | bit).to_le_bytes();
        }
    }
}

pub(super) fn check(blocks: &[[u8; BLOCK_LEN]], hash: u64) -> bool {
    let words = blocks[block_of(hash, blocks.len())].as_chunks::<4>().0;
    let missing =
        words.iter().zip(bits(hash)).fold(0, |missing, (word, bit)| missing | bit & !u32::from_le_bytes(*word));
    missing == 0
}

/// The bit of a hash in each word.
#[inline(always)]
fn bits(hash: u64) -> [u32; 8] {
    SALT.map(|salt| 1 << ((hash as u32).wrapping_mul(salt) >> 27))
}

pub(super) fn fold(blocks: &mut [[u8; BLOCK_LEN]]) {
    for i in 0..blocks.len() / 2 {
        let (left, right) = (blocks[2 * i], blocks[2 * i + 1]);
        blocks[i] = std::array::from_fn(|byte| left[byte] | right[byte]);
    }
}
