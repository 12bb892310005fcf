//! Evaluates a [`Test`] on a batch.

use std::sync::Arc;

use arrow_arith::boolean::{and_kleene, not, or_kleene};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float16Type, Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, BooleanArray, Datum, RecordBatch, Scalar, StringViewArray};
use arrow_buffer::BooleanBuffer;
use arrow_cast::cast;
use arrow_ord::cmp;
use arrow_schema::{ArrowError, DataType};
use arrow_string::like::{ilike, like};
use half::f16;

use super::bind::Test;
use super::column::Column;
use super::syntax::Comparison;

impl Test {
    /// True, false or null for each row of `batch`.
    pub(super) fn evaluate(&self, batch: &RecordBatch) -> Result<BooleanArray, ArrowError> {
        let row_count = batch.num_rows();
        match self {
            Self::All(tests) => {
                fold(tests, batch, and_kleene, |result| result.true_count() == 0 && result.null_count() == 0)
            }
            Self::Any(tests) => fold(tests, batch, or_kleene, |result| result.true_count() == row_count),
            Self::Not(test) => not(&test.evaluate(batch)?),
            Self::Constant(truth) => Ok(constant(*truth, row_count)),
            Self::Values(column, truth) => {
                let nulls = column.values(batch)?.logical_nulls();
                Ok(BooleanArray::new(bits(*truth, row_count), nulls))
            }
            Self::CompareLiteral { column, op, literal } => compare(&comparable(column.values(batch)?)?, *op, literal),
            Self::CompareColumns { left, op, right, common } => {
                let values = |column: &Column| comparable(cast(&column.values(batch)?, common)?);
                compare(&values(left)?, *op, &values(right)?)
            }
            Self::Like { column, pattern, ignore_case } => {
                let values = column.values(batch)?;
                let values = match value_type(values.data_type()) {
                    DataType::Utf8View => values,
                    _ => cast(&values, &DataType::Utf8View)?,
                };
                let pattern = Scalar::new(StringViewArray::from(vec![pattern.as_str()]));
                if *ignore_case { ilike(&values, &pattern) } else { like(&values, &pattern) }
            }
            Self::IsNull(column) => {
                let nulls = column.values(batch)?.logical_nulls();
                let valid = nulls.map_or_else(|| bits(true, row_count), |nulls| nulls.inner().clone());
                Ok(BooleanArray::new(!&valid, None))
            }
            Self::Is(test, truth) => Ok(is(&test.evaluate(batch)?, *truth)),
            Self::Flag(column) => {
                let values = column.values(batch)?;
                match values.data_type() {
                    DataType::Boolean => Ok(values.as_boolean().clone()),
                    _ => Ok(cast(&values, &DataType::Boolean)?.as_boolean().clone()),
                }
            }
        }
    }
}

fn fold(
    tests: &[Test],
    batch: &RecordBatch,
    join: impl Fn(&BooleanArray, &BooleanArray) -> Result<BooleanArray, ArrowError>,
    is_settled: impl Fn(&BooleanArray) -> bool,
) -> Result<BooleanArray, ArrowError> {
    let Some((first, rest)) = tests.split_first() else {
        return Ok(constant(Some(false), batch.num_rows()));
    };
    let mut result = first.evaluate(batch)?;
    for test in rest {
        if is_settled(&result) {
            break;
        }
        result = join(&result, &test.evaluate(batch)?)?;
    }
    Ok(result)
}

fn bits(truth: bool, len: usize) -> BooleanBuffer {
    if truth { BooleanBuffer::new_set(len) } else { BooleanBuffer::new_unset(len) }
}

fn constant(truth: Option<bool>, len: usize) -> BooleanArray {
    match truth {
        Some(truth) => BooleanArray::new(bits(truth, len), None),
        None => BooleanArray::new_null(len),
    }
}

fn is(result: &BooleanArray, truth: Option<bool>) -> BooleanArray {
    let valid = result.nulls().map_or_else(|| bits(true, result.len()), |nulls| nulls.inner().clone());
    let bits = match truth {
        Some(true) => &valid & result.values(),
        Some(false) => &valid & &!result.values(),
        None => !&valid,
    };
    BooleanArray::new(bits, None)
}

fn compare(left: &dyn Datum, op: Comparison, right: &dyn Datum) -> Result<BooleanArray, ArrowError> {
    match op {
        Comparison::Equal => cmp::eq(left, right),
        Comparison::NotEqual => cmp::neq(left, right),
        Comparison::Less => cmp::lt(left, right),
        Comparison::LessOrEqual => cmp::lt_eq(left, right),
        Comparison::Greater => cmp::gt(left, right),
        Comparison::GreaterOrEqual => cmp::gt_eq(left, right),
    }
}

fn value_type(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::Dictionary(_, value) => value,
        other => other,
    }
}

/// The values in a form whose order by bits is the order of SQL: one zero, and one NaN above all numbers.
fn comparable(values: ArrayRef) -> Result<ArrayRef, ArrowError> {
    Ok(match values.data_type() {
        DataType::Dictionary(_, value) if value.is_floating() => comparable(cast(&values, &value.clone())?)?,
        DataType::Float16 => {
            let unified = |value: f16| if value.is_nan() { f16::NAN } else { value + f16::ZERO };
            Arc::new(values.as_primitive::<Float16Type>().unary::<_, Float16Type>(unified))
        }
        DataType::Float32 => {
            let unified = |value: f32| if value.is_nan() { f32::NAN } else { value + 0.0 };
            Arc::new(values.as_primitive::<Float32Type>().unary::<_, Float32Type>(unified))
        }
        DataType::Float64 => {
            let unified = |value: f64| if value.is_nan() { f64::NAN } else { value + 0.0 };
            Arc::new(values.as_primitive::<Float64Type>().unary::<_, Float64Type>(unified))
        }
        _ => values,
    })
}
