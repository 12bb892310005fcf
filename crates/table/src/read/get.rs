//! Gets one row by its key, without the sorting, scanning and gathering that a lookup of many keys needs.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, UInt32Array};
use arrow_select::take::take;

use crate::error::Result;
use crate::file::DataFile;
use crate::records::{BLOCK_ROWS, TreeName};
use crate::row::key::Key;
use crate::row::{HotValue, TableSchema, decode_values, value_codec};
use crate::view::{Engine, Expiry, View, is_masked};

/// The row with this key.
pub(crate) fn get(engine: &Engine, view: &mut dyn View, key: &Key) -> Result<Option<RecordBatch>> {
    let found = get_stored(engine, view, key)?;
    let is_live = |row: &RecordBatch| {
        let is_live = |expiry: &Expiry| expiry.are_live(row.column(expiry.column())).value(0);
        view.expiry().is_none_or(is_live)
    };
    Ok(found.filter(is_live))
}

/// The row with this key, even if it has expired.
fn get_stored(engine: &Engine, view: &mut dyn View, key: &Key) -> Result<Option<RecordBatch>> {
    let schema = Arc::clone(view.schema());
    let key_columns = key.to_columns(&schema)?;
    let key = schema.key().encode_one(&key_columns)?;
    if let Some(tree) = view.tree(TreeName::Hot)?
        && let Some(value) = tree.get(&key)?
    {
        let HotValue { schema: version, row, .. } = value_codec::parse(&key, value)?;
        let values = match version == schema.version() {
            true => schema.values().decode_one(row)?,
            false => decode_values(&schema, version, std::iter::once(row), 1)?,
        };
        return schema.row_batch(key_columns, values, 1).map(Some);
    }
    if let Some(tree) = view.tree(TreeName::Tombstones)?
        && !tree.is_empty()
        && tree.contains_key(&key)?
    {
        return Ok(None);
    }
    let manifest = Arc::clone(view.manifest());
    for entry in manifest.files().iter().rev().filter(|entry| entry.may_have(&key)) {
        let file = engine.cold(view, entry)?;
        let Some(row) = file.find_row(&engine.blocks, &key, &key_columns)? else { continue };
        if entry.masked == 0 || !is_masked(engine, view, entry, row)? {
            return cold_row(engine, &file, row, key_columns, &schema).map(Some);
        }
    }
    Ok(None)
}

/// A row of a file, whose key columns are known.
fn cold_row(
    engine: &Engine,
    file: &DataFile,
    row: u64,
    key_columns: Vec<ArrayRef>,
    schema: &TableSchema,
) -> Result<RecordBatch> {
    let (block, at) = ((row / BLOCK_ROWS) as usize, UInt32Array::from(vec![(row % BLOCK_ROWS) as u32]));
    let value = |&column: &usize| {
        let stored = match file.upgrade().place(column) {
            Some(place) => Some(take(&*file.column_of_block(&engine.blocks, place, block)?, &at, None)?),
            None => None,
        };
        file.upgrade().column(column, stored, 1)
    };
    let values = schema.values().columns().iter().map(value).collect::<Result<Vec<_>>>()?;
    schema.row_batch(key_columns, values, 1)
}
