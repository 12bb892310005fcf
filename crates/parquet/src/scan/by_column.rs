//! A scan without a predicate whose threads share the columns of one row group.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use arrow_array::{Int64Array, RecordBatch};

use super::counters::{Planning, Stage};
use super::job::Job;
use super::planner::Planner;
use super::target::FileTarget;
use crate::error::Result;
use crate::file::ParquetFile;
use crate::read::{Batches, RowGroupRows};

/// Reads one file after the other.
#[derive(Debug)]
pub(super) struct ByColumn {
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
    batches: Batches,
    target: Arc<FileTarget>,
    /// Rows of the file that are still to come, if their numbers are wanted.
    numbers: Option<VecDeque<Range<u64>>>,
}

impl ByColumn {
    /// Reads what `planner` finds, which has no predicate.
    pub(super) fn new(job: Arc<Job>, planner: Arc<Planner>, threads: usize) -> Self {
        Self { job, planner, threads, next_file: 0, reading: None }
    }

    /// The next batch; `None` after the last.
    pub(super) fn next(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            self.job.cancel.check()?;
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
        let plan = planner.plan_of(entry, &file).map_err(|error| file.locate(error))?;
        let rows = planner.rows_of(index, file.row_group_row_counts())?;
        let row_count = |rows: &RowGroupRows| rows.ranges.iter().map(|range| range.end - range.start).sum::<u64>();
        planning.add_file(rows.len(), rows.iter().map(row_count).sum());
        job.counters.add_planning(&planning);
        let numbers = job.target.has_row_numbers().then(|| row_numbers(&rows, file.row_group_row_counts()));
        let mut builder = file
            .read()
            .batch_size(job.batch_size)
            .threads(threads)
            .strings(planner.strings)
            .verify_crc(job.verify_crc)
            .row_group_rows(rows);
        if let Some(paths) = plan.alignment.paths() {
            builder = builder.columns(paths);
        }
        let batches = builder.build().map_err(|error| file.locate(error))?;
        let target = Arc::new(FileTarget::new(&job.target, &plan, entry.location()));
        Ok(Self { file, batches, target, numbers })
    }

    fn next(&mut self, job: &Job) -> Result<Option<RecordBatch>> {
        let Some(batch) = job.counters.timed(Stage::Fetch, || self.batches.next()) else { return Ok(None) };
        let batch = batch.map_err(|error| self.file.locate(error))?;
        let row_count = batch.num_rows();
        job.counters.add_window(row_count, row_count);
        let numbers = self.numbers.as_mut().map(|rows| take_numbers(rows, row_count));
        let batch = self.target.apply(&batch, numbers).map_err(|error| self.file.locate(error))?;
        Ok(Some(batch))
    }
}

/// Numbers within the file of the rows of row groups.
fn row_numbers(rows: &[RowGroupRows], row_counts: &[u64]) -> VecDeque<Range<u64>> {
    let first_row = |row_group: usize| row_counts.iter().take(row_group).sum::<u64>();
    let of_row_group = |rows: &RowGroupRows| {
        let first = first_row(rows.row_group);
        rows.ranges.iter().map(|range| first + range.start..first + range.end).collect::<Vec<_>>()
    };
    rows.iter().flat_map(of_row_group).collect()
}

/// The next `count` numbers of `rows`.
fn take_numbers(rows: &mut VecDeque<Range<u64>>, count: usize) -> Int64Array {
    let mut numbers = Vec::with_capacity(count);
    while numbers.len() < count
        && let Some(range) = rows.front_mut()
    {
        let end = range.end.min(range.start + (count - numbers.len()) as u64);
        numbers.extend((range.start..end).map(u64::cast_signed));
        range.start = end;
        if range.is_empty() {
            rows.pop_front();
        }
    }
    numbers.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_numbered_within_the_file() {
        let rows = [
            RowGroupRows { row_group: 1, ranges: vec![0..2, 4..5] },
            RowGroupRows { row_group: 0, ranges: vec![7..8, 8..10] },
        ];
        let mut numbers = row_numbers(&rows, &[10, 10]);
        assert_eq!(take_numbers(&mut numbers, 4).values(), &[10, 11, 14, 7]);
        assert_eq!(take_numbers(&mut numbers, 8192).values(), &[8, 9]);
    }
}
