//! Deltas are differences of loads that are one value apart. Two passes process a block in L1: the first finds its
//! smallest delta and the largest of each miniblock, whose difference has the width; the second packs the deltas above
//! the smallest, from registers, like [`bitpack`](crate::bitpack).
//!
//! The maxima of four miniblocks are transposed while they are combined, so that all four become widths at once. Cost
//! of the first pass per eight values: i32 5 instructions, i64 14 (AVX2 has no 64-bit minimum).
//!
//! Tried and rejected: deltas stored in the first pass, raised and stored again while their bits are collected by OR
//! (i32 .45 instead of .30, i64 .85 instead of .52 at width 8).
#![expect(unsafe_code, reason = "loads and stores through pointers")]

use std::arch::x86_64::*;

use super::blocks::{self, MINIBLOCK, MINIBLOCKS, Shape, Values};
use crate::bitpack::pack::avx2::{pack_groups_32, pack_groups_64};
use crate::tier::avx2;

avx2! {
    pub(super) fn encode_i32(values: &[i32], out: &mut [u8]) -> usize {
        blocks::encode(
            values,
            out,
            |values| measure_i32(values),
            |values, min_delta, width, out| {
                let min_delta = _mm256_set1_epi32(min_delta);
                let load = |group: usize| _mm256_sub_epi32(deltas_i32(values, group), min_delta);
                if width > 0 {
                    pack_groups_32(load, MINIBLOCK / 8, width as usize, out);
                }
            },
        )
    }

    pub(super) fn encode_i64(values: &[i64], out: &mut [u8]) -> usize {
        blocks::encode(
            values,
            out,
            |values| measure_i64(values),
            |values, min_delta, width, out| {
                let min_delta = _mm256_set1_epi64x(min_delta);
                let load = |four: usize| _mm256_sub_epi64(deltas_i64(values, four), min_delta);
                if width > 0 {
                    pack_groups_64(load, MINIBLOCK / 8, width as usize, out);
                }
            },
        )
    }

    /// The deltas of the values after the first in groups of eight.
    #[inline]
    fn deltas_i32<const N: usize>(values: &[i32; N], group: usize) -> __m256i {
        let at = &values[group * 8..group * 8 + 9];
        // SAFETY: the slice is nine values long.
        let before = unsafe { _mm256_loadu_si256(at.as_ptr().cast()) };
        // SAFETY: as above.
        let these = unsafe { _mm256_loadu_si256(at[1..].as_ptr().cast()) };
        _mm256_sub_epi32(these, before)
    }

    /// The deltas of the values after the first in fours.
    #[inline]
    fn deltas_i64<const N: usize>(values: &[i64; N], four: usize) -> __m256i {
        let at = &values[four * 4..four * 4 + 5];
        // SAFETY: the slice is five values long.
        let before = unsafe { _mm256_loadu_si256(at.as_ptr().cast()) };
        // SAFETY: as above.
        let these = unsafe { _mm256_loadu_si256(at[1..].as_ptr().cast()) };
        _mm256_sub_epi64(these, before)
    }

    #[inline]
    fn measure_i32(values: &Values<i32>) -> Shape<i32> {
        let mut min = _mm256_set1_epi32(i32::MAX);
        let mut maxima = [_mm256_set1_epi32(i32::MIN); MINIBLOCKS];
        for (miniblock, max) in maxima.iter_mut().enumerate() {
            for group in 0..MINIBLOCK / 8 {
                let deltas = deltas_i32(values, miniblock * (MINIBLOCK / 8) + group);
                min = _mm256_min_epi32(min, deltas);
                *max = _mm256_max_epi32(*max, deltas);
            }
        }
        let [a, b, c, d] = maxima;
        let min = _mm_min_epi32(_mm256_castsi256_si128(min), _mm256_extracti128_si256::<1>(min));
        let min = _mm_min_epi32(min, _mm_shuffle_epi32::<0b01_00_11_10>(min));
        let min = _mm_min_epi32(min, _mm_shuffle_epi32::<0b10_11_00_01>(min));
        // Lanes of miniblocks 0 1 0 1 and 2 3 2 3, then 0 1 2 3 in both halves.
        let low = _mm256_max_epi32(_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
        let high = _mm256_max_epi32(_mm256_unpacklo_epi32(c, d), _mm256_unpackhi_epi32(c, d));
        let max = _mm256_max_epi32(_mm256_unpacklo_epi64(low, high), _mm256_unpackhi_epi64(low, high));
        let max = _mm_max_epi32(_mm256_castsi256_si128(max), _mm256_extracti128_si256::<1>(max));
        let difference = _mm_sub_epi32(max, min);
        let mut above = [0_u32; MINIBLOCKS];
        // SAFETY: the array is 16 bytes.
        unsafe { _mm_storeu_si128(above.as_mut_ptr().cast(), difference) };
        let mut widths = [0; MINIBLOCKS];
        for (width, above) in widths.iter_mut().zip(above) {
            *width = u32::BITS - above.leading_zeros();
        }
        Shape { min_delta: _mm_cvtsi128_si32(min), widths }
    }

    #[inline]
    fn measure_i64(values: &Values<i64>) -> Shape<i64> {
        // Two minima, because a comparison and a blend take three cycles.
        let mut min = [_mm256_set1_epi64x(i64::MAX); 2];
        let mut maxima = [_mm256_set1_epi64x(i64::MIN); MINIBLOCKS];
        for (miniblock, greatest) in maxima.iter_mut().enumerate() {
            let mut max = [_mm256_set1_epi64x(i64::MIN); 2];
            for pair in 0..MINIBLOCK / 8 {
                for half in 0..2 {
                    let deltas = deltas_i64(values, miniblock * (MINIBLOCK / 4) + pair * 2 + half);
                    min[half] = lesser(min[half], deltas);
                    max[half] = greater(max[half], deltas);
                }
            }
            *greatest = greater(max[0], max[1]);
        }
        let [a, b, c, d] = maxima;
        let min = lesser(min[0], min[1]);
        let min = lesser(min, _mm256_permute4x64_epi64::<0b01_00_11_10>(min));
        let min = lesser(min, _mm256_permute4x64_epi64::<0b10_11_00_01>(min));
        // Lanes of miniblocks 0 1 0 1 and 2 3 2 3, then 0 1 2 3.
        let low = greater(_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b));
        let high = greater(_mm256_unpacklo_epi64(c, d), _mm256_unpackhi_epi64(c, d));
        let first = _mm256_permute2x128_si256::<0x20>(low, high);
        let max = greater(first, _mm256_permute2x128_si256::<0x31>(low, high));
        let difference = _mm256_sub_epi64(max, min);
        let mut above = [0_u64; MINIBLOCKS];
        // SAFETY: the array is 32 bytes.
        unsafe { _mm256_storeu_si256(above.as_mut_ptr().cast(), difference) };
        let min_delta = _mm_cvtsi128_si64(_mm256_castsi256_si128(min));
        let mut widths = [0; MINIBLOCKS];
        for (width, above) in widths.iter_mut().zip(above) {
            *width = u64::BITS - above.leading_zeros();
        }
        Shape { min_delta, widths }
    }

    #[inline]
    fn lesser(a: __m256i, b: __m256i) -> __m256i {
        _mm256_blendv_epi8(a, b, _mm256_cmpgt_epi64(a, b))
    }

    #[inline]
    fn greater(a: __m256i, b: __m256i) -> __m256i {
        _mm256_blendv_epi8(b, a, _mm256_cmpgt_epi64(a, b))
    }
}
