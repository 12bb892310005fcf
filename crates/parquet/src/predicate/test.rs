//! What a predicate asks of the columns of one schema, with all names and types settled.

use std::borrow::Cow;

use arrow_array::ArrayRef;
use arrow_schema::{DataType, Field, FieldRef};
use lath_kernels::compare::Comparison;

use super::access::Access;
use super::cast::Cast;
use super::pattern::Pattern;
use super::set::ValueSet;
use super::value::Value;
use crate::error::Result;

/// A predicate for files of one schema: pruning asks it of statistics, a scan of batches.
#[derive(Debug, Clone)]
pub(crate) struct BoundPredicate {
    /// What has to be true.
    pub(crate) test: Test,
    /// The operands of `test`, each once.
    pub(crate) columns: Vec<BoundColumn>,
    pub(super) truths: super::evaluate::TruthCache,
}

/// An operand: a column, or what is found within it.
#[derive(Debug, Clone)]
pub(crate) struct BoundColumn {
    /// The projection path to decode: of a leaf, or of the list or map above it.
    pub(crate) path: String,
    /// What messages call the operand.
    pub(crate) name: String,
    /// The operand's Arrow field, before any cast.
    pub(crate) field: FieldRef,
    /// Index among the Parquet leaves, if the operand is exactly that leaf's values; structs may be above it. If the operand is
    /// a list, its elements' leaf.
    pub(crate) leaf: Option<usize>,
    /// Whether the leaf is within a list: only [`ValueTest::Contains`] is about its values.
    pub(crate) repeated: bool,
    /// The way from the root column to the operand.
    pub(super) access: Vec<Access>,
    /// What its values are cast to, one after the other.
    pub(super) casts: Vec<Cast>,
}

/// A condition in SQL's three-valued logic: true, false or null for each row.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Test {
    /// The same for all rows; `None` is null.
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
        /// Index in [`BoundPredicate::columns`].
        column: usize,
        /// The test.
        test: ValueTest,
    },
    /// A comparison of two columns; null where either is.
    Columns {
        /// Index in [`BoundPredicate::columns`].
        left: usize,
        /// The comparison.
        op: Comparison,
        /// Index in [`BoundPredicate::columns`].
        right: usize,
        /// The type that both are compared in. `Float64` also stands for the exact comparison of a float with an integer or
        /// a decimal, which is not that of both made floats.
        common: DataType,
    },
}

/// A test of one value. All but [`ValueTest::IsNull`] are null for nulls.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ValueTest {
    /// Whether there is no value; never null.
    IsNull,
    /// The same for every value.
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
    /// Whether a list has this element. Elements that are null are passed over.
    Contains(Value),
}

impl BoundColumn {
    /// The field that is tested: that of the operand, or what it is cast to.
    pub(super) fn tested_field(&self) -> Cow<'_, Field> {
        match self.casts.last() {
            None => Cow::Borrowed(&self.field),
            Some(cast) => Cow::Owned(cast.to.field()),
        }
    }

    /// The values that are tested.
    pub(super) fn cast(&self, operand: &ArrayRef) -> Result<ArrayRef> {
        let mut array = ArrayRef::clone(operand);
        let mut field = Cow::Borrowed(self.field.as_ref());
        for cast in &self.casts {
            array = cast.apply(&array, &field, &self.name)?;
            field = Cow::Owned(cast.to.field());
        }
        Ok(array)
    }
}

impl Test {
    /// The same test with constants folded away; what remains is a constant, or has none in it.
    #[must_use]
    pub(crate) fn simplify(self) -> Self {
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

    /// Sets the mark of each column that is asked for.
    pub(crate) fn mark_columns(&self, marks: &mut [bool]) {
        match self {
            Self::All(tests) | Self::Any(tests) => tests.iter().for_each(|test| test.mark_columns(marks)),
            Self::Not(test) | Self::Is(test, _) => test.mark_columns(marks),
            Self::Values { column, .. } => marks[*column] = true,
            Self::Columns { left, right, .. } => (marks[*left], marks[*right]) = (true, true),
            Self::Constant(_) => {}
        }
    }

    /// Whether nothing but comparisons is asked.
    fn only_compares(&self) -> bool {
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

    fn move_columns(&mut self, places: &[usize]) {
        match self {
            Self::All(tests) | Self::Any(tests) => tests.iter_mut().for_each(|test| test.move_columns(places)),
            Self::Not(test) | Self::Is(test, _) => test.move_columns(places),
            Self::Values { column, .. } => *column = places[*column],
            Self::Columns { left, right, .. } => (*left, *right) = (places[*left], places[*right]),
            Self::Constant(_) => {}
        }
    }

    /// AND, which false settles, or OR, which true does.
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

impl BoundPredicate {
    /// Drops the columns that no test asks for.
    pub(super) fn drop_unused(&mut self) {
        let mut used = vec![false; self.columns.len()];
        self.test.mark_columns(&mut used);
        let mut places = Vec::with_capacity(used.len());
        let mut next = 0;
        for &is_used in &used {
            places.push(next);
            next += usize::from(is_used);
        }
        self.test.move_columns(&places);
        let mut used = used.into_iter();
        self.columns.retain(|_| used.next().unwrap_or(false));
    }

    /// The predicate with another test, which is part of its own, and only the columns of that, in the same order.
    pub(crate) fn part(&self, test: Test) -> Self {
        let mut part = self.with_test(test);
        part.drop_unused();
        part
    }

    /// Whether the test is of numbers as they are stored, and of nothing but comparisons: of a row it takes less time than to
    /// pick the row's values out of those of others.
    pub(crate) fn only_compares_numbers(&self) -> bool {
        let is_number = |column: &BoundColumn| {
            column.casts.is_empty() && column.field.data_type().primitive_width().is_some_and(|width| width <= 8)
        };
        let first = self.columns.first().map(|column| column.field.data_type());
        self.columns.iter().all(|column| is_number(column) && Some(column.field.data_type()) == first)
            && self.test.only_compares()
    }

    /// The same columns with another test: what is left to ask of some rows.
    pub(crate) fn with_test(&self, test: Test) -> Self {
        Self { test, columns: self.columns.clone(), truths: self.truths.clone() }
    }
}
