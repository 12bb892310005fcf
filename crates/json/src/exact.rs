//! Converts numbers from text to a type exactly, at any depth of lists, structs and maps.

use std::sync::Arc;

use arrow_array::builder::PrimitiveBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, Float16Type, Float32Type, Float64Type, Int8Type,
    Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, FixedSizeListArray, GenericListArray, MapArray, OffsetSizeTrait, StructArray,
};
use arrow_schema::{ArrowError, DataType, Field, FieldRef};
use half::f16;

use crate::number::{double, keeps_digits, steps, whole};

/// Whether values of a type are read as text first.
pub(crate) fn is_number(data_type: &DataType) -> bool {
    data_type.is_integer() || data_type.is_floating() || data_type.is_decimal()
}

/// Replaces types for which `is_text` is true by text, at any depth.
pub(crate) fn with_text(field: &FieldRef, is_text: fn(&DataType) -> bool) -> FieldRef {
    let below = |field: &FieldRef| with_text(field, is_text);
    let data_type = match field.data_type() {
        other if is_text(other) => DataType::Utf8,
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(below).collect()),
        DataType::List(element) => DataType::List(below(element)),
        DataType::LargeList(element) => DataType::LargeList(below(element)),
        DataType::FixedSizeList(element, len) => DataType::FixedSizeList(below(element), *len),
        DataType::Map(entries, is_sorted) => DataType::Map(below(entries), *is_sorted),
        _ => return Arc::clone(field),
    };
    Arc::new(Field::clone(field).with_data_type(data_type))
}

/// `array`, in which numbers are text, as `target`. With `keeps_all_digits`, a double has to have the digits of its text.
pub(crate) fn exact(array: &ArrayRef, target: &DataType, keeps_all_digits: bool) -> Result<ArrayRef, ArrowError> {
    let below = |array: &ArrayRef, field: &FieldRef| exact(array, field.data_type(), keeps_all_digits);
    match target {
        DataType::Struct(fields) => {
            let array = array.as_struct();
            let child =
                |(child, field): (&ArrayRef, &FieldRef)| below(child, field).map_err(|error| within(field, &error));
            let children = array.columns().iter().zip(fields).map(child);
            let children = children.collect::<Result<Vec<_>, _>>()?;
            let nulls = array.nulls().cloned();
            Ok(Arc::new(StructArray::try_new_with_length(fields.clone(), children, nulls, array.len())?))
        }
        DataType::List(element) => list::<i32>(array, element, below),
        DataType::LargeList(element) => list::<i64>(array, element, below),
        DataType::FixedSizeList(element, len) => {
            let array = array.as_fixed_size_list();
            let values = below(array.values(), element)?;
            let list = FixedSizeListArray::try_new(Arc::clone(element), *len, values, array.nulls().cloned())?;
            Ok(Arc::new(list))
        }
        DataType::Map(entries, is_sorted) => {
            let array = array.as_map();
            let pairs: ArrayRef = Arc::new(array.entries().clone());
            let pairs = below(&pairs, entries)?.as_struct().clone();
            let (offsets, nulls) = (array.offsets().clone(), array.nulls().cloned());
            Ok(Arc::new(MapArray::try_new(Arc::clone(entries), offsets, pairs, nulls, *is_sorted)?))
        }
        number if is_number(number) => numbers(array, number, keeps_all_digits),
        _ => Ok(Arc::clone(array)),
    }
}

fn list<O: OffsetSizeTrait>(
    array: &ArrayRef,
    element: &FieldRef,
    below: impl Fn(&ArrayRef, &FieldRef) -> Result<ArrayRef, ArrowError>,
) -> Result<ArrayRef, ArrowError> {
    let array = array.as_list::<O>();
    let values = below(array.values(), element)?;
    let (offsets, nulls) = (array.offsets().clone(), array.nulls().cloned());
    Ok(Arc::new(GenericListArray::<O>::try_new(Arc::clone(element), offsets, values, nulls)?))
}

