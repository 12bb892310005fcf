//! Portable hashing. A value's hash is a chain of multiplications; the hashes of neighbours run in parallel.

use super::{P1, P2, P3, P4, P5};
use crate::KernelError;
use crate::byte_strings::Source;

pub(super) fn xxh64(bytes: &[u8]) -> u64 {
    let (blocks, _) = bytes.as_chunks::<32>();
    let mut hash = if blocks.is_empty() { P5 } else { merge(blocks.iter().fold(LANES, rounds)) };
    hash = hash.wrapping_add(bytes.len() as u64);
    let (words, rest) = bytes[blocks.len() * 32..].as_chunks::<8>();
    for &word in words {
        hash = take_8(hash, u64::from_le_bytes(word));
    }
    let (halves, rest) = rest.as_chunks::<4>();
    for &half in halves {
        hash = take_4(hash, u32::from_le_bytes(half));
    }
    for &byte in rest {
        hash = take_1(hash, byte);
    }
    avalanche(hash)
}

pub(super) fn hash_strings<'s>(source: impl Source<'s>, hashes: &mut [u64]) -> Result<(), KernelError> {
    for (hash, span) in hashes.iter_mut().zip(source.spans()) {
        *hash = xxh64(span?.bytes());
    }
    Ok(())
}

/// The four lanes before the first block.
const LANES: [u64; 4] = [P1.wrapping_add(P2), P2, 0, P1.wrapping_neg()];

#[inline(always)]
fn rounds(lanes: [u64; 4], block: &[u8; 32]) -> [u64; 4] {
    let words = block.as_chunks::<8>().0;
    std::array::from_fn(|i| round(lanes[i], u64::from_le_bytes(words[i])))
}

fn merge(lanes: [u64; 4]) -> u64 {
    let rotated = lanes.iter().zip([1, 7, 12, 18]).map(|(lane, by)| lane.rotate_left(by));
    let sum = rotated.fold(0, u64::wrapping_add);
    lanes.iter().fold(sum, |hash, &lane| (hash ^ round(0, lane)).wrapping_mul(P1).wrapping_add(P4))
}

#[inline(always)]
fn round(lane: u64, word: u64) -> u64 {
    lane.wrapping_add(word.wrapping_mul(P2)).rotate_left(31).wrapping_mul(P1)
}

#[inline(always)]
fn take_8(hash: u64, word: u64) -> u64 {
    (hash ^ round(0, word)).rotate_left(27).wrapping_mul(P1).wrapping_add(P4)
}

#[inline(always)]
fn take_4(hash: u64, word: u32) -> u64 {
    (hash ^ u64::from(word).wrapping_mul(P1)).rotate_left(23).wrapping_mul(P2).wrapping_add(P3)
}

#[inline(always)]
fn take_1(hash: u64, byte: u8) -> u64 {
    (hash ^ u64::from(byte).wrapping_mul(P5)).rotate_left(11).wrapping_mul(P1)
}

#[inline(always)]
fn avalanche(mut hash: u64) -> u64 {
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(P2);
    hash ^= hash >> 29;
    hash = hash.wrapping_mul(P3);
    hash ^ hash >> 32
}

pub(super) fn hash_all_u8(values: &[u8], hashes: &mut [u64]) {
    hash_all(values, hashes, |value| take_1(P5.wrapping_add(1), value));
}

pub(super) fn hash_all_u16(values: &[u16], hashes: &mut [u64]) {
    hash_all(values, hashes, |value| {
        let [lower, upper] = value.to_le_bytes();
        take_1(take_1(P5.wrapping_add(2), lower), upper)
    });
}

pub(super) fn hash_all_u32(values: &[u32], hashes: &mut [u64]) {
    hash_all(values, hashes, |value| take_4(P5.wrapping_add(4), value));
}

pub(super) fn hash_all_u64(values: &[u64], hashes: &mut [u64]) {
    hash_all(values, hashes, |value| take_8(P5.wrapping_add(8), value));
}

pub(super) fn hash_all_u128(values: &[u128], hashes: &mut [u64]) {
    hash_all(values, hashes, |value| take_8(take_8(P5.wrapping_add(16), value as u64), (value >> 64) as u64));
}

#[inline(always)]
fn hash_all<T: Copy>(values: &[T], hashes: &mut [u64], take: impl Fn(T) -> u64) {
    for (hash, &value) in hashes.iter_mut().zip(values) {
        *hash = avalanche(take(value));
    }
}
