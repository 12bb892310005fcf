use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use datafusion::catalog::CatalogProviderList;
use datafusion::catalog::SchemaProvider;
use datafusion::common::config::{CatalogOptions, ConfigNonZeroUsize};
use datafusion::common::format::ExplainStatementOptions;
use datafusion::common::{Result, TableReference, internal_datafusion_err, plan_err};
use datafusion::dataframe::DataFrame;
use datafusion::datasource::provider_as_source;
use datafusion::execution::context::QueryPlanner;
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::UnboundedMemoryPool;
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::execution::{FunctionRegistry, SessionState, SessionStateBuilder};
use datafusion::logical_expr::dml::InsertOp;
use datafusion::logical_expr::planner::ExprPlanner;
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder, ScalarUDF};
use datafusion::optimizer::simplify_expressions::SimplifyExpressions;
use datafusion::optimizer::{Analyzer, AnalyzerRule, Optimizer, OptimizerRule};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::filter_pushdown::FilterPushdown;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion::sql::parser::{CopyToSource, CopyToStatement, Statement};
use datafusion::sql::sqlparser::ast::Statement as SqlStatement;
use futures_util::future::BoxFuture;
use lath_parquet::{Dataset, FolderFormat, Runtime};
use lath_table::{Database, EncryptionKey, ForeignKeyInfo, TableOptions};
use lath_text::TextFormat;
use lath_writer::{UncommittedFiles, WriteOptions};
use tokio::sync::oneshot;

use crate::change::{
    ChangePlanner, adapt_assignments, adapt_computed, adapt_conflict, adapt_row_target, adapt_uuids, name_columns,
    plan_change, plan_chosen_rows, plan_copy_from, plan_insertion, take_returning,
};
use crate::computed::{SequenceValues, sequence_functions, set_value_function};
use crate::definition::{Definitions, take_temporary};
use crate::effect::changes_database;
use crate::error::{blocking, is_outdated, table_error, without_place};
use crate::files::{
    Catalogs, ExternalTables, FileMetadata, LakeTables, LathTable, Locations, ReadLake, ReadParquet, ReadText,
    ShownTables, TextTables, copied_text,
};
use crate::functions::{foreign_functions, list_reduce_function};
use crate::grammar::{parse, parse_one};
use crate::join_order::JoinOrder;
use crate::json::{JsonOperators, json_functions};
use crate::keyed::{AttachedTables, DatabaseFolder, SessionDatabase, SessionTables, TableFunctions, plan_described};
use crate::macros::Macros;
use crate::memory::{BudgetPool, MergeJoins, PlainSorts, SpillFiles, batch_rows};
use crate::prepared::{PreparedStatement, PreparedStatements, Request, executed_values};
use crate::refusal::refuse_meaningless;
use crate::reshape::reshape;
use crate::rewrite::{
    BooleanCases, CheckedArithmetic, CommonTypes, ComparedIntervals, DateArithmetic, DistinctLists, ExactDivision,
    FilterBounds, FloatOrder, GroupingSets, Guards, IntervalWindows, ListConcatenation, ListNumbers, ListTypes,
    MapAccess, Multisets, NestedExtremes, NestedLimits, NestedOrder, NullElements, NullLists, OctetLength, PeerFrames,
    PlainPlaces, PropertyBarriers, RunningExtremes, SortedOffsets, StandardCasts, SubqueryOrder, Unnesting,
    UuidColumns, UuidComparisons, UuidTexts, VariantCasts, WideDates, accept_uuids, age_function,
    at_time_zone_function, checked_sum, compensated_sum_function, count_functions, hide_aliases, map_extract_function,
    merge_join_columns, null_safe_rules, quantile_function, try_uuid_function, typed_as_function, uuid_function,
    uuid_text_function, variant_function, whole_number_functions, with_output_names,
};
use crate::scan::{DynamicFilterPushdown, SimplifyKeepingLists, StaticFilterPushdown, VerifiedOrder};
use crate::select_columns::expand_columns;
use crate::sharing::{AttachShared, CommonSubplans, SharingOptions, SharingPlanner};
use crate::transaction::run_transaction_statement;
use crate::with_queries::mark_with_queries;
use crate::write::{CopyTarget, FileFormat, WriteSettings, file_schema, is_true, option_text};

/// Maximum number of times that a statement is planned if other processes alter its tables meanwhile.
const MAX_PLANS: usize = 5;

/// Maximum number of join keys that become an IN list for the scan of the other side. The scan probes Bloom filters for each of them.
const MAX_JOIN_KEYS: usize = 10_000;

/// Divided by the number of threads: the maximum size of a build side that becomes one hash table, which all threads probe. One thread
/// builds it while the others wait; a larger build side is partitioned, for which all rows of both sides are shuffled.
///
/// TPC-H at scale factor 1 with 2 threads, milliseconds of processor time with DataFusion's threshold of 1 MiB, and with this one:
///
/// | query | 1 MiB | 64 MiB |
/// | --- | ---: | ---: |
/// | Q3 | 435 | 352 |
/// | Q5 | 687 | 514 |
/// | Q9 | 1183 | 1040 |
/// | Q18 | 885 | 1117 |
/// | Q21 | 937 | 770 |
const MAX_SHARED_BUILD_BYTES: usize = 128 << 20;
/// The threshold in rows, if the size is unknown.
const MAX_SHARED_BUILD_ROWS: usize = 8 << 20;

