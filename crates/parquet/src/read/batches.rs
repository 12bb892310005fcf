use std::fmt;
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;

use super::leaf_stream::{Lane, LeafStream, stream_ended};
use super::plan::ReadPlan;
use super::scheduler::{MOST_BATCHES_AHEAD, Scheduler};
use super::selection::{BatchCursor, Step};
use crate::assemble::assemble;
use crate::decode::LeafBatch;
use crate::error::{Error, Result};

/// The batches of a read, in file order. After an error there are no more.
///
/// At any time it holds the pages being decoded (one for each leaf column), the batch being built, and with several
/// threads up to [`Batches::MOST_BATCHES_AHEAD`] decoded batches of each column. Where columns are fewer than would keep the
/// threads busy, several threads share each, and then every one of these holds pages of its own and up to 262,144 decoded rows.
pub struct Batches {
    plan: Arc<ReadPlan>,
    columns: Columns,
    row_group: usize,
    cursor: BatchCursor,
    steps: Vec<Step>,
    ended: bool,
}

enum Columns {
    Serial(Vec<LeafStream>),
    Parallel(Scheduler),
}

impl Batches {
    /// With several threads, a column that is not shared is decoded at most so many batches before it is asked for; of more than
    /// 21 columns fewer, 4 from 64 columns on.
    ///
    /// A page that is decompressed at once is some batches, during which all other columns go on: TPC-H's lineitem with Snappy, two
    /// threads, takes .14 to .16 s so, and .18 to .20 with 4, where one of them waits for a tenth to a fifth of the time.
    pub const MOST_BATCHES_AHEAD: usize = MOST_BATCHES_AHEAD;

    pub(super) fn new(plan: Arc<ReadPlan>, threads: usize) -> Self {
        let serial =
            || (0..plan.leaves.len()).map(|leaf| LeafStream::new(Arc::clone(&plan), leaf, Lane::ONLY)).collect();
        let scheduler = if threads > 1 { Scheduler::new(&plan, threads) } else { None };
        let columns = scheduler.map_or_else(|| Columns::Serial(serial()), Columns::Parallel);
        Self { plan, columns, row_group: 0, cursor: BatchCursor::default(), steps: Vec::new(), ended: false }
    }

    /// The schema of the batches.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.plan.schema)
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

    fn decode(&mut self, row_count: usize, row_group: usize) -> Result<RecordBatch> {
        let mut leaves: Vec<LeafBatch> = Vec::with_capacity(self.plan.leaves.len());
        match &mut self.columns {
            Columns::Serial(streams) => {
                for stream in streams {
                    leaves.push(stream.next()?.ok_or_else(stream_ended)?);
                }
            }
            Columns::Parallel(scheduler) => {
                for column in 0..self.plan.leaves.len() {
                    leaves.push(scheduler.take(column)?.ok_or_else(stream_ended)?);
                }
            }
        }
        let mut leaves = leaves.into_iter();
        let mut arrays = Vec::with_capacity(self.plan.nodes.len());
        for node in &self.plan.nodes {
            let array = assemble(node, &mut leaves, row_count, self.plan.file.limits());
            arrays.push(array.map_err(|error| {
                error.locate(|at| {
                    at.file = at.file.take().or_else(|| self.plan.file.name().map(Into::into));
                    at.column = at.column.take().or_else(|| Some(node.field.name().as_str().into()));
                    at.row_group = at.row_group.or(Some(row_group));
                })
            })?);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(row_count));
        RecordBatch::try_new_with_options(Arc::clone(&self.plan.schema), arrays, &options)
            .map_err(|error| Error::of_arrow(&error))
    }
}

impl Iterator for Batches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let Some((row_count, row_group)) = self.advance() else {
            self.ended = true;
            return None;
        };
        let batch = self.decode(row_count, row_group);
        self.ended = batch.is_err();
        Some(batch)
    }
}

impl fmt::Debug for Batches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batches").field("schema", &self.plan.schema).field("ended", &self.ended).finish_non_exhaustive()
    }
}
