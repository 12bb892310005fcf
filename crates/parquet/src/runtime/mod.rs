//! What scans and datasets share.

mod memory;

use std::fmt;
use std::io;
use std::sync::{Arc, OnceLock};
use std::thread;

use lath_source::{Connections, FilePool};

use crate::file::KnownSchemas;
use crate::footer_cache::FooterCache;
pub(crate) use memory::MemoryBudget;

/// Starts work on a thread: that it is given a name, and what to do there.
type Spawn = dyn Fn(String, Box<dyn FnOnce() + Send>) -> io::Result<()> + Send + Sync;

/// What scans and datasets share: threads, a budget of memory, caches, open files and connections. Clones are handles of the same
/// one.
///
/// A program needs none of its own: [`Runtime::of_process`] is the one that everything uses which is given no other. One of its own
/// bounds what a part of the program takes, and gives it back when it is dropped.
///
/// ```
/// use lath_parquet::{DatasetOptions, Runtime};
///
/// let runtime = Runtime::builder().threads(4).memory_budget_bytes(64 << 20).open_files(100).build();
/// let options = DatasetOptions::new().runtime(&runtime);
/// assert_eq!(runtime.memory_in_use(), 0);
/// ```
#[derive(Clone)]
pub struct Runtime {
    shared: Arc<Shared>,
}

struct Shared {
    threads: usize,
    memory: Arc<MemoryBudget>,
    footers: FooterCache,
    files: Arc<FilePool>,
    schemas: Arc<KnownSchemas>,
    connections: Connections,
    computes_filters: bool,
    spawn: Option<Box<Spawn>>,
}

/// Says what a [`Runtime`] has.
#[must_use = "nothing is made before `build`"]
pub struct RuntimeBuilder {
    threads: usize,
    memory_budget_bytes: usize,
    cache_bytes: usize,
    open_files: usize,
    computes_filters: bool,
    spawn: Option<Box<Spawn>>,
}

impl Runtime {
    /// Starts to say what a runtime has, with the defaults: a thread for each core that the process may use, no bound on memory beside
    /// that of each scan, [`FooterCache::DEFAULT_BUDGET_BYTES`] of caches, three quarters of the file descriptors that the process may
    /// have, threads of its own.
    pub fn builder() -> RuntimeBuilder {
        RuntimeBuilder {
            threads: threads_or_cores(0),
            memory_budget_bytes: usize::MAX,
            cache_bytes: FooterCache::DEFAULT_BUDGET_BYTES,
            open_files: FilePool::default_size(),
            computes_filters: true,
            spawn: None,
        }
    }

    /// The runtime of whatever is given no other.
    pub fn of_process() -> Self {
        static RUNTIME: OnceLock<Runtime> = OnceLock::new();
        let make = || {
            Self::of(
                Self::builder(),
                FooterCache::of_process(),
                FilePool::of_process(),
                KnownSchemas::of_process(),
                Connections::of_process(),
            )
        };
        RUNTIME.get_or_init(make).clone()
    }

    fn of(
        builder: RuntimeBuilder,
        footers: FooterCache,
        files: Arc<FilePool>,
        schemas: Arc<KnownSchemas>,
        connections: Connections,
    ) -> Self {
        let RuntimeBuilder { threads, memory_budget_bytes, computes_filters, spawn, .. } = builder;
        let memory = Arc::new(MemoryBudget::new(memory_budget_bytes));
        let shared = Shared { threads, memory, footers, files, schemas, connections, computes_filters, spawn };
        Self { shared: Arc::new(shared) }
    }

    /// How many threads a scan has unless it says another number.
    pub fn threads(&self) -> usize {
        self.shared.threads
    }

    /// Bytes of batches that scans have decoded and their callers have not taken yet.
    pub fn memory_in_use(&self) -> usize {
        self.shared.memory.used()
    }

    /// The footers and Bloom filters that are kept.
    pub fn footer_cache(&self) -> &FooterCache {
        &self.shared.footers
    }

    /// Whether filters may be computed of what is read.
    pub(crate) fn computes_filters(&self) -> bool {
        self.shared.computes_filters
    }

    pub(crate) fn memory(&self) -> &Arc<MemoryBudget> {
        &self.shared.memory
    }

    pub(crate) fn files(&self) -> &Arc<FilePool> {
        &self.shared.files
    }

