//! Evaluates tests of integers and of types stored as integers: decimals, dates, times, timestamps and durations.

use std::cmp::Ordering;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::ArrowPrimitiveType;
use arrow_buffer::{BooleanBuffer, i256};
use lath_kernels::compare::{self, Comparison};

use super::bitmap::{fill_bitmap, find_in_set, uniform};
use crate::error::Result;
use crate::test::ValueTest;
use crate::value::{Value, with_exact_type};

/// The native integers of Arrow types.
pub(crate) trait Integer: Copy + Ord {
    /// Converts a literal; `None` if it is no integer, or outside the range of the type.
    fn from_value(value: &Value) -> Option<Self>;
    fn into_value(self) -> Value;
    fn compare(values: &[Self], op: Comparison, literal: Self) -> Result<BooleanBuffer>;
    fn between(values: &[Self], low: Self, high: Self) -> Result<BooleanBuffer>;
    /// `set` is in ascending order.
    fn is_in(values: &[Self], set: &[Self]) -> Result<BooleanBuffer>;
    /// The slices have the same length.
    fn compare_slices(left: &[Self], op: Comparison, right: &[Self]) -> Result<BooleanBuffer>;
}

macro_rules! integer {
    ($($native:ty),*) => {$(
        impl Integer for $native {
            fn from_value(value: &Value) -> Option<Self> {
                if let Value::Int(value) = value { Self::try_from(*value).ok() } else { None }
            }

            fn into_value(self) -> Value {
                Value::Int(self.into())
            }

            fn compare(values: &[Self], op: Comparison, literal: Self) -> Result<BooleanBuffer> {
                fill_bitmap(values.len(), |out| compare::compare(values, op, literal, out))
            }

            fn between(values: &[Self], low: Self, high: Self) -> Result<BooleanBuffer> {
                fill_bitmap(values.len(), |out| compare::between(values, low, high, out))
            }

            fn is_in(values: &[Self], set: &[Self]) -> Result<BooleanBuffer> {
                find_in_set(values, set)
            }

            fn compare_slices(left: &[Self], op: Comparison, right: &[Self]) -> Result<BooleanBuffer> {
                fill_bitmap(left.len(), |out| compare::compare_slices(left, op, right, out))
            }
        }
    )*};
}
integer!(i8, i16, i32, i64, i128, u8, u16, u32, u64);

impl Integer for i256 {
    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Wide(value) => Some(*value),
            Value::Int(value) => Some(i256::from_i128(*value)),
            _ => None,
        }
    }

    fn into_value(self) -> Value {
        Value::Wide(self)
    }

    fn compare(values: &[Self], op: Comparison, literal: Self) -> Result<BooleanBuffer> {
        Ok(collect_bits(values, |value| op.holds(value.cmp(&literal))))
    }

    fn between(values: &[Self], low: Self, high: Self) -> Result<BooleanBuffer> {
        Ok(collect_bits(values, |value| (low <= value) & (value <= high)))
    }

    fn is_in(values: &[Self], set: &[Self]) -> Result<BooleanBuffer> {
        Ok(collect_bits(values, |value| set.binary_search(&value).is_ok()))
    }

    fn compare_slices(left: &[Self], op: Comparison, right: &[Self]) -> Result<BooleanBuffer> {
        Ok(BooleanBuffer::collect_bool(left.len(), |row| op.holds(left[row].cmp(&right[row]))))
    }
}

/// Evaluates `$body` with the values of arrays of the same integer type, for every integer type; `None` for other arrays.
macro_rules! with_integers {
    ($first:expr => $first_values:ident $(, $array:expr => $values:ident)*; $body:expr) => {
        with_exact_type!($first.data_type(), T => {
            let $first_values: &[<T as ArrowPrimitiveType>::Native] = $first.as_primitive::<T>().values();
            $(let $values: &[<T as ArrowPrimitiveType>::Native] = $array.as_primitive::<T>().values();)*
            $body
        })
    };
}

/// A bit for each value; `None` if the test or the array is of another type.
pub(super) fn test(test: &ValueTest, array: &dyn Array) -> Result<Option<BooleanBuffer>> {
    with_integers!(array => values; test_slice(test, values)).unwrap_or(Ok(None))
}

/// Compares two arrays of one type and length; `None` for other arrays.
pub(super) fn compare_same_type(left: &dyn Array, op: Comparison, right: &dyn Array) -> Result<Option<BooleanBuffer>> {
    if left.data_type() != right.data_type() || left.len() != right.len() {
        return Ok(None);
    }
    with_integers!(left => left, right => right; Integer::compare_slices(left, op, right)).transpose()
}

/// The values of an array of integers as `i256`.
pub(super) fn as_i256(array: &dyn Array) -> Option<Vec<i256>> {
    let widen = |value: Value| i256::from_value(&value);
    with_integers!(array => values; values.iter().map(|&value| widen(value.into_value())).collect::<Option<_>>())?
}

/// The value at an index; `None` for arrays of other types.
pub(crate) fn integer_at(array: &dyn Array, index: usize) -> Option<Value> {
    with_integers!(array => values; values[index].into_value())
}

/// The place of a literal among the values of a type.
enum Literal<T> {
    Is(T),
    Below,
    Above,
}

/// The place of a literal; `None` if it is no integer.
fn place<T: Integer>(literal: &Value) -> Option<Literal<T>> {
    match (T::from_value(literal), literal) {
        (Some(value), _) => Some(Literal::Is(value)),
        (None, Value::Int(value)) => Some(if *value < 0 { Literal::Below } else { Literal::Above }),
        (None, _) => None,
    }
}

fn test_slice<T: Integer>(test: &ValueTest, values: &[T]) -> Result<Option<BooleanBuffer>> {
    use Comparison::{GreaterOrEqual, LessOrEqual};
    let len = values.len();
    Ok(match test {
        ValueTest::Compare(op, literal) => match place(literal) {
            Some(Literal::Is(literal)) => Some(T::compare(values, *op, literal)?),
            Some(Literal::Below) => Some(uniform(op.holds(Ordering::Greater), len)),
            Some(Literal::Above) => Some(uniform(op.holds(Ordering::Less), len)),
            None => None,
        },
        ValueTest::Between(low, high) => match (place(low), place(high)) {
            (Some(Literal::Is(low)), Some(Literal::Is(high))) => Some(T::between(values, low, high)?),
            (Some(Literal::Above), Some(_)) | (Some(_), Some(Literal::Below)) => Some(uniform(false, len)),
            (Some(Literal::Is(low)), Some(Literal::Above)) => Some(T::compare(values, GreaterOrEqual, low)?),
            (Some(Literal::Below), Some(Literal::Is(high))) => Some(T::compare(values, LessOrEqual, high)?),
            (Some(Literal::Below), Some(Literal::Above)) => Some(uniform(true, len)),
            _ => None,
        },
        ValueTest::In(set) => match set.values().iter().map(place).collect::<Option<Vec<_>>>() {
            Some(list) => {
                let is_value = |literal| if let Literal::Is(value) = literal { Some(value) } else { None };
                Some(T::is_in(values, &list.into_iter().filter_map(is_value).collect::<Vec<_>>())?)
            }
            None => None,
        },
        _ => None,
    })
}

#[inline]
fn collect_bits<T: Copy>(values: &[T], holds: impl Fn(T) -> bool) -> BooleanBuffer {
    BooleanBuffer::collect_bool(values.len(), |index| holds(values[index]))
}
