//! The hash, the same at all tiers, and interning with heads of words of eight bytes.

use super::{KEEP, Strings, intern_by};
use crate::KernelError;
use crate::byte_strings::Source;

pub(super) fn intern<'s>(
    table: &mut Strings<'_>,
    source: impl Source<'s>,
    codes: &mut [u32],
) -> Result<usize, KernelError> {
    match source.max_len() {
        0..=8 => intern_8(table, source, codes),
        9..=16 => intern_by(table, source, codes, words::<16, 2>, hash_16, equal),
        _ => intern_by(table, source, codes, words::<32, 4>, hash_32, equal),
    }
}

#[inline(always)]
pub(super) fn intern_8<'s>(
    table: &mut Strings<'_>,
    source: impl Source<'s>,
    codes: &mut [u32],
) -> Result<usize, KernelError> {
    intern_by(table, source, codes, words::<8, 1>, hash_8, equal)
}

/// The bytes under the mask; the others are zeros. `N` is the number of words in `W` bytes.
#[inline(always)]
fn words<const W: usize, const N: usize>(bytes: &[u8; W], keep: &[u8; W]) -> [u64; N] {
    let (bytes, keep) = (bytes.as_chunks::<8>().0, keep.as_chunks::<8>().0);
    std::array::from_fn(|i| u64::from_le_bytes(bytes[i]) & u64::from_le_bytes(keep[i]))
}

#[inline(always)]
fn equal<const W: usize, const N: usize>(head: [u64; N], stored: &[u8; W], keep: &[u8; W]) -> bool {
    head == words(stored, keep)
}

/// The constants that the words of a head are combined with before they are multiplied.
pub(super) const KEYS: [u64; 4] =
    [0x9E37_79B9_7F4A_7C15, 0xD6E8_FEB8_6659_FD93, 0x9FB2_1C65_1E98_DF25, 0xC3A5_C85C_97CB_3127];

/// The hash of any string. For a string over 32 bytes, it covers the length, the blocks, and the last bytes.
pub(super) fn hash(value: &[u8]) -> u64 {
    let len = value.len();
    let Some(last) = value.last_chunk::<32>() else {
        let mut head = [0; 32];
        head[..len].copy_from_slice(value);
        return hash_32(words(&head, &KEEP[len]), len);
    };
    let blocks = &value.as_chunks::<32>().0[..(len - 1) / 32];
    let state = blocks.iter().fold(len as u64, |state, block| mix(words(block, &KEEP[32]), state));
    mix(words(last, &KEEP[32]), state)
}

#[inline(always)]
fn hash_8([a]: [u64; 1], len: usize) -> u64 {
    mix([a, 0, 0, 0], len as u64)
}

#[inline(always)]
fn hash_16([a, b]: [u64; 2], len: usize) -> u64 {
    mix([a, b, 0, 0], len as u64)
}

#[inline(always)]
fn hash_32(words: [u64; 4], len: usize) -> u64 {
    mix(words, len as u64)
}

#[inline(always)]
fn mix(words: [u64; 4], state: u64) -> u64 {
    multiply(std::array::from_fn(|i| words[i] ^ KEYS[i]), state)
}

/// Two products of 128 bits with their halves folded, so that each bit of the words reaches both ends; the last
/// multiplication moves the state to the upper end.
#[inline(always)]
pub(super) fn multiply([a, b, c, d]: [u64; 4], state: u64) -> u64 {
    (fold(a, b) ^ fold(c, d)).wrapping_add(state).wrapping_mul(0xA24B_AED4_963E_E407)
}

#[inline(always)]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}
