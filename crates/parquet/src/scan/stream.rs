use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use futures_core::Stream;

use super::batches::ScanBatches;
use super::progress::ScanProgress;
use crate::error::Result;

/// The batches of a scan as a stream, for any runtime: threads of the scan's own work, and wake the task that waits for them.
///
/// It never blocks. Dropped before its end, it stops all work.
pub struct ScanStream {
    batches: ScanBatches,
}

impl ScanStream {
    pub(super) fn new(batches: ScanBatches) -> Self {
        Self { batches }
    }

    /// The schema of the batches.
    pub fn schema(&self) -> SchemaRef {
        self.batches.schema()
    }

    /// A handle that tells what the scan has done.
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
