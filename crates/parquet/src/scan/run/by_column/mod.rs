//! A scan without a predicate whose threads share the columns of one row group.
//!
//! | module | what it does |
//! | --- | --- |
//! | `plan` | Plans the read of a file. |
//! | `batch_cursor` | Cuts row groups into batches. |
//! | `leaf_stream` | Decodes one leaf, batch by batch. |
//! | `scheduler` | Distributes the decoding of leaves over threads. |
//! | `row_numbers` | Numbers the rows of a batch within the file. |
//! | `batches` | Assembles batches of leaves to record batches. |

mod batch_cursor;
mod batches;
mod leaf_stream;
mod plan;
mod row_numbers;
mod scheduler;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Instant;

use arrow_array::RecordBatch;

use self::batches::FileBatches;
use self::plan::ColumnPlan;
use self::row_numbers::RowNumbers;
use super::job::Job;
use crate::error::Result;
use crate::file::ParquetFile;
use crate::scan::columns::FileTarget;
use crate::scan::monitor::{Planning, Stage};
use crate::scan::planner::Planner;
use crate::scan::rows::RowGroupRows;
use lath_source::ReadAhead;

/// Reads one file after the other.
#[derive(Debug)]
pub(in crate::scan) struct ByColumn {
    job: Arc<Job>,
    planner: Arc<Planner>,
    threads: usize,
    next_file: usize,
    reading: Option<Reading>,
}

/// A file that is being read.
#[derive(Debug)]
struct Reading {
    file: ParquetFile,
    batches: FileBatches,
    target: Arc<FileTarget>,
    /// Numbers of the remaining rows, if the result has row numbers.
    numbers: Option<RowNumbers>,
}

impl ByColumn {
    /// Reads the rows that `planner` finds; it must not have a predicate.
    pub(in crate::scan) fn new(job: Arc<Job>, planner: Arc<Planner>, threads: usize) -> Self {
        Self { job, planner, threads, next_file: 0, reading: None }
    }

    /// The next batch; `None` after the last.
    pub(in crate::scan) fn next(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            self.job.settings.cancel.check()?;
            if let Some(reading) = &mut self.reading {
                if let Some(batch) = reading.next(&self.job)? {
                    return Ok(Some(batch));
                }
                self.reading = None;
            }
            if self.next_file == self.planner.file_count() {
                return Ok(None);
            }
            let file = self.next_file;
            self.next_file += 1;
            if self.planner.is_wanted(file) {
                self.reading = Some(Reading::start(&self.job, &self.planner, file, self.threads)?);
            }
        }
    }
}

impl Reading {
    fn start(job: &Job, planner: &Planner, index: usize, threads: usize) -> Result<Self> {
        let entry = &planner.dataset.files()[index];
        let mut planning = Planning::default();
        let start = Instant::now();
        let file = entry.open()?.counted(&job.counters.traffic);
        planning.open += start.elapsed();
        let plan = planner.plan_for(entry, &file).map_err(|error| file.locate(error))?;
        let rows = planner.selected_rows(index, file.row_group_row_counts())?;
        let row_count = |rows: &RowGroupRows| rows.ranges.iter().map(|range| range.end - range.start).sum::<u64>();
        planning.add_file(rows.len(), rows.iter().map(row_count).sum());
        job.counters.add_planning(&planning);
        let numbers = job.target.has_row_numbers().then(|| RowNumbers::new(&rows, file.row_group_row_counts()));
        let extents = || {
            let leaves = || plan.leaves.iter().map(|leaf| (leaf.leaf.column, false));
            rows.iter().flat_map(|rows| file.extents(rows.row_group, leaves())).collect()
        };
        let read = file.over(ReadAhead::within(Arc::clone(file.source()), extents));
        let read = ColumnPlan::new(read, Arc::clone(&plan), rows, job.settings.batch_size, job.settings.verify_crc);
        let batches = FileBatches::new(read, threads);
        let target = Arc::new(FileTarget::new(&job.target, &plan, entry.location()));
        Ok(Self { file, batches, target, numbers })
    }

    fn next(&mut self, job: &Job) -> Result<Option<RecordBatch>> {
        let batch = job.counters.timed(Stage::Fetch, || self.batches.next());
        let Some(batch) = batch.map_err(|error| self.file.locate(error))? else { return Ok(None) };
        let row_count = batch.num_rows();
        job.counters.add_window(row_count, row_count);
        let numbers = self.numbers.as_mut().map(|numbers| numbers.take(row_count));
        let batch = self.target.apply(&batch, numbers).map_err(|error| self.file.locate(error))?;
        Ok(Some(batch))
    }
}
