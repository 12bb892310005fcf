//! The executions of a shared plan, and its rows.
//!
//! | module | what it does |
//! | --- | --- |
//! | `partition` | one partition of shared rows, and its readers |
//! | `storage` | keeps rows in memory and on disk |

mod partition;
mod storage;

use std::any::Any;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use arrow_array::RecordBatch;
use datafusion::common::{Result, Statistics, internal_datafusion_err};
use datafusion::execution::TaskContext;
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, SpillMetrics};
use datafusion::physical_plan::statistics::{StatisticsArgs, StatisticsContext};
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use futures_util::Stream;

use self::partition::SharedPartition;
use self::storage::Storage;

/// The rows of a plan with several readers.
pub(super) struct SharedRows {
    /// The number of the shared plan in its statement, for EXPLAIN.
    pub(super) number: usize,
    plan: Mutex<Arc<dyn ExecutionPlan>>,
    /// The number of operators that read the rows.
    readers: AtomicUsize,
    executions: Mutex<Vec<Execution>>,
    /// The state of a recursive query that the plan has.
    state: Mutex<Option<Weak<dyn Any + Send + Sync>>>,
}

/// An execution of the plan, for an execution of the statement.
struct Execution {
    context: Weak<TaskContext>,
    /// The plan when the execution began. A reset replaces it by another one.
    plan: Arc<dyn ExecutionPlan>,
    /// Number of resets of the readers, for example in each step of a recursive query, which computes other rows. All readers are reset
    /// together.
    generation: u64,
    partitions: Vec<Option<Arc<SharedPartition>>>,
    /// Whether each reader has begun to read each partition.
    is_open: Vec<Vec<bool>>,
}

/// The part of shared rows that a reader reads.
#[derive(Clone, Copy)]
pub(super) struct ReadPart {
    pub(super) reader: usize,
    pub(super) generation: u64,
    pub(super) partition: usize,
}

impl fmt::Debug for SharedRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedRows").field("number", &self.number).finish_non_exhaustive()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SharedRows {
    pub(super) fn new(number: usize, plan: Arc<dyn ExecutionPlan>) -> Self {
        Self {
            number,
            plan: Mutex::new(plan),
            readers: AtomicUsize::new(0),
            executions: Mutex::default(),
            state: Mutex::default(),
        }
    }

    /// The plan that computes the rows.
    pub(super) fn plan(&self) -> Arc<dyn ExecutionPlan> {
        Arc::clone(&locked(&self.plan))
    }

    /// Replaces the plan by one that computes the same rows in the same partitions.
    pub(super) fn set_plan(&self, plan: Arc<dyn ExecutionPlan>) {
        *locked(&self.plan) = plan;
    }

    /// Whether the plan has this state of a recursive query.
    pub(super) fn has_state(&self, state: &Arc<dyn Any + Send + Sync>) -> bool {
        let own = locked(&self.state);
        own.as_ref().is_some_and(|own| std::ptr::addr_eq(own.as_ptr(), Arc::as_ptr(state)))
    }

    /// Replaces the plan by one with this state of a recursive query.
    pub(super) fn set_state(&self, state: &Arc<dyn Any + Send + Sync>, plan: Arc<dyn ExecutionPlan>) {
        *locked(&self.state) = Some(Arc::downgrade(state));
        self.set_plan(plan);
    }

    pub(super) fn readers(&self) -> usize {
        self.readers.load(Ordering::Relaxed)
    }

    pub(super) fn set_readers(&self, readers: usize) {
        self.readers.store(readers, Ordering::Relaxed);
    }

    /// The statistics of the rows. They are estimates, so that no reader is replaced by a constant.
    pub(super) fn statistics(&self, partition: Option<usize>) -> Result<Arc<Statistics>> {
        let arguments = StatisticsArgs::new().with_partition(partition);
        let known = StatisticsContext::new().compute(self.plan().as_ref(), &arguments)?;
        Ok(Arc::new(Arc::unwrap_or_clone(known).to_inexact()))
    }

    /// Begins to read a part of the rows.
    ///
    /// Readers share an execution if they have the same context and generation. A reader that reads a part again, because the plan is executed
    /// again, begins another one.
    pub(super) fn read(
        &self,
        part: ReadPart,
        context: &Arc<TaskContext>,
        metrics: &ExecutionPlanMetricsSet,
    ) -> Result<impl Stream<Item = Result<RecordBatch>> + use<>> {
        let ReadPart { reader, generation, partition } = part;
        let mut executions = locked(&self.executions);
        executions.retain(|execution| {
            let is_same = std::ptr::eq(execution.context.as_ptr(), Arc::as_ptr(context));
            execution.context.strong_count() > 0 && (!is_same || execution.generation >= generation)
        });
        let is_open = |execution: &Execution| {
            execution.is_open.get(reader).and_then(|parts| parts.get(partition)).copied().unwrap_or(true)
        };
        let is_this = |execution: &Execution| {
            std::ptr::eq(execution.context.as_ptr(), Arc::as_ptr(context))
                && execution.generation == generation
                && !is_open(execution)
        };
        let at = match executions.iter().position(is_this) {
            Some(at) => at,
            None => {
                let plan = self.plan();
                let count = plan.output_partitioning().partition_count();
                executions.push(Execution {
                    context: Arc::downgrade(context),
                    plan,
                    generation,
                    partitions: vec![None; count],
                    is_open: vec![vec![false; count]; self.readers()],
                });
                executions.len() - 1
            }
        };
        let execution = &mut executions[at];
        let missing = || internal_datafusion_err!("shared rows have no reader {reader} of partition {partition}");
        *execution.is_open.get_mut(reader).and_then(|parts| parts.get_mut(partition)).ok_or_else(missing)? = true;
        let place = execution.partitions.get_mut(partition).ok_or_else(missing)?;
        let shared = match place {
            Some(shared) => Arc::clone(shared),
            None => {
                let input = execution.plan.execute(partition, Arc::clone(context))?;
                let storage = Storage::new(&execution.plan, context, SpillMetrics::new(metrics, partition));
                Arc::clone(place.insert(SharedPartition::new(input, storage, self.readers())))
            }
        };
        // The readers keep their partitions.
        if execution.is_open.iter().flatten().all(|is_open| *is_open) {
            executions.swap_remove(at);
        }
        Ok(shared.read(reader, BaselineMetrics::new(metrics, partition)))
    }
}
