use std::fmt;
use std::sync::Arc;

use datafusion::catalog::DynamicFileCatalog;
use datafusion::common::Result;
use datafusion::dataframe::DataFrame;
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::memory_pool::{FairSpillPool, UnboundedMemoryPool};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::prelude::{SessionConfig, SessionContext};
use lath_parquet::{Dataset, Runtime};

use crate::location::Locations;
use crate::table::LathTable;

/// Keys of a join that become a list of values for the scan of the other side, if they are so few: Bloom filters are asked for each.
const MOST_JOIN_KEYS: usize = 10_000;

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
    runtime: Runtime,
}

/// Says how a [`Session`] works.
#[derive(Debug, Clone)]
#[must_use = "nothing is made before `build`"]
pub struct SessionBuilder {
    runtime: Runtime,
    memory_bytes: Option<usize>,
}

impl Session {
    /// A session on the runtime of the process.
    pub fn new() -> Self {
        Self::with_runtime(&Runtime::of_process(), None).unwrap_or_else(|_| unreachable!("the defaults are sound"))
    }

    /// Starts to say how a session works.
    pub fn builder() -> SessionBuilder {
        SessionBuilder { runtime: Runtime::of_process(), memory_bytes: None }
    }

    fn with_runtime(runtime: &Runtime, memory_bytes: Option<usize>) -> Result<Self> {
        let mut config = SessionConfig::new()
            .with_target_partitions(runtime.threads())
            .with_information_schema(true)
            .with_create_default_catalog_and_schema(true);
        let optimizer = &mut config.options_mut().optimizer;
        optimizer.hash_join_inlist_pushdown_max_distinct_values = MOST_JOIN_KEYS;
        optimizer.hash_join_inlist_pushdown_max_size = 8 << 20;
        if let Some(bytes) = memory_bytes {
            // What a sort keeps to merge what it has on disk, which is no good if it is all there is.
            let merging = &mut config.options_mut().execution.sort_spill_reservation_bytes;
            *merging = (*merging).min(bytes / 16);
        }
        let env = match memory_bytes {
            Some(bytes) => RuntimeEnvBuilder::new().with_memory_pool(Arc::new(FairSpillPool::new(bytes))),
            None => RuntimeEnvBuilder::new().with_memory_pool(Arc::new(UnboundedMemoryPool::default())),
        };
        let state = SessionStateBuilder::new()
            .with_config(config)
            .with_runtime_env(env.build_arc()?)
            .with_default_features()
            .build();
        let catalogs = Arc::clone(state.catalog_list());
        let locations = Arc::new(Locations { runtime: runtime.clone() });
        let state = SessionStateBuilder::new_from_existing(state)
            .with_catalog_list(Arc::new(DynamicFileCatalog::new(catalogs, locations)))
            .build();
        Ok(Self { context: SessionContext::new_with_state(state), runtime: runtime.clone() })
    }

    /// How many partitions of a query work at the same time.
    pub fn threads(&self) -> usize {
        self.runtime.threads()
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
        let table = Arc::new(LathTable::new(dataset, &self.runtime));
        self.context.register_table(name, table).map(|_| ())
    }

    /// Plans a statement. Rows are read when they are asked for.
    ///
    /// # Errors
    /// If the text is not understood, or names what there is not.
    pub async fn sql(&self, text: &str) -> Result<DataFrame> {
        self.context.sql(text).await
    }
}

impl SessionBuilder {
    /// Sets the runtime whose threads, memory and caches the session's scans take.
    pub fn runtime(mut self, runtime: &Runtime) -> Self {
        self.runtime = runtime.clone();
        self
    }

    /// Bounds the memory of sorting, joining and grouping: what is more goes to disk where it can, else it is an error.
    pub fn memory_bytes(mut self, bytes: usize) -> Self {
        self.memory_bytes = Some(bytes);
        self
    }

    /// Makes the session.
    ///
    /// # Errors
    /// If there is no folder for what goes to disk.
    pub fn build(self) -> Result<Session> {
        Session::with_runtime(&self.runtime, self.memory_bytes)
    }
}

impl Default for Session {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("runtime", &self.runtime).finish_non_exhaustive()
    }
}
