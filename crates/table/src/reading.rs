//! What snapshots and transactions read in the same way.

use arrow_array::RecordBatch;

use crate::engine::Engine;
use crate::error::Result;
use crate::key::{Key, KeyColumns, Keys};
use crate::lookup::{self, Found, SortedKeys};
use crate::view::View;

/// The keys, sorted.
pub(crate) fn sorted_keys(view: &dyn View, keys: &impl Keys) -> Result<SortedKeys> {
    let schema = view.schema();
    SortedKeys::new(schema, &keys.to_arrays(&KeyColumns(schema))?)
}

/// The row with this key.
pub(crate) fn get(engine: &Engine, view: &mut dyn View, key: Key) -> Result<Option<RecordBatch>> {
    let found = get_many(engine, view, &[key])?;
    Ok((found.rows.num_rows() > 0).then_some(found.rows))
}

/// The rows with these keys.
pub(crate) fn get_many(engine: &Engine, view: &mut dyn View, keys: &impl Keys) -> Result<Found> {
    let keys = sorted_keys(view, keys)?;
    let columns: Vec<usize> = (0..view.schema().arrow().fields().len()).collect();
    lookup::get_many(engine, view, &keys, &columns)
}
