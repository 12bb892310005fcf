//! Converts values to Arrow arrays of one element.

use std::sync::Arc;

use arrow_array::builder::FixedSizeBinaryBuilder;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type, DurationMicrosecondType,
    DurationMillisecondType, DurationNanosecondType, DurationSecondType, Int8Type, Int16Type, Int32Type, Int64Type,
    Time32MillisecondType, Time32SecondType, Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use arrow_array::{
    ArrayRef, BinaryArray, BinaryViewArray, BooleanArray, Decimal256Array, Float16Array, Float32Array, Float64Array,
    LargeBinaryArray, LargeStringArray, PrimitiveArray, StringArray, StringViewArray,
};
use arrow_schema::{DataType, TimeUnit};
use half::f16;
use lath_predicate::Value;

/// The value as an array of `data_type`; `None` if the type cannot hold it.
pub(super) fn scalar(value: &Value, data_type: &DataType) -> Option<ArrayRef> {
    Some(match (value, data_type) {
        (_, DataType::Dictionary(_, values)) => {
            let value = scalar(value, values)?;
            arrow_cast::cast(&value, data_type).ok()?
        }
        (Value::Boolean(value), DataType::Boolean) => Arc::new(BooleanArray::from(vec![*value])),
        (Value::Float(value), DataType::Float64) => Arc::new(Float64Array::from(vec![*value])),
        (Value::Float(value), DataType::Float32) => Arc::new(Float32Array::from(vec![*value as f32])),
        (Value::Float(value), DataType::Float16) => Arc::new(Float16Array::from(vec![f16::from_f64(*value)])),
        (Value::Wide(value), DataType::Decimal256(..)) => {
            Arc::new(Decimal256Array::from(vec![*value]).with_data_type(data_type.clone()))
        }
        (Value::Int(value), _) => integer(*value, data_type)?,
        (Value::Bytes(bytes), DataType::Utf8) => Arc::new(StringArray::from(vec![std::str::from_utf8(bytes).ok()?])),
        (Value::Bytes(bytes), DataType::LargeUtf8) => {
            Arc::new(LargeStringArray::from(vec![std::str::from_utf8(bytes).ok()?]))
        }
        (Value::Bytes(bytes), DataType::Utf8View) => {
            Arc::new(StringViewArray::from(vec![std::str::from_utf8(bytes).ok()?]))
        }
        (Value::Bytes(bytes), DataType::Binary) => Arc::new(BinaryArray::from(vec![&**bytes])),
        (Value::Bytes(bytes), DataType::LargeBinary) => Arc::new(LargeBinaryArray::from(vec![&**bytes])),
        (Value::Bytes(bytes), DataType::BinaryView) => Arc::new(BinaryViewArray::from(vec![&**bytes])),
        (Value::Bytes(bytes), DataType::FixedSizeBinary(len)) => {
            let mut builder = FixedSizeBinaryBuilder::with_capacity(1, *len);
            builder.append_value(bytes).ok()?;
            Arc::new(builder.finish())
        }
        _ => return None,
    })
}

/// The part of a string bound that is valid as a bound: writers shorten bounds, even within a character.
pub(super) fn whole_characters(bytes: &[u8], is_upper: bool) -> Option<&[u8]> {
    match std::str::from_utf8(bytes) {
        Ok(_) => Some(bytes),
        // The remaining part is smaller or equal.
        Err(error) if !is_upper => bytes.get(..error.valid_up_to()),
        Err(_) => None,
    }
}

fn integer(value: i128, data_type: &DataType) -> Option<ArrayRef> {
    fn one<T: ArrowPrimitiveType>(value: i128, data_type: &DataType) -> Option<ArrayRef>
    where
        T::Native: TryFrom<i128>,
    {
        let value = T::Native::try_from(value).ok()?;
        Some(Arc::new(PrimitiveArray::<T>::from_value(value, 1).with_data_type(data_type.clone())))
    }
    let make = match data_type {
        DataType::Int8 => one::<Int8Type>,
        DataType::Int16 => one::<Int16Type>,
        DataType::Int32 => one::<Int32Type>,
        DataType::Int64 => one::<Int64Type>,
        DataType::UInt8 => one::<UInt8Type>,
        DataType::UInt16 => one::<UInt16Type>,
        DataType::UInt32 => one::<UInt32Type>,
        DataType::UInt64 => one::<UInt64Type>,
        DataType::Date32 => one::<Date32Type>,
        DataType::Date64 => one::<Date64Type>,
        DataType::Time32(TimeUnit::Second) => one::<Time32SecondType>,
        DataType::Time32(_) => one::<Time32MillisecondType>,
        DataType::Time64(TimeUnit::Microsecond) => one::<Time64MicrosecondType>,
        DataType::Time64(_) => one::<Time64NanosecondType>,
        DataType::Timestamp(TimeUnit::Second, _) => one::<TimestampSecondType>,
        DataType::Timestamp(TimeUnit::Millisecond, _) => one::<TimestampMillisecondType>,
        DataType::Timestamp(TimeUnit::Microsecond, _) => one::<TimestampMicrosecondType>,
        DataType::Timestamp(TimeUnit::Nanosecond, _) => one::<TimestampNanosecondType>,
        DataType::Duration(TimeUnit::Second) => one::<DurationSecondType>,
        DataType::Duration(TimeUnit::Millisecond) => one::<DurationMillisecondType>,
        DataType::Duration(TimeUnit::Microsecond) => one::<DurationMicrosecondType>,
        DataType::Duration(TimeUnit::Nanosecond) => one::<DurationNanosecondType>,
        DataType::Decimal32(..) => one::<Decimal32Type>,
        DataType::Decimal64(..) => one::<Decimal64Type>,
        DataType::Decimal128(..) => one::<Decimal128Type>,
        _ => return None,
    };
    make(value, data_type)
}