/// Maximum size of rows that a sort within a memory budget sorts as one batch, before it spills them.
///
/// DataFusion sorts more rows batch by batch and merges the batches. For the merge it encodes the keys of every batch, and reserves no
/// memory for that: with 8 MiB, a sort of two integers by both fails instead of spilling. Strings have 32-bit offsets, which limits the
/// size of a batch.
const MAX_SORTED_AT_ONCE_BYTES: usize = 1 << 30;

/// A context in which queries run: tables, views and settings.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use lath_sql::Session;
///
/// let session = Session::new();
/// let longest = session.sql("SELECT * FROM 'trips/*.parquet' ORDER BY distance DESC LIMIT 10").await?;
/// longest.show().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Session {
    context: SessionContext,
    settings: WriteSettings,
    tables: Arc<SessionTables>,
    catalogs: Arc<Catalogs>,
    prepared: Arc<PreparedStatements>,
    macros: Arc<Macros>,
    planning: Planning,
}

/// Builds a [`Session`].
#[derive(Debug, Clone)]
#[must_use = "nothing is made before `build`"]
pub struct SessionBuilder {
    runtime: Runtime,
    memory_budget_bytes: Option<usize>,
    uncommitted: UncommittedFiles,
    database: Option<DatabaseSetting>,
    key: Option<EncryptionKey>,
    planning: Planning,
}

/// Changes how a session plans.
#[derive(Clone, Default)]
struct Planning {
    /// Wraps the planner of physical plans.
    wrap: Option<WrapPlanner>,
    /// Minimum number of partitions.
    partitions: usize,
}

/// Makes a planner of physical plans from the session's own.
pub type WrapPlanner =
    Arc<dyn Fn(Arc<dyn QueryPlanner + Send + Sync>) -> Arc<dyn QueryPlanner + Send + Sync> + Send + Sync>;

/// The folder of a session's database.
#[derive(Debug, Clone)]
struct DatabaseSetting {
    path: PathBuf,
    read_only: bool,
    wait: Option<Duration>,
}

impl Session {
    /// Creates a session on the runtime of the process.
    pub fn new() -> Self {
        Self::builder().build().unwrap_or_else(|_| unreachable!("the defaults are sound"))
    }

    /// Returns a builder with default settings.
    pub fn builder() -> SessionBuilder {
        SessionBuilder {
            runtime: Runtime::global(),
            memory_budget_bytes: None,
            uncommitted: UncommittedFiles::new(),
            database: None,
            key: None,
            planning: Planning::default(),
        }
    }

    /// Creates another session on the same database, threads and memory budget, with its own transaction, settings, prepared statements, and
    /// temporary tables and views. The database is closed when the last of the sessions is dropped.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let folder = folder.path().join("shop");
    /// use lath_sql::{BlockingSession, Session};
    ///
    /// let session = Session::builder().database(&folder).build()?;
    /// let sibling = BlockingSession::new(session.sibling()?)?;
    /// let session = BlockingSession::new(session)?;
    /// session.run("CREATE TABLE stock (item BIGINT PRIMARY KEY)")?;
    /// session.run("BEGIN")?;
    /// session.run("INSERT INTO stock VALUES (1)")?.try_for_each(|batch| batch.map(drop))?;
    /// let rows = |session: &BlockingSession| session.run("FROM stock")?.map(|batch| batch.map(|batch| batch.num_rows())).sum::<Result<usize, _>>();
    /// assert_eq!((rows(&session)?, rows(&sibling)?), (1, 0));
    /// session.run("COMMIT")?;
    /// assert_eq!(rows(&sibling)?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the functions of the session cannot be registered.
    pub fn sibling(&self) -> Result<Self> {
        let env = Some(self.context.runtime_env());
        Self::with_settings(self.settings.clone(), self.tables.session_database(), self.planning.clone(), env)
    }

    /// Opens a transaction that reads the last commit, and changes rows from its first change on. That change fails if there were commits in between
    /// ([`Error::Conflict`](crate::Error::Conflict)). Until then, it excludes no other transaction, unlike `BEGIN`.
    ///
    /// # Errors
    /// If a transaction is open, or the session has no database.
    pub async fn begin_deferred(&self) -> crate::Result<()> {
        self.refresh().await?;
        let Some(database) = self.tables.database()? else {
            return Err(crate::Error::Statement(
                "there is no database to change; open the session with one".to_owned(),
            ));
        };
        let current = Arc::clone(self.tables.transaction());
        Ok(blocking(move || current.begin_deferred(&database)).await?)
    }

