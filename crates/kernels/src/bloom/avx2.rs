//! A block is one register: a multiplication by all salts, a shift to bit numbers, a shift by them.
//!
//! No branch depends on the contents of a block, so the processor fetches as many blocks at a time as it can.
//!
//! One check makes the bits and tests them (`vptest`). Eight checks shift each word so that the bit in question becomes
//! its lowest, and reduce the eight registers to one by a transposition whose every step halves their number:
//!
//! ```text
//! a₀ a₁ a₂ a₃ │ a₄ a₅ a₆ a₇       words of check a, by halves of the register
//! b₀ b₁ b₂ b₃ │ b₄ b₅ b₆ b₇
//!   a₀∧a₂  b₀∧b₂  a₁∧a₃  b₁∧b₃ │ …             two registers to one
//!   a  b  c  d │ a  b  c  d                    four to one: each lane still half of a check
//!   a  b  c  d │ e  f  g  h                    eight to one
//! ```
#![expect(unsafe_code, reason = "vector loads and stores")]

use std::arch::x86_64::{
    __m256i, _mm256_and_si256, _mm256_castsi256_ps, _mm256_loadu_si256, _mm256_movemask_ps, _mm256_mullo_epi32,
    _mm256_or_si256, _mm256_permute2x128_si256, _mm256_set1_epi32, _mm256_setzero_si256, _mm256_slli_epi32,
    _mm256_sllv_epi32, _mm256_srli_epi32, _mm256_srlv_epi32, _mm256_storeu_si256, _mm256_testc_si256,
    _mm256_unpackhi_epi32, _mm256_unpackhi_epi64, _mm256_unpacklo_epi32, _mm256_unpacklo_epi64,
};

use super::blocks::{Blocks, BlocksMut};
use super::{Block, SALT, WORD};
use crate::tier::avx2;

/// The number of hashes whose bits are computed before the first of them is inserted.
const INSERTED: usize = 8;

/// The number of checks that are reduced together.
const GROUP: usize = 8;

avx2! {
    pub(super) fn insert_all(blocks: &mut BlocksMut<'_>, hashes: &[u64]) {
        let salt = salt();
        let (groups, rest) = hashes.as_chunks::<INSERTED>();
        for group in groups {
            let bits = group.map(|hash| bits(hash, salt));
            for (&hash, bits) in group.iter().zip(bits) {
                let block = blocks.of(hash);
                store(block, _mm256_or_si256(load(block), bits));
            }
        }
        for &hash in rest {
            let block = blocks.of(hash);
            store(block, _mm256_or_si256(load(block), bits(hash, salt)));
        }
    }

    #[inline]
    pub(super) fn check(block: &Block, hash: u64) -> bool {
        _mm256_testc_si256(load(block), bits(hash, salt())) != 0
    }

    #[inline]
    pub(super) fn check_hashes(blocks: Blocks<'_>, hashes: &[u64], mut take: impl FnMut(u64)) {
        let salt = salt();
        let (words, rest) = hashes.as_chunks::<WORD>();
        for word in words {
            let blocks = blocks.blocks_for(word);
            let mut answers = 0;
            let groups = word.as_chunks::<GROUP>().0.iter().zip(blocks.as_chunks::<GROUP>().0);
            for (j, (hashes, blocks)) in groups.enumerate() {
                let mut shifted = [salt; GROUP];
                for ((to, &hash), block) in shifted.iter_mut().zip(hashes).zip(blocks) {
                    *to = _mm256_srlv_epi32(load(block), bit_numbers(hash, salt));
                }
                answers |= u64::from(all_lowest(shifted)) << (j * GROUP);
            }
            take(answers);
        }
        if !rest.is_empty() {
            let answers = rest.iter().enumerate().fold(0, |answers, (i, &hash)| {
                answers | u64::from(check(blocks.of(hash), hash)) << i
            });
            take(answers);
        }
    }

    #[inline]
    pub(super) fn check_refs(blocks: &[&Block], hash: u64) -> u64 {
        let numbers = bit_numbers(hash, salt());
        let (groups, rest) = blocks.as_chunks::<GROUP>();
        let mut answers = 0;
        for (i, group) in groups.iter().enumerate() {
            let shifted = group.map(|block| _mm256_srlv_epi32(load(block), numbers));
            answers |= u64::from(all_lowest(shifted)) << (i * GROUP);
        }
        if !rest.is_empty() {
            let mut shifted = [_mm256_setzero_si256(); GROUP];
            for (to, block) in shifted.iter_mut().zip(rest) {
                *to = _mm256_srlv_epi32(load(block), numbers);
            }
            answers |= u64::from(all_lowest(shifted)) << (groups.len() * GROUP);
        }
        answers
    }

    /// Bit `i` of the answer tells whether all words of register `i` have their lowest bit set.
    #[inline]
    fn all_lowest(words: [__m256i; GROUP]) -> u8 {
        let [a, b, c, d, e, f, g, h] = words;
        let low = and_fours(and_pairs(a, b), and_pairs(c, d));
        let high = and_fours(and_pairs(e, f), and_pairs(g, h));
        let all = _mm256_and_si256(
            _mm256_permute2x128_si256::<0x20>(low, high),
            _mm256_permute2x128_si256::<0x31>(low, high),
        );
        _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_slli_epi32::<31>(all))) as u8
    }

    #[inline]
    fn and_pairs(a: __m256i, b: __m256i) -> __m256i {
        _mm256_and_si256(_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b))
    }

    #[inline]
    fn and_fours(a: __m256i, b: __m256i) -> __m256i {
        _mm256_and_si256(_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b))
    }

    /// The bit of a hash in each word.
    #[inline]
    fn bits(hash: u64, salt: __m256i) -> __m256i {
        _mm256_sllv_epi32(_mm256_set1_epi32(1), bit_numbers(hash, salt))
    }

    /// The number of a hash's bit in each word.
    #[inline]
    fn bit_numbers(hash: u64, salt: __m256i) -> __m256i {
        _mm256_srli_epi32::<27>(_mm256_mullo_epi32(_mm256_set1_epi32((hash as u32).cast_signed()), salt))
    }

    #[inline]
    fn salt() -> __m256i {
        // SAFETY: the array is 32 readable bytes, and this load takes any alignment.
        unsafe { _mm256_loadu_si256(SALT.as_ptr().cast()) }
    }

    #[inline]
    fn load(from: &Block) -> __m256i {
        // SAFETY: the reference is to 32 readable bytes, and this load takes any alignment.
        unsafe { _mm256_loadu_si256(from.as_ptr().cast()) }
    }

    #[inline]
    fn store(to: &mut Block, value: __m256i) {
        // SAFETY: the reference is to 32 writable bytes, and this store takes any alignment.
        unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), value) }
    }
}
