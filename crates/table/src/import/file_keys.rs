//! Keys of the rows of one file.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use xxhash_rust::xxh3::xxh3_64;

use crate::error::{Error, Result};
use crate::records::{BLOCK_ROWS, BlockIndex, BlockKeys, KeyBounds};
use crate::row::{MAX_KEY_LEN, TableSchema};

/// The keys of the rows of one file.
#[derive(Debug, Default)]
pub(super) struct KeysOfRows {
    hashes: Vec<u64>,
    rows: u64,
    last: Vec<u8>,
    /// Whether a key was not greater than the one before.
    is_unsorted: bool,
    first_of_blocks: BlockIndex,
    bounds: KeyBounds,
}

impl KeysOfRows {
    /// Adds the key of the next row.
    pub(super) fn push(&mut self, key: &[u8], is_live: bool) -> Result<()> {
        if key.len() > MAX_KEY_LEN {
            let row = usize::try_from(self.rows).unwrap_or(usize::MAX);
            return Err(Error::KeyTooLong { row, len: key.len(), limit: MAX_KEY_LEN });
        }
        self.is_unsorted |= self.rows > 0 && key <= &self.last[..];
        if self.rows.is_multiple_of(BLOCK_ROWS) && !self.is_unsorted {
            self.first_of_blocks.push(key)?;
        }
        self.bounds.push(key)?;
        key.clone_into(&mut self.last);
        self.rows += 1;
        if is_live {
            self.hashes.push(xxh3_64(key));
        }
        Ok(())
    }

    /// Hashes of the keys of rows that are not deleted.
    pub(super) fn hashes(&self) -> &[u64] {
        &self.hashes
    }

    pub(super) fn is_sorted(&self) -> bool {
        !self.is_unsorted
    }

    /// The keys of the file's blocks, and its least and greatest key.
    pub(super) fn blocks(mut self) -> Result<(BlockKeys, Vec<u8>, Vec<u8>)> {
        self.bounds.end_block()?;
        let ends = self.bounds.whole_file().ok_or_else(|| Error::internal("a file without rows was imported"))?;
        let (min, max) = (ends.0.to_vec(), ends.1.to_vec());
        let blocks = match self.is_unsorted {
            false => BlockKeys::First(self.first_of_blocks),
            true => BlockKeys::Bounds(self.bounds),
        };
        Ok((blocks, min, max))
    }

    /// The least and the greatest key so far.
    pub(super) fn range(&self) -> Option<(Vec<u8>, Vec<u8>)> {
        let mut bounds = self.bounds.clone();
        bounds.end_block().ok()?;
        bounds.whole_file().map(|(min, max)| (min.to_vec(), max.to_vec()))
    }
}

/// Calls `visit` with the number of each row of a file that is taken, and its key, which is `None` if a column of it is null.
pub(super) fn for_each_key(
    schema: &Arc<TableSchema>,
    batches: impl Iterator<Item = Result<(Vec<ArrayRef>, Vec<u64>)>>,
    mut visit: impl FnMut(u64, Option<&[u8]>) -> Result<()>,
) -> Result<()> {
    for batch in batches {
        let (columns, rows) = batch?;
        let keys = schema.key().encode(&columns)?;
        let has_nulls = columns.iter().any(|column| column.null_count() > 0);
        for (at, (key, row)) in keys.iter().zip(rows).enumerate() {
            let is_null = has_nulls && columns.iter().any(|column| column.is_null(at));
            visit(row, (!is_null).then_some(key.data()))?;
        }
    }
    Ok(())
}
