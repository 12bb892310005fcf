//! Evaluates tests of floats, with one zero, and one NaN above all numbers.

use std::cmp::Ordering;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float16Type, Float32Type, Float64Type};
use arrow_buffer::BooleanBuffer;
use arrow_schema::DataType;
use lath_kernels::compare::{self, Comparison, Number};

use super::bitmap::{fill_bitmap, find_in_set, uniform};
use crate::error::Result;
use crate::test::ValueTest;
use crate::value::Value;

/// A bit for each value; `None` if the test or the array is of another type.
pub(super) fn test(test: &ValueTest, array: &dyn Array) -> Result<Option<BooleanBuffer>> {
    match array.data_type() {
        DataType::Float16 => {
            // Widening is exact.
            let values: Vec<f32> =
                array.as_primitive::<Float16Type>().values().iter().map(|&value| value.into()).collect();
            test_slice(test, &values, narrowed)
        }
        DataType::Float32 => test_slice(test, array.as_primitive::<Float32Type>().values(), narrowed),
        DataType::Float64 => test_slice(test, array.as_primitive::<Float64Type>().values(), Literal::Is),
        _ => Ok(None),
    }
}

/// Compares two arrays of one type and length; `None` for other arrays.
pub(super) fn compare_same_type(left: &dyn Array, op: Comparison, right: &dyn Array) -> Result<Option<BooleanBuffer>> {
    macro_rules! slices {
        ($t:ty) => {{
            let (left, right) = (left.as_primitive::<$t>().values(), right.as_primitive::<$t>().values());
            fill_bitmap(left.len(), |out| compare::compare_slices(left, op, right, out)).map(Some)
        }};
    }
    match (left.data_type(), right.data_type()) {
        (DataType::Float32, DataType::Float32) => slices!(Float32Type),
        (DataType::Float64, DataType::Float64) => slices!(Float64Type),
        _ => Ok(None),
    }
}

/// The value at an index; `None` for arrays of other types.
pub(crate) fn float_at(array: &dyn Array, index: usize) -> Option<f64> {
    match array.data_type() {
        DataType::Float16 => Some(array.as_primitive::<Float16Type>().value(index).into()),
        DataType::Float32 => Some(array.as_primitive::<Float32Type>().value(index).into()),
        DataType::Float64 => Some(array.as_primitive::<Float64Type>().value(index)),
        _ => None,
    }
}

/// The place of a literal among the values of a type.
enum Literal<T> {
    Is(T),
    /// Between this value and the next larger one.
    JustAbove(T),
}

/// The place of a number among the floats of 32 bits.
fn narrowed(literal: f64) -> Literal<f32> {
    let nearest = literal as f32;
    match f64::from(nearest).partial_cmp(&literal) {
        Some(Ordering::Less) => Literal::JustAbove(nearest),
        Some(Ordering::Greater) => Literal::JustAbove(nearest.next_down()),
        // Equal, or both NaN.
        _ => Literal::Is(nearest),
    }
}

fn test_slice<T: Number>(
    test: &ValueTest,
    values: &[T],
    place: fn(f64) -> Literal<T>,
) -> Result<Option<BooleanBuffer>> {
    let len = values.len();
    Ok(Some(match test {
        ValueTest::Compare(op, Value::Float(literal)) => match (place(*literal), op) {
            (Literal::Is(literal), op) => fill_bitmap(len, |out| compare::compare(values, *op, literal, out))?,
            (Literal::JustAbove(below), Comparison::Less | Comparison::LessOrEqual) => {
                fill_bitmap(len, |out| compare::compare(values, Comparison::LessOrEqual, below, out))?
            }
            (Literal::JustAbove(below), Comparison::Greater | Comparison::GreaterOrEqual) => {
                fill_bitmap(len, |out| compare::compare(values, Comparison::Greater, below, out))?
            }
            (Literal::JustAbove(_), op) => uniform(*op == Comparison::NotEqual, len),
        },
        ValueTest::Between(low, high) => {
            let at_least = ValueTest::Compare(Comparison::GreaterOrEqual, low.clone());
            let at_most = ValueTest::Compare(Comparison::LessOrEqual, high.clone());
            match (find_place(low, place), find_place(high, place)) {
                (Some(Literal::Is(low)), Some(Literal::Is(high))) => {
                    fill_bitmap(len, |out| compare::between(values, low, high, out))?
                }
                _ => match (test_slice(&at_least, values, place)?, test_slice(&at_most, values, place)?) {
                    (Some(at_least), Some(at_most)) => &at_least & &at_most,
                    _ => return Ok(None),
                },
            }
        }
        ValueTest::In(set) => {
            // A number between two values of the type equals none.
            let list: Vec<T> = set
                .values()
                .iter()
                .filter_map(
                    |value| if let Some(Literal::Is(value)) = find_place(value, place) { Some(value) } else { None },
                )
                .collect();
            find_in_set(values, &list)?
        }
        _ => return Ok(None),
    }))
}

fn find_place<T>(value: &Value, place: fn(f64) -> Literal<T>) -> Option<Literal<T>> {
    if let Value::Float(value) = value { Some(place(*value)) } else { None }
}
