//! Portable: 64 answers as bytes, which the compiler vectorises, and eight of them to a byte by a multiplication.
//!
//! ```text
//! bytes 0 or 1, a to h     hgfedcba     × 0x0102040810204080, the topmost byte: bit 0 is a, … bit 7 is h
//! ```

use super::blocks::{BLOCK, test, test_pairs};
use super::truth::{Truth, check_codes};
use crate::KernelError;

/// A bit for each flag, all of which are 0 or 1.
#[inline(always)]
pub(super) fn word(flags: &[u8; BLOCK]) -> u64 {
    let mut bytes = [0; 8];
    for (byte, flags) in bytes.iter_mut().zip(flags.as_chunks::<8>().0) {
        *byte = (u64::from_le_bytes(*flags).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u8;
    }
    u64::from_le_bytes(bytes)
}

/// A bit for each value that passes.
#[inline(always)]
fn mask<T: Copy>(block: &[T; BLOCK], passes: impl Fn(T) -> bool) -> u64 {
    let mut flags = [0; BLOCK];
    for (flag, &value) in flags.iter_mut().zip(block) {
        *flag = u8::from(passes(value));
    }
    word(&flags)
}

/// A bit for each pair that passes.
#[inline(always)]
fn mask_pairs<T: Copy>(left: &[T; BLOCK], right: &[T; BLOCK], passes: impl Fn(T, T) -> bool) -> u64 {
    let mut flags = [0; BLOCK];
    for ((flag, &left), &right) in flags.iter_mut().zip(left).zip(right) {
        *flag = u8::from(passes(left, right));
    }
    word(&flags)
}

/// A bit for each value that `equal` finds in the set.
#[inline(always)]
fn mask_set<T: Copy>(block: &[T; BLOCK], set: &[T], equal: impl Fn(T, T) -> bool) -> u64 {
    let mut flags = [0; BLOCK];
    for &wanted in set {
        for (flag, &value) in flags.iter_mut().zip(block) {
            *flag |= u8::from(equal(value, wanted));
        }
    }
    word(&flags)
}

macro_rules! integers {
    ($($integer:ty: $within:ident $less:ident $equal:ident $in_set:ident;)*) => { $(
        pub(super) fn $within(values: &[$integer], low: $integer, span: $integer, inverted: bool, out: &mut [u64]) {
            test(values, inverted, out, |block| mask(block, |value| value.wrapping_sub(low) <= span));
        }

        /// `turn` converts values to unsigned numbers of the same order.
        pub(super) fn $less(
            left: &[$integer],
            right: &[$integer],
            turn: $integer,
            inverted: bool,
            out: &mut [u64],
        ) {
            test_pairs(left, right, inverted, out, |left, right| {
                mask_pairs(left, right, |left, right| left ^ turn < right ^ turn)
            });
        }

        pub(super) fn $equal(left: &[$integer], right: &[$integer], inverted: bool, out: &mut [u64]) {
            test_pairs(left, right, inverted, out, |left, right| {
                mask_pairs(left, right, |left, right| left == right)
            });
        }

        pub(super) fn $in_set(values: &[$integer], set: &[$integer], out: &mut [u64]) {
            test(values, false, out, |block| mask_set(block, set, |value, wanted| value == wanted));
        }
    )* };
}

integers! {
    u8: within_u8 less_u8 equal_u8 in_set_u8;
    u16: within_u16 less_u16 equal_u16 in_set_u16;
    u32: within_u32 less_u32 equal_u32 in_set_u32;
    u64: within_u64 less_u64 equal_u64 in_set_u64;
    u128: within_u128 less_u128 equal_u128 in_set_u128;
}

macro_rules! floats {
    ($($float:ty: $within:ident $less:ident $equal:ident $in_set:ident;)*) => { $(
        pub(super) fn $within(values: &[$float], low: $float, high: $float, inverted: bool, out: &mut [u64]) {
            test(values, inverted, out, |block| mask(block, |value| (value >= low) & (value <= high)));
        }

        pub(super) fn $less(left: &[$float], right: &[$float], inverted: bool, out: &mut [u64]) {
            test_pairs(left, right, inverted, out, |left, right| {
                mask_pairs(left, right, |left, right| (left < right) | (right.is_nan() & !left.is_nan()))
            });
        }

        pub(super) fn $equal(left: &[$float], right: &[$float], inverted: bool, out: &mut [u64]) {
            test_pairs(left, right, inverted, out, |left, right| {
                mask_pairs(left, right, |left, right| (left == right) | (left.is_nan() & right.is_nan()))
            });
        }

        pub(super) fn $in_set(values: &[$float], set: &[$float], out: &mut [u64]) {
            test(values, false, out, |block| {
                mask_set(block, set, |value, wanted| (value == wanted) | (value.is_nan() & wanted.is_nan()))
            });
        }
    )* };
}

floats! {
    f32: within_f32 less_f32 equal_f32 in_set_f32;
    f64: within_f64 less_f64 equal_f64 in_set_f64;
}

pub(super) fn codes(codes: &[u32], truth: Truth<'_>, out: &mut [u64]) -> Result<(), KernelError> {
    let largest = codes.iter().copied().max().unwrap_or(0);
    check_codes(codes, largest, truth)?;
    test(codes, false, out, |block| mask(block, |code| truth.bit(code)));
    Ok(())
}
