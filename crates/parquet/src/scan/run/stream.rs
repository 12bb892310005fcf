use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use futures_core::Stream;

use super::batches::ScanBatches;
use crate::error::Result;
use crate::scan::monitor::ScanProgress;

/// The batches of a scan as a stream, for any async runtime: the scan's own threads work, and wake the task that waits.
///
/// It never blocks. Dropping it before its end stops all work.
pub struct ScanStream {
    batches: ScanBatches,
}

impl ScanStream {
    pub(in crate::scan) fn new(batches: ScanBatches) -> Self {
        Self { batches }
    }

    /// The schema of the batches.
    pub fn schema(&self) -> SchemaRef {
        self.batches.schema()
    }

    /// A handle that reports progress.
    pub fn progress(&self) -> ScanProgress {
        self.batches.progress()
    }
}

impl Stream for ScanStream {
    type Item = Result<RecordBatch>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().batches.poll(context)
    }
}

impl fmt::Debug for ScanStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScanStream").field("batches", &self.batches).finish()
    }
}
