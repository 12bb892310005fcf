//! Four hashes at a time. A multiplication by a constant is two: one of the lower halves in full, and one of halves
//! crosswise for their lower 32 bits, which add up in the upper half.
//!
//! ```text
//! value      u      l          constant   U      L
//! full       l · L                          64 bits
//! crosswise  u · L │ l · U                  32 bits each, summed to the upper half
//! ```
#![expect(unsafe_code, reason = "vector loads and stores")]

use std::arch::x86_64::{
    __m256i, _mm_loadu_si128, _mm256_add_epi32, _mm256_add_epi64, _mm256_cvtepu32_epi64, _mm256_loadu_si256,
    _mm256_mul_epu32, _mm256_mullo_epi32, _mm256_or_si256, _mm256_permute4x64_epi64, _mm256_set1_epi64x,
    _mm256_slli_epi64, _mm256_srli_epi64, _mm256_storeu_si256, _mm256_unpackhi_epi64, _mm256_unpacklo_epi64,
    _mm256_xor_si256,
};

use super::{P1, P2, P3, P4, P5, scalar};
use crate::tier::avx2;

const LANES: usize = 4;

avx2! {
    pub(super) fn hash_all_u32(values: &[u32], hashes: &mut [u64]) {
        let (blocks, tail) = values.as_chunks::<LANES>();
        let (outs, out_tail) = hashes.as_chunks_mut::<LANES>();
        for (block, out) in blocks.iter().zip(outs) {
            // SAFETY: the reference is to 16 readable bytes, and this load takes any alignment.
            let narrow = unsafe { _mm_loadu_si128(block.as_ptr().cast()) };
            let product = multiply(_mm256_cvtepu32_epi64(narrow), P1);
            let hash = rotate::<23, 41>(_mm256_xor_si256(product, set(P5.wrapping_add(4))));
            store(out, avalanche(_mm256_add_epi64(multiply(hash, P2), set(P3))));
        }
        scalar::hash_all_u32(tail, out_tail);
    }

    pub(super) fn hash_all_u64(values: &[u64], hashes: &mut [u64]) {
        let (blocks, tail) = values.as_chunks::<LANES>();
        let (outs, out_tail) = hashes.as_chunks_mut::<LANES>();
        for (block, out) in blocks.iter().zip(outs) {
            store(out, avalanche(take_8(set(P5.wrapping_add(8)), load(block))));
        }
        scalar::hash_all_u64(tail, out_tail);
    }

    pub(super) fn hash_all_u128(values: &[u128], hashes: &mut [u64]) {
        let (blocks, tail) = values.as_chunks::<LANES>();
        let (outs, out_tail) = hashes.as_chunks_mut::<LANES>();
        for (block, out) in blocks.iter().zip(outs) {
            // SAFETY: the reference is to 64 readable bytes, and this load takes any alignment.
            let first = unsafe { _mm256_loadu_si256(block.as_ptr().cast()) };
            // SAFETY: these are the second half of them.
            let second = unsafe { _mm256_loadu_si256(block[LANES / 2..].as_ptr().cast()) };
            // Values 0, 2, 1, 3, which the last permutation reorders.
            let lower = take_8(set(P5.wrapping_add(16)), _mm256_unpacklo_epi64(first, second));
            let hash = avalanche(take_8(lower, _mm256_unpackhi_epi64(first, second)));
            store(out, _mm256_permute4x64_epi64::<0b11_01_10_00>(hash));
        }
        scalar::hash_all_u128(tail, out_tail);
    }

    #[inline]
    fn take_8(hash: __m256i, word: __m256i) -> __m256i {
        let round = multiply(rotate::<31, 33>(multiply(word, P2)), P1);
        _mm256_add_epi64(multiply(rotate::<27, 37>(_mm256_xor_si256(hash, round)), P1), set(P4))
    }

    #[inline]
    fn avalanche(hash: __m256i) -> __m256i {
        let hash = multiply(_mm256_xor_si256(hash, _mm256_srli_epi64::<33>(hash)), P2);
        let hash = multiply(_mm256_xor_si256(hash, _mm256_srli_epi64::<29>(hash)), P3);
        _mm256_xor_si256(hash, _mm256_srli_epi64::<32>(hash))
    }

    #[inline]
    fn multiply(value: __m256i, by: u64) -> __m256i {
        let crosswise = _mm256_mullo_epi32(value, set(by.rotate_left(32)));
        let upper = _mm256_slli_epi64::<32>(_mm256_add_epi32(crosswise, _mm256_srli_epi64::<32>(crosswise)));
        _mm256_add_epi64(_mm256_mul_epu32(value, set(by)), upper)
    }

    /// The two counts add up to 64.
    #[inline]
    fn rotate<const LEFT: i32, const RIGHT: i32>(value: __m256i) -> __m256i {
        const { assert!(LEFT + RIGHT == 64) };
        _mm256_or_si256(_mm256_slli_epi64::<LEFT>(value), _mm256_srli_epi64::<RIGHT>(value))
    }

    #[inline]
    fn set(number: u64) -> __m256i {
        _mm256_set1_epi64x(number.cast_signed())
    }

    #[inline]
    fn load(from: &[u64; LANES]) -> __m256i {
        // SAFETY: the reference is to 32 readable bytes, and this load takes any alignment.
        unsafe { _mm256_loadu_si256(from.as_ptr().cast()) }
    }

    #[inline]
    fn store(to: &mut [u64; LANES], hashes: __m256i) {
        // SAFETY: the reference is to 32 writable bytes, and this store takes any alignment.
        unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), hashes) }
    }
}
