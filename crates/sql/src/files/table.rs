use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, OnceLock};

use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::stats::Precision;
use datafusion::common::{Result, Statistics, plan_datafusion_err, plan_err};
use datafusion::datasource::source::DataSourceExec;
use datafusion::error::DataFusionError;
use datafusion::logical_expr::dml::InsertOp;
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion::physical_plan::projection::ProjectionExec;
use lath_parquet::{Dataset, Predicate, Runtime, Statistics as KnownStatistics};

use crate::error::file_work;
use crate::scan::{
    LathSource, Pushdown, add_planning, changes_refused_by, insert_by, physical, scan_by, selectivity, statistics,
    support, with_condition_columns, with_rest,
};

/// A dataset as a DataFusion table.
///
/// Conditions that Lath evaluates as SQL does are pushed down to the scan. Row counts, minima, maxima and null counts come from footers, so
/// that `count(*)`, `min` and `max` read no rows if these are exact.
///
/// If several columns have the same name, the second is called `name_1`, the third `name_2`. Conditions on such tables are not pushed down.
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
/// context.register_table("trips", Arc::new(LathTable::new(trips, &Runtime::global())))?;
/// context.sql("SELECT city, count(*) FROM trips GROUP BY city").await?.show().await?;
/// # Ok(())
/// # }
/// ```
pub struct LathTable {
    dataset: Dataset,
    runtime: Runtime,
    /// The dataset's columns, with distinct names.
    file_schema: SchemaRef,
    /// The files' columns, then [`FileColumns`].
    schema: SchemaRef,
    file_columns: FileColumns,
    /// The condition that all rows of the table satisfy.
    condition: Predicate,
    /// Statistics from footers, after the first query that needs them.
    statistics: Arc<OnceLock<KnownStatistics>>,
}

impl LathTable {
    /// Creates the table of a dataset. Its scans share `runtime`.
    pub fn new(dataset: Dataset, runtime: &Runtime) -> Self {
        let file_schema = with_distinct_names(dataset.schema());
        Self {
            dataset,
            runtime: runtime.clone(),
            schema: Arc::clone(&file_schema),
            file_schema,
            file_columns: FileColumns::default(),
            condition: Predicate::TRUE,
            statistics: Arc::default(),
        }
    }

    /// Adds columns with the file of each row and the row's number in that file, from 0.
    ///
    /// # Errors
    /// If a column has one of these names.
    pub fn with_file_columns(self, file_name: Option<String>, row_number: Option<String>) -> Result<Self> {
        self.add_file_columns(FileColumns { file_name, row_number })
    }

    pub(crate) fn add_file_columns(self, file_columns: FileColumns) -> Result<Self> {
        Ok(Self { schema: file_columns.add_to(&self.file_schema)?, file_columns, ..self })
    }

    /// Restricts the table to rows for which `condition` is true.
    ///
    /// If the condition does not fit the columns, every scan returns an error.
    #[must_use]
    pub fn with_condition(self, condition: Predicate) -> Self {
        Self { condition, ..self }
    }

    /// The dataset.
    pub fn dataset(&self) -> &Dataset {
        &self.dataset
    }

    /// Whether columns have other names than in the files. Then nothing that refers to names can be pushed down.
    fn is_renamed(&self) -> bool {
        !Arc::ptr_eq(&self.file_schema, self.dataset.schema())
    }

    /// Renames the columns of a scan to SQL's names of the columns at `projection`.
    fn with_own_names(&self, plan: Arc<dyn ExecutionPlan>, projection: &[usize]) -> Result<Arc<dyn ExecutionPlan>> {
        if !self.is_renamed() {
            return Ok(plan);
        }
        let schema = plan.schema();
        let columns = projection.iter().zip(schema.fields()).enumerate().map(|(at, (&column, field))| {
            (Arc::new(Column::new(field.name(), at)) as Arc<dyn PhysicalExpr>, self.schema.field(column).name().clone())
        });
        Ok(Arc::new(ProjectionExec::try_new(columns.collect::<Vec<_>>(), plan)?))
    }

    /// Estimates the number of rows that satisfy `filters`.
    fn estimated_rows(&self, known: &KnownStatistics, filters: &[&Expr]) -> Option<usize> {
        let schema = self.dataset.schema();
        let rows = *statistics::count(known.row_count).get_value()?;
        let Some(condition) = conjunction(filters.iter().map(|&filter| filter.clone())) else { return Some(rows) };
        let all: Vec<usize> = (0..schema.fields().len()).collect();
        let known = statistics::from_known(known, &all, 0);
        let share = selectivity(&physical(&condition, schema).ok()?, &known);
        Some((rows as f64 * share).ceil() as usize)
    }
}

