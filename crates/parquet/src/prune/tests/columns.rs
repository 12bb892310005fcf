//! Columns of every type whose values grow with their rows, so that there is something to prune.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, BooleanArray, ListArray, StructArray, make_array};
use arrow_buffer::{NullBuffer, OffsetBuffer, i256};
use arrow_schema::{DataType, Field, TimeUnit};
use bytes::Bytes;
use lath_predicate::Value;

/// The tested types.
pub(super) fn types() -> Vec<DataType> {
    use DataType as D;
    vec![
        D::Boolean,
        D::Int8,
        D::Int16,
        D::Int32,
        D::Int64,
        D::UInt8,
        D::UInt16,
        D::UInt32,
        D::UInt64,
        D::Float16,
        D::Float32,
        D::Float64,
        D::Utf8,
        D::Binary,
        D::LargeUtf8,
        D::FixedSizeBinary(3),
        D::FixedSizeBinary(16),
        D::Decimal32(7, 2),
        D::Decimal64(15, 2),
        D::Decimal128(9, 2),
        D::Decimal128(18, 2),
        D::Decimal128(38, 3),
        D::Decimal256(60, 4),
        D::Date32,
        D::Date64,
        D::Time32(TimeUnit::Millisecond),
        D::Time64(TimeUnit::Microsecond),
        D::Timestamp(TimeUnit::Second, None),
        D::Timestamp(TimeUnit::Millisecond, Some("UTC".into())),
        D::Timestamp(TimeUnit::Nanosecond, None),
        D::Duration(TimeUnit::Microsecond),
        D::Dictionary(Box::new(D::Int32), Box::new(D::Utf8)),
    ]
}