fn numbers(array: &ArrayRef, target: &DataType, keeps_all_digits: bool) -> Result<ArrayRef, ArrowError> {
    let float = |text: &str| {
        let value = double(text)?;
        (!keeps_all_digits || keeps_digits(value, text)).then_some(value)
    };
    let single = |text: &str| {
        let value: f32 = text.parse().ok()?;
        (value.is_finite() || double(text)?.is_infinite() || double(text)?.is_nan()).then_some(value)
    };
    macro_rules! integers {
        ($type:ty) => {
            parsed::<$type>(array, target, |text| text.parse().ok().or_else(|| whole(text)?.try_into().ok()))
        };
    }
    macro_rules! decimals {
        ($type:ty, $precision:expr, $scale:expr, $native:expr) => {
            parsed::<$type>(array, target, |text| {
                let value = $native(steps(text, *$scale)?)?;
                <$type as arrow_array::types::DecimalType>::is_valid_decimal_precision(value, *$precision)
                    .then_some(value)
            })
        };
    }
    match target {
        DataType::Int8 => integers!(Int8Type),
        DataType::Int16 => integers!(Int16Type),
        DataType::Int32 => integers!(Int32Type),
        DataType::Int64 => integers!(Int64Type),
        DataType::UInt8 => integers!(UInt8Type),
        DataType::UInt16 => integers!(UInt16Type),
        DataType::UInt32 => integers!(UInt32Type),
        DataType::UInt64 => integers!(UInt64Type),
        DataType::Float16 => parsed::<Float16Type>(array, target, |text| {
            let value = single(text)?;
            let half = f16::from_f32(value);
            (half.is_finite() || !value.is_finite()).then_some(half)
        }),
        DataType::Float32 => parsed::<Float32Type>(array, target, single),
        DataType::Float64 => parsed::<Float64Type>(array, target, float),
        DataType::Decimal32(precision, scale) => {
            decimals!(Decimal32Type, precision, scale, |steps: arrow_buffer::i256| i32::try_from(steps.to_i128()?).ok())
        }
        DataType::Decimal64(precision, scale) => {
            decimals!(Decimal64Type, precision, scale, |steps: arrow_buffer::i256| i64::try_from(steps.to_i128()?).ok())
        }
        DataType::Decimal128(precision, scale) => {
            decimals!(Decimal128Type, precision, scale, |steps: arrow_buffer::i256| steps.to_i128())
        }
        DataType::Decimal256(precision, scale) => decimals!(Decimal256Type, precision, scale, Some),
        _ => Ok(Arc::clone(array)),
    }
}

/// Parses texts with `parse`. The first one that cannot be parsed is the error.
fn parsed<T: ArrowPrimitiveType>(
    array: &ArrayRef,
    target: &DataType,
    parse: impl Fn(&str) -> Option<T::Native>,
) -> Result<ArrayRef, ArrowError> {
    let Some(texts) = array.as_string_opt::<i32>() else {
        return Err(ArrowError::JsonError("numbers were not read as text".to_owned()));
    };
    let mut values = PrimitiveBuilder::<T>::with_capacity(texts.len()).with_data_type(target.clone());
    for text in texts {
        match text.map(|text| parse(text).ok_or(text)).transpose() {
            Ok(value) => values.append_option(value),
            Err(text) => return Err(misfit(text, target)),
        }
    }
    Ok(Arc::new(values.finish()))
}

/// The error of a value within a field.
pub(crate) fn within(field: &Field, error: &ArrowError) -> ArrowError {
    ArrowError::JsonError(format!("field '{}': {}", field.name(), plain(error)))
}

/// The message without the name of Arrow's error.
pub(crate) fn plain(error: &ArrowError) -> String {
    let message = error.to_string();
    message.strip_prefix("Json error: ").unwrap_or(&message).to_owned()
}

/// The error for a text that is not a value of a type.
pub(crate) fn misfit(text: &str, target: &DataType) -> ArrowError {
    const MAX_CHARS: usize = 60;
    let is_number = double(text).is_some() || whole(text).is_some();
    let shown = match text.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    };
    let shown = if is_number { shown } else { format!("{shown:?}") };
    ArrowError::JsonError(format!("{shown} is not a value of {target}"))
}
