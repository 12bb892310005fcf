//! Writes rows that come in any order to files in the order of the table.
//!
//! If the table is in key order, rows come sorted already. Otherwise rows are collected up to a number of bytes, sorted, and written to
//! separate files. Compaction merges these files.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_row::Rows;

use super::sorted_files::{NewFiles, SortedFiles};
use crate::error::{Error, Result};
use crate::row::{ByteList, RowOrder, batch, interleave_rows, slice_bytes};

/// Number of rows that are given to a writer at once.
const WRITTEN_ROWS: usize = 1 << 16;

/// Writes rows to files in the order of the table.
#[derive(Debug)]
pub(crate) enum OrderedFiles {
    /// Rows come in the order of their keys, as in files.
    ByKey(SortedFiles),
    /// Files have another order.
    Clustered(ClusteredFiles),
}

impl OrderedFiles {
    /// If files are not in the order of keys, rows are sorted in parts of about `part_bytes`.
    pub(crate) fn new(files: SortedFiles, part_bytes: u64) -> Self {
        match files.order().cloned() {
            None => Self::ByKey(files),
            Some(order) => Self::Clustered(ClusteredFiles { files, order, part_bytes, part: Part::default() }),
        }
    }

    /// Adds rows with these keys, in ascending order of keys.
    pub(crate) fn push(&mut self, batch: RecordBatch, keys: &ByteList) -> Result<()> {
        match self {
            Self::ByKey(files) => files.push(&batch, keys),
            Self::Clustered(files) => files.push(batch),
        }
    }

    /// Adds rows in any order, for files that are not in the order of keys.
    pub(crate) fn push_unsorted(&mut self, batch: RecordBatch) -> Result<()> {
        match self {
            Self::ByKey(_) => Err(Error::internal("rows in any order cannot become files in the order of keys")),
            Self::Clustered(files) => files.push(batch),
        }
    }

    /// The files, complete.
    pub(crate) fn finish(self) -> Result<NewFiles> {
        match self {
            Self::ByKey(files) => files.finish(),
            Self::Clustered(files) => files.finish(),
        }
    }
}

/// Sorts rows, part by part, and writes them to files.
#[derive(Debug)]
pub(crate) struct ClusteredFiles {
    files: SortedFiles,
    order: Arc<RowOrder>,
    part_bytes: u64,
    part: Part,
}

/// Rows that are not written yet.
#[derive(Debug, Default)]
struct Part {
    batches: Vec<RecordBatch>,
    /// The bytes that rows are ordered by.
    sort_keys: Vec<Rows>,
    bytes: u64,
}

impl ClusteredFiles {
    /// Adds rows in any order.
    pub(crate) fn push(&mut self, batch: RecordBatch) -> Result<()> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        let sort_keys = self.order.codec().encode(&self.order.select(batch.columns()))?;
        self.part.bytes += (sort_keys.size() + batch.columns().iter().map(slice_bytes).sum::<usize>()) as u64;
        self.part.batches.push(batch);
        self.part.sort_keys.push(sort_keys);
        if self.part.bytes >= self.part_bytes { self.write_part() } else { Ok(()) }
    }

    /// The files, complete.
    pub(crate) fn finish(mut self) -> Result<NewFiles> {
        self.write_part()?;
        self.files.finish()
    }

    fn write_part(&mut self) -> Result<()> {
        let Part { batches, sort_keys, .. } = std::mem::take(&mut self.part);
        let collect_rows = |(batch, keys): (usize, &Rows)| (0..keys.num_rows()).map(move |row| (batch, row));
        let mut order: Vec<(usize, usize)> = sort_keys.iter().enumerate().flat_map(collect_rows).collect();
        order.sort_unstable_by(|a, b| sort_keys[a.0].row(a.1).data().cmp(sort_keys[b.0].row(b.1).data()));
        drop(sort_keys);
        let schema = Arc::clone(self.files.schema());
        for rows in order.chunks(WRITTEN_ROWS) {
            let column = |at: usize| -> Result<ArrayRef> {
                let arrays: Vec<&dyn Array> = batches.iter().map(|batch| &**batch.column(at)).collect();
                interleave_rows(&arrays, rows)
            };
            let columns = (0..schema.arrow().fields().len()).map(column).collect::<Result<Vec<_>>>()?;
            let keys: ByteList = schema.key().encode(&schema.key().select(&columns))?.iter().collect();
            self.files.push(&batch(schema.arrow(), columns, rows.len())?, &keys)?;
        }
        self.files.end_file()
    }
}
