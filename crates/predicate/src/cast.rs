//! `CAST`: converts the values of a column to another type.
//!
//! Numbers are rounded to the nearest; halves of floats are rounded to even, halves of decimals away from zero. Dates and times are rounded
//! down. A value that the type does not have is an error, or null with `TRY_CAST`.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float16Type, Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, Field};
use half::f16;

use crate::array::{to_array, value_at};
use crate::error::{Error, Result};
use crate::place::{Place, place};
use crate::syntax::{Literal, SpecialFloat};
use crate::value::{
    ExactType, NANOS_PER_DAY, Number, SqlType, Value, data_type_name, is_uuid, moment, nanos_per, value_type,
};

/// A cast of an operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cast {
    pub(crate) to: SqlType,
    /// Whether a value that cannot be cast becomes null (`TRY_CAST`) instead of an error.
    pub(crate) or_null: bool,
}

/// Whether the types can be cast.
pub(crate) fn is_possible(from: &Field, to: SqlType) -> bool {
    let from_type = value_type(from);
    let is_moment =
        |data_type: &DataType| matches!(data_type, DataType::Date32 | DataType::Date64 | DataType::Timestamp(..));
    let is_bytes = from_type.is_binary() || matches!(from_type, DataType::FixedSizeBinary(_));
    match to {
        _ if from_type == &DataType::Null || from_type.is_string() => true,
        SqlType::Text => {
            from_type.is_numeric()
                || is_moment(from_type)
                || is_bytes
                || matches!(from_type, DataType::Boolean | DataType::Time32(_) | DataType::Time64(_))
        }
        SqlType::Integer { .. } => from_type.is_numeric() || from_type == &DataType::Boolean,
        SqlType::Float { .. } | SqlType::Decimal { .. } => from_type.is_numeric(),
        SqlType::Boolean => from_type == &DataType::Boolean,
        SqlType::Binary => is_bytes,
        SqlType::Uuid => is_uuid(from) || is_bytes,
        SqlType::Date | SqlType::Timestamp { .. } => is_moment(from_type),
        SqlType::Time => matches!(from_type, DataType::Time32(_) | DataType::Time64(_)),
    }
}

/// Whether the cast changes no value, so that the column can be compared without it.
pub(crate) fn is_identity(from: &Field, to: SqlType) -> bool {
    let target = to.field();
    let (from_type, to_type) = (value_type(from), target.data_type());
    if from_type == to_type {
        return is_uuid(from) == is_uuid(&target);
    }
    match (ExactType::new(from_type).and_then(ExactType::digits), to) {
        (Some((whole, scale)), SqlType::Decimal { precision, scale: to_scale }) => {
            i16::from(to_scale) >= scale && i16::from(precision) - i16::from(to_scale) >= whole
        }
        (Some(_), SqlType::Integer { bits, signed }) if from_type.is_integer() => {
            let (from_bits, from_signed) =
                (from_type.primitive_width().unwrap_or(8) * 8, from_type.is_signed_integer());
            match (from_signed, signed) {
                (true, false) => false,
                (false, true) => from_bits < usize::from(bits),
                _ => from_bits <= usize::from(bits),
            }
        }
        _ => match (from_type, to) {
            (DataType::Timestamp(from_unit, _), SqlType::Timestamp { unit, .. }) => {
                nanos_per(*from_unit) >= nanos_per(unit)
            }
            (DataType::Date32 | DataType::Date64, SqlType::Timestamp { .. }) => from_type == &DataType::Date32,
            (DataType::Time32(_) | DataType::Time64(_), SqlType::Time) => true,
            (from_type, SqlType::Text) => from_type.is_string(),
            (from_type, SqlType::Binary) => {
                from_type.is_binary() || (matches!(from_type, DataType::FixedSizeBinary(_)) && !is_uuid(from))
            }
            _ => false,
        },
    }
}

impl Cast {
    /// Casts `array`, the values of `field`. Messages call the operand `name`.
    pub(crate) fn apply(self, array: &ArrayRef, field: &Field, name: &str) -> Result<ArrayRef> {
        let target = self.to.field();
        let from_type = value_type(field);
        let array = match array.data_type() {
            DataType::Dictionary(_, value) => {
                &cast_with_options(array, value, &CastOptions::default()).map_err(|error| self.failed(name, &error))?
            }
            _ => array,
        };
        if from_type == target.data_type() {
            return Ok(Arc::clone(array));
        }
        let is_number = |data_type: &DataType| data_type.is_numeric() || data_type == &DataType::Boolean;
        if is_number(from_type) && (is_number(target.data_type()) || self.to == SqlType::Text) {
            return self.number(array, target.data_type(), name);
        }
        let mut values = Vec::with_capacity(array.len());
        for index in 0..array.len() {
            let value = value_at(array, index);
            let cast = value.as_ref().and_then(|value| self.value(value, field, &target));
            if let (Some(value), None, false) = (&value, &cast, self.or_null) {
                return Err(self.failed(name, &describe(value, from_type)));
            }
            values.push(cast);
        }
        to_array(&values, target.data_type()).ok_or_else(|| self.failed(name, &"the type does not have its values"))
    }

    fn failed(self, name: &str, what: &dyn std::fmt::Display) -> Error {
        let to = self.to;
        Error::Cast { what: format!("column {name:?} cannot be cast to {to}: {what}; TRY_CAST returns null instead") }
    }

