//! A block is two registers of four words.
//!
//! SSE4.1 has no shift by lanes. The power of two is made as a float, with the bit number as its exponent. 2³¹ is out
//! of range of the conversion to integers, for which the processor returns exactly the required bit.
#![expect(unsafe_code, reason = "vector loads and stores")]

use std::arch::x86_64::{
    __m128i, _mm_add_epi32, _mm_and_si128, _mm_andnot_si128, _mm_castsi128_ps, _mm_cmpeq_epi32, _mm_cvttps_epi32,
    _mm_loadu_si128, _mm_movemask_ps, _mm_mullo_epi32, _mm_or_si128, _mm_set1_epi32, _mm_setzero_si128, _mm_srli_epi32,
    _mm_storeu_si128, _mm_testc_si128, _mm_unpackhi_epi32, _mm_unpackhi_epi64, _mm_unpacklo_epi32, _mm_unpacklo_epi64,
};

use super::blocks::{Blocks, BlocksMut};
use super::{Block, SALT, WORD};
use crate::tier::sse41;

/// The number of checks that are reduced together.
const GROUP: usize = 4;

sse41! {
    pub(super) fn insert_all(blocks: &mut BlocksMut<'_>, hashes: &[u64]) {
        let salt = salt();
        for &hash in hashes {
            let block = blocks.of(hash);
            let (before, bits) = (load(block), bits(hash, salt));
            for ((half, before), bits) in block.as_chunks_mut::<16>().0.iter_mut().zip(before).zip(bits) {
                let after = _mm_or_si128(before, bits);
                // SAFETY: the reference is to 16 writable bytes, and this store takes any alignment.
                unsafe { _mm_storeu_si128(half.as_mut_ptr().cast(), after) };
            }
        }
    }

    #[inline]
    pub(super) fn check(block: &Block, hash: u64) -> bool {
        let ([low, high], [low_bits, high_bits]) = (load(block), bits(hash, salt()));
        _mm_testc_si128(low, low_bits) & _mm_testc_si128(high, high_bits) != 0
    }

    #[inline]
    pub(super) fn check_hashes(blocks: Blocks<'_>, hashes: &[u64], mut take: impl FnMut(u64)) {
        let salt = salt();
        for hashes in hashes.chunks(WORD) {
            let (groups, rest) = hashes.as_chunks::<GROUP>();
            let mut answers = 0;
            for (i, group) in groups.iter().enumerate() {
                let missing = group.map(|hash| missing(blocks.of(hash), bits(hash, salt)));
                answers |= none_missing(missing) << (i * GROUP);
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
            answers |= none_missing(group.map(|block| missing(block, bits))) << (i * GROUP);
        }
        for (i, &block) in rest.iter().enumerate() {
            answers |= u64::from(check(block, hash)) << (groups.len() * GROUP + i);
        }
        answers
    }

    /// The bits that a block lacks, with its halves combined.
    #[inline]
    fn missing(block: &Block, bits: [__m128i; 2]) -> __m128i {
        let [low, high] = load(block);
        _mm_or_si128(_mm_andnot_si128(low, bits[0]), _mm_andnot_si128(high, bits[1]))
    }

    /// Bit `i` of the answer tells whether register `i` is zero.
    #[inline]
    fn none_missing([a, b, c, d]: [__m128i; GROUP]) -> u64 {
        let pairs = [or_pairs(a, b), or_pairs(c, d)];
        let all = _mm_or_si128(_mm_unpacklo_epi64(pairs[0], pairs[1]), _mm_unpackhi_epi64(pairs[0], pairs[1]));
        let none = _mm_cmpeq_epi32(all, _mm_setzero_si128());
        u64::from(_mm_movemask_ps(_mm_castsi128_ps(none)).cast_unsigned())
    }

    #[inline]
    fn or_pairs(a: __m128i, b: __m128i) -> __m128i {
        _mm_or_si128(_mm_unpacklo_epi32(a, b), _mm_unpackhi_epi32(a, b))
    }

    /// The bit of a hash in each word.
    #[inline]
    fn bits(hash: u64, salt: [__m128i; 2]) -> [__m128i; 2] {
        let key = _mm_set1_epi32((hash as u32).cast_signed());
        salt.map(|salt| {
            let product = _mm_mullo_epi32(key, salt);
            // The upper five bits, at the position of the lower five of a float's exponent.
            let number = _mm_and_si128(_mm_srli_epi32::<4>(product), _mm_set1_epi32(0x1F << 23));
            let power = _mm_add_epi32(number, _mm_set1_epi32(127 << 23));
            _mm_cvttps_epi32(_mm_castsi128_ps(power))
        })
    }

    #[inline]
    fn salt() -> [__m128i; 2] {
        let (low, high) = SALT.split_at(4);
        // SAFETY: the slice is 16 readable bytes, and this load takes any alignment.
        let low = unsafe { _mm_loadu_si128(low.as_ptr().cast()) };
        // SAFETY: as above.
        let high = unsafe { _mm_loadu_si128(high.as_ptr().cast()) };
        [low, high]
    }

    #[inline]
    fn load(block: &Block) -> [__m128i; 2] {
        let (low, high) = block.split_at(16);
        // SAFETY: the slice is 16 readable bytes, and this load takes any alignment.
        let low = unsafe { _mm_loadu_si128(low.as_ptr().cast()) };
        // SAFETY: as above.
        let high = unsafe { _mm_loadu_si128(high.as_ptr().cast()) };
        [low, high]
    }
}