/// Values for `steps` in `data_type`, in the same order, as far as the type has as many.
pub(super) fn array(data_type: &DataType, steps: &[Option<i64>]) -> ArrayRef {
    use DataType as D;
    macro_rules! primitive {
        ($array_type:ty, $convert:expr) => {{
            let convert = $convert;
            let values = steps.iter().map(|step| step.map(|step| convert(step)));
            let array: arrow_array::PrimitiveArray<$array_type> = values.collect();
            Arc::new(array.with_data_type(data_type.clone()))
        }};
    }
    // Most lie on both sides of 0.
    match data_type {
        D::Boolean => Arc::new(steps.iter().map(|step| step.map(|step| step % 64 >= 32)).collect::<BooleanArray>()),
        D::Int8 => primitive!(Int8Type, |step: i64| (step - 60).clamp(-128, 127) as i8),
        D::Int16 => primitive!(Int16Type, |step: i64| (step * 100 - 9000) as i16),
        D::Int32 => primitive!(Int32Type, |step: i64| (step * 10_000_000 - 900_000_000) as i32),
        D::Int64 => primitive!(Int64Type, |step: i64| step * 10_000_000_000_000_000 - 900_000_000_000_000_000),
        D::UInt8 => primitive!(UInt8Type, |step: i64| (step + 60).clamp(0, 255) as u8),
        D::UInt16 => primitive!(UInt16Type, |step: i64| (step * 300) as u16),
        D::UInt32 => primitive!(UInt32Type, |step: i64| (step * 15_000_000) as u32),
        D::UInt64 => primitive!(UInt64Type, |step: i64| step as u64 * 70_000_000_000_000_000),
        D::Float16 => {
            primitive!(Float16Type, |step| <Float16Type as ArrowPrimitiveType>::Native::from_f64(float(step)))
        }
        D::Float32 => primitive!(Float32Type, |step| float(step) as f32),
        D::Float64 => primitive!(Float64Type, float),
        D::Decimal32(..) => primitive!(Decimal32Type, |step: i64| (step * 1000 - 90_000) as i32),
        D::Decimal64(..) => primitive!(Decimal64Type, |step: i64| step * 1000 - 90_000),
        D::Decimal128(..) => primitive!(Decimal128Type, |step: i64| i128::from(step) * 1000 - 90_000),
        D::Decimal256(..) => primitive!(Decimal256Type, |step: i64| i256::from_i128(i128::from(step) * 1000 - 90_000)),
        D::Date32 => primitive!(Date32Type, |step: i64| (step - 90) as i32),
        D::Date64 => primitive!(Date64Type, |step: i64| (step - 90) * 86_400_000),
        D::Time32(_) => primitive!(Time32MillisecondType, |step: i64| (step * 1000) as i32),
        D::Time64(_) => primitive!(Time64MicrosecondType, |step: i64| step * 1_000_000),
        D::Timestamp(TimeUnit::Second, _) => primitive!(TimestampSecondType, |step: i64| step * 1000 - 90_000),
        D::Timestamp(TimeUnit::Millisecond, _) => {
            primitive!(TimestampMillisecondType, |step: i64| step * 1000 - 90_000)
        }
        D::Timestamp(TimeUnit::Nanosecond, _) => primitive!(TimestampNanosecondType, |step: i64| step * 1000 - 90_000),
        D::Duration(_) => primitive!(DurationMicrosecondType, |step: i64| step * 1000 - 90_000),
        D::Utf8 => Arc::new(arrow_array::StringArray::from_iter(steps.iter().map(|step| step.map(text)))),
        D::LargeUtf8 => {
            let long = |step| format!("{}{}", "é\u{10FFFF}".repeat(30), text(step));
            Arc::new(arrow_array::LargeStringArray::from_iter(steps.iter().map(|step| step.map(long))))
        }
        D::Binary => {
            let bytes = |step: i64| [&[0xFF; 40][..], &step.to_be_bytes()].concat();
            Arc::new(arrow_array::BinaryArray::from_iter(steps.iter().map(|step| step.map(bytes))))
        }
        D::FixedSizeBinary(width) => {
            let width = *width as usize;
            let bytes = |step: i64| {
                let mut bytes = vec![0x80; width];
                bytes[..2].copy_from_slice(&(step as u16).to_be_bytes());
                bytes
            };
            let values = steps.iter().map(|step| step.map(bytes));
            let array = arrow_array::FixedSizeBinaryArray::try_from_sparse_iter_with_size(values, width as i32);
            Arc::new(array.unwrap())
        }
        D::Dictionary(_, _) => {
            let texts: Vec<Option<String>> = steps.iter().map(|step| step.map(text)).collect();
            Arc::new(texts.iter().map(Option::as_deref).collect::<arrow_array::DictionaryArray<Int32Type>>())
        }
        other => unreachable!("{other}"),
    }
}

/// Includes zeros of both signs and NaNs.
fn float(step: i64) -> f64 {
    match step % 32 {
        7 => f64::NAN,
        9 => -f64::NAN,
        11 => 0.0,
        13 => -0.0,
        15 if step > 150 => f64::INFINITY,
        _ => (step - 90) as f64 / 4.0,
    }
}

fn text(step: i64) -> String {
    // Some are prefixes of others.
    match step % 3 {
        0 => format!("{:03}", step / 3),
        1 => format!("{:03}/", step / 3),
        _ => format!("{:03}/{}", step / 3, "x".repeat(step as usize % 90)),
    }
}

/// A list of the values for every few steps, null for none.
pub(super) fn list(values: &ArrayRef) -> ArrayRef {
    let lengths = [2, 0, 3, 1, 4];
    let count = values.len() / 10 * 5;
    let offsets = OffsetBuffer::from_lengths((0..count).map(|row| lengths[row % 5]));
    let nulls = NullBuffer::from_iter((0..count).map(|row| row % 10 != 1));
    let field = Field::new_list_field(values.data_type().clone(), true);
    let values = values.slice(0, *offsets.last().unwrap() as usize);
    Arc::new(ListArray::new(Arc::new(field), offsets, values, Some(nulls)))
}