    /// The foreign keys of the tables of the session's database, each with the name of its table.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub fn foreign_keys(&self) -> crate::Result<Vec<(String, ForeignKeyInfo)>> {
        Ok(self.tables.foreign_keys()?)
    }

    fn with_settings(
        settings: WriteSettings,
        database: Option<Arc<SessionDatabase>>,
        planning: Planning,
        env: Option<Arc<RuntimeEnv>>,
    ) -> Result<Self> {
        let &WriteSettings { ref runtime, memory_budget_bytes, .. } = &settings;
        let mut config = SessionConfig::new()
            .with_target_partitions(runtime.threads().max(planning.partitions))
            .with_information_schema(true)
            .with_create_default_catalog_and_schema(true);
        // DataFusion (55) raises an error if metadata of fields differs below aggregates of unions; the difference is harmless.
        config.options_mut().execution.skip_physical_aggregate_schema_check = true;
        let optimizer = &mut config.options_mut().optimizer;
        optimizer.hash_join_inlist_pushdown_max_distinct_values = MAX_JOIN_KEYS;
        optimizer.hash_join_inlist_pushdown_max_size = 8 << 20;
        optimizer.hash_join_single_partition_threshold = MAX_SHARED_BUILD_BYTES / runtime.threads();
        optimizer.hash_join_single_partition_threshold_rows = MAX_SHARED_BUILD_ROWS / runtime.threads();
        // An operator that keeps the values of subqueries has to be in the same process as the operators that use them.
        optimizer.enable_physical_uncorrelated_scalar_subquery &= planning.wrap.is_none();
        config.options_mut().extensions.insert(SharingOptions::default());
        // Workers run parts of a plan that are complete, and none of them has the rows that another one computes.
        let has_workers = planning.wrap.is_some();
        config.options_mut().sql_parser.collect_spans = true;
        config.options_mut().sql_parser.parse_float_as_decimal = true;
        // `SubqueryOrder` drops the sorts that nothing depends on.
        config.options_mut().sql_parser.enable_subquery_sort_elimination = false;
        if let Some(bytes) = memory_budget_bytes {
            let execution = &mut config.options_mut().execution;
            // Memory that a sort reserves to merge spilled runs. The default may exceed the budget.
            execution.sort_spill_reservation_bytes = execution.sort_spill_reservation_bytes.min(bytes / 16);
            execution.sort_in_place_threshold_bytes = bytes.min(MAX_SORTED_AT_ONCE_BYTES);
            // A file per batch: in DataFusion 55, a repartition that spills several batches to each of two files may never finish.
            execution.max_spill_file_size_bytes = ConfigNonZeroUsize::try_new(1)?;
            config = config.with_batch_size(batch_rows(bytes));
        }
        let env = match env {
            Some(env) => env,
            None => own_env(&settings)?,
        };
        let tables = Arc::new(SessionTables::new(database));
        let database = tables.shared_database().cloned();
        let database = database.map(|database| Box::new(move || database.for_writing(|| true)) as _);
        let sequences = SequenceValues::new(database, Arc::clone(tables.transaction()));
        let map_access = Arc::new(MapAccess::new());
        let planner: Arc<dyn QueryPlanner + Send + Sync> =
            Arc::new(SharingPlanner { others: vec![Arc::new(ChangePlanner)], has_workers });
        let planner = match &planning.wrap {
            Some(wrap) => wrap(planner),
            None => planner,
        };
        let opening = settings.table_opening();
        let text_tables = |format| Arc::new(TextTables { format, settings: settings.clone() });
        let lake_tables = |format| Arc::new(LakeTables { format, runtime: runtime.clone() });
        let mut state = SessionStateBuilder::new()
            .with_config(config)
            .with_runtime_env(env)
            // The first planner that can plan an access is used.
            .with_expr_planners(vec![
                Arc::clone(&map_access) as Arc<dyn ExprPlanner>,
                Arc::new(UuidComparisons),
                Arc::new(ListConcatenation),
            ])
            .with_default_features()
            .with_analyzer_rules(analyzer_rules(has_workers))
            .with_optimizer_rules(logical_rules())
            .with_physical_optimizer_rules(physical_rules(memory_budget_bytes))
            .with_query_planner(planner)
            .with_type_planner(Arc::new(UuidColumns))
            .with_table_factory("PARQUET".to_owned(), Arc::new(ExternalTables { settings: settings.clone() }))
            .with_table_factory("CSV".to_owned(), text_tables(TextFormat::Csv))
            .with_table_factory("JSON".to_owned(), text_tables(TextFormat::JsonLines))
            .with_table_factory("DELTA".to_owned(), lake_tables(FolderFormat::DeltaLake))
            .with_table_factory("ICEBERG".to_owned(), lake_tables(FolderFormat::Iceberg))
            .with_table_factory("LATH".to_owned(), Arc::new(AttachedTables { opening: opening.clone() }))
            .with_relation_planners(vec![
                Arc::new(ReadParquet { opening: opening.clone() }),
                Arc::new(ReadText),
                Arc::new(FileMetadata { opening: opening.clone() }),
                Arc::new(ReadLake { runtime: runtime.clone() }),
                Arc::new(TableFunctions { tables: Arc::clone(&tables) }),
            ])
            .build();
        state.register_expr_planner(Arc::new(DateArithmetic))?;
        state.register_expr_planner(Arc::new(JsonOperators))?;
        for function in json_functions() {
            state.register_udf(Arc::new(function))?;
        }
        for function in foreign_functions() {
            state.register_udf(Arc::new(function))?;
        }
        state.register_higher_order_function(Arc::new(list_reduce_function()))?;
        state.register_udaf(checked_sum())?;
        state.register_expr_planner(Arc::new(ExactDivision))?;
        state.register_udf(Arc::new(at_time_zone_function()))?;
        for function in whole_number_functions() {
            state.register_udf(Arc::new(function))?;
        }
        let sequences = Arc::new(sequences);
        for function in sequence_functions(&sequences) {
            state.register_udf(Arc::new(function))?;
        }
        state.register_udf(Arc::new(set_value_function(&sequences)))?;
        state.register_udf(Arc::new(uuid_function()))?;
        state.register_udf(Arc::new(try_uuid_function()))?;
        state.register_udf(Arc::new(variant_function()))?;
        state.register_udf(Arc::new(uuid_text_function()))?;
        state.register_udf(Arc::new(typed_as_function()))?;
        state.register_udf(Arc::new(map_extract_function()))?;
        state.register_udf(Arc::new(age_function()))?;
        for function in count_functions().chain([compensated_sum_function(), quantile_function()]) {
            state.register_udaf(Arc::new(function))?;
        }
        state.register_function_rewrite(map_access)?;
        state.register_function_rewrite(Arc::new(WideDates::new()))?;
        state.register_function_rewrite(Arc::new(NullElements))?;
        state.register_function_rewrite(Arc::new(NullLists))?;
        state.register_function_rewrite(Arc::new(ListTypes))?;
        state.register_udf(Arc::new(ScalarUDF::from(OctetLength::new())))?;
        accept_uuids(&mut state)?;
        let own = Arc::clone(state.catalog_list());
        register_tables(own.as_ref(), &state.config().options().catalog, &tables)?;
        let catalogs = Arc::new(Catalogs::new(own, Arc::new(Locations { opening: opening.clone() })));
        let state = SessionStateBuilder::new_from_existing(state)
            .with_catalog_list(Arc::clone(&catalogs) as Arc<dyn CatalogProviderList>)
            .build();
        let context = SessionContext::new_with_state(state);
        let state = context.state_weak_ref();
        tables.set_planner(move || state.upgrade().map(|state| state.read().clone()));
        Ok(Self { context, settings, tables, catalogs, prepared: Arc::default(), macros: Arc::default(), planning })
    }

    /// The number of partitions of a query that run in parallel.
    pub fn threads(&self) -> usize {
        self.settings.runtime.threads()
    }

    /// Whether `BEGIN` has opened a transaction that has not ended. It ends with the session, too, which undoes its changes.
    pub fn is_in_transaction(&self) -> bool {
        self.tables.transaction().open().is_some()
    }

    /// Undoes the open transaction, and returns whether there was one.
    pub fn rollback(&self) -> bool {
        self.tables.transaction().rollback()
    }

    /// The catalogs of this session.
    pub(crate) fn catalogs(&self) -> &Catalogs {
        &self.catalogs
    }

    /// DataFusion's context of this session, for everything that has no method here.
    pub fn context(&self) -> &SessionContext {
        &self.context
    }

    /// Registers a dataset as a table.
    ///
    /// # Errors
    /// If the name is taken.
    pub fn register(&self, name: &str, dataset: Dataset) -> Result<()> {
        let table = Arc::new(LathTable::new(dataset, &self.settings.runtime));
        self.context.register_table(name, table).map(|_| ())
    }

    /// Plans a statement. Queries, changes and writes run when the returned frame is executed; statements that create, alter or drop tables
    /// and views run here.
    ///
    /// # Errors
    /// If the text cannot be parsed, is not a single statement, or names something that does not exist.
    pub async fn sql(&self, text: &str) -> Result<DataFrame> {
        self.run_parsed(parse_one(text)?, text).await
    }

    /// As [`sql`](Self::sql), for a statement that was parsed. The future is made here, so that it is compiled once: callers of an `async fn`
    /// compile its whole body again.
    pub(crate) fn run_parsed<'s>(&'s self, statement: Statement, text: &'s str) -> BoxFuture<'s, Result<DataFrame>> {
        Box::pin(async move {
            for _ in 1..MAX_PLANS {
                match Box::pin(self.run_statement(statement.clone(), text)).await {
                    // Another process has altered a table. The view of a transaction stays as it is.
                    Err(error) if is_outdated(&error) && !self.is_in_transaction() => {}
                    planned => return planned,
                }
            }
            Box::pin(self.run_statement(statement, text)).await
        })
    }

    /// Runs a statement, or plans it if it is executed later.
    async fn run_statement(&self, statement: Statement, text: &str) -> Result<DataFrame> {
        match self.prepared.request(statement)? {
            Request::Plain(statement) => self.run_plain(statement, text, None).await,
            Request::Prepare(prepared) => {
                self.check_prepared(&prepared, text).await?;
                self.prepared.add(prepared)?;
                empty_answer(self.context.state())
            }
            Request::Execute(prepared, execute) => {
                let state = self.context.state();
                refuse_meaningless(&execute, &state)?;
                let values = executed_values(&state, execute).await?;
                let planned = self.run_plain(prepared.with_values(&values)?, text, None);
                // Places in its text are none of this statement.
                planned.await.map_err(without_place)
            }
            Request::Done => empty_answer(self.context.state()),
        }
    }

    /// Plans a prepared statement without running it.
    pub(crate) async fn check_prepared(&self, prepared: &PreparedStatement, text: &str) -> Result<DataFrame> {
        self.refresh().await?;
        self.run_plain(prepared.statement(), text, Some(prepared)).await
    }

    /// Runs a statement, or plans the one of a PREPARE to find its mistakes.
    fn run_plain<'s>(
        &'s self,
        statement: Statement,
        text: &'s str,
        prepared: Option<&'s PreparedStatement>,
    ) -> BoxFuture<'s, Result<DataFrame>> {
        Box::pin(self.run_unboxed(statement, text, prepared))
    }

    async fn run_unboxed(
        &self,
        mut statement: Statement,
        text: &str,
        prepared: Option<&PreparedStatement>,
    ) -> Result<DataFrame> {
        let current = self.tables.transaction();
        let is_executed = prepared.is_none();
        // The database stays open for writing as long as this lives, or the plan that is returned.
        let writing = if is_executed { self.for_writing(&statement).await? } else { None };
        if let Some(database) = &writing {
            self.begin_changes(database).await?;
        }
        if run_transaction_statement(&statement, self.tables.database()?, current).await? {
            return empty_answer(self.context.state());
        }
        if self.macros.run_or_expand(&mut statement)? {
            return empty_answer(self.context.state());
        }
        self.catalogs.join_levels(&mut statement)?;
        reshape(&self.context.state(), &mut statement).await?;
        expand_columns(&self.context.state(), &mut statement).await?;
        hide_aliases(&mut statement);
        name_columns(&self.context.state(), &mut statement).await?;
        let returning = take_returning(&mut statement)?;
        adapt_assignments(&mut statement)?;
        adapt_computed(&mut statement, &self.tables)?;
        adapt_uuids(&self.context.state(), &mut statement).await?;
        let on_conflict = adapt_conflict(&self.context.state(), &mut statement, &self.tables)?;
        adapt_row_target(&mut statement, &self.tables)?;
        let is_temporary = take_temporary(&mut statement);
        let state = self.context.state();
        merge_join_columns(&state, &mut statement).await?;
        refuse_meaningless(&statement, &state)?;
        mark_with_queries(&state, &mut statement)?;
        self.tables.check_views(&state, &statement).await?;
        let definitions = Definitions {
            tables: &self.tables,
            state: &state,
            catalogs: &self.catalogs,
            runtime: &self.settings.runtime,
            uncommitted: &self.settings.uncommitted,
            text,
            is_temporary,
        };
        if is_executed && definitions.run_statement(&statement).await? {
            return empty_answer(state);
        }
        let plan = match prepared {
            None => self.plan(statement).await?,
            Some(prepared) => self.plan_prepared(statement, prepared).await?,
        };
        let plan = with_output_names(plan)?;
        let Some(plan) = definitions.run_plan(plan).await? else { return empty_answer(state) };
        let (mut state, plan) = self.context.execute_logical_plan(plan).await?.into_parts();
        if let Some(open) = current.open() {
            state.execution_props_mut().query_execution_start_time = Some(open.begun().into());
        }
        let returned = match returning {
            Some(returning) => Some(returning.plan(&state).await?),
            None => None,
        };
        let plan = plan_change(&state, plan, &on_conflict, returned.as_ref(), current)?;
        Ok(DataFrame::new(state, plan))
    }

    /// Plans a prepared statement.
    fn plan_prepared<'s>(
        &'s self,
        statement: Statement,
        prepared: &'s PreparedStatement,
    ) -> BoxFuture<'s, Result<LogicalPlan>> {
        Box::pin(self.plan_declared(statement, prepared))
    }

    async fn plan_declared(&self, statement: Statement, prepared: &PreparedStatement) -> Result<LogicalPlan> {
        let plan = match self.plan_own(&statement).await? {
            Some(plan) => plan,
            None => {
                let state = self.context.state();
                match state.statement_to_plan(prepared.declared(statement.clone())).await {
                    // A parameter may have several types.
                    Err(error) if error.to_string().contains("Conflicting types for id") => {
                        match prepared.with_places(statement) {
                            Some(statement) => state.statement_to_plan(statement).await?,
                            None => return Err(error),
                        }
                    }
                    planned => planned?,
                }
            }
        };
        prepared.planned(plan)
    }

    /// Opens the session's database again if it lacks what others have committed.
    async fn refresh(&self) -> Result<()> {
        let Some(database) = self.tables.shared_database() else { return Ok(()) };
        if self.tables.transaction().open().is_none() {
            let database = Arc::clone(database);
            blocking(move || database.refresh()).await?;
        }
        Ok(())
    }

    /// Opens the session's database for writing if a statement changes it.
    async fn for_writing(&self, statement: &Statement) -> Result<Option<Database>> {
        let Some(database) = self.tables.shared_database() else { return Ok(None) };
        self.refresh().await?;
        let is_stored = |name: &str| Ok(self.tables.is_in_database(name)? || self.tables.view_text(name)?.is_some());
        if database.is_read_only() || !changes_database(statement, is_stored)? {
            return Ok(None);
        }
        let database = Arc::clone(database);
        // Dropped if the statement is stopped.
        let (waiting, _waits) = oneshot::channel::<()>();
        blocking(move || database.for_writing(|| !waiting.is_closed())).await.map(Some)
    }

    /// Makes a deferred transaction one that changes rows, because a statement does.
    async fn begin_changes(&self, database: &Database) -> Result<()> {
        let current = self.tables.transaction();
        if !current.open().is_some_and(|open| open.is_deferred()) {
            return Ok(());
        }
        let (current, database) = (Arc::clone(current), database.clone());
        // Dropped if the statement is stopped.
        let (waiting, _waits) = oneshot::channel::<()>();
        let is_wanted = move || !waiting.is_closed();
        blocking(move || current.begin_changes(&database, TableOptions::DEFAULT_WAIT, is_wanted)).await
    }

    async fn plan(&self, statement: Statement) -> Result<LogicalPlan> {
        match statement {
            Statement::Explain(explain) => match self.plan_own(&explain.statement).await? {
                Some(plan) => explain_own(plan, explain.options),
                None => self.context.state().statement_to_plan(Statement::Explain(explain)).await,
            },
            other => match self.plan_own(&other).await? {
                Some(plan) => Ok(plan),
                None => self.context.state().statement_to_plan(other).await,
            },
        }
    }

    /// Plans statements that DataFusion would plan wrongly; `None` for all others.
    async fn plan_own(&self, statement: &Statement) -> Result<Option<LogicalPlan>> {
        let state = self.context.state();
        if let Statement::CopyTo(copy) = statement
            && let Some(format) = CopyFormat::from_statement(copy)
        {
            return self.plan_copy(copy.clone(), format).await.map(Some);
        }
        if let Some(plan) = plan_copy_from(&state, &self.settings.table_opening(), statement).await? {
            return Ok(Some(plan));
        }
        if let Some(plan) = plan_described(&state, statement).await? {
            return Ok(Some(plan));
        }
        if let Some(shown) = ShownTables::new(statement) {
            let names = &state.config_options().catalog;
            return shown.plan(&self.catalogs, &names.default_catalog, &names.default_schema).await.map(Some);
        }
        match plan_chosen_rows(&state, &self.tables, statement).await? {
            Some(plan) => Ok(Some(plan)),
            None => plan_insertion(&state, statement).await,
        }
    }

    /// Plans `COPY … TO` a file or a folder of files.
    async fn plan_copy(&self, copy: CopyToStatement, format: CopyFormat) -> Result<LogicalPlan> {
        let query = match copy.source {
            CopyToSource::Query(query) => Statement::Statement(Box::new(SqlStatement::Query(query))),
            CopyToSource::Relation(name) => match parse(&format!("SELECT * FROM {name}"))?.pop_front() {
                Some(query) => query,
                None => return plan_err!("{name} is not the name of a table"),
            },
        };
        let input = self.context.state().statement_to_plan(query).await?;
        let options = copy.options.iter().map(|(name, value)| {
            let name = name.strip_prefix("format.").unwrap_or(name).to_ascii_lowercase();
            option_text(&name, value).map(|value| (name, value))
        });
        // Only an analyzed plan has final types, for example of the branches of CASE.
        let state = self.context.state();
        let analyzed = state.analyzer().execute_and_check(input.clone(), state.config_options(), |_, _| {})?;
        let schema = Arc::clone(analyzed.schema().inner());
        let mut options = options.collect::<Result<Vec<_>>>()?;
        let may_replace = match options.iter().position(|(name, _)| name == "overwrite") {
            Some(at) => is_true("overwrite", &options.remove(at).1)?,
            None => false,
        };
        let (settings, partition_by) = (self.settings.clone(), copy.partitioned_by);
        let of_file = file_schema(&schema, &partition_by)?;
        let format = match format {
            CopyFormat::Parquet => {
                FileFormat::Parquet(Box::new(settings.options(WriteOptions::default(), &of_file, &options)?))
            }
            CopyFormat::Text(format) => FileFormat::Text(copied_text(&copy.target, format, options)?),
        };
        let target = CopyTarget::new(&copy.target, schema, partition_by, format, may_replace, settings)?;
        let target = provider_as_source(Arc::new(target));
        LogicalPlanBuilder::insert_into(input, TableReference::bare(copy.target), target, InsertOp::Append)?.build()
    }
}

