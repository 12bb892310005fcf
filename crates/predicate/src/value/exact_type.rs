//! The table of Arrow types whose values are integers in some unit: integers, decimals, dates, times, timestamps and durations.
//!
//! A new type of this kind has a row in `with_exact_type` and in [`ExactType::new`]. Code that treats these types alike reads the table.

use std::ops::RangeInclusive;

use arrow_array::types::ArrowPrimitiveType;
use arrow_schema::DataType;

use super::moment::{NANOS_PER_DAY, nanos_per};

/// Evaluates `$body` with `$t` as the Arrow type of a data type; `None` for types that are not in the table.
macro_rules! with_exact_type {
    ($data_type:expr, $t:ident => $body:expr) => {{
        use arrow_schema::{DataType, TimeUnit};
        macro_rules! row {
            ($arrow:ident) => {{
                type $t = arrow_array::types::$arrow;
                Some($body)
            }};
        }
        match $data_type {
            DataType::Int8 => row!(Int8Type),
            DataType::Int16 => row!(Int16Type),
            DataType::Int32 => row!(Int32Type),
            DataType::Int64 => row!(Int64Type),
            DataType::UInt8 => row!(UInt8Type),
            DataType::UInt16 => row!(UInt16Type),
            DataType::UInt32 => row!(UInt32Type),
            DataType::UInt64 => row!(UInt64Type),
            DataType::Decimal32(..) => row!(Decimal32Type),
            DataType::Decimal64(..) => row!(Decimal64Type),
            DataType::Decimal128(..) => row!(Decimal128Type),
            DataType::Decimal256(..) => row!(Decimal256Type),
            DataType::Date32 => row!(Date32Type),
            DataType::Date64 => row!(Date64Type),
            DataType::Time32(TimeUnit::Second) => row!(Time32SecondType),
            DataType::Time32(_) => row!(Time32MillisecondType),
            DataType::Time64(TimeUnit::Nanosecond) => row!(Time64NanosecondType),
            DataType::Time64(_) => row!(Time64MicrosecondType),
            DataType::Timestamp(TimeUnit::Second, _) => row!(TimestampSecondType),
            DataType::Timestamp(TimeUnit::Millisecond, _) => row!(TimestampMillisecondType),
            DataType::Timestamp(TimeUnit::Microsecond, _) => row!(TimestampMicrosecondType),
            DataType::Timestamp(TimeUnit::Nanosecond, _) => row!(TimestampNanosecondType),
            DataType::Duration(TimeUnit::Second) => row!(DurationSecondType),
            DataType::Duration(TimeUnit::Millisecond) => row!(DurationMillisecondType),
            DataType::Duration(TimeUnit::Microsecond) => row!(DurationMicrosecondType),
            DataType::Duration(TimeUnit::Nanosecond) => row!(DurationNanosecondType),
            _ => None,
        }
    }};
}
pub(crate) use with_exact_type;

/// Evaluates `$body` with `$t` as the Arrow type of a decimal, and its precision and scale; `None` for types that are no decimals.
///
/// ```
/// use arrow_array::types::ArrowPrimitiveType;
/// use arrow_schema::DataType;
/// use lath_predicate::with_decimal_type;
///
/// let bits = |data_type: &DataType| with_decimal_type!(data_type, T, _precision, _scale => size_of::<<T as ArrowPrimitiveType>::Native>() * 8);
/// assert_eq!(bits(&DataType::Decimal64(12, 2)), Some(64));
/// assert_eq!(bits(&DataType::Int64), None);
/// ```
#[macro_export]
macro_rules! with_decimal_type {
    ($data_type:expr, $t:ident, $precision:ident, $scale:ident => $body:expr) => {
        match *$data_type {
            $crate::decimal_types::DataType::Decimal32($precision, $scale) => {
                type $t = $crate::decimal_types::Decimal32Type;
                Some($body)
            }
            $crate::decimal_types::DataType::Decimal64($precision, $scale) => {
                type $t = $crate::decimal_types::Decimal64Type;
                Some($body)
            }
            $crate::decimal_types::DataType::Decimal128($precision, $scale) => {
                type $t = $crate::decimal_types::Decimal128Type;
                Some($body)
            }
            $crate::decimal_types::DataType::Decimal256($precision, $scale) => {
                type $t = $crate::decimal_types::Decimal256Type;
                Some($body)
            }
            _ => None,
        }
    };
}

/// The names that `with_decimal_type` needs where it is used.
#[doc(hidden)]
pub mod decimal_types {
    pub use arrow_array::types::{Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type};
    pub use arrow_schema::DataType;
}

/// The properties of an Arrow type whose values are integers in some unit.
///
/// ```
/// use arrow_schema::DataType;
/// use lath_predicate::{ExactType, ExactUnit};
///
/// let price = ExactType::new(&DataType::Decimal64(12, 2)).unwrap();
/// assert_eq!((price.width, price.unit), (8, ExactUnit::Decimal { precision: 12, scale: 2 }));
/// assert_eq!(price.digits(), Some((10, 2)));
/// assert_eq!(ExactType::new(&DataType::Float64), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExactType {
    /// Bytes of a value: 1, 2, 4, 8, 16 or 32.
    pub width: usize,
    /// Whether values can be negative.
    pub is_signed: bool,
    /// The unit of the integers.
    pub unit: ExactUnit,
}

/// The unit of the integers of an [`ExactType`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExactUnit {
    /// 1: the type is an integer.
    One,
    /// 10⁻ˢ, where s is the scale: the type is a decimal.
    Decimal {
        /// Maximum number of digits.
        precision: u8,
        /// Number of digits after the point; may be negative.
        scale: i8,
    },
    /// This number of nanoseconds: the type is a date, time, timestamp or duration.
    Nanos(i128),
}

