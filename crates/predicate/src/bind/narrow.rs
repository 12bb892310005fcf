//! Narrows literals: converts a place among the values of the common schema's type to a place among the values of one file's type.
//!
//! Types are widened without loss and in order, so each place in the wide type has one place in the file's type. Values are then tested
//! without conversion, and statistics, Bloom filters and dictionaries can be used.

use arrow_schema::{DataType, Field};
use bytes::Bytes;
use half::f16;

use crate::cast::to_literal;
use crate::place::{Place, next_down, place};
use crate::value::{Value, value_type};

/// Converts `place` from the type of `whole`, which holds all values of `file`, to the type of `file`; `None` if the types do not compare.
pub(crate) fn narrow(place: Place, whole: &Field, file: &Field) -> Option<Place> {
    if value_type(whole) == value_type(file) {
        return Some(place);
    }
    Some(match place {
        Place::At(value) => exact_place(&value, whole, file)?,
        Place::JustAbove(value) => match exact_place(&value, whole, file)? {
            Place::At(value) => Place::JustAbove(value),
            place => place,
        },
        place => place,
    })
}

/// The exact place of a value of `whole` among the values of `file`.
fn exact_place(value: &Value, whole: &Field, file: &Field) -> Option<Place> {
    let data_type = value_type(file);
    match value {
        Value::Float(value) if data_type.is_floating() => Some(exact_float(*value, data_type)),
        Value::Bytes(bytes) => match data_type {
            DataType::FixedSizeBinary(len) => Some(fixed_bytes(bytes, usize::try_from(*len).ok()?)),
            other if other.is_string() || other.is_binary() => Some(Place::At(Value::Bytes(bytes.clone()))),
            _ => None,
        },
        other => place(&to_literal(other, whole)?, file),
    }
}

/// The place of a float in a type that can have less precision.
fn exact_float(value: f64, data_type: &DataType) -> Place {
    let (nearest, largest) = match data_type {
        DataType::Float16 => (f64::from(f16::from_f64(value)), f64::from(f16::MAX)),
        DataType::Float32 => (f64::from(value as f32), f64::from(f32::MAX)),
        _ => (value, f64::MAX),
    };
    if value.is_nan() || value == nearest {
        return Place::At(Value::Float(value));
    }
    let below = match nearest {
        f64::INFINITY => largest,
        f64::NEG_INFINITY => f64::NEG_INFINITY,
        nearest if nearest > value => next_down(nearest, data_type),
        nearest => nearest,
    };
    Place::JustAbove(Value::Float(below))
}

/// The place of a byte string among strings of `len` bytes.
fn fixed_bytes(bytes: &Bytes, len: usize) -> Place {
    if bytes.len() >= len {
        let prefix = Value::Bytes(bytes.slice(..len));
        return if bytes.len() == len { Place::At(prefix) } else { Place::JustAbove(prefix) };
    }
    // The place is just above the string before the first one that starts with the bytes.
    let mut before = bytes.to_vec();
    before.resize(len, 0);
    for byte in before.iter_mut().rev() {
        let (lower, is_borrowed) = byte.overflowing_sub(1);
        *byte = lower;
        if !is_borrowed {
            return Place::JustAbove(Value::Bytes(before.into()));
        }
    }
    Place::Below
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(data_type: DataType) -> Field {
        Field::new("x", data_type, true)
    }

    fn floats(value: f64) -> Option<Place> {
        narrow(Place::At(Value::Float(value)), &field(DataType::Float64), &field(DataType::Float32))
    }

    #[test]
    fn doubles_are_between_floats_or_equal_one() {
        assert_eq!(floats(0.5), Some(Place::At(Value::Float(0.5))));
        let below = f64::from(0.1f32.next_down());
        assert_eq!(floats(0.1), Some(Place::JustAbove(Value::Float(below))));
        assert_eq!(floats(1e300), Some(Place::JustAbove(Value::Float(f32::MAX.into()))));
        assert_eq!(floats(-1e300), Some(Place::JustAbove(Value::Float(f64::NEG_INFINITY))));
        assert_eq!(floats(f64::NAN), Some(Place::At(Value::Float(f64::NAN))));
        let whole = |value| narrow(Place::At(Value::Float(value)), &field(DataType::Float64), &field(DataType::Int16));
        assert_eq!(whole(2.5), Some(Place::JustAbove(Value::Int(2))));
        assert_eq!(whole(f64::NAN), Some(Place::Above));
    }

    #[test]
    fn byte_strings_are_between_strings_of_a_fixed_length() {
        let place = |bytes: &'static [u8]| {
            let value = Value::Bytes(Bytes::from_static(bytes));
            narrow(Place::At(value), &field(DataType::BinaryView), &field(DataType::FixedSizeBinary(2)))
        };
        let bytes = |bytes: &'static [u8]| Value::Bytes(Bytes::from_static(bytes));
        assert_eq!(place(b"ab"), Some(Place::At(bytes(b"ab"))));
        assert_eq!(place(b"abc"), Some(Place::JustAbove(bytes(b"ab"))));
        assert_eq!(place(b"b"), Some(Place::JustAbove(bytes(b"a\xff"))));
        assert_eq!(place(b""), Some(Place::Below));
    }
}
