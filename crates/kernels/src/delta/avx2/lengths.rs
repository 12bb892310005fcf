//! Lengths to offsets by the lane sums of decoding. All signs are collected in one register, which is checked once.
#![expect(unsafe_code, reason = "loads and stores through pointers")]

use std::arch::x86_64::*;

use super::super::scalar;
use super::{sum_constants, sum_lanes_i32, sum_lanes_i64};
use crate::tier::avx2;

avx2! {
    /// The last end, or `None` if a length is negative or an end overflows.
    pub(in crate::delta) fn sum_lengths_i32(lengths: &[i32], start: i32, out: &mut [i32]) -> Option<i32> {
        let mut carry = _mm256_set1_epi32(start);
        let mut seen = _mm256_setzero_si256();
        let (groups, rest) = out.as_chunks_mut::<8>();
        let (length_groups, lengths) = lengths.as_chunks::<8>();
        for (group, lengths) in groups.iter_mut().zip(length_groups) {
            // SAFETY: the group is eight lengths.
            let lengths = unsafe { _mm256_loadu_si256(lengths.as_ptr().cast()) };
            let (sums, total) = sum_lanes_i32(lengths);
            let ends = _mm256_add_epi32(sums, carry);
            carry = _mm256_add_epi32(carry, total);
            seen = _mm256_or_si256(seen, _mm256_or_si256(lengths, ends));
            // SAFETY: the group is eight values long.
            unsafe { _mm256_storeu_si256(group.as_mut_ptr().cast(), ends) };
        }
        if _mm256_movemask_ps(_mm256_castsi256_ps(seen)) != 0 {
            return None;
        }
        scalar::sum_lengths_i32(lengths, _mm256_cvtsi256_si32(carry), rest)
    }

    /// The last end, or `None` if a length is negative or an end overflows.
    pub(in crate::delta) fn sum_lengths_i64(lengths: &[i32], start: i64, out: &mut [i64]) -> Option<i64> {
        let by = sum_constants();
        let mut carry = _mm256_set1_epi64x(start);
        let mut seen = _mm256_setzero_si256();
        let (groups, rest) = out.as_chunks_mut::<4>();
        let (length_groups, lengths) = lengths.as_chunks::<4>();
        for (group, lengths) in groups.iter_mut().zip(length_groups) {
            // SAFETY: the group is four lengths.
            let lengths = unsafe { _mm_loadu_si128(lengths.as_ptr().cast()) };
            let lengths = _mm256_cvtepi32_epi64(lengths);
            let (sums, total) = sum_lanes_i64(&by, lengths);
            let ends = _mm256_add_epi64(sums, carry);
            carry = _mm256_add_epi64(carry, total);
            seen = _mm256_or_si256(seen, _mm256_or_si256(lengths, ends));
            // SAFETY: the group is four values long.
            unsafe { _mm256_storeu_si256(group.as_mut_ptr().cast(), ends) };
        }
        if _mm256_movemask_pd(_mm256_castsi256_pd(seen)) != 0 {
            return None;
        }
        scalar::sum_lengths_i64(lengths, _mm_cvtsi128_si64(_mm256_castsi256_si128(carry)), rest)
    }
}
