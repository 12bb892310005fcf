//! Unpacks eight values as [`bitpack`](crate::bitpack) does, adds the min delta and sums up in registers:
//!
//! ```text
//! deltas           a  b   c    d     | e    f    g     h
//! + 1 lane up      a  ab  bc   cd    | e    ef   fg    gh
//! + 2 lanes up     a  ab  abc  abcd  | e    ef   efg   efgh         within 128 bits
//! lane totals      abcd              | efgh                         broadcast within, then swapped
//! sums             a  ab  abc  abcd  | abcd+e …          a…h        + the lower total, in the upper half
//! total            a…h everywhere                                   lane totals + swapped
//! ```
//!
//! Only `carry += total` hangs on the eight values before; all else of the next group runs beside it.
//! Cost per eight values: i32 16 instructions (width ≤ 25) or 21, i64 2 × 14 (width ≤ 57) or 2 × 19.
#![expect(unsafe_code, reason = "stores through pointers")]

use std::arch::x86_64::*;

use super::decoder::{Decoder, Miniblocks};
use super::scalar;
use crate::KernelError;
use crate::bitpack::avx2::{lanes_32, lanes_64, unpack_group_32, unpack_half_64};
use crate::bitpack::lanes::{NARROW32, NARROW64, WINDOW32, WINDOW64, groups_within};
use crate::bitpack::packed_len;
use crate::tier::avx2;