/// A struct of the values that is null now and then.
pub(super) fn within_struct(values: &ArrayRef) -> ArrayRef {
    let nulls = NullBuffer::from_iter((0..values.len()).map(|row| row % 17 != 3));
    let field = Field::new("inner", values.data_type().clone(), true);
    Arc::new(StructArray::new(vec![field].into(), vec![Arc::clone(values)], Some(nulls)))
}

/// The value of a row, as used in predicates.
pub(super) fn value(array: &dyn Array, row: usize) -> Option<Value> {
    use DataType as D;
    if array.is_null(row) {
        return None;
    }
    macro_rules! int {
        ($($pattern:pat => $array_type:ty,)*) => {
            match array.data_type() {
                $($pattern => return Some(Value::Int(array.as_primitive::<$array_type>().value(row).into())),)*
                _ => {}
            }
        };
    }
    int!(
        D::Int8 => Int8Type,
        D::Int16 => Int16Type,
        D::Int32 => Int32Type,
        D::Int64 => Int64Type,
        D::UInt8 => UInt8Type,
        D::UInt16 => UInt16Type,
        D::UInt32 => UInt32Type,
        D::UInt64 => UInt64Type,
        D::Decimal32(..) => Decimal32Type,
        D::Decimal64(..) => Decimal64Type,
        D::Decimal128(..) => Decimal128Type,
        D::Date32 => Date32Type,
        D::Date64 => Date64Type,
        D::Time32(TimeUnit::Second) => Time32SecondType,
        D::Time32(_) => Time32MillisecondType,
        D::Time64(TimeUnit::Microsecond) => Time64MicrosecondType,
        D::Time64(_) => Time64NanosecondType,
        D::Timestamp(TimeUnit::Second, _) => TimestampSecondType,
        D::Timestamp(TimeUnit::Millisecond, _) => TimestampMillisecondType,
        D::Timestamp(TimeUnit::Microsecond, _) => TimestampMicrosecondType,
        D::Timestamp(TimeUnit::Nanosecond, _) => TimestampNanosecondType,
        D::Duration(TimeUnit::Second) => DurationSecondType,
        D::Duration(TimeUnit::Millisecond) => DurationMillisecondType,
        D::Duration(TimeUnit::Microsecond) => DurationMicrosecondType,
        D::Duration(TimeUnit::Nanosecond) => DurationNanosecondType,
    );
    let bytes = |bytes: &[u8]| Some(Value::Bytes(Bytes::copy_from_slice(bytes)));
    match array.data_type() {
        D::Boolean => Some(Value::Boolean(array.as_boolean().value(row))),
        D::Float16 => Some(Value::Float(array.as_primitive::<Float16Type>().value(row).into())),
        D::Float32 => Some(Value::Float(array.as_primitive::<Float32Type>().value(row).into())),
        D::Float64 => Some(Value::Float(array.as_primitive::<Float64Type>().value(row))),
        D::Decimal256(..) => Some(Value::Wide(array.as_primitive::<Decimal256Type>().value(row))),
        D::Utf8 => bytes(array.as_string::<i32>().value(row).as_bytes()),
        D::LargeUtf8 => bytes(array.as_string::<i64>().value(row).as_bytes()),
        D::Utf8View => bytes(array.as_string_view().value(row).as_bytes()),
        D::Binary => bytes(array.as_binary::<i32>().value(row)),
        D::LargeBinary => bytes(array.as_binary::<i64>().value(row)),
        D::BinaryView => bytes(array.as_binary_view().value(row)),
        D::FixedSizeBinary(_) => bytes(array.as_fixed_size_binary().value(row)),
        D::Dictionary(_, _) => {
            let array = array.as_any_dictionary();
            value(array.values(), array.normalized_keys()[row])
        }
        _ => None,
    }
}

/// The values that tests of an operand refer to: for lists, the elements.
pub(super) fn elements(operand: &ArrayRef) -> ArrayRef {
    match operand.data_type() {
        DataType::List(_) => Arc::clone(operand.as_list::<i32>().values()),
        _ => make_array(operand.to_data()),
    }
}
