//! Integers are unpacked to registers as in [`crate::bitpack::neon`], where the frame of reference is added and they
//! are converted (`scvtf`, for 32 and for 64 bits) and multiplied.
#![expect(unsafe_code, reason = "loads and stores through pointers")]

use std::arch::aarch64::*;

use super::page::PackedIntegers;
use super::scalar;
use crate::bitpack::lanes::{NARROW32, NARROW64, WINDOW32, WINDOW64, groups_within};
use crate::bitpack::neon::{lanes_32, lanes_64, unpack_half_32, unpack_pair_64};
use crate::tier::neon;

neon! {
    pub(super) fn decode_f32(packed: &PackedIntegers<'_, f32>, out: &mut [f32]) {
        let done = if packed.width as usize <= NARROW32 {
            decode_groups_f32::<false>(packed, out)
        } else {
            decode_groups_f32::<true>(packed, out)
        };
        if done < out.len() {
            scalar::decode_f32(&packed.skip(done), &mut out[done..]);
        }
    }

    /// Decodes the whole groups whose window is in the page, and returns the number of values.
    #[inline]
    fn decode_groups_f32<const WIDE: bool>(packed: &PackedIntegers<'_, f32>, out: &mut [f32]) -> usize {
        let width = packed.width as usize;
        let groups = groups_within(packed.bytes.len(), width, WINDOW32, out.len() / 8);
        let lanes = lanes_32(width);
        let base = vdupq_n_u32(packed.base);
        let [up, down] = packed.scale;
        let mut at = packed.bytes.as_ptr();
        for group in out.as_chunks_mut::<8>().0.iter_mut().take(groups) {
            for (half, out) in group.as_chunks_mut::<4>().0.iter_mut().enumerate() {
                // SAFETY: `groups_within` counted the groups with a window of bytes left.
                let integers = unsafe { unpack_half_32::<WIDE>(&lanes, at, half) };
                let values = vcvtq_f32_s32(vreinterpretq_s32_u32(vaddq_u32(integers, base)));
                let values = vmulq_n_f32(vmulq_n_f32(values, up), down);
                // SAFETY: the half is four values long.
                unsafe { vst1q_f32(out.as_mut_ptr(), values) };
            }
            at = at.wrapping_add(width);
        }
        groups * 8
    }

    pub(super) fn decode_f64(packed: &PackedIntegers<'_, f64>, out: &mut [f64]) {
        let done = if packed.width as usize <= NARROW64 {
            decode_groups_f64::<false>(packed, out)
        } else {
            decode_groups_f64::<true>(packed, out)
        };
        if done < out.len() {
            scalar::decode_f64(&packed.skip(done), &mut out[done..]);
        }
    }

    /// Decodes the whole groups whose window is in the page, and returns the number of values.
    #[inline]
    fn decode_groups_f64<const WIDE: bool>(packed: &PackedIntegers<'_, f64>, out: &mut [f64]) -> usize {
        let width = packed.width as usize;
        let groups = groups_within(packed.bytes.len(), width, WINDOW64, out.len() / 8);
        let lanes = lanes_64(width);
        let base = vdupq_n_u64(packed.base);
        let [up, down] = packed.scale;
        let mut at = packed.bytes.as_ptr();
        for group in out.as_chunks_mut::<8>().0.iter_mut().take(groups) {
            for (pair, out) in group.as_chunks_mut::<2>().0.iter_mut().enumerate() {
                // SAFETY: `groups_within` counted the groups with a window of bytes left.
                let integers = unsafe { unpack_pair_64::<WIDE>(&lanes, at, pair) };
                let values = vcvtq_f64_s64(vreinterpretq_s64_u64(vaddq_u64(integers, base)));
                let values = vmulq_n_f64(vmulq_n_f64(values, up), down);
                // SAFETY: the pair is two values long.
                unsafe { vst1q_f64(out.as_mut_ptr(), values) };
            }
            at = at.wrapping_add(width);
        }
        groups * 8
    }
}
