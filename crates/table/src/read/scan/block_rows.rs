//! Reads few rows of a file in key order from cached blocks.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, UInt64Array};
use arrow_select::take::take;
use lath_parquet::DeleteMask;

use super::current::{Current, EncodedKeys};
use crate::error::Result;
use crate::file::DataFile;
use crate::records::BLOCK_ROWS;
use crate::view::Engine;

/// Consecutive rows of a file in key order. A scan opens the pages of each column, which takes a millisecond for ten columns; blocks that gets
/// and other short ranges have read are in the cache.
#[derive(Debug)]
pub(crate) struct BlockRows {
    engine: Arc<Engine>,
    file: Arc<DataFile>,
    dead: Arc<DeleteMask>,
    /// The rows that are left.
    rows: Range<u64>,
    columns: Vec<usize>,
}

impl BlockRows {
    /// The maximum number of rows: a scan reads more rows faster, and they would evict other blocks from the cache.
    pub(crate) const MAX_ROWS: u64 = 4 * BLOCK_ROWS;

    pub(crate) fn new(
        engine: &Arc<Engine>,
        file: &Arc<DataFile>,
        dead: &Arc<DeleteMask>,
        rows: Range<u64>,
        columns: &[usize],
    ) -> Self {
        let (engine, file, dead) = (Arc::clone(engine), Arc::clone(file), Arc::clone(dead));
        Self { engine, file, dead, rows, columns: columns.to_vec() }
    }

    /// The next rows that are not dead.
    pub(crate) fn next(&mut self) -> Result<Option<Current>> {
        while !self.rows.is_empty() {
            let block = (self.rows.start / BLOCK_ROWS) as usize;
            let all = self.file.block_rows(block);
            let part = self.rows.start..self.rows.end.min(all.end);
            self.rows.start = part.end;
            if self.dead.count_within(&part) == 0 {
                let (at, len) = ((part.start - all.start) as usize, (part.end - all.start) as usize);
                let keys = EncodedKeys::Shared(self.file.keys_of_block(&self.engine.blocks, block)?);
                return Ok(Some(Current { keys, columns: self.columns_of_block(block)?, at, len }));
            }
            let live: Vec<u64> = part.filter(|row| !self.dead.contains(*row)).map(|row| row - all.start).collect();
            if !live.is_empty() {
                return self.live_rows(block, live).map(Some);
            }
        }
        Ok(None)
    }

    /// The columns of a block, with all of its rows.
    fn columns_of_block(&self, block: usize) -> Result<Vec<ArrayRef>> {
        let rows = self.file.block_rows(block);
        let (row_count, upgrade) = ((rows.end - rows.start) as usize, self.file.upgrade());
        let column = |&column: &usize| {
            let place = upgrade.place(column);
            let stored = place.map(|place| self.file.column_of_block(&self.engine.blocks, place, block)).transpose()?;
            upgrade.column(column, stored, row_count)
        };
        self.columns.iter().map(column).collect()
    }

    /// Some rows of a block, counted from its first.
    fn live_rows(&self, block: usize, live: Vec<u64>) -> Result<Current> {
        let keys = self.file.keys_of_block(&self.engine.blocks, block)?;
        let keys = EncodedKeys::List(live.iter().map(|&row| keys.get(row as usize)).collect());
        let (len, live) = (live.len(), UInt64Array::from(live));
        let columns = self.columns_of_block(block)?;
        let columns = columns.iter().map(|column| take(column, &live, None)).collect::<std::result::Result<_, _>>()?;
        Ok(Current { keys, columns, at: 0, len })
    }
}
