//! Evaluates a [`Test`] on batches: whole arrays in, true, false or null for each row out.
//!
//! One file for each kind of operand. What an array holds is settled before its values are looped over, never within the loop.

mod bitmap;
mod boolean;
mod bytes;
mod columns;
mod float;
mod integer;
mod list;
#[cfg(test)]
mod tests;
mod truth_cache;

use arrow_arith::boolean::{and_kleene, not, or_kleene};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray};
use arrow_buffer::BooleanBuffer;
use arrow_schema::{ArrowError, DataType};

pub use bytes::byte_strings;
pub(crate) use bytes::bytes_at;
pub(crate) use float::float_at;
pub(crate) use integer::{Integer, integer_at};
pub(crate) use truth_cache::TruthCache;

use crate::error::{Error, Result};
use crate::test::{BoundColumn, BoundPredicate, Test, ValueTest};
use crate::type_name::data_type_name;

impl BoundPredicate {
    /// True, false or null for each of `row_count` rows. `operands` has an array for each of the columns, in their order, as
    /// [`BoundColumn::operand`] takes it from a batch.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if a column does not have `row_count` values, or values of another type than it was bound with;
    /// [`Error::Cast`] if a value cannot be cast.
    pub fn evaluate(&self, operands: &[ArrayRef], row_count: usize) -> Result<BooleanArray> {
        if operands.len() != self.columns.len() || operands.iter().any(|operand| operand.len() != row_count) {
            return Err(Error::mismatch("a predicate needs an array of each of its columns, one value a row"));
        }
        let cast = |(column, operand): (&BoundColumn, &ArrayRef)| column.cast(operand);
        let operands: Vec<ArrayRef> = self.columns.iter().zip(operands).map(cast).collect::<Result<_>>()?;
        Evaluation { operands: &operands, row_count, truths: &self.truths }.test(&self.test)
    }
}

struct Evaluation<'a> {
    operands: &'a [ArrayRef],
    row_count: usize,
    truths: &'a TruthCache,
}

impl Evaluation<'_> {
    fn test(&self, test: &Test) -> Result<BooleanArray> {
        match test {
            Test::All(tests) => {
                self.fold(tests, and_kleene, |result| result.true_count() == 0 && result.null_count() == 0)
            }
            Test::Any(tests) => self.fold(tests, or_kleene, |result| result.true_count() == self.row_count),
            Test::Not(test) => Ok(not(&self.test(test)?)?),
            Test::Constant(truth) => Ok(constant(*truth, self.row_count)),
            Test::Is(test, truth) => Ok(is(&self.test(test)?, *truth)),
            Test::Values { column, test } => {
                let operand = self.operand(*column)?;
                match operand.data_type() {
                    DataType::Dictionary(..) if !matches!(test, ValueTest::IsNull | ValueTest::Always(_)) => {
                        self.truths.test_dictionary(test, operand)
                    }
                    _ => test_values(test, operand),
                }
            }
            Test::Columns { left, op, right, .. } => columns::compare(self.operand(*left)?, *op, self.operand(*right)?),
        }
    }

    fn operand(&self, column: usize) -> Result<&ArrayRef> {
        let missing = || Error::mismatch(format!("the predicate has no column {column}"));
        self.operands.get(column).ok_or_else(missing)
    }

    /// Joins the truths of `tests`, the cheapest first, until more of them could not change the result.
    fn fold(
        &self,
        tests: &[Test],
        join: impl Fn(&BooleanArray, &BooleanArray) -> Result<BooleanArray, ArrowError>,
        is_settled: impl Fn(&BooleanArray) -> bool,
    ) -> Result<BooleanArray> {
        let mut ordered: Vec<&Test> = tests.iter().collect();
        ordered.sort_by_key(|test| self.cost(test));
        let mut ordered = ordered.into_iter();
        let Some(first) = ordered.next() else { return Err(Error::mismatch("a condition without parts")) };
        let mut result = self.test(first)?;
        for test in ordered {
            if is_settled(&result) {
                break;
            }
            result = join(&result, &self.test(test)?)?;
        }
        Ok(result)
    }

    /// What a test costs a row, in about the time that it takes to compare an integer.
    fn cost(&self, test: &Test) -> u32 {
        match test {
            Test::Constant(_) => 0,
            Test::All(tests) | Test::Any(tests) => tests.iter().map(|test| self.cost(test)).sum(),
            Test::Not(test) | Test::Is(test, _) => self.cost(test),
            Test::Values { test: ValueTest::IsNull | ValueTest::Always(_) | ValueTest::Truth, .. } => 1,
            Test::Values { column, test } => {
                let Ok(operand) = self.operand(*column) else { return 0 };
                let by_value = match operand.data_type() {
                    DataType::Dictionary(..) => return 2,
                    other if other.is_string() || other.is_binary() => 4,
                    DataType::FixedSizeBinary(_) | DataType::Decimal256(..) => 3,
                    _ => 1,
                };
                match test {
                    ValueTest::In(set) if set.values().len() > 16 => 8 + by_value,
                    ValueTest::In(set) => by_value * set.values().len() as u32,
                    ValueTest::Like(pattern) if pattern.is_prefix_only() => by_value,
                    ValueTest::Like(_) => 40,
                    ValueTest::Contains(_) => 10,
                    _ => by_value,
                }
            }
            Test::Columns { .. } => 6,
        }
    }
}

