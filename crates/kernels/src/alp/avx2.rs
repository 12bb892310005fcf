//! Integers are unpacked to registers as in [`crate::bitpack::avx2`], where the frame of reference is added and they
//! are converted and multiplied.
//!
//! AVX2 converts only 32-bit integers. Doubles are converted by magic numbers, whose low bits take the integer: in `1.5
//! × 2^52`, the last bit of the mantissa is a unit.
//!
//! ```text
//! within ±2^51    packed + (frame + bits of 1.5 × 2^52)    − 1.5 × 2^52
//! any             low half under 2^52, high half (its sign flipped) under 2^84:
//!                 (high − (2^84 + 2^63 + 2^52)) + low                                  one rounding, in the addition
//! up to 25 bits   packed under 2^52, eight from 32-bit lanes interleaved with its high half    − (2^52 − frame)
//! ```
//!
//! The frame and the width tell whether the first method applies, so a vector has one loop. The last is the first with
//! cheaper unpacking: 14 instructions for eight values instead of 18.
#![expect(unsafe_code, reason = "loads and stores through pointers")]

use std::arch::x86_64::*;

use super::page::PackedIntegers;
use super::scalar;
use crate::bitpack::avx2::{lanes_32, lanes_64, unpack_group_32, unpack_half_64};
use crate::bitpack::lanes::{NARROW32, NARROW64, WINDOW32, WINDOW64, groups_within};
use crate::tier::avx2;

/// `2^52`: integers below it are the low bits of the sum.
const UNITS: f64 = 4_503_599_627_370_496.0;
/// `1.5 × 2^52`: the same for integers from `−2^51` to `2^51`.
const SIGNED_UNITS: f64 = 1.5 * UNITS;

