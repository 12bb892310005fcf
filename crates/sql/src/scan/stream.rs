//! The rows of one partition of a scan.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use datafusion::common::{Result, exec_err};
use datafusion::execution::RecordBatchStream;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{DynamicFilterTracker, DynamicFilterTracking};
use datafusion::physical_plan::metrics::BaselineMetrics;
use futures_util::Stream;
use lath_parquet::{DynamicFilter, Error, Runtime, Scan, ScanBatches, ScanTask, SortingColumn};
use lath_writer::RowOrder;

use super::implied::implied_predicate;
use super::metrics::ScanMetrics;
use crate::error::external;
use crate::stop::Stop;

/// State that the partitions of one execution share: a queue of tasks and the dynamic filters.
///
/// One filter for all partitions is more than less work: a scan caches the plan for the newest filter that it has seen, and with two
/// filters, each partition would plan again for each task.
pub(crate) struct SharedWork {
    tasks: Mutex<VecDeque<ScanTask>>,
    filters: Option<DynamicFilters>,
}

impl SharedWork {
    pub(crate) fn new(tasks: impl IntoIterator<Item = ScanTask>, filters: Option<DynamicFilters>) -> Self {
        Self { tasks: Mutex::new(tasks.into_iter().collect()), filters }
    }

    fn take(&self) -> Option<ScanTask> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }
}

/// Dynamic filters of a query, and the scan filter that follows them.
pub(crate) struct DynamicFilters {
    conditions: Vec<Arc<dyn PhysicalExpr>>,
    trackers: Mutex<Vec<DynamicFilterTracker>>,
    /// The schema of the columns that the conditions test.
    schema: SchemaRef,
    filter: DynamicFilter,
}

impl DynamicFilters {
    pub(crate) fn new(conditions: &[Arc<dyn PhysicalExpr>], schema: &SchemaRef) -> Self {
        let tracker = |condition| match DynamicFilterTracking::classify(condition) {
            DynamicFilterTracking::Watching(tracker) => Some(tracker),
            DynamicFilterTracking::Static | DynamicFilterTracking::AllComplete => None,
        };
        let filters = Self {
            conditions: conditions.to_vec(),
            trackers: Mutex::new(conditions.iter().filter_map(tracker).collect()),
            schema: Arc::clone(schema),
            filter: DynamicFilter::new(),
        };
        filters.set();
        filters
    }

    fn set(&self) {
        let known = self.conditions.iter().filter_map(|condition| implied_predicate(condition, &self.schema));
        if let Some(all) = known.reduce(lath_parquet::Predicate::and) {
            self.filter.set(all);
        }
    }

    /// Updates the scan filter if a condition has changed.
    fn update(&self) {
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

/// Reads one task after the other, on the thread that polls for batches.
pub(crate) struct TaskStream {
    schema: SchemaRef,
    work: Arc<SharedWork>,
    runtime: Runtime,
    reading: Option<ScanBatches>,
    /// Rows left before the limit.
    left: usize,
    metrics: ScanMetrics,
    /// Rows of the current task.
    task_rows: u64,
    baseline: BaselineMetrics,
    /// The order to verify, if an operator above relies on it.
    order: Option<DeclaredOrder>,
    stop: Option<Arc<Stop>>,
}

/// Verifies that rows have the order that their file declares.
pub(crate) struct DeclaredOrder {
    order: RowOrder,
    columns: String,
    /// The file and row group being read.
    place: String,
}

impl DeclaredOrder {
    /// Returns `None` if there is no order to verify.
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
                "{place}: its footer declares rows sorted by {columns}, but they are not; rewrite the file sorted, as lath rewrite --sort-by does, or without the declaration (lath check finds such files)"
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
        Self { schema, work, runtime, reading: None, left, metrics, task_rows: 0, baseline, order: None, stop: None }
    }

    /// Ends the stream with an error once this is stopped, even if another task still polls it.
    pub(crate) fn stopped_by(self, stop: Option<Arc<Stop>>) -> Self {
        Self { stop, ..self }
    }

    /// Makes the stream return an error if rows are not in this order.
    pub(crate) fn verifying(self, order: Option<DeclaredOrder>) -> Self {
        Self { order, ..self }
    }

    /// Reads to the next batch or the end of a task.
    fn next(&mut self) -> Result<Step> {
        if self.left == 0 {
            return Ok(Step::End);
        }
        if self.stop.as_ref().is_some_and(|stop| stop.is_stopped()) {
            return exec_err!("the query was stopped");
        }
        if let Some(filters) = &self.work.filters {
            filters.update();
        }
        let reading = match &mut self.reading {
            Some(reading) => reading,
            none => {
                let Some(task) = self.work.take() else { return Ok(Step::End) };
                self.task_rows = task.row_count();
                if let Some(order) = &mut self.order {
                    order.begin(&task);
                }
                let mut scan = Scan::from_tasks([task]).map_err(external)?.runtime(&self.runtime).threads(1);
                if let Some(filters) = &self.work.filters {
                    scan = scan.dynamic_filter(&filters.filter);
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

/// The result of one step of reading.
enum Step {
    Batch(RecordBatch),
    /// The end of a task; there may be others.
    TaskDone,
    End,
}

impl Stream for TaskStream {
    type Item = Result<RecordBatch>;

    /// Yields after each task. The executor starts the next partition on another thread only when this one returns, and a task without
    /// matching rows has no batch to return.
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
