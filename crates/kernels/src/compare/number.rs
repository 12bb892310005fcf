//! The types of compared values, and comparisons with literals as bounds.

#[cfg(target_arch = "aarch64")]
use super::neon;
use super::scalar;
#[cfg(target_arch = "x86_64")]
use super::{avx2, avx512};
use crate::tier::dispatch;

/// A type whose slices can be compared: `i8` to `i128`, `u8` to `u128`, `f32` and `f64`.
pub trait Number: Copy + Default + private::Number {}

/// The values that pass: from `low` to `high`, or all others if `inverted`.
///
/// For integers, `low` is at most `high`. For floating point numbers, neither is a NaN, and no NaN lies between them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds<T> {
    pub(super) low: T,
    pub(super) high: T,
    pub(super) inverted: bool,
}

impl<T> Bounds<T> {
    fn new(low: T, high: T) -> Self {
        Self { low, high, inverted: false }
    }

    /// The values outside of these bounds.
    pub(super) fn inverted(self) -> Self {
        Self { inverted: !self.inverted, ..self }
    }
}

pub(super) mod private {
    use super::Bounds;

    /// The requirements on a type: not for other crates to implement or call.
    pub trait Number: Copy + Default {
        /// This value.
        fn exactly(self) -> Bounds<Self>;
        /// All values less than this one.
        fn below(self) -> Bounds<Self>;
        /// This value and all less than it.
        fn up_to(self) -> Bounds<Self>;
        /// The values from `low` to `high`.
        fn between(low: Self, high: Self) -> Bounds<Self>;

        fn within(values: &[Self], bounds: Bounds<Self>, out: &mut [u64]);
        fn less(left: &[Self], right: &[Self], inverted: bool, out: &mut [u64]);
        fn equal(left: &[Self], right: &[Self], inverted: bool, out: &mut [u64]);
        fn in_set(values: &[Self], set: &[Self], out: &mut [u64]);

        /// The bits, as the lower and the upper 64; equal values have the same.
        fn halves(self) -> (u64, u64);
    }
}

/// Bounds of integers, and their slices reinterpreted as the unsigned type of the same width. `$turn` converts between
/// the order of unsigned numbers and the type's.
macro_rules! integer {
    ($($integer:ty as $bits:ty, $turn:expr, $tiers:tt: $within:ident $less:ident $equal:ident $in_set:ident;)*) => { $(
        impl Number for $integer {}

        impl private::Number for $integer {
            fn exactly(self) -> Bounds<Self> {
                Bounds::new(self, self)
            }

            fn below(self) -> Bounds<Self> {
                match self.checked_sub(1) {
                    Some(high) => Bounds::new(Self::MIN, high),
                    None => Bounds::new(Self::MIN, Self::MAX).inverted(),
                }
            }

            fn up_to(self) -> Bounds<Self> {
                Bounds::new(Self::MIN, self)
            }

            fn between(low: Self, high: Self) -> Bounds<Self> {
                if low <= high { Bounds::new(low, high) } else { Bounds::new(Self::MIN, Self::MAX).inverted() }
            }

            fn within(values: &[Self], bounds: Bounds<Self>, out: &mut [u64]) {
                let Bounds { low, high, inverted } = bounds;
                let (values, low, span) = (bits(values), low as $bits, high.wrapping_sub(low) as $bits);
                tiers!($within(values, low, span, inverted, out): $tiers)
            }

            fn less(left: &[Self], right: &[Self], inverted: bool, out: &mut [u64]) {
                let (left, right): (&[$bits], &[$bits]) = (bits(left), bits(right));
                tiers!($less(left, right, $turn, inverted, out): $tiers)
            }

            fn equal(left: &[Self], right: &[Self], inverted: bool, out: &mut [u64]) {
                let (left, right): (&[$bits], &[$bits]) = (bits(left), bits(right));
                tiers!($equal(left, right, inverted, out): $tiers)
            }

            fn in_set(values: &[Self], set: &[Self], out: &mut [u64]) {
                let (values, set): (&[$bits], &[$bits]) = (bits(values), bits(set));
                tiers!($in_set(values, set, out): $tiers)
            }

            #[inline(always)]
            fn halves(self) -> (u64, u64) {
                let bits = self as $bits as u128;
                (bits as u64, (bits >> 64) as u64)
            }
        }

        impl Bits<$bits> for $integer {}
    )* };
}