    fn number(self, array: &ArrayRef, target: &DataType, name: &str) -> Result<ArrayRef> {
        let options = CastOptions { safe: self.or_null, ..CastOptions::default() };
        let cast = |array: &ArrayRef, to: &DataType| {
            cast_with_options(array, to, &options).map_err(|error| self.failed(name, &error))
        };
        match array.data_type() {
            from if from.is_decimal() && target.is_integer() => {
                cast(&cast(array, &DataType::Decimal256(76, 0))?, target)
            }
            DataType::Float16 if target.is_integer() => {
                let round = |value: f16| f16::from_f64(f64::from(value).round_ties_even());
                let rounded: ArrayRef = Arc::new(array.as_primitive::<Float16Type>().unary::<_, Float16Type>(round));
                cast(&rounded, target)
            }
            DataType::Float32 if target.is_integer() => {
                let round = |value: f32| value.round_ties_even();
                let rounded: ArrayRef = Arc::new(array.as_primitive::<Float32Type>().unary::<_, Float32Type>(round));
                cast(&rounded, target)
            }
            DataType::Float64 if target.is_integer() => {
                let round = |value: f64| value.round_ties_even();
                let rounded: ArrayRef = Arc::new(array.as_primitive::<Float64Type>().unary::<_, Float64Type>(round));
                cast(&rounded, target)
            }
            _ => cast(array, target),
        }
    }

    /// Casts one value. One of the types is not a number.
    fn value(self, value: &Value, field: &Field, target: &Field) -> Option<Value> {
        match (to_literal(value, field)?, self.to) {
            (Literal::String(text), SqlType::Integer { .. } | SqlType::Float { .. } | SqlType::Decimal { .. }) => {
                let text = text.trim();
                let literal = Number::parse(text).map(Literal::Number);
                match place(&literal.unwrap_or_else(|| Literal::String(text.to_owned())), target)? {
                    Place::At(value) => Some(value),
                    _ => None,
                }
            }
            (Literal::String(text), SqlType::Boolean) => match text.trim().to_ascii_lowercase().as_str() {
                "true" | "t" => Some(Value::Boolean(true)),
                "false" | "f" => Some(Value::Boolean(false)),
                _ => None,
            },
            (Literal::Bytes(bytes), SqlType::Text) => String::from_utf8(bytes).ok().map(text_value),
            (
                literal @ (Literal::Uuid(_) | Literal::Date(_) | Literal::Time(_) | Literal::Timestamp(_)),
                SqlType::Text,
            ) => {
                // The text between the quotes.
                let text = literal.to_string();
                text.split('\'').nth(1).map(|text| text_value(text.to_owned()))
            }
            (literal, _) => match place(&literal, target)? {
                Place::At(value) | Place::JustAbove(value) => Some(value),
                Place::Below | Place::Above => None,
            },
        }
    }
}

fn text_value(text: String) -> Value {
    Value::Bytes(text.into())
}

fn describe(value: &Value, data_type: &DataType) -> String {
    match value {
        Value::Bytes(bytes) => match str::from_utf8(bytes) {
            Ok(text) if data_type.is_string() => format!("'{}'", text.chars().take(40).collect::<String>()),
            _ => format!("{} bytes", bytes.len()),
        },
        _ => format!("a value of {}", data_type_name(data_type)),
    }
}

/// The literal of a value of a field; `None` for types without literals.
pub(crate) fn to_literal(value: &Value, field: &Field) -> Option<Literal> {
    Some(match (value, value_type(field)) {
        (Value::Boolean(truth), _) => Literal::Boolean(*truth),
        (Value::Float(value), _) => match SpecialFloat::from_f64(*value) {
            Some(special) => Literal::Float(special),
            None => Literal::Number(Number::parse(&format!("{value:?}"))?),
        },
        (Value::Bytes(bytes), data_type) if data_type.is_string() => {
            Literal::String(str::from_utf8(bytes).ok()?.to_owned())
        }
        (Value::Bytes(bytes), _) if is_uuid(field) => Literal::Uuid(bytes.as_ref().try_into().ok()?),
        (Value::Bytes(bytes), _) => Literal::Bytes(bytes.to_vec()),
        (Value::Wide(steps), data_type) => {
            let (_, scale) = ExactType::decimal_digits(data_type)?;
            Literal::Number(Number::from_steps(&steps.to_string(), scale)?)
        }
        (Value::Int(steps), data_type) if data_type.is_decimal() => {
            let (_, scale) = ExactType::decimal_digits(data_type)?;
            Literal::Number(Number::from_steps(&steps.to_string(), scale)?)
        }
        (Value::Int(steps), data_type) if data_type.is_integer() => {
            Literal::Number(Number::from_steps(&steps.to_string(), 0)?)
        }
        (Value::Int(days), DataType::Date32) => Literal::Date(i32::try_from(*days).ok()?),
        (Value::Int(millis), DataType::Date64) if millis.rem_euclid(NANOS_PER_DAY / 1_000_000) == 0 => {
            Literal::Date(i32::try_from(millis.div_euclid(NANOS_PER_DAY / 1_000_000)).ok()?)
        }
        (Value::Int(millis), DataType::Date64) => Literal::Timestamp(millis * 1_000_000),
        (Value::Int(steps), DataType::Timestamp(unit, _)) => Literal::Timestamp(steps * nanos_per(*unit)),
        (Value::Int(steps), DataType::Time32(unit) | DataType::Time64(unit)) => {
            let nanos = i64::try_from(steps.checked_mul(nanos_per(*unit))?).ok()?;
            Literal::Time(Some(nanos).filter(|nanos| moment::is_time(*nanos))?)
        }
        _ => return None,
    })
}
