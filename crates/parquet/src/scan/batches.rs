use std::fmt;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::counters::ScanReport;
use super::job::Job;
use super::parallel::Parallel;
use super::serial::Serial;
use crate::error::Result;

/// The batches of a scan. After an error there are no more.
///
/// Dropped before its end, it stops all work: threads end within the window of rows that they are at, and are not waited for.
pub struct ScanBatches {
    job: Arc<Job>,
    source: Source,
    /// Rows that may still be handed out.
    left: u64,
}

enum Source {
    Serial(Box<Serial>),
    Parallel(Parallel),
    Ended,
}

impl ScanBatches {
    pub(super) fn new(job: Arc<Job>, threads: usize) -> Result<Self> {
        let source = if threads > 1 {
            Source::Parallel(Parallel::new(Arc::clone(&job), threads)?)
        } else {
            Source::Serial(Box::new(Serial::new(Arc::clone(&job))))
        };
        Ok(Self { left: job.limit, source, job })
    }

    /// The schema of the batches.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.job.target.schema)
    }

    /// What the scan has done so far.
    pub fn report(&self) -> ScanReport {
        self.job.counters.report()
    }
}

impl Iterator for ScanBatches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 {
            self.source = Source::Ended;
        }
        let batch = match &mut self.source {
            Source::Serial(serial) => serial.next(),
            Source::Parallel(parallel) => parallel.next(),
            Source::Ended => Ok(None),
        };
        match batch {
            Ok(Some(batch)) => {
                let most = usize::try_from(self.left).unwrap_or(usize::MAX);
                let batch = if batch.num_rows() > most { batch.slice(0, most) } else { batch };
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

impl fmt::Debug for ScanBatches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScanBatches").field("schema", &self.job.target.schema).finish_non_exhaustive()
    }
}