impl ExactType {
    /// The properties of `data_type`; `None` if its values are not integers.
    pub fn new(data_type: &DataType) -> Option<Self> {
        let width = with_exact_type!(data_type, T => size_of::<<T as ArrowPrimitiveType>::Native>())?;
        let unit = match *data_type {
            DataType::Decimal32(precision, scale)
            | DataType::Decimal64(precision, scale)
            | DataType::Decimal128(precision, scale)
            | DataType::Decimal256(precision, scale) => ExactUnit::Decimal { precision, scale },
            DataType::Date32 => ExactUnit::Nanos(NANOS_PER_DAY),
            DataType::Date64 => ExactUnit::Nanos(1_000_000),
            DataType::Time32(unit)
            | DataType::Time64(unit)
            | DataType::Timestamp(unit, _)
            | DataType::Duration(unit) => ExactUnit::Nanos(nanos_per(unit)),
            _ => ExactUnit::One,
        };
        Some(Self { width, is_signed: !data_type.is_unsigned_integer(), unit })
    }

    /// The properties of `data_type`, if it is a decimal.
    pub fn decimal(data_type: &DataType) -> Option<Self> {
        Self::new(data_type).filter(|exact| matches!(exact.unit, ExactUnit::Decimal { .. }))
    }

    /// Precision and scale of `data_type`, if it is a decimal.
    pub fn decimal_digits(data_type: &DataType) -> Option<(u8, i8)> {
        Self::new(data_type)?.precision_and_scale()
    }

    /// Precision and scale of a decimal.
    pub fn precision_and_scale(self) -> Option<(u8, i8)> {
        match self.unit {
            ExactUnit::Decimal { precision, scale } => Some((precision, scale)),
            _ => None,
        }
    }

    /// The decimal type with values of this width.
    pub fn to_decimal(self, precision: u8, scale: i8) -> DataType {
        match self.width {
            ..=4 => DataType::Decimal32(precision, scale),
            8 => DataType::Decimal64(precision, scale),
            16 => DataType::Decimal128(precision, scale),
            _ => DataType::Decimal256(precision, scale),
        }
    }

    /// The maximum precision of decimals with values of this width.
    pub fn max_precision(self) -> u8 {
        match self.width {
            ..=4 => 9,
            8 => 18,
            16 => 38,
            _ => 76,
        }
    }

    /// The number of digits of integers and decimals before and after the point; `None` for other types.
    pub fn digits(self) -> Option<(i16, i16)> {
        match self.unit {
            ExactUnit::One => Some(match (self.width, self.is_signed) {
                (1, _) => (3, 0),
                (2, _) => (5, 0),
                (4, _) => (10, 0),
                (_, true) => (19, 0),
                (_, false) => (20, 0),
            }),
            ExactUnit::Decimal { precision, scale } => {
                Some((i16::from(precision) - i16::from(scale), i16::from(scale)))
            }
            ExactUnit::Nanos(_) => None,
        }
    }

    /// The range of the stored integers; `None` for integers of 32 bytes.
    pub fn range(self) -> Option<RangeInclusive<i128>> {
        let bits = u32::try_from(self.width * 8).ok().filter(|&bits| bits <= 128)?;
        Some(match self.is_signed {
            true => i128::MIN >> (128 - bits)..=i128::MAX >> (128 - bits),
            false => 0..=i128::MAX >> (127 - bits),
        })
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::types::{Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, DecimalType};
    use arrow_schema::TimeUnit;

    use super::*;

    #[test]
    fn ranges_are_the_native_integers() {
        let range = |data_type: &DataType| ExactType::new(data_type).and_then(ExactType::range);
        assert_eq!(range(&DataType::Int8), Some(i8::MIN.into()..=i8::MAX.into()));
        assert_eq!(range(&DataType::UInt16), Some(0..=u16::MAX.into()));
        assert_eq!(range(&DataType::UInt64), Some(0..=u64::MAX.into()));
        assert_eq!(range(&DataType::Date32), Some(i32::MIN.into()..=i32::MAX.into()));
        assert_eq!(range(&DataType::Timestamp(TimeUnit::Second, None)), Some(i64::MIN.into()..=i64::MAX.into()));
        assert_eq!(range(&DataType::Decimal128(38, 0)), Some(i128::MIN..=i128::MAX));
        assert_eq!(range(&DataType::Decimal256(76, 0)), None);
        assert_eq!(range(&DataType::Utf8), None);
    }

    #[test]
    fn decimals_have_the_widths_and_precisions_of_arrow() {
        fn check<T: DecimalType>(data_type: &DataType) {
            let exact = ExactType::decimal(data_type).expect("a decimal");
            assert_eq!(exact.width, size_of::<<T as ArrowPrimitiveType>::Native>());
            assert_eq!(exact.max_precision(), T::MAX_PRECISION);
            assert_eq!(exact.to_decimal(7, 2), T::TYPE_CONSTRUCTOR(7, 2));
            assert_eq!((exact.precision_and_scale(), exact.digits()), (Some((7, 2)), Some((5, 2))));
        }
        check::<Decimal32Type>(&DataType::Decimal32(7, 2));
        check::<Decimal64Type>(&DataType::Decimal64(7, 2));
        check::<Decimal128Type>(&DataType::Decimal128(7, 2));
        check::<Decimal256Type>(&DataType::Decimal256(7, 2));
        assert_eq!(ExactType::decimal(&DataType::Int32), None);
    }
}
