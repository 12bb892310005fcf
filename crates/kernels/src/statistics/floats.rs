//! Ranges of floating point numbers, by keys: the bits as a signed integer, with the lower ones inverted if the sign is
//! set. Keys are in IEEE 754's total order, in which NaNs are outside of all numbers.
//!
//! ```text
//! −NaN    −∞   −1   −0 | +0   1   ∞    NaN
//! MIN …                | 0 …           … MAX
//! ```
//!
//! So NaNs are detected and excluded by comparing keys with infinity's.

/// The minimum and maximum of floating point values, and the number of NaNs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FloatRange<T> {
    /// The number of NaNs.
    pub nan_count: usize,
    /// The range of the numbers, and of the NaNs.
    pub(super) numbers: Option<(T, T)>,
    pub(super) nans: Option<(T, T)>,
}

impl<T: Float> FloatRange<T> {
    /// The smallest and the largest number by the order that the specification defines for the physical type (and for
    /// FLOAT16), `None` if there are only NaNs or no values. As the specification requires, a smallest zero is −0 and a
    /// largest one +0, because readers may treat the two as equal.
    pub fn in_type_order(&self) -> Option<(T, T)> {
        let (min, max) = self.numbers?;
        let min = if min.key() == T::ZERO { T::value(T::NEGATIVE_ZERO) } else { min };
        let max = if max.key() == T::NEGATIVE_ZERO { T::value(T::ZERO) } else { max };
        Some((min, max))
    }

    /// The smallest and the largest number by IEEE 754's total order, in which −0 comes before +0; if there are only
    /// NaNs, the smallest and the largest of them; `None` if there are no values.
    pub fn in_total_order(&self) -> Option<(T, T)> {
        self.numbers.or(self.nans)
    }
}

/// A floating point type by its keys.
pub trait Float: private::Float {}

impl Float for [u8; 2] {}
impl Float for f32 {}
impl Float for f64 {}

pub(super) mod private {
    /// The requirements of ranges on a type: not for other crates to implement or call.
    pub trait Float: Copy {
        /// A signed integer of the type's size.
        type Key: Copy + Ord;
        /// The key of +0.
        const ZERO: Self::Key;
        /// The key of −0.
        const NEGATIVE_ZERO: Self::Key;
        /// The key of infinity.
        const INFINITY: Self::Key;
        /// The key of minus infinity.
        const NEGATIVE_INFINITY: Self::Key;
        /// The key of the value.
        fn key(self) -> Self::Key;
        /// The value of the key.
        fn value(key: Self::Key) -> Self;
        /// Adds one, modulo the key's size, if `condition` is true.
        fn count_if(count: Self::Key, condition: bool) -> Self::Key;
        /// The count, starting from zero.
        fn count(count: Self::Key) -> usize;
    }
}

macro_rules! float {
    ($float:ty, $key:ty, $infinity:literal, |$value:ident| $bits:expr, $from_bits:expr) => {
        impl private::Float for $float {
            type Key = $key;
            const ZERO: $key = 0;
            const NEGATIVE_ZERO: $key = -1;
            const INFINITY: $key = $infinity;
            const NEGATIVE_INFINITY: $key = !$infinity;

            #[inline(always)]
            fn key(self) -> $key {
                let $value = self;
                let bits = $bits.cast_signed();
                bits ^ (bits >> (<$key>::BITS - 1)) & <$key>::MAX
            }

            #[inline(always)]
            fn value(key: $key) -> Self {
                $from_bits((key ^ (key >> (<$key>::BITS - 1)) & <$key>::MAX).cast_unsigned())
            }

            #[inline(always)]
            fn count_if(count: $key, condition: bool) -> $key {
                count.wrapping_add(<$key>::from(condition))
            }

            #[inline(always)]
            fn count(count: $key) -> usize {
                count as usize
            }
        }
    };
}

float!([u8; 2], i16, 0x7c00, |value| u16::from_le_bytes(value), u16::to_le_bytes);
float!(f32, i32, 0x7f80_0000, |value| value.to_bits(), f32::from_bits);
float!(f64, i64, 0x7ff0_0000_0000_0000, |value| value.to_bits(), f64::from_bits);

/// The number of values processed at a time: they stay in L1 or L2 if there are NaNs among them, and 16 bits suffice
/// for their number.
const PART: usize = 1 << 12;

#[inline(always)]
pub(super) fn range<T: Float>(values: &[T]) -> FloatRange<T> {
    let mut nan_count = 0;
    // Each is beyond the other until the first number.
    let (mut min, mut max) = (T::INFINITY, T::NEGATIVE_INFINITY);
    for part in values.chunks(PART) {
        // NaNs would be the extremes of the part.
        let (mut part_min, mut part_max) = (T::INFINITY, T::NEGATIVE_INFINITY);
        for value in part {
            part_min = part_min.min(value.key());
            part_max = part_max.max(value.key());
        }
        if part_min < T::NEGATIVE_INFINITY || part_max > T::INFINITY {
            let nans;
            (part_min, part_max, nans) = range_without_nans(part);
            nan_count += nans;
        }
        min = min.min(part_min);
        max = max.max(part_max);
    }
    let numbers = (nan_count < values.len()).then(|| (T::value(min), T::value(max)));
    let nans = if nan_count > 0 && numbers.is_none() { least_and_greatest(values) } else { None };
    FloatRange { nan_count, numbers, nans }
}

/// The bounds of the numbers, and the number of NaNs.
#[inline(always)]
fn range_without_nans<T: Float>(part: &[T]) -> (T::Key, T::Key, usize) {
    let (mut min, mut max, mut nans) = (T::INFINITY, T::NEGATIVE_INFINITY, T::ZERO);
    for value in part {
        let key = value.key();
        let (above, below) = (key > T::INFINITY, key < T::NEGATIVE_INFINITY);
        nans = T::count_if(nans, above | below);
        // A NaN becomes an infinity that does not change the other bound: the minimum is no more than it.
        min = min.min(if below { T::INFINITY } else { key });
        max = max.max(if above { T::NEGATIVE_INFINITY } else { key });
    }
    (min, max, T::count(nans))
}

/// By key, whatever the values are.
#[cold]
fn least_and_greatest<T: Float>(values: &[T]) -> Option<(T, T)> {
    let keys = || values.iter().map(|value| value.key());
    Some((T::value(keys().min()?), T::value(keys().max()?)))
}
