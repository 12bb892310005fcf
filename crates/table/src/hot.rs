//! Hot rows as record batches.

use std::sync::Arc;

use arrow_array::RecordBatch;
use lath_store::Tree;

use crate::byte_list::ByteList;
use crate::error::Result;
use crate::key_range::KeyRange;
use crate::layout::TreeName;
use crate::schema::TableSchema;
use crate::upgrade::StoredRows;
use crate::value_codec::{self, HotValue, stamp_of};
use crate::view::View;

/// Hot rows as they were in the store.
#[derive(Debug, Default)]
pub(crate) struct HotRows {
    keys: ByteList,
    rows: StoredRows,
}

impl HotRows {
    /// Adds the row with this key and value.
    pub(crate) fn push(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let HotValue { schema, row, .. } = value_codec::parse(key, value)?;
        self.keys.push(key);
        self.rows.push(schema, row);
        Ok(())
    }

    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    pub(crate) fn keys(&self) -> &ByteList {
        &self.keys
    }

    /// All columns of the rows, in a schema that is not older than any of them.
    pub(crate) fn decode(&self, schema: &Arc<TableSchema>) -> Result<RecordBatch> {
        let keys = schema.key().decode(self.keys.iter())?;
        let values = self.rows.decode(schema)?;
        schema.batch_of(keys, values, self.len())
    }
}

/// Calls `each` with key, value and stamp of every entry of a tree of hot rows or tombstones whose stamp is higher than `stamp`.
pub(crate) fn for_each_since(tree: Tree<'_>, stamp: u64, mut each: impl FnMut(&[u8], &[u8], u64)) -> Result<()> {
    let mut cursor = tree.cursor();
    while cursor.next()? {
        let (Some(key), Some(value)) = (cursor.key(), cursor.value()?) else { break };
        let own = stamp_of(value)?;
        if own > stamp {
            each(key, value, own);
        }
    }
    Ok(())
}

/// Reads hot rows in the order of their keys, some at a time.
#[derive(Debug)]
pub(crate) struct HotCursor {
    /// What is left of the range.
    range: KeyRange,
    is_done: bool,
}

impl HotCursor {
    pub(crate) fn new(range: KeyRange) -> Self {
        Self { range, is_done: false }
    }

    /// The next rows, at most so many; none at the end.
    pub(crate) fn next(&mut self, view: &mut dyn View, max_rows: usize) -> Result<HotRows> {
        let mut rows = HotRows::default();
        if self.is_done {
            return Ok(rows);
        }
        let Some(tree) = view.tree(TreeName::Hot)? else { return Ok(rows) };
        let mut cursor = tree.cursor();
        let mut has_row = cursor.lower_bound(&self.range.low)?;
        while has_row && rows.len() < max_rows {
            let (Some(key), Some(value)) = (cursor.key(), cursor.value()?) else { break };
            if !self.range.is_below_end(key) {
                break;
            }
            rows.push(key, value)?;
            has_row = cursor.next()?;
        }
        self.is_done = rows.len() < max_rows;
        if let Some(last) = rows.keys.last() {
            self.range.low = [last, &[0]].concat();
        }
        Ok(rows)
    }
}
