//! A scan of a dataset as a DataFusion data source.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use arrow_schema::{SchemaRef, SortOptions};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, Statistics};
use datafusion::datasource::source::{DataSource, OpenArgs};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::projection::ProjectionExprs;
use datafusion::physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::filter_pushdown::{FilterPushdownPropagation, PushedDown};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayFormatType, SortOrderPushdownResult};
use futures_util::StreamExt;
use lath_parquet::{Predicate, Runtime, ScanPlan, SortingColumn};
use lath_table::Snapshot;

use super::field_projection::FieldProjection;
use super::implied::can_rule_out;
use super::metrics::ScanMetrics;
use super::stream::{DeclaredOrder, DynamicFilters, SharedWork, TaskStream};
use super::translate::uncanonical;
use crate::stop::Stop;

/// The tasks of a scan, shared by partitions that run at the same time.
#[derive(Debug, Clone)]
pub(crate) struct LathSource {
    pub(crate) plan: Arc<ScanPlan>,
    /// The columns that conditions can test: the files' columns, before a projection of fields. Columns of file names and row numbers come
    /// after them in the plan and are left out.
    pub(crate) testable: SchemaRef,
    /// The expressions that are evaluated on the plan's columns; `None` returns the columns unchanged.
    pub(crate) projection: Option<Arc<FieldProjection>>,
    /// The columns by which the rows of each partition are sorted.
    pub(crate) ordering: Vec<SortingColumn>,
    /// Whether an operator above relies on the order, so that it is verified while rows are read.
    pub(crate) verifies_order: bool,
    /// The condition of the scan when it was planned.
    pub(crate) predicate: Option<Predicate>,
    pub(crate) statistics: Arc<Statistics>,
    pub(crate) partitions: usize,
    pub(crate) runtime: Runtime,
    pub(crate) fetch: Option<usize>,
    /// Filters that operators above pushed down to this source. Most are dynamic.
    pub(crate) pushed_filters: Vec<Arc<dyn PhysicalExpr>>,
    pub(crate) metrics: ExecutionPlanMetricsSet,
    /// Rows of the completed tasks.
    pub(crate) rows_done: Arc<AtomicU64>,
    /// The snapshot of the table with a primary key whose files are read, without which they may be removed.
    #[expect(dead_code, reason = "the files exist as long as it does")]
    pub(crate) snapshot: Option<Snapshot>,
}

impl LathSource {
    fn schema(&self) -> &SchemaRef {
        self.projection.as_deref().map_or_else(|| self.plan.schema(), FieldProjection::schema)
    }

    /// The pushed filters with their current predicate, if there are any.
    fn dynamic_filters(&self) -> Option<DynamicFilters> {
        (!self.pushed_filters.is_empty()).then(|| DynamicFilters::new(&self.pushed_filters, &self.testable))
    }

    /// Rewrites a condition on rows of the source to one on the columns before the projection of fields.
    fn unprojected(&self, condition: Arc<dyn PhysicalExpr>) -> Result<Arc<dyn PhysicalExpr>> {
        match &self.projection {
            Some(projection) => projection.unproject(&condition),
            None => Ok(condition),
        }
    }
}

impl DataSource for LathSource {
    fn open(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        self.open_with_args(OpenArgs::new(partition, context))
    }

    /// All partitions of an execution take tasks from one queue, so that none is idle while tasks are left.
    fn create_sibling_state(&self, _: &ConfigOptions) -> Option<Arc<dyn Any + Send + Sync>> {
        Some(Arc::new(SharedWork::new(self.plan.tasks().iter().cloned(), self.dynamic_filters())))
    }