avx2! {
    pub(super) fn decode_i32(
        decoder: &mut Decoder<i32>,
        src: &[u8],
        out: &mut [i32],
    ) -> Result<usize, KernelError> {
        decoder.decode_with(src, out, |run, out| miniblocks_i32(run, out))
    }

    pub(super) fn decode_i64(
        decoder: &mut Decoder<i64>,
        src: &[u8],
        out: &mut [i64],
    ) -> Result<usize, KernelError> {
        decoder.decode_with(src, out, |run, out| miniblocks_i64(run, out))
    }

    fn miniblocks_i32(run: Miniblocks<'_, i32>, out: &mut [i32]) -> i32 {
        let mut carry = _mm256_set1_epi32(run.last);
        let min_delta = _mm256_set1_epi32(run.min_delta);
        let mut src = run.src;
        for (&width, out) in run.widths.iter().zip(out.chunks_mut(run.len.max(1))) {
            let wide_width = usize::from(width);
            let done = match wide_width {
                0..=NARROW32 => sum_groups_i32::<false>(src, wide_width, min_delta, &mut carry, out),
                26..=32 => sum_groups_i32::<true>(src, wide_width, min_delta, &mut carry, out),
                _ => 0,
            };
            if done < out.len() {
                let rest = src.get(done / 8 * wide_width..).unwrap_or_default();
                let last = _mm256_cvtsi256_si32(carry);
                let last = scalar::sum_i32(rest, width.into(), run.min_delta, last, &mut out[done..]);
                carry = _mm256_set1_epi32(last);
            }
            src = src.get(packed_len(out.len(), width.into())..).unwrap_or_default();
        }
        _mm256_cvtsi256_si32(carry)
    }

    /// Decodes the whole groups whose window is in `src`, from `carry` (in all lanes) on; returns the number of values.
    #[inline]
    fn sum_groups_i32<const WIDE: bool>(
        src: &[u8],
        width: usize,
        min_delta: __m256i,
        carry: &mut __m256i,
        out: &mut [i32],
    ) -> usize {
        let groups = groups_within(src.len(), width, WINDOW32, out.len() / 8);
        let lanes = lanes_32(width);
        let mut at = src.as_ptr();
        for group in out.as_chunks_mut::<8>().0.iter_mut().take(groups) {
            // SAFETY: `groups_within` counted the groups with a window of bytes left.
            let deltas = unsafe { unpack_group_32::<WIDE>(&lanes, at) };
            let (sums, total) = sum_lanes_i32(_mm256_add_epi32(deltas, min_delta));
            let values = _mm256_add_epi32(sums, *carry);
            *carry = _mm256_add_epi32(*carry, total);
            // SAFETY: the group is eight values long.
            unsafe { _mm256_storeu_si256(group.as_mut_ptr().cast(), values) };
            // A group's window is longer than the group, so the next one begins within the slice or at its end.
            at = at.wrapping_add(width);
        }
        groups * 8
    }

    /// Every lane plus all below it; and the sum of all, in every lane.
    #[inline]
    fn sum_lanes_i32(lanes: __m256i) -> (__m256i, __m256i) {
        let sums = _mm256_add_epi32(lanes, _mm256_slli_si256::<4>(lanes));
        let sums = _mm256_add_epi32(sums, _mm256_slli_si256::<8>(sums));
        let totals = _mm256_shuffle_epi32::<0xff>(sums);
        let swapped = _mm256_permute4x64_epi64::<0x4e>(totals);
        let below = _mm256_blend_epi32::<0xf0>(_mm256_setzero_si256(), swapped);
        (_mm256_add_epi32(sums, below), _mm256_add_epi32(totals, swapped))
    }

    fn miniblocks_i64(run: Miniblocks<'_, i64>, out: &mut [i64]) -> i64 {
        let mut carry = _mm256_set1_epi64x(run.last);
        let min_delta = _mm256_set1_epi64x(run.min_delta);
        let mut src = run.src;
        for (&width, out) in run.widths.iter().zip(out.chunks_mut(run.len.max(1))) {
            let wide_width = usize::from(width);
            let done = if wide_width <= NARROW64 {
                sum_groups_i64::<false>(src, wide_width, min_delta, &mut carry, out)
            } else {
                sum_groups_i64::<true>(src, wide_width, min_delta, &mut carry, out)
            };
            if done < out.len() {
                let rest = src.get(done / 8 * wide_width..).unwrap_or_default();
                let last = _mm_cvtsi128_si64(_mm256_castsi256_si128(carry));
                let last = scalar::sum_i64(rest, width.into(), run.min_delta, last, &mut out[done..]);
                carry = _mm256_set1_epi64x(last);
            }
            src = src.get(packed_len(out.len(), width.into())..).unwrap_or_default();
        }
        _mm_cvtsi128_si64(_mm256_castsi256_si128(carry))
    }

    /// Decodes the whole groups whose window is in `src`, from `carry` (in all lanes) on; returns the number of values.
    #[inline]
    fn sum_groups_i64<const WIDE: bool>(
        src: &[u8],
        width: usize,
        min_delta: __m256i,
        carry: &mut __m256i,
        out: &mut [i64],
    ) -> usize {
        let groups = groups_within(src.len(), width, WINDOW64, out.len() / 8);
        let lanes = lanes_64(width);
        let mut at = src.as_ptr();
        for group in out.as_chunks_mut::<8>().0.iter_mut().take(groups) {
            let (first, second) = group.split_at_mut(4);
            // SAFETY: `groups_within` counted the groups with a window of bytes left.
            let deltas = unsafe { unpack_half_64::<0, WIDE>(&lanes, at) };
            let (sums, total) = sum_lanes_i64(_mm256_add_epi64(deltas, min_delta));
            let values = _mm256_add_epi64(sums, *carry);
            *carry = _mm256_add_epi64(*carry, total);
            // SAFETY: the half is four values long.
            unsafe { _mm256_storeu_si256(first.as_mut_ptr().cast(), values) };
            // SAFETY: as above.
            let deltas = unsafe { unpack_half_64::<1, WIDE>(&lanes, at) };
            let (sums, total) = sum_lanes_i64(_mm256_add_epi64(deltas, min_delta));
            let values = _mm256_add_epi64(sums, *carry);
            *carry = _mm256_add_epi64(*carry, total);
            // SAFETY: the half is four values long.
            unsafe { _mm256_storeu_si256(second.as_mut_ptr().cast(), values) };
            at = at.wrapping_add(width);
        }
        groups * 8
    }

    /// Every lane plus all below it; and the sum of all, in every lane.
    #[inline]
    fn sum_lanes_i64(lanes: __m256i) -> (__m256i, __m256i) {
        let sums = _mm256_add_epi64(lanes, _mm256_slli_si256::<8>(lanes));
        let lower_total = _mm256_permute4x64_epi64::<0x55>(sums);
        let below = _mm256_blend_epi32::<0xf0>(_mm256_setzero_si256(), lower_total);
        let sums = _mm256_add_epi64(sums, below);
        (sums, _mm256_permute4x64_epi64::<0xff>(sums))
    }
}
