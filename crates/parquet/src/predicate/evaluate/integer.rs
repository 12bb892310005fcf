//! Integers, and all that is stored as integers: decimals, dates, times, timestamps and durations.

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type,
    DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType, DurationSecondType, Int8Type, Int16Type,
    Int32Type, Int64Type, Time32MillisecondType, Time32SecondType, Time64MicrosecondType, Time64NanosecondType,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_buffer::{BooleanBuffer, i256};
use arrow_schema::{DataType, TimeUnit};

use super::super::syntax::Comparison;
use super::super::test::ValueTest;
use super::super::value::Value;

/// An integer type of Arrow.
pub(super) trait Integer: Copy + Ord {
    const LEAST: Self;
    const GREATEST: Self;
    /// The literal as this type has it; `None` if it is no integer or this type does not reach there.
    fn from_value(value: &Value) -> Option<Self>;
    fn into_value(self) -> Value;
}

macro_rules! integer {
    ($($native:ty),*) => {$(
        impl Integer for $native {
            const LEAST: Self = <$native>::MIN;
            const GREATEST: Self = <$native>::MAX;

            fn from_value(value: &Value) -> Option<Self> {
                if let Value::Int(value) = value { Self::try_from(*value).ok() } else { None }
            }

            fn into_value(self) -> Value {
                Value::Int(self.into())
            }
        }
    )*};
}
integer!(i8, i16, i32, i64, i128, u8, u16, u32, u64);

impl Integer for i256 {
    const LEAST: Self = i256::MIN;
    const GREATEST: Self = i256::MAX;

    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Wide(value) => Some(*value),
            Value::Int(value) => Some(i256::from_i128(*value)),
            _ => None,
        }
    }

    fn into_value(self) -> Value {
        Value::Wide(self)
    }
}

/// Calls `$function::<T>` with the values of an array of integers, whatever their type; `None` for other arrays.
macro_rules! with_integers {
    ($array:expr, $values:ident => $body:expr) => {{
        macro_rules! of {
            ($t:ty) => {{
                let $values: &[<$t as ArrowPrimitiveType>::Native] = $array.as_primitive::<$t>().values();
                $body
            }};
        }
        match $array.data_type() {
            DataType::Int8 => of!(Int8Type),
            DataType::Int16 => of!(Int16Type),
            DataType::Int32 => of!(Int32Type),
            DataType::Int64 => of!(Int64Type),
            DataType::UInt8 => of!(UInt8Type),
            DataType::UInt16 => of!(UInt16Type),
            DataType::UInt32 => of!(UInt32Type),
            DataType::UInt64 => of!(UInt64Type),
            DataType::Decimal32(..) => of!(Decimal32Type),
            DataType::Decimal64(..) => of!(Decimal64Type),
            DataType::Decimal128(..) => of!(Decimal128Type),
            DataType::Decimal256(..) => of!(Decimal256Type),
            DataType::Date32 => of!(Date32Type),
            DataType::Date64 => of!(Date64Type),
            DataType::Time32(TimeUnit::Second) => of!(Time32SecondType),
            DataType::Time32(_) => of!(Time32MillisecondType),
            DataType::Time64(TimeUnit::Nanosecond) => of!(Time64NanosecondType),
            DataType::Time64(_) => of!(Time64MicrosecondType),
            DataType::Timestamp(TimeUnit::Second, _) => of!(TimestampSecondType),
            DataType::Timestamp(TimeUnit::Millisecond, _) => of!(TimestampMillisecondType),
            DataType::Timestamp(TimeUnit::Microsecond, _) => of!(TimestampMicrosecondType),
            DataType::Timestamp(TimeUnit::Nanosecond, _) => of!(TimestampNanosecondType),
            DataType::Duration(TimeUnit::Second) => of!(DurationSecondType),
            DataType::Duration(TimeUnit::Millisecond) => of!(DurationMillisecondType),
            DataType::Duration(TimeUnit::Microsecond) => of!(DurationMicrosecondType),
            DataType::Duration(TimeUnit::Nanosecond) => of!(DurationNanosecondType),
            _ => None,
        }
    }};
}

/// `None` if the test is not one of integers, or these are none.
pub(super) fn test(test: &ValueTest, array: &dyn Array) -> Option<BooleanBuffer> {
    with_integers!(array, values => of(test, values))
}

/// The values of an array of integers, widened.
pub(super) fn widened(array: &dyn Array) -> Option<Vec<i256>> {
    with_integers!(array, values => values.iter().map(|&value| i256::from_value(&value.into_value())).collect())
}

fn of<T: Integer>(test: &ValueTest, values: &[T]) -> Option<BooleanBuffer> {
    Some(match test {
        ValueTest::Compare(op, literal) => {
            let literal = T::from_value(literal)?;
            match op {
                Comparison::Equal => each(values, |value| value == literal),
                Comparison::NotEqual => each(values, |value| value != literal),
                Comparison::Less => each(values, |value| value < literal),
                Comparison::LessOrEqual => each(values, |value| value <= literal),
                Comparison::Greater => each(values, |value| value > literal),
                Comparison::GreaterOrEqual => each(values, |value| value >= literal),
            }
        }
        ValueTest::Between(low, high) => {
            let (low, high) = (T::from_value(low)?, T::from_value(high)?);
            each(values, |value| (low <= value) & (value <= high))
        }
        ValueTest::In(set) => {
            let list: Vec<T> = set.values().iter().map(T::from_value).collect::<Option<_>>()?;
            match list.len() {
                ..=16 => each(values, |value| list.iter().fold(false, |found, item| found | (*item == value))),
                _ => each(values, |value| list.binary_search(&value).is_ok()),
            }
        }
        _ => return None,
    })
}

#[inline]
fn each<T: Copy>(values: &[T], holds: impl Fn(T) -> bool) -> BooleanBuffer {
    BooleanBuffer::collect_bool(values.len(), |index| holds(values[index]))
}
