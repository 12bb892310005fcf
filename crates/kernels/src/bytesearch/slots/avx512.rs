//! All slots are one register, or two; compares give masks, of which the first bit counts.
//!
//! The least of 16-bit lanes and the copy of references go as at AVX2, in wider registers; the end of a copy is loaded and
//! stored under a mask.
#![expect(unsafe_code, reason = "vector loads and stores")]

use std::arch::x86_64::{
    __m128i, __m256i, __m512i, _bzhi_u64, _mm_and_si128, _mm_loadu_si128, _mm_min_epu16, _mm_minpos_epu16,
    _mm_set1_epi8, _mm_slli_epi16, _mm256_castsi256_si128, _mm256_extracti128_si256, _mm256_min_epu16,
    _mm512_and_si512, _mm512_broadcast_i32x4, _mm512_broadcastw_epi16, _mm512_castsi512_si256, _mm512_cmpeq_epi16_mask,
    _mm512_cmpeq_epi32_mask, _mm512_extracti64x4_epi64, _mm512_loadu_si512, _mm512_mask_storeu_epi8,
    _mm512_maskz_loadu_epi8, _mm512_min_epu16, _mm512_or_si512, _mm512_set1_epi8, _mm512_set1_epi32,
    _mm512_shuffle_epi8, _mm512_srli_epi16, _mm512_storeu_si512,
};

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

    pub(super) fn remap(branches: &[u8], table: &[u8; 16], out: &mut [u8]) {
        // SAFETY: the reference is to 16 readable bytes, and this load takes any alignment.
        let table = unsafe { _mm_loadu_si128(table.as_ptr().cast()) };
        // The entries' low nibbles as high ones: no bit comes from the byte before.
        let table = _mm_slli_epi16::<4>(_mm_and_si128(table, _mm_set1_epi8(15)));
        let (blocks, tail) = branches.as_chunks::<64>();
        let (out_blocks, out_tail) = out.as_chunks_mut::<64>();
        for (from, to) in blocks.iter().zip(out_blocks) {
            // SAFETY: the reference is to 64 readable bytes, and this load takes any alignment.
            let branches = unsafe { _mm512_loadu_si512(from.as_ptr().cast()) };
            let remapped = remap_64(branches, table);
            // SAFETY: the reference is to 64 writable bytes, and this store takes any alignment.
            unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), remapped) };
        }
        let there = _bzhi_u64(u64::MAX, tail.len().min(out_tail.len()) as u32);
        // SAFETY: the mask has at most as many bits as the slice has bytes, and the load touches no other bytes.
        let branches = unsafe { _mm512_maskz_loadu_epi8(there, tail.as_ptr().cast()) };
        let remapped = remap_64(branches, table);
        // SAFETY: as above, and the store touches no other bytes.
        unsafe { _mm512_mask_storeu_epi8(out_tail.as_mut_ptr().cast(), there, remapped) };
    }

    /// The least of 32 lanes, in each lane.
    #[inline]
    fn least(values: __m512i) -> __m512i {
        let half: __m256i = _mm256_min_epu16(_mm512_castsi512_si256(values), _mm512_extracti64x4_epi64::<1>(values));
        let eight = _mm_min_epu16(_mm256_castsi256_si128(half), _mm256_extracti128_si256::<1>(half));
        _mm512_broadcastw_epi16(_mm_minpos_epu16(eight))
    }

    #[inline]
    fn remap_64(branches: __m512i, table: __m128i) -> __m512i {
        let nibble = _mm512_set1_epi8(15);
        let index = _mm512_and_si512(_mm512_srli_epi16::<4>(branches), nibble);
        let high = _mm512_shuffle_epi8(_mm512_broadcast_i32x4(table), index);
        _mm512_or_si512(high, _mm512_and_si512(branches, nibble))
    }

    #[inline]
    fn load(from: &[u16; 32]) -> __m512i {
        // SAFETY: the reference is to 64 readable bytes, and this load takes any alignment.
        unsafe { _mm512_loadu_si512(from.as_ptr().cast()) }
    }
}
