//! All slots are one register, or two; compares give masks, of which the first bit counts.
//!
//! The minimum of 16-bit lanes works like at AVX2, in wider registers. The copy of references is AVX2's: with an end
//! loaded and stored under a mask, later loads waited for it (18 ns instead of 11 to 16).
#![expect(unsafe_code, reason = "vector loads")]

use std::arch::x86_64::{
    __m256i, __m512i, _mm_min_epu16, _mm_minpos_epu16, _mm256_castsi256_si128, _mm256_extracti128_si256,
    _mm256_min_epu16, _mm512_broadcastw_epi16, _mm512_castsi512_si256, _mm512_cmpeq_epi16_mask,
    _mm512_cmpeq_epi32_mask, _mm512_extracti64x4_epi64, _mm512_loadu_si512, _mm512_min_epu16, _mm512_set1_epi32,
};

pub(super) use super::avx2::remap;
use super::scalar;
use crate::tier::avx512;

avx512! {
    pub(super) fn find(values: &[u32; 16], wanted: u32) -> usize {
        // SAFETY: the reference is to 64 readable bytes, and this load takes any alignment.
        let values = unsafe { _mm512_loadu_si512(values.as_ptr().cast()) };
        let found = _mm512_cmpeq_epi32_mask(values, _mm512_set1_epi32(wanted.cast_signed()));
        (u32::from(found) | 1 << 16).trailing_zeros() as usize
    }

    pub(super) fn least_of_32(values: &[u16; 32]) -> usize {
        let values = load(values);
        _mm512_cmpeq_epi16_mask(values, least(values)).trailing_zeros() as usize
    }

    pub(super) fn least_of_64(values: &[u16; 64]) -> usize {
        let [low, high] = values.as_chunks::<32>().0 else { return scalar::least_of_64(values) };
        let (low, high) = (load(low), load(high));
        let least = least(_mm512_min_epu16(low, high));
        let low = u64::from(_mm512_cmpeq_epi16_mask(low, least));
        (low | u64::from(_mm512_cmpeq_epi16_mask(high, least)) << 32).trailing_zeros() as usize
    }

    /// The minimum of 32 lanes, in each lane.
    #[inline]
    fn least(values: __m512i) -> __m512i {
        let half: __m256i = _mm256_min_epu16(_mm512_castsi512_si256(values), _mm512_extracti64x4_epi64::<1>(values));
        let eight = _mm_min_epu16(_mm256_castsi256_si128(half), _mm256_extracti128_si256::<1>(half));
        _mm512_broadcastw_epi16(_mm_minpos_epu16(eight))
    }

    #[inline]
    fn load(from: &[u16; 32]) -> __m512i {
        // SAFETY: the reference is to 64 readable bytes, and this load takes any alignment.
        unsafe { _mm512_loadu_si512(from.as_ptr().cast()) }
    }
}
