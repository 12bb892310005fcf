//! Two doubles or four floats at a time: scaled, converted to integers and back, scaled back, compared bit by bit.
//!
//! The conversions round to the nearest integer, ties to even. They saturate: a value beyond the largest integer could
//! convert back to itself, so it is compared with the limit. Bits of hits are collected in lanes, by masks that move up
//! from step to step.
#![expect(unsafe_code, reason = "loads and stores through pointers")]

use std::arch::aarch64::*;

use super::super::scale::Scale;
use super::BLOCK;
use super::scalar::{self, LIMIT, LIMIT_F32};
use crate::tier::neon;

neon! {
    pub(super) fn digitize_f32(
        values: &[[f32; BLOCK]],
        scale: &Scale<f32>,
        out: &mut [[u32; BLOCK]],
        misses: &mut [u64],
    ) -> (f32, f32) {
        let [raise, lower] = scale.to_integer;
        let [up, down] = scale.to_value;
        let (limit, nan) = (vdupq_n_f32(LIMIT_F32), vdupq_n_f32(f32::NAN));
        let (mut min, mut max) = (vdupq_n_f32(f32::INFINITY), vdupq_n_f32(f32::NEG_INFINITY));
        for ((values, out), misses) in values.iter().zip(out).zip(misses) {
            let mut hits = 0;
            let halves = values.as_chunks::<32>().0.iter().zip(out.as_chunks_mut::<32>().0);
            for (half, (values, out)) in halves.enumerate() {
                // SAFETY: the reference is to four integers.
                let mut bits = unsafe { vld1q_u32([1, 2, 4, 8].as_ptr()) };
                let mut found = vdupq_n_u32(0);
                for (values, out) in values.as_chunks::<4>().0.iter().zip(out.as_chunks_mut::<4>().0) {
                    // SAFETY: the reference is to four values.
                    let values = unsafe { vld1q_f32(values.as_ptr()) };
                    let scaled = vmulq_n_f32(vmulq_n_f32(values, raise), lower);
                    let integers = vcvtnq_s32_f32(scaled);
                    let rounded = vcvtq_f32_s32(integers);
                    let given_back = vreinterpretq_u32_f32(vmulq_n_f32(vmulq_n_f32(rounded, up), down));
                    let same = vceqq_u32(given_back, vreinterpretq_u32_f32(values));
                    let hit = vandq_u32(same, vcltq_f32(scaled, limit));
                    found = vorrq_u32(found, vandq_u32(hit, bits));
                    bits = vshlq_n_u32::<4>(bits);
                    let counted = vbslq_f32(hit, rounded, nan);
                    min = vminnmq_f32(min, counted);
                    max = vmaxnmq_f32(max, counted);
                    // SAFETY: the reference is to four integers.
                    unsafe { vst1q_u32(out.as_mut_ptr(), vreinterpretq_u32_s32(integers)) };
                }
                hits |= u64::from(vaddvq_u32(found)) << (32 * half);
            }
            *misses = !hits;
        }
        (vminnmvq_f32(min), vmaxnmvq_f32(max))
    }

    pub(super) fn digitize_f64(
        values: &[[f64; BLOCK]],
        scale: &Scale<f64>,
        out: &mut [[u64; BLOCK]],
        misses: &mut [u64],
    ) -> (f64, f64) {
        let [raise, lower] = scale.to_integer;
        let [up, down] = scale.to_value;
        let (limit, nan) = (vdupq_n_f64(LIMIT), vdupq_n_f64(f64::NAN));
        let (mut min, mut max) = (vdupq_n_f64(f64::INFINITY), vdupq_n_f64(f64::NEG_INFINITY));
        for ((values, out), misses) in values.iter().zip(out).zip(misses) {
            // SAFETY: the reference is to two integers.
            let mut bits = unsafe { vld1q_u64([1, 2].as_ptr()) };
            let mut found = vdupq_n_u64(0);
            for (values, out) in values.as_chunks::<2>().0.iter().zip(out.as_chunks_mut::<2>().0) {
                // SAFETY: the reference is to two values.
                let values = unsafe { vld1q_f64(values.as_ptr()) };
                let scaled = vmulq_n_f64(vmulq_n_f64(values, raise), lower);
                let integers = vcvtnq_s64_f64(scaled);
                let rounded = vcvtq_f64_s64(integers);
                let given_back = vreinterpretq_u64_f64(vmulq_n_f64(vmulq_n_f64(rounded, up), down));
                let same = vceqq_u64(given_back, vreinterpretq_u64_f64(values));
                let hit = vandq_u64(same, vcaltq_f64(scaled, limit));
                found = vorrq_u64(found, vandq_u64(hit, bits));
                bits = vshlq_n_u64::<2>(bits);
                let counted = vbslq_f64(hit, rounded, nan);
                min = vminnmq_f64(min, counted);
                max = vmaxnmq_f64(max, counted);
                // SAFETY: the reference is to two integers.
                unsafe { vst1q_u64(out.as_mut_ptr(), vreinterpretq_u64_s64(integers)) };
            }
            *misses = !vaddvq_u64(found);
        }
        (vminnmvq_f64(min), vmaxnmvq_f64(max))
    }

    pub(super) fn rebase_u32(integers: &mut [u32], base: u32) {
        scalar::subtract_u32(integers, base);
    }

    pub(super) fn rebase_u64(integers: &mut [u64], base: u64) {
        scalar::subtract_u64(integers, base);
    }
}
