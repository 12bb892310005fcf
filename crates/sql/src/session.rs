use std::fmt;
use std::path::Path;
use std::sync::Arc;

use datafusion::catalog::DynamicFileCatalog;
use datafusion::common::{Result, TableReference, plan_err};
use datafusion::dataframe::DataFrame;
use datafusion::datasource::provider_as_source;
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::memory_pool::{FairSpillPool, UnboundedMemoryPool};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::logical_expr::dml::InsertOp;
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder};
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion::sql::parser::{CopyToSource, CopyToStatement, Statement};
use datafusion::sql::sqlparser::ast::Statement as SqlStatement;
use lath_parquet::{Dataset, Runtime, Uncommitted};

use crate::external::ExternalTables;
use crate::grammar::parse;
use crate::location::Locations;
use crate::read_parquet::ReadParquet;
use crate::table::LathTable;
use crate::write::{CopyTarget, WriteSettings, option_text};

/// Keys of a join that become a list of values for the scan of the other side, if they are so few: Bloom filters are asked for each.
const MAX_JOIN_KEYS: usize = 10_000;

/// The size, times the number of threads, up to which the build side of a hash join is one table that all threads probe. One thread builds
/// it while the others wait; a larger one is built in partitions, for which all rows of both sides are shuffled.
///
/// TPC-H at scale factor 1 with 2 threads, processor milliseconds with DataFusion's threshold of 1 MiB, and with this one:
///
/// | query | 1 MiB | 64 MiB |
/// | --- | ---: | ---: |
/// | Q3 | 435 | 352 |
/// | Q5 | 687 | 514 |
/// | Q9 | 1183 | 1040 |
/// | Q18 | 885 | 1117 |
/// | Q21 | 937 | 770 |
const MAX_SHARED_BUILD_BYTES: usize = 128 << 20;
/// The same in rows, where the size is not known.
const MAX_SHARED_BUILD_ROWS: usize = 8 << 20;

/// A place where queries are run: tables, views and settings.
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
}

/// Says how a [`Session`] works.
#[derive(Debug, Clone)]
#[must_use = "nothing is made before `build`"]
pub struct SessionBuilder {
    runtime: Runtime,
    memory_budget_bytes: Option<usize>,
    uncommitted: Uncommitted,
}

impl Session {
    /// A session on the runtime of the process.
    pub fn new() -> Self {
        Self::builder().build().unwrap_or_else(|_| unreachable!("the defaults are sound"))
    }

    /// Starts to say how a session works.
    pub fn builder() -> SessionBuilder {
        SessionBuilder { runtime: Runtime::of_process(), memory_budget_bytes: None, uncommitted: Uncommitted::new() }
    }

    fn with_settings(settings: WriteSettings) -> Result<Self> {
        let WriteSettings { runtime, memory_budget_bytes, .. } = &settings;
        let mut config = SessionConfig::new()
            .with_target_partitions(runtime.threads())
            .with_information_schema(true)
            .with_create_default_catalog_and_schema(true);
        let optimizer = &mut config.options_mut().optimizer;
        optimizer.hash_join_inlist_pushdown_max_distinct_values = MAX_JOIN_KEYS;
        optimizer.hash_join_inlist_pushdown_max_size = 8 << 20;
        optimizer.hash_join_single_partition_threshold = MAX_SHARED_BUILD_BYTES / runtime.threads();
        optimizer.hash_join_single_partition_threshold_rows = MAX_SHARED_BUILD_ROWS / runtime.threads();
        config.options_mut().sql_parser.collect_spans = true;
        if let &Some(bytes) = memory_budget_bytes {
            // What a sort keeps to merge what it has on disk, which is no good if it is all there is.
            let merging = &mut config.options_mut().execution.sort_spill_reservation_bytes;
            *merging = (*merging).min(bytes / 16);
        }
        let env = match memory_budget_bytes {
            &Some(bytes) => RuntimeEnvBuilder::new().with_memory_pool(Arc::new(FairSpillPool::new(bytes))),
            None => RuntimeEnvBuilder::new().with_memory_pool(Arc::new(UnboundedMemoryPool::default())),
        };
        let state = SessionStateBuilder::new()
            .with_config(config)
            .with_runtime_env(env.build_arc()?)
            .with_default_features()
            .with_table_factory("PARQUET".to_owned(), Arc::new(ExternalTables { settings: settings.clone() }))
            .with_relation_planners(vec![Arc::new(ReadParquet { runtime: runtime.clone() })])
            .build();
        let catalogs = Arc::clone(state.catalog_list());
        let locations = Arc::new(Locations { runtime: runtime.clone() });
        let state = SessionStateBuilder::new_from_existing(state)
            .with_catalog_list(Arc::new(DynamicFileCatalog::new(catalogs, locations)))
            .build();
        Ok(Self { context: SessionContext::new_with_state(state), settings })
    }

