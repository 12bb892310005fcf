//! Eight doubles or sixteen floats at a time: scaled, converted to integers and back, scaled back, compared bit by bit.
//!
//! Both conversions round to the nearest integer, ties to even, and give the smallest integer for everything out of
//! range. Minimum and maximum take only hits, by the mask of the comparison.
#![expect(unsafe_code, reason = "loads and stores through pointers")]

use std::arch::x86_64::*;

use super::super::scale::Scale;
use super::{BLOCK, scalar};
use crate::tier::avx512;

avx512! {
    pub(super) fn digitize_f32(
        values: &[[f32; BLOCK]],
        scale: &Scale<f32>,
        out: &mut [[u32; BLOCK]],
        misses: &mut [u64],
    ) -> (f32, f32) {
        let [raise, lower] = scale.to_integer.map(|power| _mm512_set1_ps(power));
        let [up, down] = scale.to_value.map(|power| _mm512_set1_ps(power));
        let (mut min, mut max) = (_mm512_set1_ps(f32::INFINITY), _mm512_set1_ps(f32::NEG_INFINITY));
        for ((values, out), misses) in values.iter().zip(out).zip(misses) {
            let mut hits = 0;
            let sixteens = values.as_chunks::<16>().0.iter().zip(out.as_chunks_mut::<16>().0);
            for (index, (values, out)) in sixteens.enumerate() {
                // SAFETY: the reference is to sixteen values.
                let values = unsafe { _mm512_loadu_ps(values.as_ptr()) };
                let integers = _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_mul_ps(values, raise), lower));
                let rounded = _mm512_cvtepi32_ps(integers);
                let given_back = _mm512_castps_si512(_mm512_mul_ps(_mm512_mul_ps(rounded, up), down));
                let hit = _mm512_cmpeq_epi32_mask(given_back, _mm512_castps_si512(values));
                hits |= u64::from(hit) << (16 * index);
                min = _mm512_mask_min_ps(min, hit, min, rounded);
                max = _mm512_mask_max_ps(max, hit, max, rounded);
                // SAFETY: the reference is to sixteen integers.
                unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), integers) };
            }
            *misses = !hits;
        }
        (_mm512_reduce_min_ps(min), _mm512_reduce_max_ps(max))
    }

    pub(super) fn digitize_f64(
        values: &[[f64; BLOCK]],
        scale: &Scale<f64>,
        out: &mut [[u64; BLOCK]],
        misses: &mut [u64],
    ) -> (f64, f64) {
        let [raise, lower] = scale.to_integer.map(|power| _mm512_set1_pd(power));
        let [up, down] = scale.to_value.map(|power| _mm512_set1_pd(power));
        let least = _mm512_set1_epi64(i64::MIN);
        let (mut min, mut max) = (_mm512_set1_pd(f64::INFINITY), _mm512_set1_pd(f64::NEG_INFINITY));
        for ((values, out), misses) in values.iter().zip(out).zip(misses) {
            let mut hits = 0;
            let eights = values.as_chunks::<8>().0.iter().zip(out.as_chunks_mut::<8>().0);
            for (index, (values, out)) in eights.enumerate() {
                // SAFETY: the reference is to eight values.
                let values = unsafe { _mm512_loadu_pd(values.as_ptr()) };
                let integers = _mm512_cvtpd_epi64(_mm512_mul_pd(_mm512_mul_pd(values, raise), lower));
                let rounded = _mm512_cvtepi64_pd(integers);
                let given_back = _mm512_castpd_si512(_mm512_mul_pd(_mm512_mul_pd(rounded, up), down));
                let hit = _mm512_cmpeq_epi64_mask(given_back, _mm512_castpd_si512(values));
                let hit = _mm512_mask_cmpneq_epi64_mask(hit, integers, least);
                hits |= u64::from(hit) << (8 * index);
                min = _mm512_mask_min_pd(min, hit, min, rounded);
                max = _mm512_mask_max_pd(max, hit, max, rounded);
                // SAFETY: the reference is to eight integers.
                unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), integers) };
            }
            *misses = !hits;
        }
        (_mm512_reduce_min_pd(min), _mm512_reduce_max_pd(max))
    }

    pub(super) fn rebase_u32(integers: &mut [u32], base: u32) {
        scalar::subtract_u32(integers, base);
    }

    pub(super) fn rebase_u64(integers: &mut [u64], base: u64) {
        scalar::subtract_u64(integers, base);
    }
}
