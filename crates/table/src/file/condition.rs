//! Evaluates conditions on files that were written in an older schema.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray};
use arrow_schema::Fields;
use lath_parquet::{BatchFilter, Predicate};

use crate::error::Result;
use crate::row::{Upgrade, batch};

/// A condition in two parts: one that the scan of a file evaluates, and one for the rows that the scan gives.
#[derive(Debug)]
pub(crate) struct ColdCondition {
    /// The part that the scan of the file evaluates; statistics and Bloom filters rule out rows.
    pub(crate) pushed: Option<Predicate>,
    pub(crate) rest: Option<RestOfCondition>,
}

/// The part of a condition on columns that differ between the file and the table.
#[derive(Debug)]
pub(crate) struct RestOfCondition {
    filter: BatchFilter,
    /// The columns that it needs, by their places in the table's schema.
    pub(crate) columns: Vec<usize>,
    upgrade: Arc<Upgrade>,
}

impl ColdCondition {
    pub(crate) fn new(condition: Option<&Predicate>, upgrade: &Arc<Upgrade>) -> Result<Self> {
        let Some(condition) = condition else { return Ok(Self { pushed: None, rest: None }) };
        if upgrade.is_identity() {
            return Ok(Self { pushed: Some(condition.clone()), rest: None });
        }
        let (mut pushed, mut rest) = (Vec::new(), Vec::new());
        for conjunct in condition.supports(upgrade.to().arrow()) {
            let conjunct = conjunct.conjunct;
            let means_the_same = means_the_same(&conjunct, upgrade)?;
            if means_the_same { &mut pushed } else { &mut rest }.push(conjunct);
        }
        let rest = rest.into_iter().reduce(Predicate::and);
        let rest = rest.map(|condition| RestOfCondition::new(&condition, upgrade)).transpose()?;
        Ok(Self { pushed: pushed.into_iter().reduce(Predicate::and), rest })
    }
}

impl RestOfCondition {
    fn new(condition: &Predicate, upgrade: &Arc<Upgrade>) -> Result<Self> {
        let fields = upgrade.to().arrow().fields();
        let filter = condition.filter(upgrade.to().arrow())?;
        let columns = filter_columns(&filter, fields);
        Ok(Self { filter, columns, upgrade: Arc::clone(upgrade) })
    }

    /// Evaluates the condition to true, false or null for each of `row_count` rows; `arrays` are their [`columns`](Self::columns).
    pub(crate) fn evaluate(&self, arrays: Vec<ArrayRef>, row_count: usize) -> Result<BooleanArray> {
        let fields = Arc::new(self.upgrade.to().arrow().project(&self.columns)?);
        Ok(self.filter.evaluate(&batch(&fields, arrays, row_count)?)?)
    }
}

/// Whether a condition means the same for rows of the older schema: its names are the same columns there, with the same types. Widened
/// floats differ, for example, because a literal is the nearest float of the column's type.
fn means_the_same(condition: &Predicate, upgrade: &Upgrade) -> Result<bool> {
    let (from, to) = (upgrade.from().arrow(), upgrade.to().arrow());
    let columns = condition.filter(to)?.names();
    match condition.filter(from) {
        Ok(filter) if filter.names() == columns => {}
        _ => return Ok(false),
    }
    let is_same = |column: usize| {
        let place = upgrade.place(column);
        place.is_some_and(|place| {
            let (old, new) = (from.field(place), to.field(column));
            old.name() == new.name() && old.data_type() == new.data_type()
        })
    };
    Ok(columns.iter().all(|names| match (root(names, to.fields()), root(names, from.fields())) {
        (Some(column), Some(_)) => is_same(column),
        _ => false,
    }))
}

/// The places of the columns that a condition needs.
pub(crate) fn filter_columns(filter: &BatchFilter, fields: &Fields) -> Vec<usize> {
    let columns: BTreeSet<usize> = filter.names().iter().filter_map(|names| root(names, fields)).collect();
    columns.into_iter().collect()
}

/// The column that a path of names begins with.
fn root(names: &[String], fields: &Fields) -> Option<usize> {
    let root = names.first()?;
    fields.iter().position(|field| field.name() == root)
}
