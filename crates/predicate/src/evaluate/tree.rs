//! Evaluates conditions of several tests.

use arrow_arith::boolean::{and_kleene, not, or_kleene};
use arrow_array::{Array, ArrayRef, BooleanArray};
use arrow_schema::{ArrowError, DataType};

use super::bitmap::{constant, is_truth};
use super::columns;
use super::truth_cache::TruthCache;
use super::values::test_values;
use crate::error::{Error, Result};
use crate::test::{Test, ValueTest};

/// The evaluation of a test on one array for each column.
pub(crate) struct Evaluation<'a> {
    pub(crate) operands: &'a [ArrayRef],
    pub(crate) row_count: usize,
    pub(crate) truths: &'a TruthCache,
}

impl Evaluation<'_> {
    /// True, false or null for each row.
    pub(crate) fn evaluate(&self, test: &Test) -> Result<BooleanArray> {
        match test {
            Test::All(tests) => {
                self.fold(tests, and_kleene, |result| result.true_count() == 0 && result.null_count() == 0)
            }
            Test::Any(tests) => self.fold(tests, or_kleene, |result| result.true_count() == self.row_count),
            Test::Not(test) => Ok(not(&self.evaluate(test)?)?),
            Test::Constant(truth) => Ok(constant(*truth, self.row_count)),
            Test::Is(test, truth) => Ok(is_truth(&self.evaluate(test)?, *truth)),
            Test::Values { column, test } => {
                let operand = self.operand(*column)?;
                match operand.data_type() {
                    DataType::Dictionary(..) if !matches!(test, ValueTest::IsNull | ValueTest::Always(_)) => {
                        self.truths.test_dictionary(test, operand, test_values)
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

    /// Combines the truths of `tests`, cheapest first, and stops when the rest cannot change the result.
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
        let mut result = self.evaluate(first)?;
        for test in ordered {
            if is_settled(&result) {
                break;
            }
            result = join(&result, &self.evaluate(test)?)?;
        }
        Ok(result)
    }

    /// The cost of a test for one row, in units of comparing an integer.
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
