//! Byte strings: the length of a common prefix, a comparison under a mask, and counting a byte.

#![expect(unsafe_code, reason = "dispatch to functions that need the features of their tier")]

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;
mod scalar;

#[cfg(test)]
mod tests;

use crate::tier::dispatch;

/// The number of bytes that [`has_expected_bits`] compares at once.
pub const MASKED_BYTES: usize = 32;

/// The expected values of some bits in [`MASKED_BYTES`] bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(align(32))]
pub struct MaskedBytes {
    mask: [u8; MASKED_BYTES],
    /// Zero wherever the mask is.
    expected: [u8; MASKED_BYTES],
}

impl MaskedBytes {
    /// Expects the bits of `bytes` that are set in `mask`.
    pub fn new(bytes: &[u8; MASKED_BYTES], mask: &[u8; MASKED_BYTES]) -> Self {
        Self { mask: *mask, expected: std::array::from_fn(|index| bytes[index] & mask[index]) }
    }

    /// The first of `bytes` with unexpected bits, and its bits under the mask.
    #[inline]
    pub fn first_difference(&self, bytes: &[u8; MASKED_BYTES]) -> Option<(usize, u8)> {
        let words = bytes.as_chunks().0.iter().zip(self.mask.as_chunks().0).zip(self.expected.as_chunks().0);
        for (word, ((&bytes, &mask), &expected)) in words.enumerate() {
            let bits = u64::from_le_bytes(bytes) & u64::from_le_bytes(mask);
            let differing = bits ^ u64::from_le_bytes(expected);
            if differing != 0 {
                let byte = differing.trailing_zeros() / 8;
                return Some((word * 8 + byte as usize, (bits >> (8 * byte)) as u8));
            }
        }
        None
    }
}

/// The number of bytes at the start of `a` and `b` that are equal.
pub fn common_prefix_len(a: &[u8], b: &[u8]) -> usize {
    dispatch!(common_prefix_len(a, b): avx512 avx2 neon)
}

/// Counts the bytes of `haystack` that equal `needle`.
pub fn count_byte(haystack: &[u8], needle: u8) -> usize {
    dispatch!(count_byte(haystack, needle): avx512 avx2 neon)
}

/// Returns whether `bytes` have the bits that `blocks` expect: the first block applies to the first 32 bytes, and so
/// on, and the last block to the last 32, which overlap the ones before unless the length is a multiple of 32.
///
/// Returns `false` for fewer than 32 bytes, and if blocks are missing or left over.
#[inline]
pub fn has_expected_bits(bytes: &[u8], blocks: &[MaskedBytes]) -> bool {
    bytes.len() >= MASKED_BYTES && blocks.len() == bytes.len().div_ceil(MASKED_BYTES) && compare_masked(bytes, blocks)
}

#[inline]
fn compare_masked(bytes: &[u8], blocks: &[MaskedBytes]) -> bool {
    dispatch!(compare_masked(bytes, blocks): avx2 neon)
}
