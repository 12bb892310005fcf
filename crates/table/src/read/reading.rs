//! The reads that snapshots and transactions share.

use super::lookup;
use super::lookup::{FoundRows, SortedKeys};
use crate::error::Result;
use crate::row::TableSchema;
use crate::row::key::{KeyColumns, Keys};
use crate::view::{Engine, View};

/// The keys, sorted.
pub(crate) fn sorted_keys(schema: &TableSchema, keys: &impl Keys) -> Result<SortedKeys> {
    SortedKeys::new(schema, &keys.to_arrays(&KeyColumns(schema))?)
}

/// The rows with these keys.
pub(crate) fn get_many(engine: &Engine, view: &mut dyn View, keys: &impl Keys) -> Result<FoundRows> {
    let keys = sorted_keys(view.schema(), keys)?;
    let columns: Vec<usize> = (0..view.schema().arrow().fields().len()).collect();
    lookup::get_many(engine, view, &keys, &columns)
}
