//! What snapshots and transactions read in the same way.

use super::lookup;
use super::lookup::{Found, SortedKeys};
use crate::error::Result;
use crate::row::key::{KeyColumns, Keys};
use crate::view::{Engine, View};

/// The keys, sorted.
pub(crate) fn sorted_keys(view: &dyn View, keys: &impl Keys) -> Result<SortedKeys> {
    let schema = view.schema();
    SortedKeys::new(schema, &keys.to_arrays(&KeyColumns(schema))?)
}

/// The rows with these keys.
pub(crate) fn get_many(engine: &Engine, view: &mut dyn View, keys: &impl Keys) -> Result<Found> {
    let keys = sorted_keys(view, keys)?;
    let columns: Vec<usize> = (0..view.schema().arrow().fields().len()).collect();
    lookup::get_many(engine, view, &keys, &columns)
}