impl LathTable {
    async fn plan_scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.plan_pushed(state, projection, Pushdown::new(filters, &self.file_schema), limit).await
    }

    /// A plan of a scan with conditions that were translated before.
    pub(super) async fn plan_pushed(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        pushed: Pushdown<'_>,
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let (schema, file_schema) = (&self.schema, &self.file_schema);
        let all: Vec<usize> = (0..schema.fields().len()).collect();
        let projection = projection.unwrap_or(&all);
        let Pushdown { predicate, answered, rest } = pushed;
        let predicate = self.condition.clone().and(predicate);
        let predicate = (predicate != Predicate::TRUE).then_some(predicate);
        let mut columns = with_condition_columns(projection, &rest, schema)?;
        let limit = limit.filter(|_| rest.is_empty());
        // The scan returns the files' columns first.
        let file_columns = self.file_columns.chosen(schema, &columns);
        columns.retain(|&column| column < file_schema.fields().len());
        let mut selected = columns.clone();
        if self.is_renamed() {
            // Scans select columns by name: all columns of a name, in their order.
            let fields = self.dataset.schema().fields();
            let mut names: Vec<&str> = columns.iter().map(|&column| fields[column].name().as_str()).collect();
            let mut seen = HashSet::new();
            names.retain(|name| seen.insert(*name));
            let namesakes = |name: &str| (0..fields.len()).filter(|&at| fields[at].name() == name).collect::<Vec<_>>();
            columns = names.iter().flat_map(|name| namesakes(name)).collect();
            let mut seen = HashSet::new();
            selected = columns.iter().copied().filter(|&at| seen.insert(fields[at].name())).collect();
        }
        let places: Vec<usize> = columns.iter().copied().chain(file_columns.places(schema)).collect();
        let mut scan = self.dataset.scan().runtime(&self.runtime).batch_size(state.config().batch_size());
        scan = scan.select_columns(selected);
        if let Some(predicate) = predicate.clone() {
            scan = scan.predicate(predicate);
        }
        if let Some(limit) = limit {
            scan = scan.limit(limit as u64);
        }
        if let Some(name) = &file_columns.file_name {
            scan = scan.file_name_column(name);
        }
        if let Some(name) = &file_columns.row_number {
            scan = scan.row_number_column(name);
        }
        // With a limit alone, no plan depends on statistics, so no footer is read for them.
        let collects =
            state.config().collect_statistics() && (limit.is_none() || predicate.is_some()) && !self.is_renamed();
        let (dataset, known) = (self.dataset.clone(), Arc::clone(&self.statistics));
        // Both statistics and planning read files.
        let read = move || {
            if collects && known.get().is_none() {
                // Another scan may have set the same value meanwhile.
                let _ = known.set(dataset.statistics()?);
            }
            let plan = scan.plan()?;
            let ordering = plan.ordering();
            Ok((plan, ordering))
        };
        let (plan, ordering) = file_work(read).await?;
        let known = self.statistics.get().filter(|_| collects);
        let mut statistics = match known {
            Some(known) => statistics::from_known(known, &columns, file_columns.count()),
            None => Statistics::new_unknown(plan.schema()),
        };
        if predicate.is_some() {
            let most = usize::try_from(plan.row_count()).unwrap_or(usize::MAX);
            let estimate = || Some(self.estimated_rows(known?, &answered)?.clamp(1, most.max(1)));
            let rows = match plan.is_exact() {
                true => Precision::Exact(most),
                false => Precision::Inexact(estimate().unwrap_or(most)),
            };
            statistics = statistics::filtered(statistics, rows);
        }
        let metrics = ExecutionPlanMetricsSet::new();
        add_planning(&metrics, &plan.report());
        let partitions = state.config().target_partitions().min(plan.tasks().len()).max(1);
        // Conditions and orders refer to columns by name.
        let testable = if self.is_renamed() { 0 } else { columns.len() };
        let testable = Arc::new(plan.schema().project(&(0..testable).collect::<Vec<_>>())?);
        let ordering = if self.is_renamed() { Vec::new() } else { ordering };
        let source = LathSource {
            testable,
            projection: None,
            ordering,
            verifies_order: false,
            partitions,
            predicate,
            statistics: Arc::new(statistics),
            runtime: self.runtime.clone(),
            fetch: limit,
            pushed_filters: Vec::new(),
            metrics,
            rows_done: Arc::default(),
            snapshot: None,
            plan: Arc::new(plan),
        };
        let source: Arc<dyn ExecutionPlan> = DataSourceExec::from_data_source(source);
        let kept: Vec<usize> = projection.iter().filter_map(|at| places.iter().position(|place| place == at)).collect();
        self.with_own_names(with_rest(source, kept, &rest)?, projection)
    }

    async fn plan_insert(
        &self,
        _: &dyn Session,
        _: Arc<dyn ExecutionPlan>,
        _: InsertOp,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan_err!(
            "these Parquet files are read-only; to add files to a folder, CREATE EXTERNAL TABLE … STORED AS PARQUET LOCATION …"
        )
    }
}