/// Plans EXPLAIN of a plan that DataFusion has not made.
fn explain_own(plan: LogicalPlan, options: ExplainStatementOptions) -> Result<LogicalPlan> {
    let ExplainStatementOptions { analyze, verbose, format, analyze_level, analyze_categories, show_statistics } =
        options;
    if format.is_some() || analyze_level.is_some() || analyze_categories.is_some() || show_statistics.is_some() {
        return plan_err!("EXPLAIN of this statement takes the options ANALYZE and VERBOSE; leave out the others");
    }
    LogicalPlanBuilder::from(plan).explain(verbose, analyze)?.build()
}

/// The formats that Lath writes. DataFusion writes the others.
enum CopyFormat {
    Parquet,
    Text(TextFormat),
}

impl CopyFormat {
    fn from_statement(copy: &CopyToStatement) -> Option<Self> {
        let path = Path::new(&copy.target);
        match copy.stored_as.as_deref() {
            Some("PARQUET") => Some(Self::Parquet),
            Some("CSV") => Some(Self::Text(TextFormat::Csv)),
            Some("JSON" | "JSONL" | "NDJSON") => Some(Self::Text(TextFormat::JsonLines)),
            Some(_) => None,
            None => match path.extension() {
                Some(extension) if extension.eq_ignore_ascii_case("parquet") => Some(Self::Parquet),
                Some(_) => TextFormat::from_name(path).map(Self::Text),
                // Folders have no extension.
                None => Some(Self::Parquet),
            },
        }
    }
}

