//! Values compared with literals, sets and each other, whole slices at a time, to bitmaps.
//!
//! Bit `i % 64` of word `i / 64` (least significant first) is the answer for value `i`; bits after the last value are
//! zeros. The value in a null's slot is compared like any other: the caller removes nulls from the bitmap, once.
//!
//! ```text
//! values     3  9  4  7  1  5  …
//! < 5        1  0  1  0  1  0  …   →  word 0 = 0b…010101
//! ```
//!
//! Floating point numbers compare in SQL's order: there is one zero (−0 = 0), and one NaN, equal to itself and greater
//! than everything else.
//!
//! All six comparisons and the range are one test, whether a value lies between two bounds, possibly negated: `x < 5`
//! is `MIN ≤ x ≤ 4`. For integers of either sign that is one subtraction and one unsigned comparison, `x − low ≤ high −
//! low`.
#![expect(unsafe_code, reason = "calls the tier that the processor has; sees signed integers as unsigned ones")]

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod bits;
mod blocks;
mod codes;
mod comparison;
#[cfg(target_arch = "aarch64")]
mod neon;
mod number;
#[cfg(test)]
mod reference;
mod scalar;
mod set;
mod strings;
#[cfg(test)]
mod tests;
mod truth;

pub use crate::levels::count;
pub use bits::{and, and_not, or};
pub use codes::codes;
pub use comparison::Comparison;
pub use number::Number;
pub use set::{NumberSet, set_slot_count};
pub use strings::{compare_strings, strings_in_set, strings_start_with};
pub use truth::Truth;

use crate::KernelError;

/// Compares each of `values` with `literal`.
///
/// ```
/// use lath_kernels::compare::{Comparison, compare};
///
/// let mut bits = [0];
/// compare(&[3, 9, 4, 7, 1], Comparison::Less, 5, &mut bits)?;
/// assert_eq!(bits, [0b10101]);
/// compare(&[f64::NAN, -0.0, 1.5], Comparison::GreaterOrEqual, 0.0, &mut bits)?;
/// assert_eq!(bits, [0b111]);
/// # Ok::<(), lath_kernels::KernelError>(())
/// ```
///
/// # Errors
/// If `out` does not have one word per 64 values, rounded up.
pub fn compare<T: Number>(values: &[T], op: Comparison, literal: T, out: &mut [u64]) -> Result<(), KernelError> {
    check_words(values.len(), out)?;
    let (bounds, inverted) = match op {
        Comparison::Equal => (literal.exactly(), false),
        Comparison::NotEqual => (literal.exactly(), true),
        Comparison::Less => (literal.below(), false),
        Comparison::GreaterOrEqual => (literal.below(), true),
        Comparison::LessOrEqual => (literal.up_to(), false),
        Comparison::Greater => (literal.up_to(), true),
    };
    T::within(values, if inverted { bounds.inverted() } else { bounds }, out);
    Ok(())
}

/// Finds the values that are at least `low` and at most `high`; none if `low` is greater than `high`.
///
/// # Errors
/// If `out` does not have one word per 64 values, rounded up.
pub fn between<T: Number>(values: &[T], low: T, high: T, out: &mut [u64]) -> Result<(), KernelError> {
    check_words(values.len(), out)?;
    T::within(values, T::between(low, high), out);
    Ok(())
}

/// Compares `left` and `right` position by position.
///
/// # Errors
/// If the slices differ in length, or `out` does not have one word per 64 values, rounded up.
pub fn compare_slices<T: Number>(left: &[T], op: Comparison, right: &[T], out: &mut [u64]) -> Result<(), KernelError> {
    if left.len() != right.len() {
        return Err(KernelError::LengthMismatch { expected: left.len(), actual: right.len() });
    }
    check_words(left.len(), out)?;
    match op {
        Comparison::Equal => T::equal(left, right, false, out),
        Comparison::NotEqual => T::equal(left, right, true, out),
        Comparison::Less => T::less(left, right, false, out),
        Comparison::GreaterOrEqual => T::less(left, right, true, out),
        Comparison::Greater => T::less(right, left, false, out),
        Comparison::LessOrEqual => T::less(right, left, true, out),
    }
    Ok(())
}

/// Finds the values that equal one of `set`, by comparing each with each: for sets of up to about 16.
///
/// # Errors
/// If `out` does not have one word per 64 values, rounded up.
pub fn in_set<T: Number>(values: &[T], set: &[T], out: &mut [u64]) -> Result<(), KernelError> {
    check_words(values.len(), out)?;
    T::in_set(values, set, out);
    Ok(())
}

/// The number of words in a bitmap of `count` values.
#[inline]
pub const fn word_count(count: usize) -> usize {
    count.div_ceil(64)
}

fn check_words(count: usize, out: &[u64]) -> Result<(), KernelError> {
    let expected = word_count(count);
    if out.len() == expected { Ok(()) } else { Err(KernelError::LengthMismatch { expected, actual: out.len() }) }
}