/// The test of each value of an array.
///
/// ```
/// use arrow_array::{BooleanArray, Int32Array};
/// use lath_predicate::{Comparison, Value, ValueTest, test_values};
///
/// let values = Int32Array::from(vec![Some(1), None, Some(3)]);
/// let above_two = ValueTest::Compare(Comparison::Greater, Value::Int(2));
/// assert_eq!(test_values(&above_two, &values)?, BooleanArray::from(vec![Some(false), None, Some(true)]));
/// # Ok::<(), lath_predicate::Error>(())
/// ```
///
/// # Errors
/// [`Error::Mismatch`] if the test is not one of values of the array's type.
pub fn test_values(test: &ValueTest, array: &dyn Array) -> Result<BooleanArray> {
    match test {
        ValueTest::IsNull => return Ok(BooleanArray::new(!&validity(array), None)),
        ValueTest::Always(truth) => return Ok(BooleanArray::new(bits(*truth, array.len()), array.logical_nulls())),
        ValueTest::Contains(element) => return list::contains(array, element),
        _ => {}
    }
    let truths = match array.data_type() {
        DataType::Dictionary(..) => return TruthCache::default().test_dictionary(test, array),
        DataType::Null => return Ok(BooleanArray::new_null(array.len())),
        DataType::Boolean => boolean::test(test, array.as_boolean()),
        other if other.is_string() || other.is_binary() => bytes::test(test, array)?,
        DataType::FixedSizeBinary(_) => bytes::test(test, array)?,
        other if other.is_floating() => float::test(test, array)?,
        _ => integer::test(test, array)?,
    };
    let truths = truths.ok_or_else(|| {
        Error::mismatch(format!("{} cannot be tested as it was bound", data_type_name(array.data_type())))
    })?;
    Ok(BooleanArray::new(truths, array.logical_nulls()))
}

fn bits(truth: bool, len: usize) -> BooleanBuffer {
    if truth { BooleanBuffer::new_set(len) } else { BooleanBuffer::new_unset(len) }
}

/// A bit for each value that is not null.
fn validity(array: &dyn Array) -> BooleanBuffer {
    array.logical_nulls().map_or_else(|| bits(true, array.len()), |nulls| nulls.inner().clone())
}

fn constant(truth: Option<bool>, len: usize) -> BooleanArray {
    match truth {
        Some(truth) => BooleanArray::new(bits(truth, len), None),
        None => BooleanArray::new_null(len),
    }
}

fn is(result: &BooleanArray, truth: Option<bool>) -> BooleanArray {
    let valid = validity(result);
    let bits = match truth {
        Some(true) => &valid & result.values(),
        Some(false) => &valid & &!result.values(),
        None => !&valid,
    };
    BooleanArray::new(bits, None)
}
