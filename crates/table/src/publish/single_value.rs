//! Single values of Arrow as Iceberg's.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int32Type, Int64Type, Time64MicrosecondType,
    TimestampMicrosecondType, TimestampNanosecondType,
};
use arrow_array::{Array, ArrayRef};
use arrow_cast::cast;
use arrow_schema::{DataType, TimeUnit};
use lath_iceberg::{Literal, PrimitiveType};

use crate::error::Result;

/// The value of an array of one element in a type of Iceberg; `None` if it is null or the type has no single values.
pub(super) fn literal(array: &ArrayRef, primitive: &PrimitiveType) -> Result<Option<Literal>> {
    use PrimitiveType as P;
    let timestamp = |unit| DataType::Timestamp(unit, None);
    let arrow = match primitive {
        P::Boolean => DataType::Boolean,
        P::Int => DataType::Int32,
        P::Long => DataType::Int64,
        P::Float => DataType::Float32,
        P::Double => DataType::Float64,
        P::Decimal { precision, scale } => DataType::Decimal128(*precision, scale.cast_signed()),
        P::Date => DataType::Date32,
        P::Time => DataType::Time64(TimeUnit::Microsecond),
        P::Timestamp | P::Timestamptz => timestamp(TimeUnit::Microsecond),
        P::TimestampNs | P::TimestamptzNs => timestamp(TimeUnit::Nanosecond),
        P::String => DataType::Utf8,
        P::Binary | P::Fixed(_) | P::Uuid => DataType::Binary,
        _ => return Ok(None),
    };
    if array.is_empty() || array.is_null(0) {
        return Ok(None);
    }
    // Values of a time zone are in UTC: the cast to none would shift them.
    let array = match array.data_type() {
        DataType::Timestamp(unit, Some(_)) => cast(array, &DataType::Timestamp(*unit, Some("UTC".into())))?,
        _ => Arc::clone(array),
    };
    let array = cast(&array, &arrow)?;
    if array.is_null(0) {
        return Ok(None);
    }
    let value = match primitive {
        P::Boolean => Literal::Boolean(array.as_boolean().value(0)),
        P::Int => Literal::Int(array.as_primitive::<Int32Type>().value(0)),
        P::Long => Literal::Long(array.as_primitive::<Int64Type>().value(0)),
        P::Float => Literal::Float(array.as_primitive::<Float32Type>().value(0)),
        P::Double => Literal::Double(array.as_primitive::<Float64Type>().value(0)),
        P::Decimal { .. } => Literal::Decimal(array.as_primitive::<Decimal128Type>().value(0)),
        P::Date => Literal::Int(array.as_primitive::<Date32Type>().value(0)),
        P::Time => Literal::Long(array.as_primitive::<Time64MicrosecondType>().value(0)),
        P::Timestamp | P::Timestamptz => Literal::Long(array.as_primitive::<TimestampMicrosecondType>().value(0)),
        P::TimestampNs | P::TimestamptzNs => Literal::Long(array.as_primitive::<TimestampNanosecondType>().value(0)),
        P::String => Literal::String(array.as_string::<i32>().value(0).to_owned()),
        P::Fixed(_) => Literal::Fixed(array.as_binary::<i32>().value(0).to_vec()),
        P::Uuid => match array.as_binary::<i32>().value(0).try_into() {
            Ok(bytes) => Literal::Uuid(bytes),
            Err(_) => return Ok(None),
        },
        _ => Literal::Binary(array.as_binary::<i32>().value(0).to_vec()),
    };
    Ok(Some(value))
}