macro_rules! tiers {
    ($f:ident $args:tt : ($($tier:ident)*)) => { dispatch!($f $args: $($tier)*) };
}

/// Integers that can be viewed as unsigned ones of the same size.
trait Bits<U> {}

/// Reinterprets integers as unsigned.
#[inline]
fn bits<T: Bits<U>, U>(values: &[T]) -> &[U] {
    const { assert!(size_of::<T>() == size_of::<U>() && align_of::<T>() == align_of::<U>()) };
    // SAFETY: both are integers, of the same size and alignment by the assertion, and every bit pattern is valid.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), values.len()) }
}

integer! {
    i8 as u8, 1 << 7, (avx512 avx2 neon): within_u8 less_u8 equal_u8 in_set_u8;
    i16 as u16, 1 << 15, (avx512 avx2 neon): within_u16 less_u16 equal_u16 in_set_u16;
    i32 as u32, 1 << 31, (avx512 avx2 neon): within_u32 less_u32 equal_u32 in_set_u32;
    i64 as u64, 1 << 63, (avx512 avx2 neon): within_u64 less_u64 equal_u64 in_set_u64;
    i128 as u128, 1 << 127, (avx512 avx2): within_u128 less_u128 equal_u128 in_set_u128;
    u8 as u8, 0, (avx512 avx2 neon): within_u8 less_u8 equal_u8 in_set_u8;
    u16 as u16, 0, (avx512 avx2 neon): within_u16 less_u16 equal_u16 in_set_u16;
    u32 as u32, 0, (avx512 avx2 neon): within_u32 less_u32 equal_u32 in_set_u32;
    u64 as u64, 0, (avx512 avx2 neon): within_u64 less_u64 equal_u64 in_set_u64;
    u128 as u128, 0, (avx512 avx2): within_u128 less_u128 equal_u128 in_set_u128;
}

macro_rules! float {
    ($($float:ty: $within:ident $less:ident $equal:ident $in_set:ident;)*) => { $(
        impl Number for $float {}

        impl private::Number for $float {
            fn exactly(self) -> Bounds<Self> {
                if self.is_nan() {
                    return Bounds::new(Self::NEG_INFINITY, Self::INFINITY).inverted();
                }
                Bounds::new(self, self)
            }

            fn below(self) -> Bounds<Self> {
                if self.is_nan() {
                    return Bounds::new(Self::NEG_INFINITY, Self::INFINITY);
                }
                if self == Self::NEG_INFINITY {
                    return Bounds::new(Self::INFINITY, Self::NEG_INFINITY);
                }
                Bounds::new(Self::NEG_INFINITY, self.next_down())
            }

            fn up_to(self) -> Bounds<Self> {
                if self.is_nan() {
                    return Bounds::new(Self::INFINITY, Self::NEG_INFINITY).inverted();
                }
                Bounds::new(Self::NEG_INFINITY, self)
            }

            fn between(low: Self, high: Self) -> Bounds<Self> {
                if high.is_nan() {
                    return low.below().inverted();
                }
                if low.is_nan() {
                    return Bounds::new(Self::INFINITY, Self::NEG_INFINITY);
                }
                Bounds::new(low, high)
            }

            fn within(values: &[Self], bounds: Bounds<Self>, out: &mut [u64]) {
                let Bounds { low, high, inverted } = bounds;
                dispatch!($within(values, low, high, inverted, out): avx512 avx2 neon)
            }

            fn less(left: &[Self], right: &[Self], inverted: bool, out: &mut [u64]) {
                dispatch!($less(left, right, inverted, out): avx512 avx2 neon)
            }

            fn equal(left: &[Self], right: &[Self], inverted: bool, out: &mut [u64]) {
                dispatch!($equal(left, right, inverted, out): avx512 avx2 neon)
            }

            fn in_set(values: &[Self], set: &[Self], out: &mut [u64]) {
                dispatch!($in_set(values, set, out): avx512 avx2 neon)
            }

            #[inline(always)]
            fn halves(self) -> (u64, u64) {
                // Adding 0 turns −0 into 0, and leaves any other number unchanged.
                let one = if self.is_nan() { Self::NAN } else { self + 0.0 };
                (one.to_bits().into(), 0)
            }
        }
    )* };
}

float! {
    f32: within_f32 less_f32 equal_f32 in_set_f32;
    f64: within_f64 less_f64 equal_f64 in_set_f64;
}
