//! A plan that runs on workers.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, exec_datafusion_err, internal_err};
use datafusion::error::DataFusionError;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_plan::execution_plan::EmissionType;
use datafusion::physical_plan::metrics::{Count, ExecutionPlanMetricsSet, Gauge, MetricBuilder, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties};
use futures_util::{StreamExt, TryStreamExt, stream};
use lath_sql::remote::writes;

use crate::coordinator::distribute;
use crate::planning::Planning;
use crate::workers::{LiveWorker, Workers};

/// Maximum number of times that a query is run again because a worker was lost.
const MAX_RETRIES: usize = 3;
/// Rows of sorts and groups are held back up to this size, because workers can be lost until the last row.
const MAX_HELD_BYTES: usize = 4 << 20;

/// Runs a plan on workers; its input is the plan for one process.
///
/// When a worker is lost before rows are handed out, the query is planned and run again without it. Later it fails: rows that were handed out
/// cannot be taken back. Statements that write run once.
#[derive(Debug)]
pub(crate) struct ClusterExec {
    input: Arc<dyn ExecutionPlan>,
    workers: Arc<Workers>,
    planning: Arc<Planning>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl ClusterExec {
    pub(crate) fn new(input: Arc<dyn ExecutionPlan>, workers: Arc<Workers>, planning: Arc<Planning>) -> Self {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(input.schema()),
            Partitioning::UnknownPartitioning(1),
            input.pipeline_behavior(),
            input.boundedness(),
        );
        Self { input, workers, planning, properties: Arc::new(properties), metrics: ExecutionPlanMetricsSet::new() }
    }
}

impl DisplayAs for ClusterExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClusterExec")
    }
}

impl ExecutionPlan for ClusterExec {
    fn name(&self) -> &'static str {
        "ClusterExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn with_new_children(self: Arc<Self>, mut children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        match (children.pop(), children.is_empty()) {
            (Some(input), true) => {
                Ok(Arc::new(Self::new(input, Arc::clone(&self.workers), Arc::clone(&self.planning))))
            }
            _ => internal_err!("a plan on workers has one input"),
        }
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        if partition != 0 {
            return internal_err!("a plan on workers is one partition");
        }
        let run = Run {
            input: Arc::clone(&self.input),
            workers: Arc::clone(&self.workers),
            planning: Arc::clone(&self.planning),
            context,
            used: MetricBuilder::new(&self.metrics).global_gauge("workers"),
            attempts: MetricBuilder::new(&self.metrics).global_counter("attempts"),
            parts: MetricBuilder::new(&self.metrics).global_counter("parts"),
        };
        let rows = stream::once(run.start()).try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), rows)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}

/// One execution.
struct Run {
    input: Arc<dyn ExecutionPlan>,
    workers: Arc<Workers>,
    planning: Arc<Planning>,
    context: Arc<TaskContext>,
    /// Number of workers that could be used.
    used: Gauge,
    /// Number of times that the query was started.
    attempts: Count,
    /// Number of parts that were sent to workers, in all attempts.
    parts: Count,
}

impl Run {
    async fn start(self) -> Result<stream::BoxStream<'static, Result<RecordBatch>>> {
        let retries = if writes(&self.input) { 0 } else { MAX_RETRIES };
        let mut plan = Arc::clone(&self.input);
        for attempt in 0.. {
            let live = self.workers.live().await?;
            self.used.set(live.len());
            self.attempts.add(1);
            let parts = self.parts.clone();
            let mut rows =
                distribute(Arc::clone(&plan), &self.workers, &live, &self.planning.state, &self.context, parts).await?;
            let mut held = FirstRows::from(&mut rows, self.max_held_bytes()).await;
            held.error = match held.error {
                Some(_) if attempt < retries && self.workers.has_lost(&live).await => {
                    // Operators keep state, such as bounds of dynamic filters, from rows that are lost with the attempt.
                    plan = self.planning.plan().await?;
                    continue;
                }
                Some(error) => Some(explained(error, &self.workers, &live).await),
                None => None,
            };
            return Ok(self.rest(plan, held, rows, live));
        }
        internal_err!("a query was run without end")
    }

    /// Bytes after which rows are handed out: with the first ones, if they come before all rows are computed.
    fn max_held_bytes(&self) -> usize {
        match self.input.pipeline_behavior() {
            EmissionType::Final => MAX_HELD_BYTES,
            EmissionType::Incremental | EmissionType::Both => 0,
        }
    }

    /// The rows that are left. They hold the plan, and with it the files of keyed tables.
    fn rest(
        self,
        plan: Arc<dyn ExecutionPlan>,
        held: FirstRows,
        rows: SendableRecordBatchStream,
        live: Vec<LiveWorker>,
    ) -> stream::BoxStream<'static, Result<RecordBatch>> {
        let (workers, live) = (self.workers, Arc::new(live));
        let rows = rows.then(move |batch| {
            let (workers, live, _plan) = (Arc::clone(&workers), Arc::clone(&live), &plan);
            async move {
                match batch {
                    Err(error) => Err(explained(error, &workers, &live).await),
                    batch => batch,
                }
            }
        });
        let held = held.batches.into_iter().map(Ok).chain(held.error.map(Err));
        stream::iter(held).chain(rows).boxed()
    }
}

/// An error that ends the query; it says so if a worker was lost.
async fn explained(error: DataFusionError, workers: &Workers, live: &[LiveWorker]) -> DataFusionError {
    match workers.has_lost(live).await {
        true => exec_datafusion_err!(
            "a worker was lost while the query ran; run it again ({})",
            error.find_root().message()
        ),
        false => error,
    }
}

/// The first rows of an execution, and the error that ended it meanwhile.
struct FirstRows {
    batches: Vec<RecordBatch>,
    error: Option<DataFusionError>,
}

impl FirstRows {
    /// Takes rows until they end or are many.
    async fn from(rows: &mut SendableRecordBatchStream, max_bytes: usize) -> Self {
        let (mut batches, mut bytes) = (Vec::new(), 0);
        while let Some(batch) = rows.next().await {
            let batch = match batch {
                Ok(batch) => batch,
                Err(error) => return Self { batches, error: Some(error) },
            };
            bytes += batch.get_array_memory_size();
            batches.push(batch);
            if bytes > max_bytes {
                break;
            }
        }
        Self { batches, error: None }
    }
}
