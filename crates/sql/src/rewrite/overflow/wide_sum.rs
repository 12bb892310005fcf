//! Exact sums in 128 bits, and their conversion to the type of `sum`.

use std::sync::Arc;

use arrow_array::types::{
    ArrowPrimitiveType, Decimal32Type, Decimal64Type, Decimal128Type, DurationMicrosecondType, DurationMillisecondType,
    DurationNanosecondType, DurationSecondType, Int64Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, ArrowNativeTypeOp, Decimal128Array, PrimitiveArray};
use arrow_schema::DataType;
use datafusion::arrow::buffer::NullBuffer;
use datafusion::common::{Result, exec_datafusion_err};
use datafusion::error::DataFusionError;
use lath_parquet::ExactType;

use super::decimal::{DIGITS_END, decimal_text};
use super::sql_name;

/// Types that are summed in 128 bits.
pub(super) trait Addend:
    ArrowPrimitiveType<Native: Into<i128> + TryFrom<i128>> + std::fmt::Debug + Send + Sync
{
    /// Returns the sum of values and whether it overflows 128 bits.
    fn add_all(values: &[Self::Native]) -> (i128, bool) {
        values.iter().fold((0, false), |(sum, any): (i128, bool), &value| {
            let (sum, wraps) = sum.overflowing_add(value.into());
            (sum, any | wraps)
        })
    }
}

impl Addend for Int64Type {
    fn add_all(values: &[i64]) -> (i128, bool) {
        (add_signed(values), false)
    }
}

impl Addend for UInt64Type {
    fn add_all(values: &[u64]) -> (i128, bool) {
        (add_halves(values, 0), false)
    }
}

macro_rules! durations {
    ($($array_type:ty),*) => {$(
        impl Addend for $array_type {
            fn add_all(values: &[i64]) -> (i128, bool) {
                (add_signed(values), false)
            }
        }
    )*};
}

durations!(DurationSecondType, DurationMillisecondType, DurationMicrosecondType, DurationNanosecondType);

impl Addend for Decimal32Type {}
impl Addend for Decimal64Type {}
impl Addend for Decimal128Type {}

/// Sums the halves of values separately in 64 bits, which vectorises, unlike 128-bit sums. `flip` is added to each value.
fn add_halves<T: ArrowNativeTypeOp + Halves>(values: &[T], flip: u64) -> i128 {
    // Sums of halves of fewer than 2^32 values cannot overflow.
    let parts = values.chunks(1 << 31).map(|part| {
        let (low, high) = part.iter().fold((0_u64, 0_u64), |(low, high), value| {
            let bits = value.bits() ^ flip;
            (low + (bits & u64::from(u32::MAX)), high + (bits >> 32))
        });
        (i128::from(high) << 32) + i128::from(low)
    });
    parts.sum()
}

/// Sums signed values as unsigned values that are larger by 2^63.
fn add_signed(values: &[i64]) -> i128 {
    const BIAS: u64 = 1 << 63;
    add_halves(values, BIAS) - i128::try_from(values.len()).unwrap_or(i128::MAX) * i128::from(BIAS)
}

trait Halves {
    fn bits(self) -> u64;
}

impl Halves for i64 {
    fn bits(self) -> u64 {
        self.cast_unsigned()
    }
}

impl Halves for u64 {
    fn bits(self) -> u64 {
        self
    }
}

/// The sum of the non-null values; `None` if there are none.
pub(super) fn add_array<T: Addend>(values: &PrimitiveArray<T>, target: &Target) -> Result<Option<i128>> {
    if values.null_count() == values.len() {
        return Ok(None);
    }
    let (sum, wraps) = match values.nulls() {
        None => T::add_all(values.values()),
        Some(nulls) => nulls.valid_slices().fold((0, false), |(sum, any): (i128, bool), (start, end)| {
            let (part, part_wraps) = T::add_all(&values.values()[start..end]);
            let (sum, wraps) = sum.overflowing_add(part);
            (sum, any | wraps | part_wraps)
        }),
    };
    if wraps { Err(target.overflow(None)) } else { Ok(Some(sum)) }
}

/// The type of a sum, and its expression as text for errors.
#[derive(Debug, Clone)]
pub(super) struct Target {
    pub(super) data_type: DataType,
    pub(super) expression: String,
}

impl Target {
    /// The type of partial sums: decimals with the maximum precision.
    pub(super) fn state_type(data_type: &DataType) -> DataType {
        DataType::Decimal128(38, ExactType::decimal_digits(data_type).map_or(0, |(_, scale)| scale))
    }

    /// Converts a sum to its final type.
    pub(super) fn to_result<T: Addend>(&self, sum: i128) -> Result<T::Native> {
        let fits = match ExactType::decimal_digits(&self.data_type) {
            Some((precision, _)) => {
                sum.unsigned_abs() < 10_u128.checked_pow(u32::from(precision)).unwrap_or(DIGITS_END)
            }
            None => true,
        };
        match T::Native::try_from(sum) {
            Ok(sum) if fits => Ok(sum),
            _ => Err(self.overflow(Some(sum))),
        }
    }

    /// Converts the sums of groups to their final type.
    pub(super) fn to_results<T: Addend>(&self, sums: &[i128], nulls: Option<NullBuffer>) -> Result<ArrayRef> {
        let is_valid = |row| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
        let narrowed = sums.iter().enumerate().map(|(row, &sum)| match is_valid(row) {
            true => self.to_result::<T>(sum),
            false => Ok(T::default_value()),
        });
        let narrowed: Vec<T::Native> = narrowed.collect::<Result<_>>()?;
        Ok(Arc::new(PrimitiveArray::<T>::new(narrowed.into(), nulls).with_data_type(self.data_type.clone())))
    }

    /// Converts sums to the type of partial sums.
    pub(super) fn state(&self, sums: Vec<i128>, nulls: Option<NullBuffer>) -> ArrayRef {
        let state_type = Self::state_type(&self.data_type);
        Arc::new(Decimal128Array::new(sums.into(), nulls).with_data_type(state_type))
    }

    pub(super) fn overflow(&self, sum: Option<i128>) -> DataFusionError {
        let (expression, type_name) = (&self.expression, sql_name(&self.data_type));
        let (value, advice) = match ExactType::decimal_digits(&self.data_type) {
            Some((_, scale)) => {
                let value = sum.map(|sum| decimal_text(sum, scale));
                (value, "cast the values to fewer digits, or to DOUBLE")
            }
            None => (sum.map(|sum| sum.to_string()), "cast the values to DECIMAL(38, 0)"),
        };
        let value = value.map(|value| format!(" ({value})")).unwrap_or_default();
        exec_datafusion_err!("{expression} does not fit {type_name}{value}; {advice}")
    }
}