avx2! {
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
        let base = _mm256_set1_epi32(packed.base.cast_signed());
        let [up, down] = packed.scale.map(|power| _mm256_set1_ps(power));
        let mut at = packed.bytes.as_ptr();
        for group in out.as_chunks_mut::<8>().0.iter_mut().take(groups) {
            // SAFETY: `groups_within` counted the groups with a window of bytes left.
            let integers = unsafe { unpack_group_32::<WIDE>(&lanes, at) };
            let values = _mm256_cvtepi32_ps(_mm256_add_epi32(integers, base));
            let values = _mm256_mul_ps(_mm256_mul_ps(values, up), down);
            // SAFETY: the group is eight values long.
            unsafe { _mm256_storeu_ps(group.as_mut_ptr(), values) };
            at = at.wrapping_add(width);
        }
        groups * 8
    }

    pub(super) fn decode_f64(packed: &PackedIntegers<'_, f64>, out: &mut [f64]) {
        let done = match (packed.width as usize, is_near(packed)) {
            (..=NARROW32, true) => decode_groups_narrow(packed, out),
            (..=NARROW64, true) => decode_groups_f64::<false>(packed, out, near(packed)),
            (..=NARROW64, false) => decode_groups_f64::<false>(packed, out, far(packed)),
            _ => decode_groups_f64::<true>(packed, out, far(packed)),
        };
        if done < out.len() {
            scalar::decode_f64(&packed.skip(done), &mut out[done..]);
        }
    }

    /// Decodes the whole groups whose window is in the page, and returns the number of values.
    #[inline]
    fn decode_groups_f64<const WIDE: bool>(
        packed: &PackedIntegers<'_, f64>,
        out: &mut [f64],
        convert: impl Fn(__m256i) -> __m256d,
    ) -> usize {
        let width = packed.width as usize;
        let groups = groups_within(packed.bytes.len(), width, WINDOW64, out.len() / 8);
        let lanes = lanes_64(width);
        let [up, down] = packed.scale.map(|power| _mm256_set1_pd(power));
        let mut at = packed.bytes.as_ptr();
        for group in out.as_chunks_mut::<8>().0.iter_mut().take(groups) {
            let (first, second) = group.split_at_mut(4);
            // SAFETY: `groups_within` counted the groups with a window of bytes left.
            let integers = unsafe { unpack_half_64::<0, WIDE>(&lanes, at) };
            let values = _mm256_mul_pd(_mm256_mul_pd(convert(integers), up), down);
            // SAFETY: the half is four values long.
            unsafe { _mm256_storeu_pd(first.as_mut_ptr(), values) };
            // SAFETY: as above.
            let integers = unsafe { unpack_half_64::<1, WIDE>(&lanes, at) };
            let values = _mm256_mul_pd(_mm256_mul_pd(convert(integers), up), down);
            // SAFETY: the half is four values long.
            unsafe { _mm256_storeu_pd(second.as_mut_ptr(), values) };
            at = at.wrapping_add(width);
        }
        groups * 8
    }

    /// Like [`decode_groups_f64`], for at most [`NARROW32`] bits and integers within ±2^51.
    #[inline]
    fn decode_groups_narrow(packed: &PackedIntegers<'_, f64>, out: &mut [f64]) -> usize {
        let width = packed.width as usize;
        let groups = groups_within(packed.bytes.len(), width, WINDOW32, out.len() / 8);
        let lanes = lanes_32(width);
        let high_half = _mm256_set1_epi32((UNITS.to_bits() >> 32) as i32);
        let offset = _mm256_set1_pd(UNITS - packed.base.cast_signed() as f64);
        let [up, down] = packed.scale.map(|power| _mm256_set1_pd(power));
        let mut at = packed.bytes.as_ptr();
        for group in out.as_chunks_mut::<8>().0.iter_mut().take(groups) {
            let (first, second) = group.split_at_mut(4);
            // SAFETY: `groups_within` counted the groups with a window of bytes left.
            let integers = unsafe { unpack_group_32::<false>(&lanes, at) };
            // 0 1 4 5 | 2 3 6 7, so that interleaving within halves of the register preserves the order.
            let integers = _mm256_permute4x64_epi64::<0b11_01_10_00>(integers);
            let low = _mm256_castsi256_pd(_mm256_unpacklo_epi32(integers, high_half));
            let high = _mm256_castsi256_pd(_mm256_unpackhi_epi32(integers, high_half));
            let low = _mm256_mul_pd(_mm256_mul_pd(_mm256_sub_pd(low, offset), up), down);
            let high = _mm256_mul_pd(_mm256_mul_pd(_mm256_sub_pd(high, offset), up), down);
            // SAFETY: the half is four values long.
            unsafe { _mm256_storeu_pd(first.as_mut_ptr(), low) };
            // SAFETY: the half is four values long.
            unsafe { _mm256_storeu_pd(second.as_mut_ptr(), high) };
            at = at.wrapping_add(width);
        }
        groups * 8
    }

    /// Conversion if all integers are within ±2^51.
    #[inline]
    fn near(packed: &PackedIntegers<'_, f64>) -> impl Fn(__m256i) -> __m256d {
        let base = _mm256_set1_epi64x(packed.base.wrapping_add(SIGNED_UNITS.to_bits()).cast_signed());
        let units = _mm256_set1_pd(SIGNED_UNITS);
        move |integers| _mm256_sub_pd(_mm256_castsi256_pd(_mm256_add_epi64(integers, base)), units)
    }

    /// Conversion of any integers.
    #[inline]
    fn far(packed: &PackedIntegers<'_, f64>) -> impl Fn(__m256i) -> __m256d {
        /// Bits of `2^84`, in which a unit is `2^32`, and of `2^63` in it, which flips the sign.
        const HIGH: i64 = 0x4530_0000_8000_0000;
        /// `2^84 + 2^63 + 2^52`.
        const BOTH: u64 = 0x4530_0000_8010_0000;
        let base = _mm256_set1_epi64x(packed.base.cast_signed());
        let low_units = _mm256_set1_epi64x(UNITS.to_bits().cast_signed());
        let high_units = _mm256_set1_epi64x(HIGH);
        let both = _mm256_set1_pd(f64::from_bits(BOTH));
        move |integers| {
            let integers = _mm256_add_epi64(integers, base);
            let low = _mm256_blend_epi32::<0b0101_0101>(low_units, integers);
            let high = _mm256_xor_si256(_mm256_srli_epi64::<32>(integers), high_units);
            let high = _mm256_sub_pd(_mm256_castsi256_pd(high), both);
            _mm256_add_pd(high, _mm256_castsi256_pd(low))
        }
    }
}

/// Returns whether all integers of the width above the frame of reference are within ±2^51.
fn is_near(packed: &PackedIntegers<'_, f64>) -> bool {
    const LIMIT: i64 = 1 << 51;
    let base = packed.base.cast_signed();
    packed.width <= 51 && (-LIMIT..=LIMIT - (1 << packed.width)).contains(&base)
}
