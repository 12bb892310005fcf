//! Portable search: eight bytes of a word compared at once to a mask, and counts that vectorise.

use super::BLOCK_LEN;
use super::comparison::{Comparison, Kind};

/// The upper bit of each byte.
const HIGH: u64 = 0x8080_8080_8080_8080;

/// One in each byte.
const ONES: u64 = 0x0101_0101_0101_0101;

pub(super) fn mask<C: Comparison>(comparison: C, bytes: &[u8], key: u8) -> u64 {
    let bytes = &bytes[..bytes.len().min(BLOCK_LEN)];
    let (words, tail) = bytes.as_chunks::<8>();
    let mut mask = 0;
    for (i, &word) in words.iter().enumerate() {
        mask |= u64::from(mask_of_word(comparison, word, key)) << (i * 8);
    }
    for (i, &byte) in tail.iter().enumerate() {
        mask |= u64::from(holds(comparison, byte, key)) << (words.len() * 8 + i);
    }
    mask
}

pub(super) fn mask_within<C: Comparison>(comparison: C, bytes: &[u8], start: usize, len: usize, key: u8) -> u64 {
    mask(comparison, within(bytes, start, len), key)
}

/// Counts in bytes, so that a vector has as many counters as bytes; a byte can hold the count of a block.
pub(super) fn count<C: Comparison>(comparison: C, bytes: &[u8], key: u8) -> usize {
    let count = |block: &[u8]| block.iter().map(|&byte| u8::from(holds(comparison, byte, key))).sum::<u8>();
    bytes.chunks(128).map(|block| usize::from(count(block))).sum()
}

pub(super) fn count_within<C: Comparison>(comparison: C, bytes: &[u8], start: usize, len: usize, key: u8) -> usize {
    count(comparison, within(bytes, start, len), key)
}

/// The part of a range that lies within the bytes.
pub(super) fn within(bytes: &[u8], start: usize, len: usize) -> &[u8] {
    let start = start.min(bytes.len());
    let end = start + len.min(bytes.len() - start);
    &bytes[start..end]
}

#[inline]
pub(super) fn holds<C: Comparison>(_: C, byte: u8, key: u8) -> bool {
    match C::KIND {
        Kind::Equal => byte == key,
        Kind::AtMost => byte <= key,
        Kind::Below => byte < key,
    }
}

/// A bit for each byte of a word.
#[inline]
fn mask_of_word<C: Comparison>(_: C, word: [u8; 8], key: u8) -> u8 {
    let word = u64::from_le_bytes(word);
    let keys = u64::from(key) * ONES;
    let high = match C::KIND {
        Kind::Equal => {
            // If the lower seven bits are not all zero, the addition carries into the upper one.
            let different = word ^ keys;
            !(((different & !HIGH) + !HIGH) | different)
        }
        Kind::AtMost => at_least(keys, word),
        Kind::Below => !at_least(word, keys),
    };
    // The product moves no two of the bits that it collects in its highest byte to the same position.
    (((high & HIGH) >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u8
}

/// The upper bit of each byte tells whether the byte of `a` is at least the byte of `b`.
#[inline]
fn at_least(a: u64, b: u64) -> u64 {
    // No byte borrows from the next. If the upper bits are equal, the lower ones decide.
    let lower = (a | HIGH) - (b & !HIGH);
    (a & !b) | (!(a ^ b) & lower)
}
