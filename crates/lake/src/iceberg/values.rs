//! Single values of Iceberg as arrays, and as values of predicates.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BinaryViewArray, BooleanArray, Date32Array, Decimal128Array, FixedSizeBinaryArray, Float32Array,
    Float64Array, Int32Array, Int64Array, StringViewArray,
};
use arrow_cast::cast;
use arrow_schema::DataType;
use bytes::Bytes;
use lath_iceberg::{Literal, PrimitiveType};
use lath_parquet::{Error, Result};
use lath_predicate::Value;

/// An array of one value.
///
/// # Errors
/// [`Error::Corrupt`] for a value of another type.
pub(super) fn literal_array(literal: &Literal, data_type: &DataType) -> Result<ArrayRef> {
    let fails = |what: &str| Error::corrupt(format!("expected a value of type {data_type}, found {literal:?}{what}"));
    let array: ArrayRef = match (literal, data_type) {
        (Literal::Boolean(value), _) => Arc::new(BooleanArray::from(vec![*value])),
        (Literal::Int(value), DataType::Date32 | DataType::Timestamp(..)) => Arc::new(Date32Array::from(vec![*value])),
        (Literal::Int(value), _) => Arc::new(Int32Array::from(vec![*value])),
        (Literal::Long(value), _) => Arc::new(Int64Array::from(vec![*value])),
        (Literal::Float(value), _) => Arc::new(Float32Array::from(vec![*value])),
        (Literal::Double(value), _) => Arc::new(Float64Array::from(vec![*value])),
        (Literal::Decimal(value), DataType::Decimal128(precision, scale)) => {
            let array = Decimal128Array::from(vec![*value]).with_precision_and_scale(*precision, *scale);
            Arc::new(array.map_err(|error| fails(&format!(": {error}")))?)
        }
        (Literal::String(value), _) => Arc::new(StringViewArray::from_iter_values([value])),
        (Literal::Uuid(value), _) => fixed(value).ok_or_else(|| fails(""))?,
        (Literal::Fixed(value) | Literal::Binary(value), DataType::FixedSizeBinary(_)) => {
            fixed(value).ok_or_else(|| fails(""))?
        }
        (Literal::Fixed(value) | Literal::Binary(value), _) => Arc::new(BinaryViewArray::from_iter_values([value])),
        _ => return Err(fails("")),
    };
    let is_text = |data_type: &DataType| data_type.is_string() || data_type.is_binary();
    if array.data_type() == data_type {
        return Ok(array);
    }
    // Text of a number is not a number.
    if is_text(array.data_type()) != is_text(data_type) {
        return Err(fails(""));
    }
    let cast = cast(&array, data_type).ok().filter(|cast| cast.null_count() == 0);
    cast.ok_or_else(|| fails(""))
}

fn fixed(value: &[u8]) -> Option<ArrayRef> {
    let array = FixedSizeBinaryArray::try_from_iter(std::iter::once(value)).ok()?;
    Some(Arc::new(array))
}

/// The value as predicates compare it; `None` for NaN, which no bound is.
pub(super) fn predicate_value(literal: Literal) -> Option<Value> {
    Some(match literal {
        Literal::Boolean(value) => Value::Boolean(value),
        Literal::Int(value) => Value::Int(value.into()),
        Literal::Long(value) => Value::Int(value.into()),
        Literal::Float(value) => Value::Float(value.into()),
        Literal::Double(value) => Value::Float(value),
        Literal::Decimal(value) => Value::Int(value),
        Literal::String(value) => Value::Bytes(Bytes::from(value)),
        Literal::Uuid(value) => Value::Bytes(Bytes::copy_from_slice(&value)),
        Literal::Fixed(value) | Literal::Binary(value) => Value::Bytes(Bytes::from(value)),
        _ => return None,
    })
    .filter(|value| !matches!(value, Value::Float(value) if value.is_nan()))
}

/// The value of a column of type `primitive`.
pub(super) fn literal(value: &Value, primitive: &PrimitiveType) -> Option<Literal> {
    use PrimitiveType as P;
    Some(match (value, primitive) {
        (Value::Boolean(value), P::Boolean) => Literal::Boolean(*value),
        (Value::Int(value), P::Int | P::Date) => Literal::Int(i32::try_from(*value).ok()?),
        (Value::Int(value), P::Long | P::Time | P::Timestamp | P::Timestamptz | P::TimestampNs | P::TimestamptzNs) => {
            Literal::Long(i64::try_from(*value).ok()?)
        }
        (Value::Int(value), P::Decimal { .. }) => Literal::Decimal(*value),
        (Value::Bytes(bytes), P::String) => Literal::String(std::str::from_utf8(bytes).ok()?.to_owned()),
        (Value::Bytes(bytes), P::Uuid) => Literal::Uuid(bytes.as_ref().try_into().ok()?),
        (Value::Bytes(bytes), P::Fixed(_)) => Literal::Fixed(bytes.to_vec()),
        (Value::Bytes(bytes), P::Binary) => Literal::Binary(bytes.to_vec()),
        _ => return None,
    })
}
