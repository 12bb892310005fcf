//! Converts values to arrays, and reads values from arrays.

use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, BinaryViewBuilder, FixedSizeBinaryBuilder, LargeBinaryBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Float16Type, Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, BooleanArray, PrimitiveArray, StringViewArray, new_null_array};
use arrow_cast::cast;
use arrow_schema::DataType;
use bytes::Bytes;
use half::f16;

use crate::evaluate::{Integer, bytes_at, float_at, integer_at};
use crate::value::{Value, with_exact_type};

/// The value of an array at an index; `None` for a null, for an index past the end, and for types without a [`Value`].
pub fn value_at(array: &dyn Array, index: usize) -> Option<Value> {
    if index >= array.len() || array.is_null(index) {
        return None;
    }
    match array.data_type() {
        DataType::Boolean => Some(Value::Boolean(array.as_boolean().value(index))),
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            let Some(Value::Int(code)) = integer_at(dictionary.keys(), index) else { return None };
            value_at(dictionary.values(), usize::try_from(code).ok()?)
        }
        other if other.is_floating() => float_at(array, index).map(Value::Float),
        _ => integer_at(array, index).or_else(|| bytes_at(array, index).map(Bytes::copy_from_slice).map(Value::Bytes)),
    }
}

/// An array of the type with these values; `None` if the type does not have one of them.
pub fn to_array(values: &[Option<Value>], data_type: &DataType) -> Option<ArrayRef> {
    if values.iter().all(Option::is_none) {
        return Some(new_null_array(data_type, values.len()));
    }
    Some(match data_type {
        DataType::Boolean => {
            let each = values.iter().map(|value| match value {
                None => Some(None),
                Some(Value::Boolean(truth)) => Some(Some(*truth)),
                Some(_) => None,
            });
            Arc::new(each.collect::<Option<BooleanArray>>()?)
        }
        DataType::Float16 => floats::<Float16Type>(values, data_type, f16::from_f64)?,
        DataType::Float32 => floats::<Float32Type>(values, data_type, |value| value as f32)?,
        DataType::Float64 => floats::<Float64Type>(values, data_type, |value| value)?,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
            let each = byte_values(values)?.into_iter().map(|value| value.map(str::from_utf8).transpose());
            let views: StringViewArray = each.collect::<Result<_, _>>().ok()?;
            cast(&views, data_type).ok()?
        }
        DataType::Binary => {
            let mut builder = BinaryBuilder::new();
            byte_values(values)?.into_iter().for_each(|value| builder.append_option(value));
            Arc::new(builder.finish())
        }
        DataType::LargeBinary => {
            let mut builder = LargeBinaryBuilder::new();
            byte_values(values)?.into_iter().for_each(|value| builder.append_option(value));
            Arc::new(builder.finish())
        }
        DataType::BinaryView => {
            let mut builder = BinaryViewBuilder::new();
            byte_values(values)?.into_iter().for_each(|value| builder.append_option(value));
            Arc::new(builder.finish())
        }
        DataType::FixedSizeBinary(size) => {
            let mut builder = FixedSizeBinaryBuilder::new(*size);
            for value in byte_values(values)? {
                match value {
                    Some(value) => builder.append_value(value).ok()?,
                    None => builder.append_null(),
                }
            }
            Arc::new(builder.finish())
        }
        DataType::Dictionary(_, value_type) => cast(&to_array(values, value_type)?, data_type).ok()?,
        _ => integer_array(values, data_type)?,
    })
}

fn byte_values(values: &[Option<Value>]) -> Option<Vec<Option<&[u8]>>> {
    let each = values.iter().map(|value| match value {
        None => Some(None),
        Some(Value::Bytes(bytes)) => Some(Some(bytes.as_ref())),
        Some(_) => None,
    });
    each.collect()
}

fn floats<T: ArrowPrimitiveType>(
    values: &[Option<Value>],
    data_type: &DataType,
    narrow: impl Fn(f64) -> T::Native,
) -> Option<ArrayRef> {
    let each = values.iter().map(|value| match value {
        None => Some(None),
        Some(Value::Float(value)) => Some(Some(narrow(*value))),
        Some(_) => None,
    });
    let array: PrimitiveArray<T> = each.collect::<Option<Vec<_>>>()?.into_iter().collect();
    Some(Arc::new(array.with_data_type(data_type.clone())))
}

fn integers<T: ArrowPrimitiveType<Native: Integer>>(
    values: &[Option<Value>],
    data_type: &DataType,
) -> Option<ArrayRef> {
    let each = values.iter().map(|value| match value {
        None => Some(None),
        Some(value) => T::Native::from_value(value).map(Some),
    });
    let array: PrimitiveArray<T> = each.collect::<Option<Vec<_>>>()?.into_iter().collect();
    Some(Arc::new(array.with_data_type(data_type.clone())))
}

fn integer_array(values: &[Option<Value>], data_type: &DataType) -> Option<ArrayRef> {
    with_exact_type!(data_type, T => integers::<T>(values, data_type)?)
}