impl SessionBuilder {
    /// Sets the runtime whose threads, memory and caches the session's scans use.
    pub fn runtime(mut self, runtime: &Runtime) -> Self {
        self.runtime = runtime.clone();
        self
    }

    /// Limits the memory of sorting, joining and grouping. Beyond it, operators spill to disk if they can, and fail otherwise.
    pub fn memory_budget_bytes(mut self, bytes: usize) -> Self {
        self.memory_budget_bytes = Some(bytes);
        self
    }

    /// Records the files that the session's statements are writing in `files`, so that they can be removed when the process is ended.
    pub fn uncommitted(mut self, files: &UncommittedFiles) -> Self {
        self.uncommitted = files.clone();
        self
    }

    /// Opens the database in a folder, or creates it. Its tables can be queried by name, and `CREATE TABLE … PRIMARY KEY` adds others.
    ///
    /// One process at a time can have a database open for writing. A session has it open for reading until a statement changes something, and
    /// lets another process write between two statements, if none of its transactions, plans and results is in use.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let folder = folder.path().join("shop");
    /// use lath_sql::{BlockingSession, Session};
    ///
    /// let session = BlockingSession::new(Session::builder().database(&folder).build()?)?;
    /// session.run("CREATE TABLE stock (item BIGINT PRIMARY KEY, count BIGINT NOT NULL)")?;
    /// for batch in session.run("INSERT INTO stock VALUES (1, 10), (2, 20)")? {
    ///     batch?;
    /// }
    /// let left = session.run("SELECT item FROM stock WHERE count > 15")?.collect::<Result<Vec<_>, _>>()?;
    /// assert_eq!(left[0].num_rows(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn database(mut self, folder: impl Into<PathBuf>) -> Self {
        self.database = Some(DatabaseSetting { path: folder.into(), read_only: false, wait: None });
        self
    }

    /// Opens the database in a folder for reading, even while another process writes to it.
    pub fn read_only_database(mut self, folder: impl Into<PathBuf>) -> Self {
        self.database = Some(DatabaseSetting { path: folder.into(), read_only: true, wait: None });
        self
    }

    /// Sets how long statements, and [`build`](Self::build), wait for processes that have the database open in a way that excludes this one, instead of
    /// [`TableOptions::DEFAULT_WAIT`]. It comes after the folder.
    pub fn database_wait(mut self, wait: Duration) -> Self {
        self.database = self.database.map(|database| DatabaseSetting { wait: Some(wait), ..database });
        self
    }

    /// Sets the key of encrypted tables: of the database, and of tables in folders that statements name or create. Tables and databases that
    /// exist without encryption stay so.
    pub fn encryption_key(mut self, key: EncryptionKey) -> Self {
        self.key = Some(key);
        self
    }

    /// Plans queries by a planner that wraps the session's own, for at least `partitions` partitions.
    #[cfg(feature = "remote")]
    pub fn planner(mut self, wrap: WrapPlanner, partitions: usize) -> Self {
        self.planning = Planning { wrap: Some(wrap), partitions };
        self
    }

    /// Builds the session.
    ///
    /// # Errors
    /// If there is no temporary folder to spill to, or the database cannot be opened.
    pub fn build(self) -> Result<Session> {
        let Self { runtime, memory_budget_bytes, uncommitted, database, key, planning } = self;
        let settings = WriteSettings { runtime, memory_budget_bytes, uncommitted, key };
        let database = database.map(|folder| folder.open(&settings)).transpose().map_err(table_error)?;
        Session::with_settings(settings, database.map(Arc::new), planning, None)
    }
}

