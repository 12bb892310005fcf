//! Compares columns with columns.

use std::cmp::Ordering;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float16Type, Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, BooleanArray};
use arrow_buffer::{BooleanBuffer, NullBuffer, i256};
use arrow_cast::cast;
use arrow_schema::DataType;
use lath_kernels::compare::Comparison;

use super::bytes::with_bytes;
use super::{float, integer};
use crate::error::{Error, Result};
use crate::value::{ExactType, ExactUnit, compare_floats, data_type_name};

/// `left op right` for each row; null if one of them is null.
pub(super) fn compare(left: &ArrayRef, op: Comparison, right: &ArrayRef) -> Result<BooleanArray> {
    let (left, right) = (without_dictionary(left)?, without_dictionary(right)?);
    let nulls = NullBuffer::union(left.logical_nulls().as_ref(), right.logical_nulls().as_ref());
    if let Some(truths) = integer::compare_same_type(&left, op, &right)? {
        return Ok(BooleanArray::new(truths, nulls));
    }
    if let Some(truths) = float::compare_same_type(&left, op, &right)? {
        return Ok(BooleanArray::new(truths, nulls));
    }
    let truths = match (left.data_type(), right.data_type()) {
        (DataType::Boolean, DataType::Boolean) => {
            let (left, right) = (left.as_boolean(), right.as_boolean());
            compare_rows(left.len(), op, |row| left.value(row).cmp(&right.value(row)))
        }
        (a, b) if a.is_floating() && b.is_floating() => {
            let (left, right) = (floats(&left), floats(&right));
            compare_rows(left.len(), op, |row| compare_floats(left[row], right[row]))
        }
        (a, b) if is_bytes(a) && is_bytes(b) => compare_bytes(&left, op, &right).ok_or_else(|| mismatch(a, b))?,
        (a, b) if a.is_floating() => {
            let (floats, exact) = (floats(&left), Exact::new(&right).ok_or_else(|| mismatch(a, b))?);
            compare_rows(left.len(), op, |row| exact.compare_float(row, floats[row]).reverse())
        }
        (a, b) if b.is_floating() => {
            let (exact, floats) = (Exact::new(&left).ok_or_else(|| mismatch(a, b))?, floats(&right));
            compare_rows(left.len(), op, |row| exact.compare_float(row, floats[row]))
        }
        (a, b) => {
            let (Some(left), Some(right)) = (Exact::new(&left), Exact::new(&right)) else { return Err(mismatch(a, b)) };
            compare_rows(left.values.len(), op, |row| left.compare(row, &right, row))
        }
    };
    Ok(BooleanArray::new(truths, nulls))
}

fn mismatch(left: &DataType, right: &DataType) -> Error {
    Error::mismatch(format!("{} cannot be compared with {}", data_type_name(left), data_type_name(right)))
}

fn without_dictionary(array: &ArrayRef) -> Result<ArrayRef> {
    match array.data_type() {
        DataType::Dictionary(_, value) => Ok(cast(array, value)?),
        _ => Ok(ArrayRef::clone(array)),
    }
}

fn compare_rows(len: usize, op: Comparison, order: impl Fn(usize) -> Ordering) -> BooleanBuffer {
    BooleanBuffer::collect_bool(len, |row| op.holds(order(row)))
}

fn is_bytes(data_type: &DataType) -> bool {
    data_type.is_string() || data_type.is_binary() || matches!(data_type, DataType::FixedSizeBinary(_))
}

fn compare_bytes(left: &dyn Array, op: Comparison, right: &dyn Array) -> Option<BooleanBuffer> {
    with_bytes!(left, a => with_bytes!(right, b => Some(compare_rows(left.len(), op, |row| a(row).cmp(b(row))))))
}

fn floats(array: &dyn Array) -> Vec<f64> {
    match array.data_type() {
        DataType::Float16 => array.as_primitive::<Float16Type>().values().iter().map(|&value| value.into()).collect(),
        DataType::Float32 => array.as_primitive::<Float32Type>().values().iter().map(|&value| value.into()).collect(),
        _ => array.as_primitive::<Float64Type>().values().to_vec(),
    }
}

/// Values that are integers in some unit.
struct Exact {
    values: Vec<i256>,
    unit: ExactUnit,
}

impl Exact {
    fn new(array: &dyn Array) -> Option<Self> {
        let unit = match ExactType::new(array.data_type())?.unit {
            ExactUnit::One => ExactUnit::Decimal { precision: 0, scale: 0 },
            unit => unit,
        };
        Some(Self { values: integer::as_i256(array)?, unit })
    }

    fn compare(&self, row: usize, other: &Self, other_row: usize) -> Ordering {
        let (left, right) = (self.values[row], other.values[other_row]);
        match (self.unit, other.unit) {
            (ExactUnit::Nanos(a), ExactUnit::Nanos(b)) => {
                left.wrapping_mul(i256::from_i128(a)).cmp(&right.wrapping_mul(i256::from_i128(b)))
            }
            (ExactUnit::Decimal { scale: a, .. }, ExactUnit::Decimal { scale: b, .. }) if a < b => {
                scaled(left, b - a, right)
            }
            (ExactUnit::Decimal { scale: a, .. }, ExactUnit::Decimal { scale: b, .. }) => {
                scaled(right, a - b, left).reverse()
            }
            _ => left.cmp(&right),
        }
    }

    fn compare_float(&self, row: usize, float: f64) -> Ordering {
        let scale = if let ExactUnit::Decimal { scale, .. } = self.unit { scale } else { 0 };
        crate::value::compare_with_float(self.values[row], scale, float)
    }
}

/// Compares `left` · 10^`digits` with `right`.
fn scaled(left: i256, digits: i8, right: i256) -> Ordering {
    let ten = i256::from_i128(10);
    match ten.checked_pow(digits.unsigned_abs().into()).and_then(|factor| left.checked_mul(factor)) {
        Some(product) => product.cmp(&right),
        // A product outside the range of `i256` is decided by its sign.
        None => left.cmp(&i256::ZERO),
    }
}
