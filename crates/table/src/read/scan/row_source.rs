//! Sources of a merge: files in the order of the merge or in another one, and the hot tree.

use std::ops::Range;
use std::sync::Arc;

use lath_parquet::{DeleteMask, Predicate};

use super::block_rows::BlockRows;
use super::current::{Current, EncodedKeys};
use super::key_windows::KeyWindows;
use crate::error::Result;
use crate::file::{DataFile, NumberedBatches};
use crate::read::rows_of_range;
use crate::records::BlockKeys;
use crate::row::key::KeyRange;
use crate::row::{BATCH_ROWS, KeyCodec, RowOrder};
use crate::view::{Engine, HotCursor, View};

/// Rows in the order in which they are merged.
#[derive(Debug)]
pub(crate) struct RowSource {
    rows: SourceRows,
    /// Rows that were read and not handed out yet.
    current: Option<Current>,
    is_done: bool,
}

/// A part of a file: the first rows in a range of keys.
#[derive(Debug)]
pub(crate) struct FileRange<'r> {
    pub(crate) range: &'r KeyRange,
    pub(crate) max_rows: u64,
    pub(crate) columns: &'r [usize],
    /// Number of files that are merged.
    pub(crate) file_count: usize,
    /// Whether a block of the file is small enough to be read for a few of its rows.
    pub(crate) has_small_rows: bool,
}

#[derive(Debug)]
enum SourceRows {
    /// Batches of a file in its own order: the requested columns, followed by the columns of the order.
    InOrder(Box<NumberedBatches>),
    /// Few rows of a file in the order of keys, from cached blocks.
    Blocks(Box<BlockRows>),
    /// The rows of a file in another order.
    Windows(Box<KeyWindows>),
    /// Hot rows, at most this number.
    Hot(HotCursor, u64),
}

impl RowSource {
    /// The rows of a file in a range that are not dead, filtered by a condition on the file's own columns, in key order. Few rows are read from
    /// cached blocks.
    pub(crate) fn range(
        engine: &Arc<Engine>,
        file: &Arc<DataFile>,
        dead: &Arc<DeleteMask>,
        part: &FileRange<'_>,
        predicate: Option<Predicate>,
    ) -> Result<Self> {
        let BlockKeys::First(fences) = file.keys() else { return Ok(Self::windows(file, dead, part, predicate)) };
        let rows = first_rows(rows_of_range(&engine.blocks, file, fences, part.range)?, dead, part.max_rows);
        let are_few = rows.end.saturating_sub(rows.start) <= BlockRows::MAX_ROWS;
        if are_few && part.has_small_rows && predicate.is_none() {
            let rows = BlockRows::new(engine, file, dead, rows, part.columns);
            return Ok(Self::new(SourceRows::Blocks(Box::new(rows))));
        }
        Self::in_order(file, dead, rows, part.columns, file.schema().key(), predicate)
    }

    /// All rows of a file that are not dead, in key order, from the file itself. The file is one of `file_count` files that are merged.
    pub(crate) fn all_by_key(
        file: &Arc<DataFile>,
        dead: &Arc<DeleteMask>,
        columns: &[usize],
        file_count: usize,
    ) -> Result<Self> {
        match file.keys() {
            BlockKeys::First(_) => Self::in_order(file, dead, 0..file.rows(), columns, file.schema().key(), None),
            BlockKeys::Bounds(_) => {
                let range = &KeyRange::default();
                let all = FileRange { range, max_rows: u64::MAX, columns, file_count, has_small_rows: false };
                Ok(Self::windows(file, dead, &all, None))
            }
        }
    }

    /// The rows of a file in another order.
    fn windows(
        file: &Arc<DataFile>,
        dead: &Arc<DeleteMask>,
        part: &FileRange<'_>,
        predicate: Option<Predicate>,
    ) -> Self {
        let &FileRange { range, max_rows, columns, file_count, .. } = part;
        let windows = KeyWindows::new(file, dead, range, max_rows, columns, predicate, file_count);
        Self::new(SourceRows::Windows(Box::new(windows)))
    }

    /// The rows of a file that are not dead, in the file's order.
    pub(crate) fn clustered(file: &DataFile, dead: &DeleteMask, columns: &[usize], order: &RowOrder) -> Result<Self> {
        Self::in_order(file, dead, 0..file.rows(), columns, order.codec(), None)
    }

    fn in_order(
        file: &DataFile,
        dead: &DeleteMask,
        rows: Range<u64>,
        columns: &[usize],
        codec: &KeyCodec,
        predicate: Option<Predicate>,
    ) -> Result<Self> {
        let read: Vec<usize> = columns.iter().chain(codec.columns()).copied().collect();
        let mut scan = file.scan(&read)?.rows(rows).deleted([(0, dead.clone())]);
        if let Some(predicate) = predicate {
            scan = scan.predicate(predicate);
        }
        Ok(Self::new(SourceRows::InOrder(Box::new(file.numbered(scan, &read)?))))
    }

    /// The first `max_rows` rows of the hot tree, in key order.
    pub(crate) fn hot(cursor: HotCursor, max_rows: u64) -> Self {
        Self::new(SourceRows::Hot(cursor, max_rows))
    }

    fn new(rows: SourceRows) -> Self {
        Self { rows, current: None, is_done: false }
    }

    /// Rows that were read and not handed out yet.
    pub(crate) fn current(&self) -> Option<&Current> {
        self.current.as_ref()
    }

    pub(crate) fn current_mut(&mut self) -> Option<&mut Current> {
        self.current.as_mut()
    }

    /// Whether all rows that were read were handed out.
    pub(crate) fn is_used_up(&self) -> bool {
        self.current.as_ref().is_none_or(|current| current.at == current.len)
    }

    /// Reads the next batch if all rows were handed out. The first `wanted` columns are returned, and `codec` encodes the others, which
    /// define the order.
    pub(crate) fn fill(&mut self, view: &mut dyn View, wanted: usize, codec: &KeyCodec) -> Result<()> {
        while !self.is_done && self.is_used_up() {
            self.current = match &mut self.rows {
                SourceRows::InOrder(batches) => match batches.next().transpose()? {
                    Some((mut columns, numbers)) => {
                        let keys = EncodedKeys::Rows(codec.encode(&columns.split_off(wanted))?);
                        Some(Current { keys, columns, at: 0, len: numbers.len() })
                    }
                    None => None,
                },
                SourceRows::Blocks(rows) => rows.next()?,
                SourceRows::Windows(windows) => windows.next()?.map(|(keys, columns)| {
                    let len = keys.len();
                    Current { keys: EncodedKeys::List(keys), columns, at: 0, len }
                }),
                SourceRows::Hot(cursor, left) => {
                    let max_rows = usize::try_from(*left).map_or(BATCH_ROWS, |left| left.min(BATCH_ROWS));
                    cursor.next(view, max_rows)?.map(|(keys, columns)| {
                        let len = keys.len();
                        *left -= len as u64;
                        Current { keys: EncodedKeys::List(keys), columns, at: 0, len }
                    })
                }
            };
            self.is_done = self.current.is_none();
        }
        Ok(())
    }
}

/// The shortest part from the beginning of `rows` on that has `max_rows` rows that are not dead, or all.
fn first_rows(rows: Range<u64>, dead: &DeleteMask, max_rows: u64) -> Range<u64> {
    let mut first = rows.start..rows.start.saturating_add(max_rows).min(rows.end);
    loop {
        let live = (first.end - first.start).saturating_sub(dead.count_within(&first));
        if live >= max_rows || first.end == rows.end {
            return first;
        }
        first.end = rows.end.min(first.end + (max_rows - live));
    }
}
