//! What a predicate asks of the columns of one schema, with all names and types settled.

use std::borrow::Cow;

use arrow_array::ArrayRef;
use arrow_schema::{DataType, Field, FieldRef};
use lath_kernels::compare::Comparison;

use crate::access::Access;
use crate::cast::Cast;
use crate::error::Result;
use crate::evaluate::TruthCache;
use crate::pattern::Pattern;
use crate::set::ValueSet;
use crate::value::Value;

/// A predicate whose names and types are settled for one schema.
///
/// A reader decodes [`columns`](Self::columns) and calls [`evaluate`](Self::evaluate) with their values; before that it may walk
/// [`test`](Self::test) to rule out rows by what is known of them.
#[derive(Debug, Clone)]
pub struct BoundPredicate {
    /// The condition.
    pub test: Test,
    /// The operands of `test`, each once.
    pub columns: Vec<BoundColumn>,
    pub(crate) truths: TruthCache,
}

/// An operand: a column, or what is found within it.
#[derive(Debug, Clone)]
pub struct BoundColumn {
    /// The projection path to decode: of a leaf, or of the list or map above it.
    pub path: String,
    /// What messages call the operand.
    pub name: String,
    /// The operand's Arrow field, before any cast.
    pub field: FieldRef,
    /// The index of the leaf that has the operand's values, or the elements of an operand that is a list. `None` if the operand is
    /// cast, is a value of a map, or is not the values of one leaf.
    pub leaf: Option<usize>,
    /// Whether the leaf is within a list: then only [`ValueTest::Contains`] is about the leaf's values.
    pub repeated: bool,
    /// The way from the root column to the operand.
    pub(crate) access: Vec<Access>,
    /// What its values are cast to, one after the other.
    pub(crate) casts: Vec<Cast>,
}

/// A condition in SQL's three-valued logic: true, false or null for each row.
#[derive(Debug, Clone, PartialEq)]
pub enum Test {
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
pub enum ValueTest {
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
    pub(crate) fn tested_field(&self) -> Cow<'_, Field> {
        match self.casts.last() {
            None => Cow::Borrowed(&self.field),
            Some(cast) => Cow::Owned(cast.to.field()),
        }
    }

    /// The values that are tested.
    pub(crate) fn cast(&self, operand: &ArrayRef) -> Result<ArrayRef> {
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

    /// Renumbers the columns: each becomes its position in `kept`, which has all of them in ascending order.
    fn renumber_columns(&mut self, kept: &[usize]) {
        let position = |column: usize| kept.partition_point(|&other| other < column);
        match self {
            Self::All(tests) | Self::Any(tests) => tests.iter_mut().for_each(|test| test.renumber_columns(kept)),
            Self::Not(test) | Self::Is(test, _) => test.renumber_columns(kept),
            Self::Values { column, .. } => *column = position(*column),
            Self::Columns { left, right, .. } => (*left, *right) = (position(*left), position(*right)),
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
    /// Drops the columns that are not tested.
    pub(crate) fn drop_unused(&mut self) {
        let used = self.test.columns();
        self.test.renumber_columns(&used);
        let mut index = 0..;
        self.columns.retain(|_| index.next().is_some_and(|index| used.binary_search(&index).is_ok()));
    }

    /// A predicate for a part of the test. It has the columns of that part only, in the same order.
    pub fn part(&self, test: Test) -> Self {
        let mut part = self.with_test(test);
        part.drop_unused();
        part
    }

    /// Whether all columns are numbers of one type of at most 8 bytes, compared as they are stored. Evaluating such a predicate
    /// takes less time a row than picking the row's values out of an array.
    pub fn only_compares_numbers(&self) -> bool {
        let is_number = |column: &BoundColumn| {
            column.casts.is_empty() && column.field.data_type().primitive_width().is_some_and(|width| width <= 8)
        };
        let first = self.columns.first().map(|column| column.field.data_type());
        self.columns.iter().all(|column| is_number(column) && Some(column.field.data_type()) == first)
            && self.test.only_compares()
    }

    /// The same columns with another test, such as one that is simpler for some rows.
    pub fn with_test(&self, test: Test) -> Self {
        Self { test, columns: self.columns.clone(), truths: self.truths.clone() }
    }
}
