//! Byte strings: how far two agree, and how often a byte stands in one.

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

/// The number of bytes at the start of `a` and `b` that are equal.
pub fn common_prefix_len(a: &[u8], b: &[u8]) -> usize {
    dispatch!(common_prefix_len(a, b): avx512 avx2 neon)
}

/// How many bytes of `haystack` equal `needle`.
pub fn count_byte(haystack: &[u8], needle: u8) -> usize {
    dispatch!(count_byte(haystack, needle): avx512 avx2 neon)
}