    fn open_with_args(&self, args: OpenArgs) -> Result<SendableRecordBatchStream> {
        let shared = args.sibling_state.and_then(|state| state.downcast::<SharedWork>().ok());
        let work = shared.unwrap_or_else(|| {
            // Without shared state, each partition has its own tasks.
            let own = self.plan.tasks().iter().skip(args.partition).step_by(self.partitions);
            Arc::new(SharedWork::new(own.cloned(), self.dynamic_filters()))
        });
        let stop = args.context.session_config().get_extension::<Stop>();
        let stream = TaskStream::new(
            Arc::clone(self.plan.schema()),
            work,
            self.runtime.clone(),
            self.fetch,
            ScanMetrics::new(&self.metrics, args.partition, &self.rows_done),
            BaselineMetrics::new(&self.metrics, args.partition),
        );
        let order = if self.verifies_order { self.ordering.as_slice() } else { &[] };
        let stream = stream.verifying(DeclaredOrder::new(self.plan.schema(), order)).stopped_by(stop);
        let Some(projection) = self.projection.clone() else { return Ok(Box::pin(stream)) };
        let projected = stream.map(move |batch| projection.apply(&batch?));
        Ok(Box::pin(RecordBatchStreamAdapter::new(Arc::clone(self.schema()), projected)))
    }

    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tasks = self.plan.tasks().len();
        match format {
            DisplayFormatType::Default | DisplayFormatType::Verbose => {
                write!(f, "lath, tasks={tasks}, partitions={}", self.partitions)?;
                if let Some(predicate) = &self.predicate {
                    write!(f, ", predicate={predicate}")?;
                }
                for condition in &self.pushed_filters {
                    write!(f, ", dynamic={condition}")?;
                }
                if let Some(projection) = &self.projection {
                    write!(f, ", projection={projection}")?;
                }
                if let Some(order) = self.eq_properties().oeq_class().iter().next() {
                    write!(f, ", order=[{order}]")?;
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
        let schema = self.plan.schema();
        let sorted = |column: &SortingColumn| {
            let expr = Column::new_with_schema(&column.path, schema).ok()?;
            let options = SortOptions { descending: column.descending, nulls_first: column.nulls_first };
            Some(PhysicalSortExpr::new(Arc::new(expr), options))
        };
        let ordering: Vec<PhysicalSortExpr> = self.ordering.iter().map_while(sorted).collect();
        let read = EquivalenceProperties::new_with_orderings(Arc::clone(schema), [ordering]);
        let projected = self.projection.as_deref().map(|projection| projection.properties(&read));
        match projected {
            None => read,
            Some(projected) => projected.unwrap_or_else(|_| EquivalenceProperties::new(Arc::clone(self.schema()))),
        }
    }

    fn partition_statistics(&self, partition: Option<usize>) -> Result<Arc<Statistics>> {
        Ok(match partition {
            None => match &self.projection {
                None => Arc::clone(&self.statistics),
                Some(projection) => Arc::new(projection.statistics(&self.statistics)?),
            },
            // Tasks are assigned to partitions while the query runs.
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

    /// Accepts a projection of nested fields, and then reads only these fields.
    fn try_swapping_with_projection(&self, projection: &ProjectionExprs) -> Result<Option<Arc<dyn DataSource>>> {
        if self.projection.is_some() {
            return Ok(None);
        }
        let Some((projection, plan)) = FieldProjection::new(projection, &self.plan)? else { return Ok(None) };
        let (plan, projection) = (Arc::new(plan), Some(Arc::new(projection)));
        Ok(Some(Arc::new(Self { plan, projection, ..self.clone() })))
    }

    /// Moves the tasks to the front that are likely to have the first rows of the order. The rows still have to be sorted.
    fn try_pushdown_sort(&self, order: &[PhysicalSortExpr]) -> Result<SortOrderPushdownResult<Arc<dyn DataSource>>> {
        let Some(first) = order.first().filter(|_| self.plan.tasks().len() > 1) else {
            return Ok(SortOrderPushdownResult::Unsupported);
        };
        let expr = self.unprojected(Arc::clone(uncanonical(&first.expr)))?;
        let Some(name) = uncanonical(&expr).downcast_ref::<Column>().map(|column| column.name().to_owned()) else {
            return Ok(SortOrderPushdownResult::Unsupported);
        };
        let SortOptions { descending, nulls_first } = first.options;
        let plan = self.plan.with_likely_first(&SortingColumn { path: name, descending, nulls_first });
        let ordering = plan.ordering();
        let inner: Arc<dyn DataSource> = Arc::new(Self { plan: Arc::new(plan), ordering, ..self.clone() });
        Ok(SortOrderPushdownResult::Inexact { inner })
    }

    /// Keeps every condition that can rule out rows, and returns `No` for each, so that the operator above still evaluates it.
    fn try_pushdown_filters(
        &self,
        filters: Vec<Arc<dyn PhysicalExpr>>,
        _: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn DataSource>>> {
        let results = vec![PushedDown::No; filters.len()];
        let filters = filters.into_iter().map(|filter| self.unprojected(filter)).collect::<Result<Vec<_>>>()?;
        let new: Vec<_> = filters.into_iter().filter(|filter| can_rule_out(filter, &self.testable)).collect();
        let propagation = FilterPushdownPropagation::with_parent_pushdown_result(results);
        if new.is_empty() {
            return Ok(propagation);
        }
        let pushed_filters = self.pushed_filters.iter().cloned().chain(new).collect();
        let source: Arc<dyn DataSource> = Arc::new(Self { pushed_filters, ..self.clone() });
        Ok(propagation.with_updated_node(source))
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        for condition in &self.pushed_filters {
            if f(condition)? == TreeNodeRecursion::Stop {
                return Ok(TreeNodeRecursion::Stop);
            }
        }
        Ok(TreeNodeRecursion::Continue)
    }
}
