//! Resources that scans and datasets share.

mod memory;

use std::fmt;
use std::io;
use std::sync::{Arc, OnceLock};
use std::thread;

use lath_source::{Connections, FilePool};

use crate::file::KnownSchemas;
use crate::footer_cache::FooterCache;
pub(crate) use memory::MemoryBudget;

/// Starts a thread with this name and work.
type Spawn = dyn Fn(String, Box<dyn FnOnce() + Send>) -> io::Result<()> + Send + Sync;

/// Resources that scans and datasets share: threads, a budget of memory, caches, open files and connections. Clones are handles
/// of the same runtime.
///
/// Most programs use the default, [`Runtime::global`]. A separate runtime bounds the resources of a part of the program, and
/// releases them when it is dropped.
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
    shared: Arc<Resources>,
}

struct Resources {
    threads: usize,
    memory: Arc<MemoryBudget>,
    footers: FooterCache,
    files: Arc<FilePool>,
    schemas: Arc<KnownSchemas>,
    connections: Connections,
    computes_filters: bool,
    spawn: Option<Box<Spawn>>,
}

/// Builder of a [`Runtime`].
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
    /// A builder with the defaults: separate threads, one for each core that the process may use; no memory limit except each scan's;
    /// [`FooterCache::DEFAULT_BUDGET_BYTES`] of caches; three quarters of the file descriptors that the process may open.
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

    /// The default runtime: one for the whole process, with the only shared caches and pools.
    pub fn global() -> Self {
        static RUNTIME: OnceLock<Runtime> = OnceLock::new();
        RUNTIME.get_or_init(|| Self::builder().with_schemas(KnownSchemas::global())).clone()
    }

    /// Makes room in the process's table of file descriptors for thousands of files, as far as the runtime may open them. Without it, the first
    /// scan of many files does so: on Linux that takes 10 to 20 ms in a process that has several threads already, and 20 µs in one that has none yet.
    /// A program calls this as the first thing in `main`.
    pub fn make_room_for_files(&self) {
        /// Its part of the table takes 128 KiB.
        const FILES: usize = 1 << 14;
        self.shared.files.make_room(FILES);
    }

    /// Default number of threads of a scan.
    pub fn threads(&self) -> usize {
        self.shared.threads
    }

    /// Bytes of decoded batches that the callers of scans have not taken yet.
    pub fn memory_in_use(&self) -> usize {
        self.shared.memory.used()
    }

    /// The cache of footers and Bloom filters.
    pub fn footer_cache(&self) -> &FooterCache {
        &self.shared.footers
    }

    /// Whether filters may be computed from values that are read.
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

/// Number of threads for an option: 0 means one for each core.
pub fn threads_or_cores(threads: usize) -> usize {
    match threads {
        0 => thread::available_parallelism().map_or(1, usize::from),
        threads => threads,
    }
}

impl RuntimeBuilder {
    /// Sets the default number of threads of a scan. 0 means one for each core, the default.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads_or_cores(threads);
        self
    }

    /// Bounds the bytes of batches that all scans together decode ahead. The next batch of a scan is always decoded, so that no
    /// scan waits for another.
    pub fn memory_budget_bytes(mut self, bytes: usize) -> Self {
        self.memory_budget_bytes = bytes;
        self
    }

    /// Sets the budget of the cache of footers and Bloom filters.
    pub fn cache_bytes(mut self, bytes: usize) -> Self {
        self.cache_bytes = bytes;
        self
    }

    /// Sets the maximum number of open files; 0 is taken as 1.
    pub fn open_files(mut self, files: usize) -> Self {
        self.open_files = files;
        self
    }

    /// Sets whether Bloom filters are computed in memory (on by default): for row groups that were scanned for keys twice without
    /// a match, if the file has no filter for the column or a filter with false positives.
    ///
    /// A computed filter takes one byte per row, in the budget of [`RuntimeBuilder::cache_bytes`], and its false positive rate is 2.5 %.
    /// Computing it reads the column once more. If the file has no filter, a second one follows after two more scans without a match.
    /// With 1,000 files of 100,000 rows and two threads, looking up an absent key takes 2.1 ms instead of 6.2 if the files have
    /// filters, and 8.5 ms instead of 401 if they have none; the lookups that compute filters take longer (1.3 s instead of 0.4).
    ///
    /// It applies to datasets ([`DatasetOptions::runtime`](crate::DatasetOptions::runtime)) and to scans
    /// ([`Scan::runtime`](crate::Scan::runtime)) with the runtime, if either turns it off;
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

    /// Lets scans start their threads with `spawn`, which gets a name and the work. The work blocks, and may take as long as the
    /// scan. With Tokio: `move |_, work| { handle.spawn_blocking(work); Ok(()) }`.
    pub fn spawn_with(
        mut self,
        spawn: impl Fn(String, Box<dyn FnOnce() + Send>) -> io::Result<()> + Send + Sync + 'static,
    ) -> Self {
        self.spawn = Some(Box::new(spawn));
        self
    }

    /// Builds the runtime.
    pub fn build(self) -> Runtime {
        self.with_schemas(Arc::default())
    }

    fn with_schemas(self, schemas: Arc<KnownSchemas>) -> Runtime {
        let shared = Resources {
            threads: self.threads,
            memory: Arc::new(MemoryBudget::new(self.memory_budget_bytes)),
            footers: FooterCache::new(self.cache_bytes),
            files: Arc::new(FilePool::new(self.open_files)),
            schemas,
            connections: Connections::new(),
            computes_filters: self.computes_filters,
            spawn: self.spawn,
        };
        Runtime { shared: Arc::new(shared) }
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