    pub(crate) fn schemas(&self) -> &Arc<KnownSchemas> {
        &self.shared.schemas
    }

    pub(crate) fn connections(&self) -> &Connections {
        &self.shared.connections
    }

    /// Starts `work` on a thread called `name`.
    pub(crate) fn spawn(&self, name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
        match &self.shared.spawn {
            Some(spawn) => spawn(name.to_owned(), Box::new(work)),
            None => thread::Builder::new().name(name.to_owned()).spawn(work).map(|_| ()),
        }
    }
}

/// Number of threads that an option asks for: 0 stands for one for each core.
pub(crate) fn threads_or_cores(threads: usize) -> usize {
    match threads {
        0 => thread::available_parallelism().map_or(1, usize::from),
        threads => threads,
    }
}

impl RuntimeBuilder {
    /// Sets how many threads a scan has unless it says another number. 0 stands for one for each core, the default.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads_or_cores(threads);
        self
    }

    /// Bounds the bytes of batches that all scans together have decoded before they are asked for. The batch that a scan is asked
    /// for next is always made, so that none waits for another.
    pub fn memory_budget_bytes(mut self, bytes: usize) -> Self {
        self.memory_budget_bytes = bytes;
        self
    }

    /// Sets the budget of the cache of footers and Bloom filters.
    pub fn cache_bytes(mut self, bytes: usize) -> Self {
        self.cache_bytes = bytes;
        self
    }

    /// Sets how many files may be open at the same time; 0 is taken as 1.
    pub fn open_files(mut self, files: usize) -> Self {
        self.open_files = files;
        self
    }

    /// Sets whether Bloom filters are computed in memory (on by default): for row groups that were scanned for keys twice without a
    /// match, if the file has no filter on the column or a filter with false positives.
    ///
    /// A computed filter takes one byte per row, in the budget of [`RuntimeBuilder::cache_bytes`], and its false positive rate is 2.5 %.
    /// Computing it reads the column once more. If the file has no filter, a second one follows after two more scans without a match.
    /// With 1,000 files of 100,000 rows and two threads, looking up a key that is not there takes 2.1 ms instead of 6.2 if the files have
    /// filters, and 8.5 ms instead of 401 if they have none; the lookups that compute filters take longer (1.3 s instead of 0.4).
    ///
    /// It applies to datasets ([`DatasetOptions::runtime`](crate::DatasetOptions::runtime)) and to scans
    /// ([`Scan::runtime`](crate::Scan::runtime)) that are given the runtime, whichever says no;
    /// [`Pruning::computed_filters`](crate::Pruning::computed_filters) turns it off for one scan.
    ///
    /// ```
    /// use lath_parquet::{DatasetOptions, Runtime};
    ///
    /// let runtime = Runtime::builder().computed_filters(false).build();
    /// let options = DatasetOptions::new().runtime(&runtime);
    /// ```
    pub fn computed_filters(mut self, compute: bool) -> Self {
        self.computes_filters = compute;
        self
    }

    /// Has scans start their threads by `spawn`, which is given a name and the work, instead of starting them themselves. The work blocks,
    /// and may take as long as the scan. With Tokio: `move |_, work| { handle.spawn_blocking(work); Ok(()) }`.
    pub fn spawn_with(
        mut self,
        spawn: impl Fn(String, Box<dyn FnOnce() + Send>) -> io::Result<()> + Send + Sync + 'static,
    ) -> Self {
        self.spawn = Some(Box::new(spawn));
        self
    }

    /// Makes the runtime.
    pub fn build(self) -> Runtime {
        let (footers, files) = (FooterCache::new(self.cache_bytes), Arc::new(FilePool::new(self.open_files)));
        Runtime::of(self, footers, files, Arc::default(), Connections::new())
    }
}

impl fmt::Debug for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runtime")
            .field("threads", &self.shared.threads)
            .field("memory", &self.shared.memory)
            .field("footers", &self.shared.footers)
            .field("computes_filters", &self.shared.computes_filters)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for RuntimeBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RuntimeBuilder")
            .field("threads", &self.threads)
            .field("memory_budget_bytes", &self.memory_budget_bytes)
            .field("cache_bytes", &self.cache_bytes)
            .field("open_files", &self.open_files)
            .field("computes_filters", &self.computes_filters)
            .finish_non_exhaustive()
    }
}
