//! Keeps rows in memory, and on disk if the memory budget is exceeded.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::RecordBatch;
use datafusion::common::{Result, internal_err};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, SpillFile, TaskContext};
use datafusion::physical_plan::metrics::SpillMetrics;
use datafusion::physical_plan::{ExecutionPlan, SpillManager};

/// Consecutive batches, from the oldest that a reader still needs.
pub(super) struct Storage {
    /// The number of the first batch.
    first: usize,
    batches: VecDeque<StoredBatch>,
    /// The newest batch, for readers that are not behind.
    newest: Option<RecordBatch>,
    memory: MemoryReservation,
    spilling: SpillManager,
}

/// A batch in memory or in a file.
#[derive(Clone)]
pub(super) enum StoredBatch {
    Memory { batch: RecordBatch, reserved_bytes: usize },
    File { file: Arc<dyn SpillFile>, position: usize },
}

impl Storage {
    pub(super) fn new(plan: &Arc<dyn ExecutionPlan>, context: &TaskContext, metrics: SpillMetrics) -> Self {
        let memory = MemoryConsumer::new("rows that are read again").with_can_spill(true);
        Self {
            first: 0,
            batches: VecDeque::new(),
            newest: None,
            memory: memory.register(context.memory_pool()),
            spilling: SpillManager::new(context.runtime_env(), metrics, plan.schema()),
        }
    }

    /// The number of the batch that comes next.
    pub(super) fn end(&self) -> usize {
        self.first + self.batches.len()
    }

    /// The batch with this number, unless it has not been added yet.
    pub(super) fn get(&self, number: usize) -> Result<Option<StoredBatch>> {
        if number + 1 == self.end()
            && let Some(batch) = &self.newest
        {
            return Ok(Some(StoredBatch::Memory { batch: batch.clone(), reserved_bytes: 0 }));
        }
        match number.checked_sub(self.first) {
            Some(at) => Ok(self.batches.get(at).cloned()),
            None => internal_err!("shared rows were freed before they were read"),
        }
    }

    /// Adds a batch. Memory is reserved for it if other readers need it later.
    pub(super) fn push(&mut self, batch: RecordBatch, is_kept: bool) -> Result<()> {
        self.newest = Some(batch.clone());
        let reserved_bytes = if is_kept { sliced_bytes(&batch) } else { 0 };
        self.batches.push_back(StoredBatch::Memory { batch, reserved_bytes });
        if self.memory.try_grow(reserved_bytes).is_ok() { Ok(()) } else { self.spill() }
    }

    /// Writes all batches that are in memory to a file.
    fn spill(&mut self) -> Result<()> {
        let mut spilled = self.spilling.create_in_progress_file("rows that are read again")?;
        let mut places = Vec::new();
        for (at, stored) in self.batches.iter().enumerate() {
            if let StoredBatch::Memory { batch, .. } = stored {
                // Empty batches are not written.
                if batch.num_rows() > 0 {
                    spilled.append_batch(batch)?;
                    places.push(at);
                }
            }
        }
        if let Some(file) = spilled.finish()? {
            for (position, at) in places.into_iter().enumerate() {
                self.batches[at] = StoredBatch::File { file: Arc::clone(&file), position };
            }
        }
        self.memory.free();
        Ok(())
    }

    /// Frees batches below this number.
    pub(super) fn free_until(&mut self, number: usize) {
        while self.first < number {
            match self.batches.pop_front() {
                Some(StoredBatch::Memory { reserved_bytes, .. }) => {
                    self.memory.shrink(reserved_bytes.min(self.memory.size()));
                }
                Some(StoredBatch::File { .. }) => {}
                None => break,
            }
            self.first += 1;
        }
        if self.batches.is_empty() {
            self.newest = None;
        }
    }

    /// Reads a file from its first batch.
    pub(super) fn read(&self, file: &Arc<dyn SpillFile>) -> Result<SendableRecordBatchStream> {
        self.spilling.read_spill_as_stream(Arc::clone(file), None)
    }
}

/// The bytes of a batch, without the rest of buffers that it shares with other batches.
fn sliced_bytes(batch: &RecordBatch) -> usize {
    let bytes = |column: &arrow_array::ArrayRef| {
        column.to_data().get_slice_memory_size().unwrap_or_else(|_| column.get_array_memory_size())
    };
    batch.columns().iter().map(bytes).sum()
}
