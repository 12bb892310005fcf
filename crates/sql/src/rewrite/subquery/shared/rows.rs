use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::RecordBatch;
use datafusion::common::Result;
use datafusion::common::runtime::SpawnedTask;
use datafusion::error::DataFusionError;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, SpillFile, TaskContext};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, SpillMetrics};
use datafusion::physical_plan::{ExecutionPlan, SpillManager};
use futures_util::future::{BoxFuture, Shared as SharedFuture};
use futures_util::stream::BoxStream;
use futures_util::{FutureExt, StreamExt, TryFutureExt};

/// Rows that are kept, or will be, for several readers.
#[derive(Default)]
pub(super) struct SharedRows {
    newest: Mutex<Option<Generation>>,
}

struct Generation {
    number: u64,
    kept: KeptRowsFuture,
}

/// The rows, when they have been computed.
pub(super) type KeptRowsFuture = SharedFuture<BoxFuture<'static, Result<Arc<KeptRows>, SharedError>>>;

/// An error that several readers return.
#[derive(Debug, Clone)]
pub(super) struct SharedError(Arc<DataFusionError>);

impl From<SharedError> for DataFusionError {
    fn from(error: SharedError) -> Self {
        Self::Shared(error.0)
    }
}

impl fmt::Debug for SharedRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedRows").finish_non_exhaustive()
    }
}

impl SharedRows {
    /// The rows of a generation, which the first reader's `input` computes.
    ///
    /// A separate task computes them: a join that reads one of two readers to its end would otherwise wait for rows that only the other
    /// reader computes.
    pub(super) fn get(
        &self,
        number: u64,
        input: &Arc<dyn ExecutionPlan>,
        context: &Arc<TaskContext>,
        metrics: &ExecutionPlanMetricsSet,
    ) -> Result<KeptRowsFuture> {
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(generation) = newest.as_ref().filter(|generation| generation.number == number) {
            return Ok(generation.kept.clone());
        }
        let rows = input.execute(0, Arc::clone(context))?;
        let memory = MemoryConsumer::new("rows around a subquery").with_can_spill(true).register(context.memory_pool());
        let spilling = SpillManager::new(context.runtime_env(), SpillMetrics::new(metrics, 0), input.schema());
        let task = SpawnedTask::spawn(keep(rows, memory, spilling));
        let kept = async move { task.join().await.map_err(|error| DataFusionError::External(Box::new(error)))? };
        let kept = kept.map_err(|error| SharedError(Arc::new(error))).boxed().shared();
        *newest = Some(Generation { number, kept: kept.clone() });
        Ok(kept)
    }
}

/// Rows in memory, or in a file if they were too many.
pub(super) struct KeptRows {
    batches: Vec<RecordBatch>,
    file: Option<Arc<dyn SpillFile>>,
    spilling: SpillManager,
    _memory: MemoryReservation,
}

async fn keep(
    mut rows: SendableRecordBatchStream,
    memory: MemoryReservation,
    spilling: SpillManager,
) -> Result<Arc<KeptRows>> {
    let mut batches = Vec::new();
    let mut file = None;
    while let Some(batch) = rows.next().await {
        let batch = batch?;
        if file.is_none() {
            if memory.try_grow(batch.get_array_memory_size()).is_ok() {
                batches.push(batch);
                continue;
            }
            let mut spilled = spilling.create_in_progress_file("rows around a subquery")?;
            for before in batches.drain(..) {
                spilled.append_batch(&before)?;
            }
            memory.free();
            file = Some(spilled);
        }
        if let Some(file) = &mut file {
            file.append_batch(&batch)?;
        }
    }
    let file = match file {
        Some(mut file) => file.finish()?,
        None => None,
    };
    Ok(Arc::new(KeptRows { batches, file, spilling, _memory: memory }))
}

impl KeptRows {
    /// All rows, from the first.
    pub(super) fn read(self: Arc<Self>) -> BoxStream<'static, Result<RecordBatch>> {
        if let Some(file) = &self.file {
            return match self.spilling.read_spill_as_stream(Arc::clone(file), None) {
                Ok(rows) => rows.boxed(),
                Err(error) => futures_util::stream::once(async { Err(error) }).boxed(),
            };
        }
        futures_util::stream::iter(0..self.batches.len()).map(move |at| Ok(self.batches[at].clone())).boxed()
    }
}
