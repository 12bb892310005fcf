use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::by_column::ByColumn;
use super::count::count;
use super::job::Job;
use super::parallel::Parallel;
use super::serial::Serial;
use crate::error::Result;
use crate::scan::monitor::{ScanProgress, ScanReport};

/// The batches of a scan. After an error there are no more.
///
/// Dropping it before its end stops all work: threads end after their current window of rows, without being waited for, unless
/// they work [by column](crate::scan::Scan::by_column).
pub struct ScanBatches {
    job: Arc<Job>,
    threads: usize,
    source: Source,
    /// Rows that may still be returned.
    left: u64,
}

enum Source {
    /// No batch was requested yet.
    Idle,
    Serial(Box<Serial>),
    Parallel(Parallel),
    ByColumn(Box<ByColumn>),
    Ended,
}

/// Threads that may work.
#[derive(Clone, Copy)]
enum Threads {
    /// The caller's thread too, which waits for the next batch.
    OfCaller,
    /// Only the scan's own threads: the caller does not wait.
    OfItsOwn,
}

impl ScanBatches {
    pub(in crate::scan) fn new(job: Job, threads: usize) -> Self {
        Self { left: job.settings.limit, source: Source::Idle, job: Arc::new(job), threads }
    }

    /// The schema of the batches.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.job.target.schema)
    }

    /// The current report.
    pub fn report(&self) -> ScanReport {
        self.job.counters.report()
    }

    /// A handle for reports from other threads, which outlives the scan.
    pub fn progress(&self) -> ScanProgress {
        ScanProgress { counters: Arc::clone(&self.job.counters) }
    }

    /// The number of rows that the scan finds, up to its limit, without building batches; only before the first batch is
    /// requested. Row groups whose rows all pass are not read; from others only the columns of the predicate are read.
    ///
    /// # Errors
    /// Errors of reading.
    pub fn count_rows(self) -> Result<u64> {
        count(&self.job, self.threads)
    }

    /// As [`Iterator::next`], without waiting.
    pub(in crate::scan) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<RecordBatch>>> {
        if let Err(error) = self.start(Threads::OfItsOwn) {
            return Poll::Ready(self.hand_out(Err(error)));
        }
        match &mut self.source {
            Source::Parallel(parallel) => match parallel.poll(context.waker()) {
                Poll::Ready(batch) => Poll::Ready(self.hand_out(batch)),
                Poll::Pending => Poll::Pending,
            },
            _ => Poll::Ready(None),
        }
    }

    /// Starts the work when the first batch is requested.
    fn start(&mut self, threads: Threads) -> Result<()> {
        if self.left == 0 {
            self.source = Source::Ended;
        }
        if let Source::Idle = self.source {
            let job = Arc::clone(&self.job);
            self.source = match threads {
                Threads::OfItsOwn => Source::Parallel(Parallel::new(job, self.threads)?),
                Threads::OfCaller if self.threads == 1 => Source::Serial(Box::new(Serial::new(job))),
                Threads::OfCaller => match job.by_column().cloned() {
                    Some(planner) => Source::ByColumn(Box::new(ByColumn::new(job, planner, self.threads))),
                    None => Source::Parallel(Parallel::new(job, self.threads)?),
                },
            };
        }
        Ok(())
    }

    fn hand_out(&mut self, batch: Result<Option<RecordBatch>>) -> Option<Result<RecordBatch>> {
        match batch {
            Ok(Some(batch)) => {
                let max_rows = usize::try_from(self.left).unwrap_or(usize::MAX);
                let batch = if batch.num_rows() > max_rows { batch.slice(0, max_rows) } else { batch };
                self.left -= batch.num_rows() as u64;
                Some(Ok(batch))
            }
            Ok(None) => {
                self.source = Source::Ended;
                None
            }
            Err(error) => {
                self.source = Source::Ended;
                Some(Err(error))
            }
        }
    }
}

impl Iterator for ScanBatches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.start(Threads::OfCaller).and_then(|()| match &mut self.source {
            Source::ByColumn(by_column) => by_column.next(),
            Source::Serial(serial) => serial.next(),
            Source::Parallel(parallel) => parallel.next(),
            Source::Idle | Source::Ended => Ok(None),
        });
        self.hand_out(batch)
    }
}

impl fmt::Debug for ScanBatches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScanBatches").field("schema", &self.job.target.schema).finish_non_exhaustive()
    }
}