impl TableProvider for LathTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        if self.is_renamed() {
            return Ok(vec![TableProviderFilterPushDown::Unsupported; filters.len()]);
        }
        Ok(filters.iter().map(|filter| support(filter, self.dataset.schema())).collect())
    }

    scan_by!(LathTable, plan_scan);

    insert_by!(LathTable, plan_insert);

    changes_refused_by!(|_| no_change());
}

/// Makes names distinct: the second column of a name becomes `name_1`.
pub(crate) fn with_distinct_names(schema: &SchemaRef) -> SchemaRef {
    let mut taken: HashSet<&str> = HashSet::with_capacity(schema.fields().len());
    if schema.fields().iter().all(|field| taken.insert(field.name())) {
        return Arc::clone(schema);
    }
    let mut taken: HashSet<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
    let mut seen = HashSet::new();
    let fields = schema.fields().iter().map(|field| {
        if seen.insert(field.name()) {
            return Arc::clone(field);
        }
        let mut names = (1_usize..).map(|number| format!("{}_{number}", field.name()));
        let free = names.find(|name| !taken.contains(name)).unwrap_or_else(|| field.name().clone());
        taken.insert(free.clone());
        Arc::new(field.as_ref().clone().with_name(free))
    });
    let fields: Fields = fields.collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

/// The error of statements that delete or update rows of plain files.
pub(crate) fn no_change() -> DataFusionError {
    plan_datafusion_err!(
        "rows of plain Parquet files cannot be deleted or updated; write the rows to keep to new files with COPY"
    )
}

/// The error of statements that would change a table of Delta Lake or Iceberg.
pub(crate) fn only_read(what: &str) -> DataFusionError {
    plan_datafusion_err!(
        "{what}, which is only read; change it with the engine that writes it, or write a copy with COPY"
    )
}

/// Optional columns with the file name and row number of each row.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct FileColumns {
    pub(crate) file_name: Option<String>,
    pub(crate) row_number: Option<String>,
}

impl FileColumns {
    /// Appends these columns to the files' columns.
    pub(crate) fn add_to(&self, file_schema: &SchemaRef) -> Result<SchemaRef> {
        let mut fields = file_schema.fields().to_vec();
        for (name, data_type) in [(&self.file_name, DataType::Utf8View), (&self.row_number, DataType::Int64)] {
            let Some(name) = name else { continue };
            if fields.iter().any(|field| field.name() == name) {
                return plan_err!("there is a column {name} already; choose another name");
            }
            fields.push(Arc::new(Field::new(name, data_type, false)));
        }
        Ok(Arc::new(Schema::new_with_metadata(fields, file_schema.metadata().clone())))
    }

    /// The file columns that are among `columns` of `schema`.
    fn chosen(&self, schema: &SchemaRef, columns: &[usize]) -> Self {
        let is_chosen = |name: &String| schema.index_of(name).is_ok_and(|at| columns.contains(&at));
        Self {
            file_name: self.file_name.clone().filter(is_chosen),
            row_number: self.row_number.clone().filter(is_chosen),
        }
    }

    /// Their indices in `schema`.
    fn places(&self, schema: &SchemaRef) -> impl Iterator<Item = usize> {
        self.file_name.iter().chain(&self.row_number).filter_map(|name| schema.index_of(name).ok())
    }

    fn count(&self) -> usize {
        usize::from(self.file_name.is_some()) + usize::from(self.row_number.is_some())
    }
}

impl fmt::Debug for LathTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LathTable").field("dataset", &self.dataset).finish_non_exhaustive()
    }
}
