//! Evidence of a file's values that is known before the file is opened: the log or the manifest of a table has it.

use std::fmt;

use arrow_schema::{DataType, Fields, Schema};
use lath_kernels::compare::Comparison;
use lath_predicate::{BindContext, BoundColumn, BoundPredicate, Leaf, Predicate, Value, ValueTest};

use super::bound::{Bound, Interval};
use super::bounds::{DecodedBounds, value_type};
use super::decisive::{collect_decisive, is_ruled_out};
use super::domain::Domain;
use super::outcomes::{Evidence, Outcomes, outcomes};
use crate::error::Result;

/// Properties of a file's columns that are known before the file is opened: the log or the manifest of a table has them. A scan
/// does not open files that they rule out.
///
/// A path is a column's name in the table, followed by the names of fields within structs. Deleted rows may count.
pub trait FileEvidence: Send + Sync + fmt::Debug {
    /// Bounds of a column's values in all rows of the file; the default if nothing is known.
    fn bounds(&self, path: &[String]) -> ColumnBounds;

    /// Whether a row of the file may have `value` in the column: `false` only if none has. `true` by default.
    fn may_have(&self, path: &[String], value: &Value) -> bool {
        let _ = (path, value);
        true
    }
}

/// Bounds of a column's values; `None` for unknown ones.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ColumnBounds {
    /// No value other than null and NaN is smaller.
    pub min: Option<Value>,
    /// No value other than null and NaN is larger.
    pub max: Option<Value>,
    /// Number of nulls.
    pub null_count: Option<u64>,
    /// Number of NaNs.
    pub nan_count: Option<u64>,
    /// Number of values, including nulls and NaNs.
    pub value_count: Option<u64>,
}

impl ColumnBounds {
    /// The bounds of a column with one value, or null, in all rows.
    pub fn constant(value: Option<Value>) -> Self {
        let (null_count, value_count) = (u64::from(value.is_none()), Some(1));
        let nan_count = Some(u64::from(matches!(value, Some(Value::Float(value)) if value.is_nan())));
        let value = value.filter(|_| nan_count == Some(0));
        Self { min: value.clone(), max: value, null_count: Some(null_count), nan_count, value_count }
    }

    fn domain(&self, is_float: bool) -> Domain<'_> {
        let values = Interval { lower: self.min.as_ref().map(bound), upper: self.max.as_ref().map(bound) };
        if values.is_contradictory() {
            return Domain::ANY;
        }
        let read = DecodedBounds { values: Some(values) };
        read.domain(is_float, self.value_count.unwrap_or(u64::MAX), self.null_count, self.nan_count)
    }
}

fn bound(value: &Value) -> Bound<'_> {
    match value {
        Value::Boolean(value) => Bound::Boolean(*value),
        Value::Int(value) => Bound::Int(*value),
        Value::Wide(value) => Bound::Wide(*value),
        Value::Float(value) => Bound::Float(*value),
        Value::Bytes(value) => Bound::Bytes(value),
    }
}

/// A predicate on the columns of a table, by which files are ruled out before they are opened.
#[derive(Debug, Clone)]
pub struct TablePredicate {
    /// Its columns have a leaf if they are neither nested nor cast.
    bound: BoundPredicate,
}

impl TablePredicate {
    /// The predicate for a table with the columns of `schema`.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) if the predicate does not fit the columns.
    pub fn new(predicate: &Predicate, schema: &Schema) -> Result<Self> {
        let leaf = |path: &[usize]| table_leaf(schema.fields(), path);
        Ok(Self { bound: predicate.bind(&BindContext::new(schema).with_leaves(&leaf))? })
    }

    /// The columns of the predicate, by the names from the column of the table down.
    pub fn paths(&self) -> impl Iterator<Item = &[String]> {
        self.bound.columns.iter().map(|column| &column.names[..])
    }

    /// Whether the predicate may be true for a row of a file.
    pub fn may_have_rows(&self, evidence: &dyn FileEvidence) -> bool {
        may_have_rows(&self.bound, evidence, &|_| None)
    }

    /// As [`may_have_rows`](Self::may_have_rows), with the bounds of columns that have one value in the file.
    pub(crate) fn may_have_rows_with(
        &self,
        evidence: &dyn FileEvidence,
        constant: &dyn Fn(&str) -> Option<ColumnBounds>,
    ) -> bool {
        may_have_rows(&self.bound, evidence, constant)
    }
}

/// A leaf for the column with these indices, unless it is nested.
fn table_leaf(fields: &Fields, path: &[usize]) -> Option<Leaf> {
    let (&root, below) = path.split_first()?;
    match (fields.get(root)?.data_type(), below) {
        (DataType::Struct(fields), [_, ..]) => table_leaf(fields, below),
        (data_type, []) if !data_type.is_nested() => Some(Leaf { index: 0, repeated: false, may_overflow: false }),
        _ => None,
    }
}

fn may_have_rows(
    predicate: &BoundPredicate,
    evidence: &dyn FileEvidence,
    constant: &dyn Fn(&str) -> Option<ColumnBounds>,
) -> bool {
    let columns: Vec<Option<ColumnBounds>> = predicate
        .columns
        .iter()
        .map(|column| {
            let (root, is_root) = (column.names.first()?, column.names.len() == 1);
            let known = if is_root { constant(root) } else { None };
            column.leaf.map(|_| known.unwrap_or_else(|| evidence.bounds(&column.names)))
        })
        .collect();
    let columns = TableColumns { columns: &predicate.columns, bounds: &columns };
    if !outcomes(&predicate.test, &columns).can_be_true() {
        return false;
    }
    let is_absent = |column: usize, test: &ValueTest| {
        let column = predicate.columns.get(column).filter(|column| column.leaf.is_some())?;
        if constant(column.names.first()?).is_some() {
            return None;
        }
        let may_have = |value: &Value| evidence.may_have(&column.names, value);
        let is_absent = match test {
            ValueTest::Compare(Comparison::Equal, value) => !may_have(value),
            ValueTest::In(set) => !set.values().iter().any(may_have),
            _ => false,
        };
        is_absent.then_some(())
    };
    let mut absent = Vec::new();
    let is_decisive = collect_decisive(&predicate.test, &is_absent, &mut absent);
    let is_absent = |test: &ValueTest| absent.iter().any(|((_, leaf), ())| std::ptr::eq(*leaf, test));
    !(is_decisive && is_ruled_out(&predicate.test, &is_absent))
}

/// Bounds of a predicate's columns.
struct TableColumns<'a> {
    columns: &'a [BoundColumn],
    bounds: &'a [Option<ColumnBounds>],
}

impl Evidence for TableColumns<'_> {
    fn values(&self, column: usize, test: &ValueTest) -> Outcomes {
        let known = self.bounds.get(column).and_then(Option::as_ref).zip(self.columns.get(column));
        match known {
            Some((bounds, column)) if !matches!(test, ValueTest::Contains(_)) => {
                bounds.domain(value_type(column.field.data_type()).is_floating()).outcomes(test)
            }
            _ => Outcomes::ANY,
        }
    }
}
