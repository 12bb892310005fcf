//! The rows of one partition of a scan.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use datafusion::common::Result;
use datafusion::execution::RecordBatchStream;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{DynamicFilterTracker, DynamicFilterTracking};
use datafusion::physical_plan::metrics::BaselineMetrics;
use futures_util::Stream;
use lath_parquet::{DynamicFilter, Error, RowOrder, Runtime, Scan, ScanBatches, ScanTask, SortingColumn};

use super::metrics::ScanMetrics;
use super::narrow::narrow;
use crate::error::external;

/// What the partitions of one execution share: tasks, of which each takes the first that is left, and conditions that change meanwhile.
///
/// One filter for all partitions is not only less work: a scan keeps the plan for the newest filter that it has seen, and with two
/// each partition would have to make its plan anew for each task.
pub(crate) struct SharedWork {
    tasks: Mutex<VecDeque<ScanTask>>,
    watched: Option<Watched>,
}

impl SharedWork {
    pub(crate) fn new(tasks: impl IntoIterator<Item = ScanTask>, watched: Option<Watched>) -> Self {
        Self { tasks: Mutex::new(tasks.into_iter().collect()), watched }
    }

    fn take(&self) -> Option<ScanTask> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }
}

/// Conditions that change while a query runs, and the filter of Lath that goes by them.
pub(crate) struct Watched {
    conditions: Vec<Arc<dyn PhysicalExpr>>,
    trackers: Mutex<Vec<DynamicFilterTracker>>,
    /// The schema that the conditions are about.
    schema: SchemaRef,
    filter: DynamicFilter,
}

impl Watched {
    pub(crate) fn new(conditions: &[Arc<dyn PhysicalExpr>], schema: &SchemaRef) -> Self {
        let tracker = |condition| match DynamicFilterTracking::classify(condition) {
            DynamicFilterTracking::Watching(tracker) => Some(tracker),
            DynamicFilterTracking::Static | DynamicFilterTracking::AllComplete => None,
        };
        let watched = Self {
            conditions: conditions.to_vec(),
            trackers: Mutex::new(conditions.iter().filter_map(tracker).collect()),
            schema: Arc::clone(schema),
            filter: DynamicFilter::new(),
        };
        watched.set();
        watched
    }

    fn set(&self) {
        let known = self.conditions.iter().filter_map(|condition| narrow(condition, &self.schema));
        if let Some(all) = known.reduce(lath_parquet::Predicate::and) {
            self.filter.set(all);
        }
    }

    /// Looks whether the conditions say something else by now.
    fn look(&self) {
        let mut trackers = self.trackers.lock().unwrap_or_else(PoisonError::into_inner);
        let mut has_changed = false;
        for tracker in trackers.iter_mut() {
            has_changed |= tracker.changed();
        }
        if has_changed {
            self.set();
        }
    }
}

/// Reads one task after the other, on the thread that asks for batches.
pub(crate) struct TaskStream {
    schema: SchemaRef,
    work: Arc<SharedWork>,
    runtime: Runtime,
    reading: Option<ScanBatches>,
    /// Rows that may still be given.
    left: usize,
    metrics: ScanMetrics,
    /// Rows of the task that is being read.
    task_rows: u64,
    baseline: BaselineMetrics,
    /// Where an operator above relies on the order of rows.
    order: Option<DeclaredOrder>,
}

/// The order that files say their rows have, to be verified.
pub(crate) struct DeclaredOrder {
    order: RowOrder,
    columns: String,
    /// The file and row group that is read.
    place: String,
}

impl DeclaredOrder {
    /// `None` if there is nothing to verify.
    pub(crate) fn new(schema: &SchemaRef, columns: &[SortingColumn]) -> Option<Self> {
        let order = RowOrder::new(schema, columns)?;
        let columns: Vec<&str> = columns.iter().map(|column| column.path.as_str()).collect();
        Some(Self { order, columns: columns.join(", "), place: String::new() })
    }

    fn begin(&mut self, task: &ScanTask) {
        self.place = format!("{}, row group {}", task.location(), task.row_group());
    }

    fn verify(&mut self, batch: &RecordBatch) -> lath_parquet::Result<()> {
        if self.order.first_disorder(batch)?.is_none() {
            return Ok(());
        }
        let Self { columns, place, .. } = self;
        Err(Error::Invalid {
            what: format!(
                "{place}: its footer says that the rows are sorted by {columns}, and they are not; write the file again, sorted or without \
                 that claim, as lath rewrite --sort-by does (lath check finds such files)"
            ),
        })
    }
}

impl TaskStream {
    pub(crate) fn new(
        schema: SchemaRef,
        work: Arc<SharedWork>,
        runtime: Runtime,
        limit: Option<usize>,
        metrics: ScanMetrics,
        baseline: BaselineMetrics,
    ) -> Self {
        let left = limit.unwrap_or(usize::MAX);
        Self { schema, work, runtime, reading: None, left, metrics, task_rows: 0, baseline, order: None }
    }

    /// The same stream, whose rows are found to be in this order, or are an error.
    pub(crate) fn verifying(self, order: Option<DeclaredOrder>) -> Self {
        Self { order, ..self }
    }

    /// Reads on to the next batch or the end of a task.
    fn next(&mut self) -> Result<Step> {
        if self.left == 0 {
            return Ok(Step::End);
        }
        if let Some(watched) = &self.work.watched {
            watched.look();
        }
        let reading = match &mut self.reading {
            Some(reading) => reading,
            none => {
                let Some(task) = self.work.take() else { return Ok(Step::End) };
                self.task_rows = task.row_count();
                if let Some(order) = &mut self.order {
                    order.begin(&task);
                }
                let mut scan = Scan::of_tasks([task]).map_err(external)?.runtime(&self.runtime).threads(1);
                if let Some(watched) = &self.work.watched {
                    scan = scan.dynamic_filter(&watched.filter);
                }
                none.insert(scan.build().map_err(external)?)
            }
        };
        match reading.next().transpose().map_err(external)? {
            Some(batch) => {
                let batch = if batch.num_rows() > self.left { batch.slice(0, self.left) } else { batch };
                self.left -= batch.num_rows();
                if let Some(order) = &mut self.order {
                    order.verify(&batch).map_err(external)?;
                }
                Ok(Step::Batch(batch))
            }
            None => {
                self.metrics.add(&reading.report(), self.task_rows);
                self.reading = None;
                Ok(Step::TaskDone)
            }
        }
    }
}

/// What reading has come to.
enum Step {
    Batch(RecordBatch),
    /// A task is read to its end, and there may be others.
    TaskDone,
    End,
}

impl Stream for TaskStream {
    type Item = Result<RecordBatch>;

    /// Gives way to others after each task: the executor starts the next partition on a thread of its own only when this one returns,
    /// and tasks of which no row is found give no batch to return with.
    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        let timer = this.baseline.elapsed_compute().clone();
        let timed = timer.timer();
        let next = this.next();
        drop(timed);
        let poll = match next {
            Ok(Step::Batch(batch)) => Poll::Ready(Some(Ok(batch))),
            Ok(Step::End) => Poll::Ready(None),
            Ok(Step::TaskDone) => {
                context.waker().wake_by_ref();
                Poll::Pending
            }
            Err(error) => {
                this.left = 0;
                Poll::Ready(Some(Err(error)))
            }
        };
        this.baseline.record_poll(poll)
    }
}

impl RecordBatchStream for TaskStream {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
