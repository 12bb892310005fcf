//! Finds the place of a literal among the values that a column can hold.

use std::cmp::Ordering;

use arrow_buffer::i256;
use arrow_schema::{DataType, Field};
use bytes::Bytes;
use half::f16;

use crate::syntax::{Literal, SpecialFloat};
use crate::value::{ExactType, ExactUnit, Floor, NANOS_PER_DAY, Number, Value, is_uuid, moment, value_type};

/// The place of a literal among the values of a column's type.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Place {
    /// The literal is exactly this value of the type.
    At(Value),
    /// The literal is between this value and the next one.
    JustAbove(Value),
    /// The literal is below all values of the type.
    Below,
    /// The literal is above all values of the type.
    Above,
}

/// Finds the place of `literal`, which is not null, among the values of `field`; `None` if they cannot be compared.
pub(crate) fn place(literal: &Literal, field: &Field) -> Option<Place> {
    let data_type = value_type(field);
    match literal {
        Literal::Null => None,
        Literal::Boolean(truth) => (data_type == &DataType::Boolean).then_some(Place::At(Value::Boolean(*truth))),
        Literal::Number(number) => match data_type {
            other if other.is_floating() => Some(float(data_type, number)),
            _ => match ExactType::new(data_type)?.unit {
                ExactUnit::One => Some(among_steps(data_type, number.floor(0))),
                ExactUnit::Decimal { scale, .. } => Some(among_steps(data_type, number.floor(scale))),
                ExactUnit::Nanos(_) => None,
            },
        },
        Literal::Float(value) => special_float(*value, data_type),
        Literal::String(text) => string(text, field, data_type),
        Literal::Bytes(bytes) => binary(bytes, data_type),
        Literal::Uuid(bytes) => binary(bytes, data_type),
        Literal::Date(days) => instant(i128::from(*days) * NANOS_PER_DAY, data_type),
        Literal::Timestamp(nanos) => instant(*nanos, data_type),
        Literal::Time(nanos) => time(*nanos, data_type),
    }
}

fn string(text: &str, field: &Field, data_type: &DataType) -> Option<Place> {
    match data_type {
        other if other.is_string() => Some(Place::At(Value::Bytes(Bytes::copy_from_slice(text.as_bytes())))),
        DataType::FixedSizeBinary(16) if is_uuid(field) => binary(&moment::parse_uuid(text)?, data_type),
        DataType::Date32 | DataType::Date64 => {
            let midnight = moment::parse_date(text).map(|days| i128::from(days) * NANOS_PER_DAY);
            instant(midnight.or_else(|| moment::parse_timestamp(text))?, data_type)
        }
        DataType::Timestamp(..) => instant(moment::parse_timestamp(text)?, data_type),
        DataType::Time32(_) | DataType::Time64(_) => time(moment::parse_time(text)?, data_type),
        // NaN and the infinities, which number literals cannot write.
        other if other.is_floating() => special_float(SpecialFloat::parse(text)?, data_type),
        // Many files store strings without the annotation of strings: the literal then means the bytes of the text.
        other if other.is_binary() || matches!(other, DataType::FixedSizeBinary(_)) => {
            binary(text.as_bytes(), data_type)
        }
        _ => None,
    }
}

/// NaN or an infinity. All values of other number types are between the infinities.
fn special_float(special: SpecialFloat, data_type: &DataType) -> Option<Place> {
    match data_type {
        other if other.is_floating() => Some(Place::At(Value::Float(special.value()))),
        other if other.is_numeric() => Some(match special {
            SpecialFloat::NegativeInfinity => Place::Below,
            SpecialFloat::Infinity | SpecialFloat::NotANumber => Place::Above,
        }),
        _ => None,
    }
}

fn binary(bytes: &[u8], data_type: &DataType) -> Option<Place> {
    match data_type {
        DataType::FixedSizeBinary(length) if usize::try_from(*length) != Ok(bytes.len()) => None,
        other if other.is_binary() || matches!(other, DataType::FixedSizeBinary(_)) => {
            Some(Place::At(Value::Bytes(Bytes::copy_from_slice(bytes))))
        }
        _ => None,
    }
}

/// A number with a point or an exponent means the nearest float of the column's type, so that `x = 0.1` finds values that were stored as
/// `0.1`. An integer is exact.
fn float(data_type: &DataType, number: &Number) -> Place {
    let (nearest, largest) = match data_type {
        DataType::Float16 => (f64::from(f16::from_f64(number.to_f64())), f64::from(f16::MAX)),
        DataType::Float32 => (f64::from(number.to_f32()), f64::from(f32::MAX)),
        _ => (number.to_f64(), f64::MAX),
    };
    // Every number is below infinity.
    if nearest == f64::INFINITY {
        return Place::JustAbove(Value::Float(largest));
    }
    if nearest == f64::NEG_INFINITY {
        return Place::JustAbove(Value::Float(nearest));
    }
    if !number.is_written_as_integer() {
        return Place::At(Value::Float(nearest));
    }
    match number.compare_whole(nearest) {
        Ordering::Equal => Place::At(Value::Float(nearest)),
        Ordering::Greater => Place::JustAbove(Value::Float(nearest)),
        Ordering::Less => Place::JustAbove(Value::Float(next_down(nearest, data_type))),
    }
}

/// The largest float of the type below `value`.
pub(crate) fn next_down(value: f64, data_type: &DataType) -> f64 {
    match data_type {
        DataType::Float16 => {
            let bits = f16::from_f64(value).to_bits();
            // The magnitude of negative numbers grows with their bits.
            f64::from(f16::from_bits(if value > 0.0 { bits - 1 } else { bits + 1 }))
        }
        DataType::Float32 => f64::from((value as f32).next_down()),
        _ => value.next_down(),
    }
}

/// A point in time, in nanoseconds since 1970, among dates or timestamps.
fn instant(nanos: i128, data_type: &DataType) -> Option<Place> {
    match data_type {
        DataType::Date32 | DataType::Date64 | DataType::Timestamp(..) => among_units(nanos, data_type),
        _ => None,
    }
}

/// A time of day, in nanoseconds since midnight.
fn time(nanos: i64, data_type: &DataType) -> Option<Place> {
    match data_type {
        DataType::Time32(_) | DataType::Time64(_) => among_units(nanos.into(), data_type),
        _ => None,
    }
}

fn among_units(nanos: i128, data_type: &DataType) -> Option<Place> {
    let ExactUnit::Nanos(unit) = ExactType::new(data_type)?.unit else { return None };
    let steps = Some(i256::from_i128(nanos.div_euclid(unit)));
    Some(among_steps(data_type, Floor { steps, exact: nanos.rem_euclid(unit) == 0, negative: nanos < 0 }))
}

fn among_steps(data_type: &DataType, floor: Floor) -> Place {
    let outside = if floor.negative { Place::Below } else { Place::Above };
    match floor.steps.and_then(|steps| stored(data_type, steps)) {
        Some(value) if floor.exact => Place::At(value),
        Some(value) => Place::JustAbove(value),
        None => outside,
    }
}

/// The value that the type stores as the integer `steps`; `None` if it cannot.
fn stored(data_type: &DataType, steps: i256) -> Option<Value> {
    let Some(range) = ExactType::new(data_type)?.range() else { return Some(Value::Wide(steps)) };
    steps.to_i128().filter(|value| range.contains(value)).map(Value::Int)
}