    /// How many partitions of a query work at the same time.
    pub fn threads(&self) -> usize {
        self.settings.runtime.threads()
    }

    /// What DataFusion knows of the session, for everything that is not said here.
    pub fn context(&self) -> &SessionContext {
        &self.context
    }

    /// Makes a dataset a table.
    ///
    /// # Errors
    /// If there is such a table.
    pub fn register(&self, name: &str, dataset: Dataset) -> Result<()> {
        let table = Arc::new(LathTable::new(dataset, &self.settings.runtime));
        self.context.register_table(name, table).map(|_| ())
    }

    /// Plans a statement. Rows are read, and files written, when its answer is asked for.
    ///
    /// # Errors
    /// If the text is not understood, is not one statement, or names what there is not.
    pub async fn sql(&self, text: &str) -> Result<DataFrame> {
        let mut statements = parse(text)?;
        match (statements.pop_front(), statements.is_empty()) {
            (Some(statement), true) => {
                let plan = self.plan(statement).await?;
                self.context.execute_logical_plan(plan).await
            }
            (None, _) => plan_err!("there is no statement"),
            (Some(_), false) => plan_err!("there is more than one statement"),
        }
    }

    async fn plan(&self, statement: Statement) -> Result<LogicalPlan> {
        match statement {
            Statement::CopyTo(copy) if is_parquet(&copy) => self.plan_copy(copy).await,
            Statement::Explain(explain) if matches!(&*explain.statement, Statement::CopyTo(copy) if is_parquet(copy)) =>
            {
                let Statement::CopyTo(copy) = *explain.statement else { return plan_err!("nothing to explain") };
                let plan = LogicalPlanBuilder::from(self.plan_copy(copy).await?);
                plan.explain(explain.options.verbose, explain.options.analyze)?.build()
            }
            other => self.context.state().statement_to_plan(other).await,
        }
    }

    /// `COPY … TO` a Parquet file or a folder of such.
    async fn plan_copy(&self, copy: CopyToStatement) -> Result<LogicalPlan> {
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
        let schema = Arc::clone(input.schema().inner());
        let options = options.collect::<Result<_>>()?;
        let target = CopyTarget::new(&copy.target, schema, copy.partitioned_by, options, self.settings.clone())?;
        let target = provider_as_source(Arc::new(target));
        LogicalPlanBuilder::insert_into(input, TableReference::bare(copy.target), target, InsertOp::Append)?.build()
    }
}

/// Whether a statement writes Parquet, which DataFusion is not asked to.
fn is_parquet(copy: &CopyToStatement) -> bool {
    match &copy.stored_as {
        Some(format) => format.eq_ignore_ascii_case("parquet"),
        None => match Path::new(&copy.target).extension() {
            Some(extension) => extension.eq_ignore_ascii_case("parquet"),
            // Folders have no extension that would say it.
            None => true,
        },
    }
}

impl SessionBuilder {
    /// Sets the runtime whose threads, memory and caches the session's scans take.
    pub fn runtime(mut self, runtime: &Runtime) -> Self {
        self.runtime = runtime.clone();
        self
    }

    /// Limits the memory of sorting, joining and grouping. Operators that can spill to disk do so beyond it; others fail.
    pub fn memory_budget_bytes(mut self, bytes: usize) -> Self {
        self.memory_budget_bytes = Some(bytes);
        self
    }

    /// Lists the files that the session's statements are writing, so that they can be removed when the process is ended.
    pub fn uncommitted(mut self, files: &Uncommitted) -> Self {
        self.uncommitted = files.clone();
        self
    }

    /// Makes the session.
    ///
    /// # Errors
    /// If there is no folder for what goes to disk.
    pub fn build(self) -> Result<Session> {
        let Self { runtime, memory_budget_bytes, uncommitted } = self;
        Session::with_settings(WriteSettings { runtime, memory_budget_bytes, uncommitted })
    }
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
