//! A block is two registers of four words.
//!
//! Four checks are reduced together, by minima of neighbours: each of two steps halves the number of registers, and one
//! word remains for each check.
#![expect(unsafe_code, reason = "vector loads and stores")]

use std::arch::aarch64::{
    uint32x4_t, vaddvq_u32, vandq_u32, vdupq_n_u32, vld1q_u8, vld1q_u32, vminvq_u32, vmulq_n_u32, vorrq_u8, vpminq_u32,
    vreinterpretq_s32_u32, vreinterpretq_u8_u32, vreinterpretq_u32_u8, vshlq_u32, vshrq_n_u32, vst1q_u8, vtstq_u32,
};

use super::blocks::{Blocks, BlocksMut};
use super::{Block, SALT, WORD};
use crate::tier::neon;

/// The number of checks that are reduced together.
const GROUP: usize = 4;

neon! {
    pub(super) fn insert_all(blocks: &mut BlocksMut<'_>, hashes: &[u64]) {
        let salt = salt();
        for &hash in hashes {
            let bits = bits(hash, salt);
            for (half, bits) in blocks.of(hash).as_chunks_mut::<16>().0.iter_mut().zip(bits) {
                // SAFETY: the reference is to 16 readable bytes.
                let before = unsafe { vld1q_u8(half.as_ptr()) };
                let after = vorrq_u8(before, vreinterpretq_u8_u32(bits));
                // SAFETY: the reference is to 16 writable bytes.
                unsafe { vst1q_u8(half.as_mut_ptr(), after) }
            }
        }
    }

    #[inline]
    pub(super) fn check(block: &Block, hash: u64) -> bool {
        vminvq_u32(found(block, bits(hash, salt()))) != 0
    }

    #[inline]
    pub(super) fn check_hashes(blocks: Blocks<'_>, hashes: &[u64], mut take: impl FnMut(u64)) {
        let salt = salt();
        for hashes in hashes.chunks(WORD) {
            let (groups, rest) = hashes.as_chunks::<GROUP>();
            let mut answers = 0;
            for (i, group) in groups.iter().enumerate() {
                answers |= all_found(group.map(|hash| found(blocks.of(hash), bits(hash, salt)))) << (i * GROUP);
            }
            for (i, &hash) in rest.iter().enumerate() {
                answers |= u64::from(check(blocks.of(hash), hash)) << (groups.len() * GROUP + i);
            }
            take(answers);
        }
    }

    #[inline]
    pub(super) fn check_refs(blocks: &[&Block], hash: u64) -> u64 {
        let bits = bits(hash, salt());
        let (groups, rest) = blocks.as_chunks::<GROUP>();
        let mut answers = 0;
        for (i, group) in groups.iter().enumerate() {
            answers |= all_found(group.map(|block| found(block, bits))) << (i * GROUP);
        }
        for (i, &block) in rest.iter().enumerate() {
            answers |= u64::from(check(block, hash)) << (groups.len() * GROUP + i);
        }
        answers
    }

    /// All ones where both halves of a block have their bit set.
    #[inline]
    fn found(block: &Block, bits: [uint32x4_t; 2]) -> uint32x4_t {
        let (low, high) = block.split_at(16);
        // SAFETY: the slice is 16 readable bytes.
        let low = unsafe { vld1q_u8(low.as_ptr()) };
        // SAFETY: as above.
        let high = unsafe { vld1q_u8(high.as_ptr()) };
        let low = vtstq_u32(vreinterpretq_u32_u8(low), bits[0]);
        vandq_u32(low, vtstq_u32(vreinterpretq_u32_u8(high), bits[1]))
    }

    /// Bit `i` of the answer tells whether register `i` is all ones.
    #[inline]
    fn all_found([a, b, c, d]: [uint32x4_t; GROUP]) -> u64 {
        let all = vpminq_u32(vpminq_u32(a, b), vpminq_u32(c, d));
        // SAFETY: the array is four readable words.
        let places = unsafe { vld1q_u32([1, 2, 4, 8].as_ptr()) };
        u64::from(vaddvq_u32(vandq_u32(all, places)))
    }

    /// The bit of a hash in each word.
    #[inline]
    fn bits(hash: u64, salt: [uint32x4_t; 2]) -> [uint32x4_t; 2] {
        salt.map(|salt| {
            let number = vshrq_n_u32::<27>(vmulq_n_u32(salt, hash as u32));
            vshlq_u32(vdupq_n_u32(1), vreinterpretq_s32_u32(number))
        })
    }

    #[inline]
    fn salt() -> [uint32x4_t; 2] {
        let (low, high) = SALT.split_at(4);
        // SAFETY: the slice is four readable words.
        let low = unsafe { vld1q_u32(low.as_ptr()) };
        // SAFETY: as above.
        let high = unsafe { vld1q_u32(high.as_ptr()) };
        [low, high]
    }
}