impl fmt::Debug for Planning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Planning").field("partitions", &self.partitions).finish_non_exhaustive()
    }
}

impl DatabaseSetting {
    fn open(self, settings: &WriteSettings) -> lath_table::Result<SessionDatabase> {
        let wait = self.wait.unwrap_or(TableOptions::DEFAULT_WAIT);
        let options = settings.table_opening().options().wait(wait).uncommitted(&settings.uncommitted);
        SessionDatabase::open(DatabaseFolder { path: self.path, is_read_only: self.read_only, options, wait })
    }
}

/// The memory and the temporary files of a session and its siblings.
fn own_env(settings: &WriteSettings) -> Result<Arc<RuntimeEnv>> {
    let env = match settings.memory_budget_bytes {
        Some(bytes) => RuntimeEnvBuilder::new().with_memory_pool(Arc::new(BudgetPool::new(bytes))),
        None => RuntimeEnvBuilder::new().with_memory_pool(Arc::new(UnboundedMemoryPool::default())),
    };
    let spilled = DiskManagerMode::Custom(Arc::new(SpillFiles::new(&settings.uncommitted)));
    env.with_disk_manager_builder(DiskManagerBuilder::default().with_mode(spilled)).build_arc()
}

/// DataFusion's analyzer rules, preceded by Lath's rules that need types before coercion and followed by its rules that need coerced types.
fn analyzer_rules(has_workers: bool) -> Vec<Arc<dyn AnalyzerRule + Send + Sync>> {
    let mut rules = Analyzer::new().rules;
    rules.insert(0, Arc::new(PeerFrames));
    rules.insert(0, Arc::new(IntervalWindows::new()));
    rules.insert(0, Arc::new(VariantCasts));
    rules.insert(0, Arc::new(CommonTypes));
    rules.insert(0, Arc::new(UuidTexts));
    rules.insert(0, Arc::new(PlainPlaces));
    rules.insert(0, Arc::new(Unnesting));
    rules.insert(0, Arc::new(Multisets));
    rules.insert(0, Arc::new(SubqueryOrder));
    rules.push(Arc::new(ListNumbers));
    rules.push(Arc::new(NestedExtremes::new()));
    rules.push(Arc::new(DistinctLists::new()));
    rules.push(Arc::new(ComparedIntervals::new()));
    rules.push(Arc::new(StandardCasts));
    rules.push(Arc::new(CheckedArithmetic::new()));
    rules.push(Arc::new(FloatOrder::new()));
    rules.push(Arc::new(NestedOrder::new()));
    rules.push(Arc::new(BooleanCases));
    rules.push(Arc::new(RunningExtremes));
    rules.push(Arc::new(CommonSubplans { has_workers }));
    rules
}

