use std::fmt;
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};

use super::batch_cursor::{BatchCursor, Step};
use super::leaf_stream::{Lane, LeafStream, stream_ended};
use super::plan::ColumnPlan;
use super::scheduler::Scheduler;
use crate::decode::LeafBatch;
use crate::error::{Error, Result};

/// The batches of one file, in the order of its rows.
pub(super) struct FileBatches {
    plan: Arc<ColumnPlan>,
    streams: Streams,
    row_group: usize,
    cursor: BatchCursor,
    steps: Vec<Step>,
}

enum Streams {
    /// Decoded by the caller's thread.
    Serial(Vec<LeafStream>),
    Parallel(Scheduler),
}

impl FileBatches {
    pub(super) fn new(plan: ColumnPlan, threads: usize) -> Self {
        let plan = Arc::new(plan);
        let leaves = 0..plan.columns.leaves.len();
        let serial = || leaves.map(|leaf| LeafStream::new(Arc::clone(&plan), leaf, Lane::ONLY)).collect();
        let streams = Scheduler::new(&plan, threads).map_or_else(|| Streams::Serial(serial()), Streams::Parallel);
        Self { plan, streams, row_group: 0, cursor: BatchCursor::default(), steps: Vec::new() }
    }

    /// The next batch; `None` after the last.
    pub(super) fn next(&mut self) -> Result<Option<RecordBatch>> {
        match self.advance() {
            Some((row_count, row_group)) => {
                let batch = self.decode(row_count);
                batch.map(Some).map_err(|error| error.locate(|at| at.row_group = at.row_group.or(Some(row_group))))
            }
            None => Ok(None),
        }
    }

    /// Rows of the next batch and the row group it is from.
    fn advance(&mut self) -> Option<(usize, usize)> {
        while let Some(rows) = self.plan.rows.get(self.row_group) {
            let row_count = self.cursor.next(rows, self.plan.batch_size, &mut self.steps);
            if row_count > 0 {
                return Some((row_count, rows.row_group));
            }
            self.cursor = BatchCursor::default();
            self.row_group += 1;
        }
        None
    }

    fn decode(&mut self, row_count: usize) -> Result<RecordBatch> {
        let plan = &*self.plan.columns;
        let mut leaves: Vec<LeafBatch> = Vec::with_capacity(plan.leaves.len());
        match &mut self.streams {
            Streams::Serial(streams) => {
                for stream in streams {
                    leaves.push(stream.next()?.ok_or_else(stream_ended)?);
                }
            }
            Streams::Parallel(scheduler) => {
                for leaf in 0..plan.leaves.len() {
                    leaves.push(scheduler.take(leaf)?.ok_or_else(stream_ended)?);
                }
            }
        }
        // Without a predicate the leaves of a plan are the leaves of its columns, in their order.
        let mut leaves = leaves.into_iter();
        let arrays = plan.columns.iter().map(|column| {
            let leaves = leaves.by_ref().take(column.leaves.len());
            column.assemble(plan, leaves, row_count)
        });
        let arrays = arrays.collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(row_count));
        RecordBatch::try_new_with_options(Arc::clone(&plan.schema), arrays, &options)
            .map_err(|error| Error::from_arrow(&error))
    }
}

impl fmt::Debug for FileBatches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileBatches").field("row_group", &self.row_group).finish_non_exhaustive()
    }
}
