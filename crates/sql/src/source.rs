//! A scan of a dataset as a source of rows for DataFusion.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use arrow_schema::SchemaRef;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, Statistics};
use datafusion::datasource::source::{DataSource, OpenArgs};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::projection::ProjectionExprs;
use datafusion::physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_plan::DisplayFormatType;
use datafusion::physical_plan::filter_pushdown::{FilterPushdownPropagation, PushedDown};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet};
use lath_parquet::{Predicate, Runtime, ScanPlan};

use crate::metrics::ScanMetrics;
use crate::narrow::narrow;
use crate::stream::{TaskQueue, TaskStream, Watched};

/// The tasks of a scan, shared by as many partitions as are to work at the same time.
#[derive(Debug, Clone)]
pub(crate) struct LathSource {
    pub(crate) plan: Arc<ScanPlan>,
    /// The first columns of the plan, those that conditions can be about: file names and row numbers come last.
    pub(crate) testable: SchemaRef,
    /// The condition that was planned with.
    pub(crate) predicate: Option<Predicate>,
    pub(crate) statistics: Arc<Statistics>,
    pub(crate) partitions: usize,
    pub(crate) runtime: Runtime,
    pub(crate) fetch: Option<usize>,
    /// Conditions on the rows of this source that a query finds out while it runs.
    pub(crate) found_out: Vec<Arc<dyn PhysicalExpr>>,
    pub(crate) metrics: ExecutionPlanMetricsSet,
    /// Rows of the tasks that are done.
    pub(crate) rows_done: Arc<AtomicU64>,
}

impl LathSource {
    fn schema(&self) -> &SchemaRef {
        self.plan.schema()
    }
}

impl DataSource for LathSource {
    fn open(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        self.open_with_args(OpenArgs::new(partition, context))
    }

    /// All partitions of an execution take tasks from one queue, so that none waits for another.
    fn create_sibling_state(&self, _: &ConfigOptions) -> Option<Arc<dyn Any + Send + Sync>> {
        Some(Arc::new(TaskQueue::new(self.plan.tasks())))
    }

    fn open_with_args(&self, args: OpenArgs) -> Result<SendableRecordBatchStream> {
        let shared = args.sibling_state.and_then(|state| state.downcast::<TaskQueue>().ok());
        let queue = match shared {
            Some(queue) => queue,
            // Without a queue that all share, each has tasks of its own.
            None => {
                let own = self.plan.tasks().iter().skip(args.partition).step_by(self.partitions);
                Arc::new(TaskQueue::new(&own.cloned().collect::<Vec<_>>()))
            }
        };
        let watched = (!self.found_out.is_empty()).then(|| Watched::new(&self.found_out, &self.testable));
        Ok(Box::pin(TaskStream::new(
            Arc::clone(self.schema()),
            queue,
            self.runtime.clone(),
            watched,
            self.fetch,
            ScanMetrics::new(&self.metrics, args.partition, &self.rows_done),
            BaselineMetrics::new(&self.metrics, args.partition),
        )))
    }

    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tasks = self.plan.tasks().len();
        match format {
            DisplayFormatType::Default | DisplayFormatType::Verbose => {
                write!(f, "lath, tasks={tasks}, partitions={}", self.partitions)?;
                if let Some(predicate) = &self.predicate {
                    write!(f, ", predicate={predicate}")?;
                }
                for condition in &self.found_out {
                    write!(f, ", dynamic={condition}")?;
                }
                self.fetch.map_or(Ok(()), |limit| write!(f, ", fetch={limit}"))
            }
            DisplayFormatType::TreeRender => {
                writeln!(f, "format=lath")?;
                writeln!(f, "tasks={tasks}")?;
                self.predicate.as_ref().map_or(Ok(()), |predicate| writeln!(f, "predicate={predicate}"))
            }
        }
    }

    fn output_partitioning(&self) -> Partitioning {
        Partitioning::UnknownPartitioning(self.partitions)
    }

    fn eq_properties(&self) -> EquivalenceProperties {
        EquivalenceProperties::new(Arc::clone(self.schema()))
    }

    fn partition_statistics(&self, partition: Option<usize>) -> Result<Arc<Statistics>> {
        Ok(match partition {
            None => Arc::clone(&self.statistics),
            // Which partition takes which task is not known before.
            Some(_) => Arc::new(Statistics::new_unknown(self.schema())),
        })
    }

    fn with_fetch(&self, limit: Option<usize>) -> Option<Arc<dyn DataSource>> {
        Some(Arc::new(Self { fetch: limit, ..self.clone() }))
    }

    fn fetch(&self) -> Option<usize> {
        self.fetch
    }

    fn metrics(&self) -> ExecutionPlanMetricsSet {
        self.metrics.clone()
    }

    fn try_swapping_with_projection(&self, _: &ProjectionExprs) -> Result<Option<Arc<dyn DataSource>>> {
        Ok(None)
    }

    /// Keeps every condition that says something of the rows, and leaves it to others to ask it again: what is static was settled when
    /// the scan was planned.
    fn try_pushdown_filters(
        &self,
        filters: Vec<Arc<dyn PhysicalExpr>>,
        _: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn DataSource>>> {
        let results = vec![PushedDown::No; filters.len()];
        let useful = |filter: &Arc<dyn PhysicalExpr>| {
            datafusion::physical_expr::utils::collect_columns(filter)
                .iter()
                .all(|column| column.index() < self.testable.fields().len())
                && (has_dynamic(filter) || narrow(filter, &self.testable).is_some())
        };
        let new: Vec<_> = filters.into_iter().filter(useful).collect();
        let propagation = FilterPushdownPropagation::with_parent_pushdown_result(results);
        if new.is_empty() {
            return Ok(propagation);
        }
        let found_out = self.found_out.iter().cloned().chain(new).collect();
        let source: Arc<dyn DataSource> = Arc::new(Self { found_out, ..self.clone() });
        Ok(propagation.with_updated_node(source))
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        for condition in &self.found_out {
            if f(condition)? == TreeNodeRecursion::Stop {
                return Ok(TreeNodeRecursion::Stop);
            }
        }
        Ok(TreeNodeRecursion::Continue)
    }
}

fn has_dynamic(filter: &Arc<dyn PhysicalExpr>) -> bool {
    datafusion::physical_expr::expressions::DynamicFilterTracking::classify(filter).contains_dynamic_filter()
}
