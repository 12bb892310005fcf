//! Floats: one zero, and one NaN above all numbers.

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float16Type, Float32Type, Float64Type};
use arrow_buffer::BooleanBuffer;
use arrow_schema::DataType;

use super::super::syntax::Comparison;
use super::super::test::ValueTest;
use super::super::value::Value;

/// `None` if the test is not one of floats, or these are none.
pub(super) fn test(test: &ValueTest, array: &dyn Array) -> Option<BooleanBuffer> {
    match array.data_type() {
        DataType::Float16 => of(test, array.as_primitive::<Float16Type>().values(), f64::from),
        DataType::Float32 => of(test, array.as_primitive::<Float32Type>().values(), f64::from),
        DataType::Float64 => of(test, array.as_primitive::<Float64Type>().values(), |value| value),
        _ => None,
    }
}

fn of<T: Copy>(test: &ValueTest, values: &[T], widen: impl Fn(T) -> f64) -> Option<BooleanBuffer> {
    let collect = |holds: &dyn Fn(f64) -> bool| -> BooleanBuffer { each(values, |value| holds(widen(value))) };
    Some(match test {
        ValueTest::Compare(op, Value::Float(literal)) if literal.is_nan() => match op {
            Comparison::Equal | Comparison::GreaterOrEqual => each(values, |value| widen(value).is_nan()),
            Comparison::NotEqual | Comparison::Less => each(values, |value| !widen(value).is_nan()),
            Comparison::LessOrEqual => each(values, |_| true),
            Comparison::Greater => each(values, |_| false),
        },
        ValueTest::Compare(op, Value::Float(literal)) => {
            let literal = *literal;
            match op {
                Comparison::Equal => each(values, |value| widen(value) == literal),
                Comparison::NotEqual => each(values, |value| widen(value) != literal),
                Comparison::Less => each(values, |value| widen(value) < literal),
                Comparison::LessOrEqual => each(values, |value| widen(value) <= literal),
                Comparison::Greater => each(values, |value| is_above(widen(value), literal)),
                Comparison::GreaterOrEqual => each(values, |value| !is_above(literal, widen(value))),
            }
        }
        ValueTest::Between(Value::Float(low), Value::Float(high)) => {
            let (low, high) = (*low, *high);
            each(values, |value| {
                let value = widen(value);
                !is_above(low, value) && !is_above(value, high)
            })
        }
        ValueTest::In(set) => collect(&|value| set.contains(&Value::Float(value))),
        _ => return None,
    })
}

/// Whether `left` is greater than `right`.
#[inline]
fn is_above(left: f64, right: f64) -> bool {
    left > right || (left.is_nan() && !right.is_nan())
}

#[inline]
fn each<T: Copy>(values: &[T], holds: impl Fn(T) -> bool) -> BooleanBuffer {
    BooleanBuffer::collect_bool(values.len(), |index| holds(values[index]))
}