/// DataFusion's optimizer rules, some of them wrapped, and Lath's.
fn logical_rules() -> Vec<Arc<dyn OptimizerRule + Send + Sync>> {
    let mut rules = Optimizer::new().rules;
    let simplify: Arc<dyn OptimizerRule + Send + Sync> = Arc::new(SimplifyKeepingLists(SimplifyExpressions::new()));
    let simplified = rules.iter().position(|rule| rule.name() == simplify.name()).map_or(0, |at| at + 1);
    for own in null_safe_rules().into_iter().chain([simplify]) {
        if let Some(rule) = rules.iter_mut().find(|rule| rule.name() == own.name()) {
            *rule = own;
        }
    }
    rules.insert(simplified, Arc::new(Guards));
    rules.push(Arc::new(FilterBounds));
    rules
}

/// DataFusion's physical rules with Lath's: `JoinOrder` precedes the choice of join sides, filter pushdown is wrapped, and `VerifiedOrder`
/// and `AttachShared` are last.
fn physical_rules(memory_budget_bytes: Option<usize>) -> Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>> {
    let mut rules = PhysicalOptimizer::new().rules;
    let sides = rules.iter().position(|rule| rule.name() == "join_selection").unwrap_or(rules.len());
    if let Some(budget_bytes) = memory_budget_bytes {
        rules.insert((sides + 1).min(rules.len()), Arc::new(MergeJoins { budget_bytes }));
        rules.push(Arc::new(PlainSorts));
    }
    rules.insert(sides, Arc::new(JoinOrder));
    let (moved, running) = (FilterPushdown::new(), FilterPushdown::new_post_optimization());
    if let Some(rule) = rules.iter_mut().find(|rule| rule.name() == moved.name()) {
        *rule = Arc::new(StaticFilterPushdown(moved));
    }
    if let Some(at) = rules.iter().position(|rule| rule.name() == running.name()) {
        rules[at] = Arc::new(DynamicFilterPushdown(running));
        rules.insert(at, Arc::new(NestedLimits));
    }
    rules.push(Arc::new(VerifiedOrder));
    rules.push(Arc::new(AttachShared));
    rules.insert(0, Arc::new(SortedOffsets));
    rules.insert(0, Arc::new(PropertyBarriers));
    // Within a budget, the aggregate of all sets needs less memory: it returns partial results early.
    if memory_budget_bytes.is_none() {
        rules.insert(0, Arc::new(GroupingSets));
    }
    rules
}

/// The empty result of a statement without rows.
fn empty_answer(state: SessionState) -> Result<DataFrame> {
    Ok(DataFrame::new(state, LogicalPlanBuilder::empty(false).build()?))
}

/// Registers `tables` as the default schema, so that their bare names resolve.
fn register_tables(
    catalogs: &dyn CatalogProviderList,
    names: &CatalogOptions,
    tables: &Arc<SessionTables>,
) -> Result<()> {
    let catalog = catalogs.catalog(&names.default_catalog);
    let catalog = catalog.ok_or_else(|| internal_datafusion_err!("the session has no catalog"))?;
    catalog.register_schema(&names.default_schema, Arc::clone(tables) as Arc<dyn SchemaProvider>).map(drop)
}

impl Default for Session {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("runtime", &self.settings.runtime).finish_non_exhaustive()
    }
}
