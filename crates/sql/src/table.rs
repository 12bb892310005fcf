use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_schema::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{DFSchema, Result, Statistics};
use datafusion::datasource::source::DataSourceExec;
use datafusion::error::DataFusionError;
use datafusion::execution::context::ExecutionProps;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_expr::{PhysicalExpr, create_physical_expr};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::filter::FilterExecBuilder;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use lath_parquet::{Dataset, Predicate, Runtime, Statistics as KnownStatistics, Support};

use crate::narrow::supported;
use crate::source::{LathSource, add_planning};
use crate::statistics;
use crate::translate::translate;

/// A dataset as a table of DataFusion.
///
/// Conditions that Lath answers as SQL does are left to the scan. Of columns, counts, smallest and largest values and numbers of nulls
/// are known from footers, so that `count(*)`, `min` and `max` need not read rows where they are exact.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use std::sync::Arc;
///
/// use datafusion::prelude::SessionContext;
/// use lath_parquet::{Dataset, DatasetOptions, Runtime};
/// use lath_sql::LathTable;
///
/// let trips = Dataset::open(["trips/"], DatasetOptions::new())?;
/// let context = SessionContext::new();
/// context.register_table("trips", Arc::new(LathTable::new(trips, &Runtime::of_process())))?;
/// context.sql("SELECT city, count(*) FROM trips GROUP BY city").await?.show().await?;
/// # Ok(())
/// # }
/// ```
pub struct LathTable {
    dataset: Dataset,
    runtime: Runtime,
    /// What footers say, once it was asked for.
    statistics: Mutex<Option<Arc<KnownStatistics>>>,
}

impl LathTable {
    /// The table of a dataset, whose scans share `runtime`.
    pub fn new(dataset: Dataset, runtime: &Runtime) -> Self {
        Self { dataset, runtime: runtime.clone(), statistics: Mutex::new(None) }
    }

    /// The dataset.
    pub fn dataset(&self) -> &Dataset {
        &self.dataset
    }

    /// The predicate that a condition of a query is, if Lath has it.
    fn predicate(&self, expr: &Expr) -> Option<Predicate> {
        let schema = self.dataset.schema();
        translate(&physical(expr, schema).ok()?, schema)
    }

    /// Whether the scan finds the rows for which a condition is true, and no others.
    fn is_exact(&self, expr: &Expr) -> bool {
        let Some(predicate) = self.predicate(expr) else { return false };
        predicate.supports(self.dataset.schema()).iter().all(|conjunct| conjunct.support == Support::Exact)
    }

    fn statistics(&self) -> Result<Arc<KnownStatistics>> {
        let mut known = self.statistics.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = &*known {
            return Ok(Arc::clone(known));
        }
        let read = Arc::new(self.dataset.statistics().map_err(external)?);
        *known = Some(Arc::clone(&read));
        Ok(read)
    }
}

pub(crate) fn external(error: lath_parquet::Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

/// The expression on rows of `schema`, for which names of tables are no matter.
fn physical(expr: &Expr, schema: &SchemaRef) -> Result<Arc<dyn PhysicalExpr>> {
    let columns = DFSchema::try_from(schema.as_ref().clone())?;
    let expr = unqualified(expr.clone())?;
    create_physical_expr(&expr, &columns, &ExecutionProps::new(), &PhysicalPlanningContext::default())
}

/// The expression with columns by their names alone.
fn unqualified(expr: Expr) -> Result<Expr> {
    use datafusion::common::Column;
    use datafusion::common::tree_node::{Transformed, TreeNode};
    let plain = expr.transform(|expr| {
        Ok(match expr {
            Expr::Column(column) if column.relation.is_some() => {
                Transformed::yes(Expr::Column(Column::new_unqualified(column.name)))
            }
            other => Transformed::no(other),
        })
    });
    plain.map(|plain| plain.data)
}

#[async_trait]
impl TableProvider for LathTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(self.dataset.schema())
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        let support = |filter: &&Expr| {
            let Some(predicate) = self.predicate(filter) else { return TableProviderFilterPushDown::Unsupported };
            if self.is_exact(filter) {
                TableProviderFilterPushDown::Exact
            } else if predicate.supports(self.dataset.schema()).iter().any(|conjunct| conjunct.support != Support::No) {
                TableProviderFilterPushDown::Inexact
            } else {
                TableProviderFilterPushDown::Unsupported
            }
        };
        Ok(filters.iter().map(support).collect())
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let schema = self.dataset.schema();
        let all: Vec<usize> = (0..schema.fields().len()).collect();
        let projection = projection.unwrap_or(&all);
        let predicates = filters.iter().filter_map(|filter| self.predicate(filter));
        let predicate = predicates.filter_map(|predicate| supported(predicate, schema)).reduce(Predicate::and);
        // Conditions are rewritten after it was said which of them the scan answers.
        let rest: Vec<&Expr> = filters.iter().filter(|filter| !self.is_exact(filter)).collect();
        let mut columns = projection.clone();
        for column in rest.iter().flat_map(|filter| filter.column_refs()) {
            let at = schema.index_of(column.name())?;
            if !columns.contains(&at) {
                columns.push(at);
            }
        }
        let limit = limit.filter(|_| rest.is_empty());
        let mut scan = self
            .dataset
            .scan()
            .runtime(&self.runtime)
            .batch_size(state.config().batch_size())
            .select_columns(columns.iter().copied());
        if let Some(predicate) = predicate.clone() {
            scan = scan.predicate(predicate);
        }
        let plan = tokio::task::spawn_blocking(move || scan.plan()).await;
        let plan = plan.map_err(|error| DataFusionError::External(Box::new(error)))?.map_err(external)?;

        let known = if state.config().collect_statistics() { Some(self.statistics()?) } else { None };
        let mut of_rows = match &known {
            Some(known) => statistics::of_table(known, &columns),
            None => Statistics::new_unknown(plan.schema()),
        };
        if predicate.is_some() {
            of_rows = of_rows.to_inexact();
            let rows = usize::try_from(plan.row_count()).unwrap_or(usize::MAX);
            of_rows.num_rows = match plan.is_exact() {
                true => datafusion::common::stats::Precision::Exact(rows),
                false => datafusion::common::stats::Precision::Inexact(rows),
            };
        }
        let metrics = ExecutionPlanMetricsSet::new();
        add_planning(&metrics, &plan.report());
        let partitions = state.config().target_partitions().min(plan.tasks().len()).max(1);
        let source = LathSource {
            partitions,
            predicate,
            statistics: Arc::new(of_rows),
            runtime: self.runtime.clone(),
            fetch: limit,
            found_out: Vec::new(),
            metrics,
            plan: Arc::new(plan),
        };
        let source: Arc<dyn ExecutionPlan> = DataSourceExec::from_data_source(source);
        let Some(rest) = conjunction(rest.into_iter().cloned()) else { return Ok(source) };
        let rest = physical(&rest, &source.schema())?;
        let kept = (0..projection.len()).collect();
        let filter = FilterExecBuilder::new(rest, source).apply_projection(Some(kept))?.build()?;
        Ok(Arc::new(filter))
    }
}

impl fmt::Debug for LathTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LathTable").field("dataset", &self.dataset).finish_non_exhaustive()
    }
}
