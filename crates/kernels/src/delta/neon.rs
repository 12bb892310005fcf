//! Unpacks four values (i64: two) like [`bitpack`](crate::bitpack), adds the min delta and sums up in registers:
//!
//! ```text
//! deltas           a  b   c    d
//! + 1 lane up      a  ab  bc   cd
//! + 2 lanes up     a  ab  abc  abcd
//! total            the last lane, everywhere
//! ```
//!
//! Only `carry += total` depends on the values before; everything else in the next ones runs in parallel.
#![expect(unsafe_code, reason = "stores through pointers")]

use std::arch::aarch64::*;

use super::decoder::{Decoder, Miniblocks};
use super::scalar;
use crate::KernelError;
use crate::bitpack::lanes::{NARROW32, NARROW64, WINDOW32, WINDOW64, groups_within};
use crate::bitpack::neon::{lanes_32, lanes_64, unpack_half_32, unpack_pair_64};
use crate::bitpack::packed_len;
use crate::tier::neon;

neon! {
    pub(super) fn decode_i32(decoder: &mut Decoder<i32>, src: &[u8], out: &mut [i32]) -> Result<usize, KernelError> {
        decoder.decode_with(src, out, |run, out| miniblocks_i32(run, out), |run, out| miniblocks_i32(run, out))
    }

    pub(super) fn decode_i64(decoder: &mut Decoder<i64>, src: &[u8], out: &mut [i64]) -> Result<usize, KernelError> {
        decoder.decode_with(src, out, |run, out| miniblocks_i64(run, out), |run, out| miniblocks_i64(run, out))
    }

    fn miniblocks_i32(run: Miniblocks<'_, i32>, out: &mut [i32]) -> i32 {
        let mut carry = vdupq_n_s32(run.last);
        let min_delta = vdupq_n_s32(run.min_delta);
        let mut src = run.src;
        for (&width, out) in run.widths.iter().zip(out.chunks_mut(run.len.max(1))) {
            let bytes = usize::from(width);
            let done = match bytes {
                0..=NARROW32 => sum_groups_i32::<false>(src, bytes, min_delta, &mut carry, out),
                26..=32 => sum_groups_i32::<true>(src, bytes, min_delta, &mut carry, out),
                _ => 0,
            };
            if done < out.len() {
                let rest = src.get(done / 8 * bytes..).unwrap_or_default();
                let last = vgetq_lane_s32::<0>(carry);
                carry = vdupq_n_s32(scalar::sum_i32(rest, width.into(), run.min_delta, last, &mut out[done..]));
            }
            src = src.get(packed_len(out.len(), width.into())..).unwrap_or_default();
        }
        vgetq_lane_s32::<0>(carry)
    }

    /// Decodes the whole groups whose window is in `src`, from `carry` (in all lanes) on. Returns the number of values.
    #[inline]
    fn sum_groups_i32<const WIDE: bool>(
        src: &[u8],
        width: usize,
        min_delta: int32x4_t,
        carry: &mut int32x4_t,
        out: &mut [i32],
    ) -> usize {
        let groups = groups_within(src.len(), width, WINDOW32, out.len() / 8);
        let lanes = lanes_32(width);
        let zero = vdupq_n_s32(0);
        let mut at = src.as_ptr();
        for group in out.as_chunks_mut::<8>().0.iter_mut().take(groups) {
            for (half, out) in group.as_chunks_mut::<4>().0.iter_mut().enumerate() {
                // SAFETY: `groups_within` counted the groups with a window of bytes left.
                let packed = unsafe { unpack_half_32::<WIDE>(&lanes, at, half) };
                let deltas = vaddq_s32(vreinterpretq_s32_u32(packed), min_delta);
                let sums = vaddq_s32(deltas, vextq_s32::<3>(zero, deltas));
                let sums = vaddq_s32(sums, vextq_s32::<2>(zero, sums));
                let values = vaddq_s32(sums, *carry);
                *carry = vaddq_s32(*carry, vdupq_laneq_s32::<3>(sums));
                // SAFETY: the half is four values long.
                unsafe { vst1q_s32(out.as_mut_ptr(), values) };
            }
            // A group's window is longer than the group, so the next one begins within the slice or at its end.
            at = at.wrapping_add(width);
        }
        groups * 8
    }

    fn miniblocks_i64(run: Miniblocks<'_, i64>, out: &mut [i64]) -> i64 {
        let mut carry = vdupq_n_s64(run.last);
        let min_delta = vdupq_n_s64(run.min_delta);
        let mut src = run.src;
        for (&width, out) in run.widths.iter().zip(out.chunks_mut(run.len.max(1))) {
            let bytes = usize::from(width);
            let done = match bytes {
                0..=NARROW64 => sum_groups_i64::<false>(src, bytes, min_delta, &mut carry, out),
                _ => sum_groups_i64::<true>(src, bytes, min_delta, &mut carry, out),
            };
            if done < out.len() {
                let rest = src.get(done / 8 * bytes..).unwrap_or_default();
                let last = vgetq_lane_s64::<0>(carry);
                carry = vdupq_n_s64(scalar::sum_i64(rest, width.into(), run.min_delta, last, &mut out[done..]));
            }
            src = src.get(packed_len(out.len(), width.into())..).unwrap_or_default();
        }
        vgetq_lane_s64::<0>(carry)
    }

    /// Decodes the whole groups whose window is in `src`, from `carry` (in all lanes) on. Returns the number of values.
    #[inline]
    fn sum_groups_i64<const WIDE: bool>(
        src: &[u8],
        width: usize,
        min_delta: int64x2_t,
        carry: &mut int64x2_t,
        out: &mut [i64],
    ) -> usize {
        let groups = groups_within(src.len(), width, WINDOW64, out.len() / 8);
        let lanes = lanes_64(width);
        let zero = vdupq_n_s64(0);
        let mut at = src.as_ptr();
        for group in out.as_chunks_mut::<8>().0.iter_mut().take(groups) {
            for (pair, out) in group.as_chunks_mut::<2>().0.iter_mut().enumerate() {
                // SAFETY: `groups_within` counted the groups with a window of bytes left.
                let packed = unsafe { unpack_pair_64::<WIDE>(&lanes, at, pair) };
                let deltas = vaddq_s64(vreinterpretq_s64_u64(packed), min_delta);
                let sums = vaddq_s64(deltas, vextq_s64::<1>(zero, deltas));
                let values = vaddq_s64(sums, *carry);
                *carry = vaddq_s64(*carry, vdupq_laneq_s64::<1>(sums));
                // SAFETY: the pair is two values long.
                unsafe { vst1q_s64(out.as_mut_ptr(), values) };
            }
            at = at.wrapping_add(width);
        }
        groups * 8
    }
}
