//! Where a literal stands among the values that a column can hold.

use std::sync::Arc;

use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, Int8Type,
    Int16Type, Int32Type, Int64Type, Time32MillisecondType, Time32SecondType, Time64MicrosecondType,
    Time64NanosecondType, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    ArrayRef, BinaryArray, BinaryViewArray, BooleanArray, FixedSizeBinaryArray, Float16Array, Float32Array,
    Float64Array, LargeBinaryArray, LargeStringArray, PrimitiveArray, StringArray, StringViewArray,
};
use arrow_buffer::i256;
use arrow_schema::{DataType, FieldRef, TimeUnit};
use half::f16;

use super::moment;
use super::number::Floor;
use super::syntax::Literal;
use crate::output::is_uuid;

const NANOS_PER_SECOND: i128 = 1_000_000_000;
const NANOS_PER_DAY: i128 = 86_400 * NANOS_PER_SECOND;

/// A literal as seen from a column's type.
#[derive(Debug, Clone)]
pub(super) enum Place {
    /// The type has exactly this value.
    At(ArrayRef),
    /// The type has the value here, and the literal lies between it and the next.
    JustAbove(ArrayRef),
    /// The literal is below all values of the type.
    Below,
    /// The literal is above all values of the type.
    Above,
}

/// Finds the place of `literal`, which is not null, among the values of `field`; `None` if they cannot be compared.
pub(super) fn place(literal: &Literal, field: &FieldRef) -> Option<Place> {
    let data_type = match field.data_type() {
        DataType::Dictionary(_, value) => value.as_ref(),
        other => other,
    };
    match literal {
        Literal::Null => None,
        Literal::Boolean(truth) => {
            (data_type == &DataType::Boolean).then(|| Place::At(Arc::new(BooleanArray::from(vec![*truth]))))
        }
        Literal::Number(number) => match data_type {
            DataType::Float16 => Some(float(data_type, number.to_f64(), number.to_f32())),
            DataType::Float32 | DataType::Float64 => Some(float(data_type, number.to_f64(), number.to_f32())),
            DataType::Decimal32(_, scale)
            | DataType::Decimal64(_, scale)
            | DataType::Decimal128(_, scale)
            | DataType::Decimal256(_, scale) => Some(among_steps(data_type, number.floor(*scale))),
            other if other.is_integer() => Some(among_steps(data_type, number.floor(0))),
            _ => None,
        },
        Literal::String(text) => string(text, field, data_type),
        Literal::Bytes(bytes) => binary(bytes, data_type),
        Literal::Uuid(bytes) => is_uuid(field).then(|| binary(bytes, data_type)).flatten(),
        Literal::Date(days) => instant(i128::from(*days) * NANOS_PER_DAY, data_type),
        Literal::Timestamp(nanos) => instant(*nanos, data_type),
        Literal::Time(nanos) => time(*nanos, data_type),
    }
}

fn string(text: &str, field: &FieldRef, data_type: &DataType) -> Option<Place> {
    match data_type {
        DataType::Utf8 => Some(Place::At(Arc::new(StringArray::from(vec![text])))),
        DataType::LargeUtf8 => Some(Place::At(Arc::new(LargeStringArray::from(vec![text])))),
        DataType::Utf8View => Some(Place::At(Arc::new(StringViewArray::from(vec![text])))),
        DataType::FixedSizeBinary(16) if is_uuid(field) => binary(&moment::parse_uuid(text)?, data_type),
        DataType::Date32 | DataType::Date64 => {
            let midnight = moment::parse_date(text).map(|days| i128::from(days) * NANOS_PER_DAY);
            instant(midnight.or_else(|| moment::parse_timestamp(text))?, data_type)
        }
        DataType::Timestamp(..) => instant(moment::parse_timestamp(text)?, data_type),
        DataType::Time32(_) | DataType::Time64(_) => time(moment::parse_time(text)?, data_type),
        // What number literals have no way to say.
        other if other.is_floating() => {
            let value = match text.to_ascii_lowercase().as_str() {
                "nan" => f64::NAN,
                "inf" | "infinity" | "+infinity" => f64::INFINITY,
                "-inf" | "-infinity" => f64::NEG_INFINITY,
                _ => return None,
            };
            Some(float(data_type, value, value as f32))
        }
        // Files without the annotation of strings are common: there the bytes of the text are meant.
        other if other.is_binary() || matches!(other, DataType::FixedSizeBinary(_)) => {
            binary(text.as_bytes(), data_type)
        }
        _ => None,
    }
}

fn binary(bytes: &[u8], data_type: &DataType) -> Option<Place> {
    Some(Place::At(match data_type {
        DataType::Binary => Arc::new(BinaryArray::from(vec![bytes])),
        DataType::LargeBinary => Arc::new(LargeBinaryArray::from(vec![bytes])),
        DataType::BinaryView => Arc::new(BinaryViewArray::from(vec![bytes])),
        DataType::FixedSizeBinary(length) if usize::try_from(*length) == Ok(bytes.len()) => {
            Arc::new(FixedSizeBinaryArray::try_from_iter([bytes].into_iter()).ok()?)
        }
        _ => return None,
    }))
}

