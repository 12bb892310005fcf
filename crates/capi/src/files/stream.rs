//! The batches of a scan as a stream of the Arrow C interface.

use std::panic::{AssertUnwindSafe, catch_unwind};

use lath::ScanBatches;
use lath::arrow::array::ffi_stream::FFI_ArrowArrayStream;
use lath::arrow::array::{RecordBatch, RecordBatchReader};
use lath::arrow::schema::{ArrowError, SchemaRef};

use crate::status::Failure;

pub(super) fn stream(batches: ScanBatches) -> FFI_ArrowArrayStream {
    FFI_ArrowArrayStream::new(Box::new(Reader { schema: batches.schema(), batches: Some(batches) }))
}

struct Reader {
    schema: SchemaRef,
    /// `None` after the last batch or an error.
    batches: Option<ScanBatches>,
}

impl Iterator for Reader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batches = self.batches.as_mut()?;
        // C functions of Arrow call this, and a panic must not unwind into them.
        let next = match catch_unwind(AssertUnwindSafe(|| batches.next())) {
            Ok(Some(Ok(batch))) => return Some(Ok(batch)),
            Ok(Some(Err(error))) => Some(Failure::from(error)),
            Ok(None) => None,
            Err(panic) => Some(Failure::panic(&*panic)),
        };
        self.batches = None;
        next.map(|failure| Err(ArrowError::ExternalError(failure.message.into())))
    }
}

impl RecordBatchReader for Reader {
    fn schema(&self) -> SchemaRef {
        SchemaRef::clone(&self.schema)
    }
}
