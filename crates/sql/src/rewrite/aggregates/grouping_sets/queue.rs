use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use datafusion::common::{Result, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
use futures_util::StreamExt;
use futures_util::stream::{iter, poll_fn};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// The end of a queue of batches that a plan reads.
struct Queue {
    schema: SchemaRef,
    batches: Mutex<Option<UnboundedReceiver<RecordBatch>>>,
}

/// Makes a plan that returns the batches that are sent, until the sender is dropped. It runs once.
pub(super) fn queue(schema: SchemaRef) -> Result<(UnboundedSender<RecordBatch>, Arc<dyn ExecutionPlan>)> {
    let (sender, batches) = unbounded_channel();
    let queue = Queue { schema: Arc::clone(&schema), batches: Mutex::new(Some(batches)) };
    let plan = StreamingTableExec::try_new(schema, vec![Arc::new(queue)], None, [], false, None)?;
    Ok((sender, Arc::new(plan)))
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Queue")
    }
}

impl PartitionStream for Queue {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let batches = self.batches.lock().unwrap_or_else(PoisonError::into_inner).take();
        let batches = match batches {
            Some(mut batches) => poll_fn(move |context| batches.poll_recv(context)).map(Ok).boxed(),
            None => iter([internal_err!("a queue was read twice")]).boxed(),
        };
        Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), batches))
    }
}