/// Floats are compared in the column's own precision, so that `x = 0.1` finds what `0.1` was stored as.
fn float(data_type: &DataType, value: f64, single: f32) -> Place {
    // Zero has one sign and NaN one form here, as the column's values will have.
    Place::At(match data_type {
        DataType::Float16 => {
            Arc::new(Float16Array::from(vec![f16::from_f64(if value.is_nan() { f64::NAN } else { value + 0.0 })]))
        }
        DataType::Float32 => Arc::new(Float32Array::from(vec![if single.is_nan() { f32::NAN } else { single + 0.0 }])),
        _ => Arc::new(Float64Array::from(vec![if value.is_nan() { f64::NAN } else { value + 0.0 }])),
    })
}

/// A point in time, in nanoseconds since 1970, among dates or timestamps.
fn instant(nanos: i128, data_type: &DataType) -> Option<Place> {
    let unit = match data_type {
        DataType::Date32 => NANOS_PER_DAY,
        DataType::Date64 => NANOS_PER_SECOND / 1000,
        DataType::Timestamp(unit, _) => nanos_per(*unit),
        _ => return None,
    };
    Some(among_units(nanos, unit, data_type))
}

/// A time of day, in nanoseconds since midnight.
fn time(nanos: i64, data_type: &DataType) -> Option<Place> {
    match data_type {
        DataType::Time32(unit) | DataType::Time64(unit) => Some(among_units(nanos.into(), nanos_per(*unit), data_type)),
        _ => None,
    }
}

fn nanos_per(unit: TimeUnit) -> i128 {
    match unit {
        TimeUnit::Second => NANOS_PER_SECOND,
        TimeUnit::Millisecond => NANOS_PER_SECOND / 1000,
        TimeUnit::Microsecond => 1000,
        TimeUnit::Nanosecond => 1,
    }
}

fn among_units(nanos: i128, unit: i128, data_type: &DataType) -> Place {
    let steps = Some(i256::from_i128(nanos.div_euclid(unit)));
    among_steps(data_type, Floor { steps, exact: nanos.rem_euclid(unit) == 0, negative: nanos < 0 })
}

fn among_steps(data_type: &DataType, floor: Floor) -> Place {
    let outside = if floor.negative { Place::Below } else { Place::Above };
    match floor.steps.and_then(|steps| scalar(data_type, steps)) {
        Some(value) if floor.exact => Place::At(value),
        Some(value) => Place::JustAbove(value),
        None => outside,
    }
}

/// The value that a type stores as the integer `steps`; `None` if it cannot.
fn scalar(data_type: &DataType, steps: i256) -> Option<ArrayRef> {
    fn of<T: ArrowPrimitiveType>(data_type: &DataType, steps: i256) -> Option<ArrayRef>
    where
        T::Native: TryFrom<i128>,
    {
        let value = T::Native::try_from(steps.to_i128()?).ok()?;
        Some(Arc::new(PrimitiveArray::<T>::from_value(value, 1).with_data_type(data_type.clone())))
    }
    match data_type {
        DataType::Int8 => of::<Int8Type>(data_type, steps),
        DataType::Int16 => of::<Int16Type>(data_type, steps),
        DataType::Int32 => of::<Int32Type>(data_type, steps),
        DataType::Int64 => of::<Int64Type>(data_type, steps),
        DataType::UInt8 => of::<UInt8Type>(data_type, steps),
        DataType::UInt16 => of::<UInt16Type>(data_type, steps),
        DataType::UInt32 => of::<UInt32Type>(data_type, steps),
        DataType::UInt64 => of::<UInt64Type>(data_type, steps),
        DataType::Decimal32(..) => of::<Decimal32Type>(data_type, steps),
        DataType::Decimal64(..) => of::<Decimal64Type>(data_type, steps),
        DataType::Decimal128(..) => of::<Decimal128Type>(data_type, steps),
        DataType::Decimal256(..) => {
            Some(Arc::new(PrimitiveArray::<Decimal256Type>::from_value(steps, 1).with_data_type(data_type.clone())))
        }
        DataType::Date32 => of::<Date32Type>(data_type, steps),
        DataType::Date64 => of::<Date64Type>(data_type, steps),
        DataType::Time32(TimeUnit::Second) => of::<Time32SecondType>(data_type, steps),
        DataType::Time32(_) => of::<Time32MillisecondType>(data_type, steps),
        DataType::Time64(TimeUnit::Nanosecond) => of::<Time64NanosecondType>(data_type, steps),
        DataType::Time64(_) => of::<Time64MicrosecondType>(data_type, steps),
        DataType::Timestamp(TimeUnit::Second, _) => of::<TimestampSecondType>(data_type, steps),
        DataType::Timestamp(TimeUnit::Millisecond, _) => of::<TimestampMillisecondType>(data_type, steps),
        DataType::Timestamp(TimeUnit::Microsecond, _) => of::<TimestampMicrosecondType>(data_type, steps),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => of::<TimestampNanosecondType>(data_type, steps),
        _ => None,
    }
}
