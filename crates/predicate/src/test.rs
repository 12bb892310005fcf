//! Tests of the columns of one schema, with all names and types resolved: the bound form of a condition.

use arrow_schema::DataType;
use lath_kernels::compare::Comparison;

use crate::value::{Pattern, Value, ValueSet};

/// A condition in SQL's three-valued logic: true, false or null for each row.
#[derive(Debug, Clone, PartialEq)]
pub enum Test {
    /// One truth for all rows; `None` is null.
    Constant(Option<bool>),
    /// AND.
    All(Vec<Test>),
    /// OR.
    Any(Vec<Test>),
    /// NOT.
    Not(Box<Test>),
    /// `IS TRUE`, `IS FALSE` and `IS UNKNOWN`; never null.
    Is(Box<Test>, Option<bool>),
    /// A test of the values of one column.
    Values {
        /// Index in [`BoundPredicate::columns`](crate::BoundPredicate::columns).
        column: usize,
        /// The test.
        test: ValueTest,
    },
    /// A comparison of two columns; null if one of them is.
    Columns {
        /// Index in [`BoundPredicate::columns`](crate::BoundPredicate::columns).
        left: usize,
        /// The comparison.
        op: Comparison,
        /// Index in [`BoundPredicate::columns`](crate::BoundPredicate::columns).
        right: usize,
        /// The type of the comparison. `Float64` also stands for the exact comparison of a float with an integer or a decimal, for which
        /// neither is converted.
        common: DataType,
    },
}

/// A test of one value. All but [`ValueTest::IsNull`] are null for nulls.
#[derive(Debug, Clone, PartialEq)]
pub enum ValueTest {
    /// Whether there is no value; never null.
    IsNull,
    /// One truth for all values.
    Always(bool),
    /// A comparison with a literal.
    Compare(Comparison, Value),
    /// Whether the value lies between two literals, both included.
    Between(Value, Value),
    /// Whether the value is one of a list.
    In(ValueSet),
    /// Whether a string matches a pattern.
    Like(Pattern),
    /// Whether a boolean is true.
    Truth,
    /// Whether a list has this element. Null elements are ignored.
    Contains(Value),
}

impl Test {
    /// Folds constants: the result is a constant, or has no constant but null in it.
    #[must_use]
    pub fn simplify(self) -> Self {
        match self {
            Self::All(tests) => Self::junction(tests, false),
            Self::Any(tests) => Self::junction(tests, true),
            Self::Not(test) => match test.simplify() {
                Self::Constant(truth) => Self::Constant(truth.map(|truth| !truth)),
                Self::Not(inner) => *inner,
                other => Self::Not(Box::new(other)),
            },
            Self::Is(test, truth) => match test.simplify() {
                Self::Constant(inner) => Self::Constant(Some(inner == truth)),
                other => Self::Is(Box::new(other), truth),
            },
            other => other,
        }
    }

    /// The indices of the columns that are tested, in ascending order, each once.
    pub fn columns(&self) -> Vec<usize> {
        let mut columns = Vec::new();
        self.collect_columns(&mut columns);
        columns.sort_unstable();
        columns.dedup();
        columns
    }

    fn collect_columns(&self, columns: &mut Vec<usize>) {
        match self {
            Self::All(tests) | Self::Any(tests) => tests.iter().for_each(|test| test.collect_columns(columns)),
            Self::Not(test) | Self::Is(test, _) => test.collect_columns(columns),
            Self::Values { column, .. } => columns.push(*column),
            Self::Columns { left, right, .. } => columns.extend([left, right]),
            Self::Constant(_) => {}
        }
    }

    /// Whether the test consists of comparisons only.
    pub(crate) fn only_compares(&self) -> bool {
        match self {
            Self::All(tests) | Self::Any(tests) => tests.iter().all(Self::only_compares),
            Self::Not(test) | Self::Is(test, _) => test.only_compares(),
            Self::Values { test, .. } => {
                matches!(
                    test,
                    ValueTest::IsNull | ValueTest::Always(_) | ValueTest::Compare(..) | ValueTest::Between(..)
                )
            }
            Self::Columns { .. } | Self::Constant(_) => true,
        }
    }

    /// Renumbers the columns: each becomes its position in `kept`, which has all of them in ascending order.
    pub(crate) fn renumber_columns(&mut self, kept: &[usize]) {
        let position = |column: usize| kept.partition_point(|&other| other < column);
        match self {
            Self::All(tests) | Self::Any(tests) => tests.iter_mut().for_each(|test| test.renumber_columns(kept)),
            Self::Not(test) | Self::Is(test, _) => test.renumber_columns(kept),
            Self::Values { column, .. } => *column = position(*column),
            Self::Columns { left, right, .. } => (*left, *right) = (position(*left), position(*right)),
            Self::Constant(_) => {}
        }
    }

    /// AND or OR. `settling` is the truth of one part that decides the result: false for AND, true for OR.
    fn junction(tests: Vec<Self>, settling: bool) -> Self {
        let mut kept = Vec::with_capacity(tests.len());
        let mut has_null = false;
        for test in tests {
            match (test.simplify(), settling) {
                (Self::Constant(Some(truth)), _) if truth == settling => return Self::Constant(Some(settling)),
                (Self::Constant(Some(_)), _) => {}
                (Self::Constant(None), _) => has_null = true,
                (Self::All(inner), false) | (Self::Any(inner), true) => {
                    for test in inner {
                        match test {
                            Self::Constant(_) => has_null = true,
                            other => kept.push(other),
                        }
                    }
                }
                (other, _) => kept.push(other),
            }
        }
        if kept.is_empty() {
            return Self::Constant(if has_null { None } else { Some(!settling) });
        }
        if has_null {
            kept.push(Self::Constant(None));
        }
        match kept.len() {
            1 => kept.remove(0),
            _ if settling => Self::Any(kept),
            _ => Self::All(kept),
        }
    }
}
