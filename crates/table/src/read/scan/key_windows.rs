//! Reads the rows of a file in key order although the file is sorted by other columns.
//!
//! It reads them in windows. For each window it scans the key columns for the smallest keys that were not returned yet, then reads the rows
//! with these keys. The first window is small, because most readers want few rows, and later ones grow up to their share of [`WINDOW_BYTES`].
//! The file is scanned once per window, and is never held in memory as a whole.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use lath_parquet::{DeleteMask, Predicate};

use crate::error::{Error, Result};
use crate::file::{DataFile, block_ranges, single_rows};
use crate::records::BlockKeys;
use crate::row::key::KeyRange;
use crate::row::{BATCH_ROWS, ByteList, interleave_rows, slice_bytes};

/// Approximate maximum memory of the windows of all files that are read at the same time.
const WINDOW_BYTES: usize = 256 << 20;

/// Minimum bytes of a window.
const MIN_WINDOW_BYTES: usize = 4 << 20;

/// Maximum growth factor from one window to the next.
const GROWTH: usize = 4;

/// The rows of a file, a window of keys at a time.
#[derive(Debug)]
pub(crate) struct KeyWindows {
    file: Arc<DataFile>,
    dead: Arc<DeleteMask>,
    columns: Vec<usize>,
    predicate: Option<Predicate>,
    /// The rest of the range.
    range: KeyRange,
    /// Number of rows left to read.
    rows_left: u64,
    /// Rows of the next window.
    window_rows: usize,
    /// Approximate maximum memory of a window.
    window_bytes: usize,
}

/// A key, and the row of the file that has it.
type KeyAndRow = (Vec<u8>, u64);

impl KeyWindows {
    /// The first rows in a range that are not dead and satisfy a condition on the file's own columns, limited to `max_rows`. The file is one
    /// of `file_count` files that are read at the same time.
    pub(crate) fn new(
        file: &Arc<DataFile>,
        dead: &Arc<DeleteMask>,
        range: &KeyRange,
        max_rows: u64,
        columns: &[usize],
        predicate: Option<Predicate>,
        file_count: usize,
    ) -> Self {
        Self {
            file: Arc::clone(file),
            dead: Arc::clone(dead),
            columns: columns.to_vec(),
            predicate,
            range: range.clone(),
            rows_left: max_rows,
            window_rows: BATCH_ROWS,
            window_bytes: (WINDOW_BYTES / file_count.max(1)).max(MIN_WINDOW_BYTES),
        }
    }

    /// The next rows: their keys, in ascending order, and their columns. `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<(ByteList, Vec<ArrayRef>)>> {
        let wanted = usize::try_from(self.rows_left).map_or(self.window_rows, |left| left.min(self.window_rows));
        if wanted == 0 || self.range.is_empty() {
            return Ok(None);
        }
        let rows = self.least_keys(wanted)?;
        let Some((last, _)) = rows.last() else { return Ok(None) };
        if rows.len() < wanted {
            self.rows_left = 0;
        } else {
            self.rows_left -= rows.len() as u64;
            // The first key after the last one.
            self.range.low = [&last[..], &[0]].concat();
        }
        let columns = self.read_columns(&rows)?;
        let keys: ByteList = rows.iter().map(|(key, _)| key).collect();
        let bytes = keys.memory_bytes() + columns.iter().map(slice_bytes).sum::<usize>();
        let max_rows = self.window_bytes / (bytes / rows.len()).max(1);
        self.window_rows = max_rows.clamp(BATCH_ROWS, self.window_rows.saturating_mul(GROWTH).max(BATCH_ROWS));
        Ok(Some((keys, columns)))
    }

    /// At most `count` of the remaining rows, the ones with the smallest keys, in key order.
    fn least_keys(&self, count: usize) -> Result<Vec<KeyAndRow>> {
        let BlockKeys::Bounds(bounds) = self.file.keys() else {
            return Err(Error::internal("a file that is sorted by its keys was read in windows"));
        };
        let codec = self.file.schema().key();
        let blocks = block_ranges(&self.file, bounds.in_range(&self.range));
        if blocks.is_empty() {
            return Ok(Vec::new());
        }
        let mut scan = self.file.scan(codec.columns())?.rows(blocks).deleted([(0, (*self.dead).clone())]);
        if let Some(predicate) = &self.predicate {
            scan = scan.predicate(predicate.clone());
        }
        let mut least: Vec<KeyAndRow> = Vec::new();
        // Keys from this one on are not among the least.
        let mut bound: Option<Vec<u8>> = None;
        for batch in self.file.numbered(scan, codec.columns())? {
            let (columns, rows) = batch?;
            for (key, row) in codec.encode(&columns)?.iter().zip(rows) {
                let key = key.data();
                if self.range.contains(key) && bound.as_ref().is_none_or(|bound| key < &bound[..]) {
                    least.push((key.to_vec(), row));
                }
            }
            if least.len() >= count.saturating_mul(2) {
                least.select_nth_unstable(count - 1);
                least.truncate(count);
                bound = least.last().map(|(key, _)| key.clone());
            }
        }
        least.sort_unstable();
        least.truncate(count);
        Ok(least)
    }

    /// The requested columns of these rows, in their order. Reads the file once, sequentially.
    fn read_columns(&self, rows: &[KeyAndRow]) -> Result<Vec<ArrayRef>> {
        if self.columns.is_empty() {
            return Ok(Vec::new());
        }
        let mut by_number: Vec<usize> = (0..rows.len()).collect();
        by_number.sort_unstable_by_key(|&at| rows[at].1);
        let numbers: Vec<u64> = by_number.iter().map(|&at| rows[at].1).collect();
        let scan = self.file.scan(&self.columns)?.rows(single_rows(&numbers));
        let mut batches: Vec<Vec<ArrayRef>> = Vec::new();
        // For each row, its batch and its place there.
        let mut order = vec![(0, 0); rows.len()];
        let mut left = by_number.into_iter();
        for batch in self.file.numbered(scan, &self.columns)? {
            let (columns, numbers) = batch?;
            for (place, at) in left.by_ref().take(numbers.len()).enumerate() {
                order[at] = (batches.len(), place);
            }
            batches.push(columns.into_iter().map(without_other_rows).collect());
        }
        if left.next().is_some() {
            return Err(Error::corrupt("a file has fewer rows than its entry says"));
        }
        let column = |at: usize| {
            let arrays: Vec<&dyn Array> = batches.iter().map(|batch| &*batch[at]).collect();
            interleave_rows(&arrays, &order)
        };
        (0..self.columns.len()).map(column).collect()
    }
}

/// Copies the array, without bytes of other rows: views keep whole pages in memory, and a window has rows of many pages.
fn without_other_rows(array: ArrayRef) -> ArrayRef {
    match array.data_type() {
        DataType::Utf8View => Arc::new(array.as_string_view().gc()),
        DataType::BinaryView => Arc::new(array.as_binary_view().gc()),
        _ => array,
    }
}
