//! Four doubles or eight floats at a time: scaled, rounded, scaled back, compared bit by bit.
//!
//! Floats are rounded by the conversion to 32-bit integers, which gives −2^31 for everything out of range. Doubles are
//! rounded by adding `1.5 × 2^52`, which is correct within ±2^51; the few values beyond are marked in a separate word,
//! and the portable code handles them one by one.
//!
//! Minimum and maximum are computed from the rounded values, with misses as NaN: these instructions then keep the other
//! operand.
#![expect(unsafe_code, reason = "loads and stores through pointers")]

use std::arch::x86_64::*;

use super::super::scale::Scale;
use super::BLOCK;
use super::scalar::{self, LIMIT, NEAR, SIGNED_UNITS};
use crate::tier::avx2;

avx2! {
    pub(super) fn digitize_f32(
        values: &[[f32; BLOCK]],
        scale: &Scale<f32>,
        out: &mut [[u32; BLOCK]],
        misses: &mut [u64],
    ) -> (f32, f32) {
        let [raise, lower] = scale.to_integer.map(|power| _mm256_set1_ps(power));
        let [up, down] = scale.to_value.map(|power| _mm256_set1_ps(power));
        let nan = _mm256_set1_ps(f32::NAN);
        let (mut min, mut max) = (_mm256_set1_ps(f32::INFINITY), _mm256_set1_ps(f32::NEG_INFINITY));
        for ((values, out), misses) in values.iter().zip(out).zip(misses) {
            let mut hits = 0;
            let eights = values.as_chunks::<8>().0.iter().zip(out.as_chunks_mut::<8>().0);
            for (index, (values, out)) in eights.enumerate() {
                // SAFETY: the reference is to eight values.
                let values = unsafe { _mm256_loadu_ps(values.as_ptr()) };
                let integers = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_mul_ps(values, raise), lower));
                let rounded = _mm256_cvtepi32_ps(integers);
                let given_back = _mm256_castps_si256(_mm256_mul_ps(_mm256_mul_ps(rounded, up), down));
                let hit = _mm256_castsi256_ps(_mm256_cmpeq_epi32(given_back, _mm256_castps_si256(values)));
                hits |= u64::from(_mm256_movemask_ps(hit).cast_unsigned()) << (8 * index);
                let counted = _mm256_blendv_ps(nan, rounded, hit);
                min = _mm256_min_ps(counted, min);
                max = _mm256_max_ps(counted, max);
                // SAFETY: the reference is to eight integers.
                unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), integers) };
            }
            *misses = !hits;
        }
        (least_f32(min), -least_f32(_mm256_xor_ps(max, _mm256_set1_ps(-0.0))))
    }

    /// The minimum of eight values, none of which is NaN.
    #[inline]
    fn least_f32(values: __m256) -> f32 {
        let four = _mm_min_ps(_mm256_castps256_ps128(values), _mm256_extractf128_ps::<1>(values));
        let two = _mm_min_ps(four, _mm_movehl_ps(four, four));
        _mm_cvtss_f32(_mm_min_ss(two, _mm_movehdup_ps(two)))
    }

    pub(super) fn digitize_f64(
        values: &[[f64; BLOCK]],
        scale: &Scale<f64>,
        out: &mut [[u64; BLOCK]],
        misses: &mut [u64],
    ) -> (f64, f64) {
        let [raise, lower] = scale.to_integer.map(|power| _mm256_set1_pd(power));
        let [up, down] = scale.to_value.map(|power| _mm256_set1_pd(power));
        let (units, near_limit) = (_mm256_set1_pd(SIGNED_UNITS), _mm256_set1_pd(NEAR));
        let (sign, limit) = (_mm256_set1_pd(-0.0), _mm256_set1_pd(LIMIT));
        let nan = _mm256_set1_pd(f64::NAN);
        let (mut min, mut max) = (_mm256_set1_pd(f64::INFINITY), _mm256_set1_pd(f64::NEG_INFINITY));
        let (mut far_min, mut far_max) = (f64::INFINITY, f64::NEG_INFINITY);
        for ((values, out), misses) in values.iter().zip(out).zip(misses) {
            let (mut hits, mut far_values) = (0, 0);
            let fours = values.as_chunks::<4>().0.iter().zip(out.as_chunks_mut::<4>().0);
            for (index, (values, out)) in fours.enumerate() {
                // SAFETY: the reference is to four values.
                let values = unsafe { _mm256_loadu_pd(values.as_ptr()) };
                let scaled = _mm256_mul_pd(_mm256_mul_pd(values, raise), lower);
                let raised = _mm256_add_pd(scaled, units);
                let rounded = _mm256_sub_pd(raised, units);
                let given_back = _mm256_castpd_si256(_mm256_mul_pd(_mm256_mul_pd(rounded, up), down));
                let same = _mm256_castsi256_pd(_mm256_cmpeq_epi64(given_back, _mm256_castpd_si256(values)));
                let size = _mm256_andnot_pd(sign, scaled);
                let near = _mm256_cmp_pd::<_CMP_LT_OQ>(size, near_limit);
                let far = _mm256_andnot_pd(near, _mm256_cmp_pd::<_CMP_LT_OQ>(size, limit));
                let hit = _mm256_and_pd(same, near);
                hits |= u64::from(_mm256_movemask_pd(hit).cast_unsigned()) << (4 * index);
                far_values |= u64::from(_mm256_movemask_pd(far).cast_unsigned()) << (4 * index);
                let counted = _mm256_blendv_pd(nan, rounded, hit);
                min = _mm256_min_pd(counted, min);
                max = _mm256_max_pd(counted, max);
                let integers = _mm256_sub_epi64(_mm256_castpd_si256(raised), _mm256_castpd_si256(units));
                // SAFETY: the reference is to four integers.
                unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), integers) };
            }
            while far_values != 0 {
                let bit = far_values.trailing_zeros();
                far_values &= far_values - 1;
                if let Some((integer, rounded)) = scalar::far_integer(values[bit as usize], scale) {
                    out[bit as usize] = integer;
                    hits |= 1 << bit;
                    (far_min, far_max) = (far_min.min(rounded), far_max.max(rounded));
                }
            }
            *misses = !hits;
        }
        (least_f64(min).min(far_min), (-least_f64(_mm256_xor_pd(max, sign))).max(far_max))
    }

    /// The minimum of four values, none of which is NaN.
    #[inline]
    fn least_f64(values: __m256d) -> f64 {
        let two = _mm_min_pd(_mm256_castpd256_pd128(values), _mm256_extractf128_pd::<1>(values));
        _mm_cvtsd_f64(_mm_min_sd(two, _mm_unpackhi_pd(two, two)))
    }

    pub(super) fn rebase_u32(integers: &mut [u32], base: u32) {
        scalar::subtract_u32(integers, base);
    }

    pub(super) fn rebase_u64(integers: &mut [u64], base: u64) {
        scalar::subtract_u64(integers, base);
    }
}
