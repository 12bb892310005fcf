//! Portable code. Doubles are rounded by magic numbers if their integers are within ±2^51, as in the AVX2 tier, so that
//! the compiler vectorises the loop; the few others are rounded by the library.

use super::super::scale::Scale;
use super::BLOCK;

/// `1.5 × 2^52`: the sum with a value within ±2^51 is rounded to an integer, ties to even.
pub(super) const SIGNED_UNITS: f64 = 6_755_399_441_055_744.0;
/// `2^51`: integers below it are rounded by [`SIGNED_UNITS`].
pub(super) const NEAR: f64 = 2_251_799_813_685_248.0;
/// `2^63`: values from it on, and from `−2^63` down, are misses in every tier.
pub(super) const LIMIT: f64 = 9_223_372_036_854_775_808.0;
/// `2^31`: values of type `f32` from it on are misses. Values below the range of integers become the smallest integer,
/// as in conversions.
pub(super) const LIMIT_F32: f32 = 2_147_483_648.0;

pub(super) fn digitize_f32(
    values: &[[f32; BLOCK]],
    scale: &Scale<f32>,
    out: &mut [[u32; BLOCK]],
    misses: &mut [u64],
) -> (f32, f32) {
    let (mut min, mut max) = (f32::INFINITY, f32::NEG_INFINITY);
    for ((values, out), misses) in values.iter().zip(out).zip(misses) {
        *misses = 0;
        for (bit, (&value, out)) in values.iter().zip(out).enumerate() {
            let scaled = value * scale.to_integer[0] * scale.to_integer[1];
            // The conversion saturates, so values beyond the range would become the largest integer.
            let integer = if scaled < LIMIT_F32 { round_f32(scaled) } else { i32::MIN };
            let rounded = integer as f32;
            *out = integer.cast_unsigned();
            if (rounded * scale.to_value[0] * scale.to_value[1]).to_bits() == value.to_bits() {
                min = min.min(rounded);
                max = max.max(rounded);
            } else {
                *misses |= 1 << bit;
            }
        }
    }
    (min, max)
}

/// The nearest integer, ties to even: exact in doubles, which round without the library.
#[inline]
fn round_f32(scaled: f32) -> i32 {
    ((f64::from(scaled) + SIGNED_UNITS) - SIGNED_UNITS) as i32
}

pub(super) fn digitize_f64(
    values: &[[f64; BLOCK]],
    scale: &Scale<f64>,
    out: &mut [[u64; BLOCK]],
    misses: &mut [u64],
) -> (f64, f64) {
    let mut range = (f64::INFINITY, f64::NEG_INFINITY);
    for ((values, out), misses) in values.iter().zip(out).zip(misses) {
        *misses = 0;
        for (bit, (&value, out)) in values.iter().zip(out).enumerate() {
            let scaled = value * scale.to_integer[0] * scale.to_integer[1];
            if scaled.abs() < NEAR {
                let raised = scaled + SIGNED_UNITS;
                let rounded = raised - SIGNED_UNITS;
                *out = raised.to_bits().wrapping_sub(SIGNED_UNITS.to_bits());
                if (rounded * scale.to_value[0] * scale.to_value[1]).to_bits() == value.to_bits() {
                    range = (range.0.min(rounded), range.1.max(rounded));
                    continue;
                }
            } else if let Some((integer, rounded)) = far_integer(value, scale) {
                *out = integer;
                range = (range.0.min(rounded), range.1.max(rounded));
                continue;
            }
            *misses |= 1 << bit;
        }
    }
    range
}

/// The integer of a value that is beyond [`NEAR`] once scaled, if it gives the value back, and the integer as a value.
pub(super) fn far_integer(value: f64, scale: &Scale<f64>) -> Option<(u64, f64)> {
    let scaled = value * scale.to_integer[0] * scale.to_integer[1];
    let in_range = scaled.abs() < LIMIT;
    let rounded = scaled.round_ties_even();
    let given_back = rounded * scale.to_value[0] * scale.to_value[1];
    (in_range && given_back.to_bits() == value.to_bits()).then_some(((rounded as i64).cast_unsigned(), rounded))
}

pub(super) fn rebase_u32(integers: &mut [u32], base: u32) {
    subtract_u32(integers, base);
}

pub(super) fn rebase_u64(integers: &mut [u64], base: u64) {
    subtract_u64(integers, base);
}

/// A loop that each tier compiles for its features; the same for the next one.
#[inline(always)]
pub(super) fn subtract_u32(integers: &mut [u32], base: u32) {
    for integer in integers {
        *integer = integer.wrapping_sub(base);
    }
}

#[inline(always)]
pub(super) fn subtract_u64(integers: &mut [u64], base: u64) {
    for integer in integers {
        *integer = integer.wrapping_sub(base);
    }
}
