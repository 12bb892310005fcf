//! Portable byte-string kernels: eight bytes at a time in a word, and a count and a compare that vectorise.

use super::{MASKED_BYTES, MaskedBytes};

/// The first differing bit of two words is in the first differing byte.
pub(super) fn common_prefix_len(a: &[u8], b: &[u8]) -> usize {
    let len = a.len().min(b.len());
    let (a_words, a_tail) = a[..len].as_chunks::<8>();
    let (b_words, b_tail) = b[..len].as_chunks::<8>();
    for (i, (&x, &y)) in a_words.iter().zip(b_words).enumerate() {
        let different = u64::from_le_bytes(x) ^ u64::from_le_bytes(y);
        if different != 0 {
            return i * 8 + different.trailing_zeros() as usize / 8;
        }
    }
    a_words.len() * 8 + a_tail.iter().zip(b_tail).take_while(|(x, y)| x == y).count()
}

/// Counts in bytes, so that a vector has as many counters as bytes; a byte can hold the count of a block.
pub(super) fn count_byte(haystack: &[u8], needle: u8) -> usize {
    const BLOCK: usize = 240;
    let (blocks, tail) = haystack.as_chunks::<BLOCK>();
    let count = |bytes: &[u8]| usize::from(bytes.iter().map(|&byte| u8::from(byte == needle)).sum::<u8>());
    blocks.iter().map(|block| count(block)).sum::<usize>() + count(tail)
}

pub(super) fn compare_masked(bytes: &[u8], blocks: &[MaskedBytes]) -> bool {
    let (Some(last), Some(last_block)) = (bytes.last_chunk(), blocks.last()) else { return false };
    let mut differing = differing(last, last_block, [0; MASKED_BYTES]);
    for (bytes, block) in bytes.as_chunks().0.iter().zip(blocks) {
        differing = self::differing(bytes, block, differing);
    }
    differing == [0; MASKED_BYTES]
}

#[inline]
fn differing(bytes: &[u8; MASKED_BYTES], block: &MaskedBytes, mut differing: [u8; MASKED_BYTES]) -> [u8; MASKED_BYTES] {
    for index in 0..MASKED_BYTES {
        differing[index] |= bytes[index] & block.mask[index] ^ block.expected[index];
    }
    differing
}
