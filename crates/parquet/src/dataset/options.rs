use std::sync::Arc;
use std::time::Duration;

use arrow_schema::DataType;
use bytes::Bytes;

use super::footers_read::FootersRead;
use super::known_footers::KnownFooters;
use super::unread_file::UnreadFile;
use crate::error::Result;
use crate::file::{OpenOptions, ParquetFile};
use crate::footer_cache::FooterCache;
use crate::runtime::Runtime;
use lath_source::{Connections, FilePool, StoreOptions};

/// How the files of a dataset are found, opened and made one table.
#[derive(Debug, Clone)]
pub struct DatasetOptions {
    pub(super) open: OpenOptions,
    pub(super) unites_schemas: bool,
    pub(super) finds_partitions: bool,
    pub(super) partition_types: Vec<(String, DataType)>,
    pub(super) plain_files: bool,
    pub(super) footers: FooterCache,
    pub(super) files: Arc<FilePool>,
    pub(super) connections: Connections,
    pub(super) computes_filters: bool,
    pub(super) revalidates: bool,
    pub(super) store: StoreOptions,
    pub(super) footers_read: FootersRead,
    pub(super) known_footers: Option<Arc<dyn KnownFooters>>,
}

impl DatasetOptions {
    /// Default for [`DatasetOptions::requests_in_flight`].
    pub const DEFAULT_REQUESTS_IN_FLIGHT: usize = 64;
    /// Default for [`DatasetOptions::retries`].
    pub const DEFAULT_RETRIES: usize = 5;
    /// Default for [`DatasetOptions::request_timeout`]: 30 seconds.
    pub const DEFAULT_REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

    /// The defaults: the schema of the first file, partitions found, the footer cache of the process, local files looked at
    /// again before each use of a cached footer.
    pub fn new() -> Self {
        let runtime = Runtime::of_process();
        Self {
            open: OpenOptions::new(),
            unites_schemas: false,
            finds_partitions: true,
            partition_types: Vec::new(),
            plain_files: false,
            footers: runtime.footer_cache().clone(),
            files: Arc::clone(runtime.files()),
            connections: runtime.connections().clone(),
            computes_filters: runtime.computes_filters(),
            revalidates: true,
            store: StoreOptions {
                requests_in_flight: Self::DEFAULT_REQUESTS_IN_FLIGHT,
                retries: Self::DEFAULT_RETRIES,
                timeout: Self::DEFAULT_REQUEST_TIMEOUT,
            },
            footers_read: FootersRead::default(),
            known_footers: None,
        }
    }

    /// How each file is opened; its name is the file's location, whatever is set here.
    #[must_use]
    pub fn open_options(mut self, options: OpenOptions) -> Self {
        self.open = options;
        self
    }

    /// Whether the schema is that of all files together instead of the first one's.
    ///
    /// Columns and the fields of structs are joined by name, and a file that lacks one has nulls there. Where types differ, the
    /// narrowest type that holds every value of both is taken: of integers, of floats, of integers and floats or decimals, of
    /// decimals, of timestamps, times and durations of different units, of dates and timestamps without a zone, of strings and
    /// binary in their several layouts; timestamps of different zones become those of UTC. Types without such a type are an
    /// error when the dataset is opened, as is a file with two columns of the same name.
    #[must_use]
    pub fn union_schemas(mut self, unite: bool) -> Self {
        self.unites_schemas = unite;
        self
    }

    /// Whether directories called `key=value` are partition columns (on by default).
    #[must_use]
    pub fn partitions(mut self, find: bool) -> Self {
        self.finds_partitions = find;
        self
    }

    /// Whether the Parquet files of a folder are read as plain ones where something else says which rows there are: those of a keyed table,
    /// of Delta Lake, Iceberg or Hudi (off by default). They have rows that were replaced or deleted, and may lack others. Without this, such
    /// a folder is an error; [`FolderFormat`](super::FolderFormat) says how it is known. A single file that is named by itself is read in any
    /// case.
    #[must_use]
    pub fn plain_files(mut self, read: bool) -> Self {
        self.plain_files = read;
        self
    }

    /// Whether [`plain_files`](Self::plain_files) is on.
    pub fn reads_plain_files(&self) -> bool {
        self.plain_files
    }

    /// Sets the type of a partition column, instead of the one that its values suggest. Anything that Arrow parses from text.
    #[must_use]
    pub fn partition_type(mut self, column: impl Into<String>, data_type: DataType) -> Self {
        self.partition_types.push((column.into(), data_type));
        self
    }

    /// Takes caches, open files and connections of `runtime`, and whether filters are computed, instead of those of the process.
    #[must_use]
    pub fn runtime(mut self, runtime: &Runtime) -> Self {
        self.footers = runtime.footer_cache().clone();
        self.files = Arc::clone(runtime.files());
        self.connections = runtime.connections().clone();
        self.computes_filters = runtime.computes_filters();
        self.open = self.open.schemas(runtime.schemas());
        self
    }

    /// Sets the cache that footers are kept in, instead of the one of the process.
    #[must_use]
    pub fn footer_cache(mut self, cache: FooterCache) -> Self {
        self.footers = cache;
        self
    }

    /// Sets where footers are asked for that are not in the cache, before they are read. Files that are mapped into memory, and those
    /// opened with keys, are not asked for.
    #[must_use]
    pub fn known_footers(mut self, known: Arc<dyn KnownFooters>) -> Self {
        self.known_footers = Some(known);
        self
    }

    /// Whether a local file is looked at (size, time of change and identity, by one system call) before its cached footer is
    /// used (on by default). Where nothing changes files while the process runs, that can be saved.
    ///
    /// An object of a store is what the listing found, and one that was named by its URL what it was when the dataset first
    /// opened it; whether a footer that another dataset has cached is still that of the object, one request asks, unless this
    /// is off. An answer that comes from a later state of the object is an error, whatever is set here.
    #[must_use]
    pub fn revalidate(mut self, look: bool) -> Self {
        self.revalidates = look;
        self
    }

    /// Sets how many requests to a store may wait for answers at the same time; 0 is taken as 1.
    #[must_use]
    pub fn requests_in_flight(mut self, requests: usize) -> Self {
        self.store.requests_in_flight = requests.max(1);
        self
    }

    /// Sets how often a request that failed is made again: one that was not answered, was answered with a server's error (500
    /// and above, 408, 429), or whose answer ended early. The pause is a tenth of a second at first, and doubles.
    #[must_use]
    pub fn retries(mut self, retries: usize) -> Self {
        self.store.retries = retries;
        self
    }

    /// Sets how long one request to a store may take.
    #[must_use]
    pub fn request_timeout(mut self, timeout: Duration) -> Self {
        self.store.timeout = timeout;
        self
    }

    /// Whether the schema is that of all files together ([`DatasetOptions::union_schemas`]).
    pub fn unites_schemas(&self) -> bool {
        self.unites_schemas
    }

    /// Whether there are partition columns ([`DatasetOptions::partitions`]).
    pub fn finds_partitions(&self) -> bool {
        self.finds_partitions
    }

    /// Whether types of partition columns were chosen ([`DatasetOptions::partition_type`]).
    pub fn chooses_partition_types(&self) -> bool {
        !self.partition_types.is_empty()
    }

    /// The keys that files are decrypted with, if there are any.
    pub fn has_decryption_keys(&self) -> bool {
        self.open.has_keys()
    }

    /// Opens the file called `location`, of `len` bytes, of which nothing is known but its `end`
    /// ([`ParquetFile::read_end`]): its schema and what else its footer says. Nothing else of it can be read.
    ///
    /// # Errors
    /// As [`OpenOptions::from_source`].
    pub fn open_end(&self, location: &str, len: u64, end: Bytes) -> Result<ParquetFile> {
        let open = self.open_options_for(&location.into()).end(end);
        open.from_source(Arc::new(UnreadFile { len }))
    }

    /// How each file is opened.
    pub(crate) fn open(&self) -> &OpenOptions {
        &self.open
    }

    /// Whether filters may be computed of columns of the files.
    pub(crate) fn computes_filters(&self) -> bool {
        self.computes_filters
    }

    /// The options for a file called `name`.
    pub(super) fn open_options_for(&self, name: &Arc<str>) -> OpenOptions {
        self.open.clone().name(Arc::clone(name))
    }
}

impl Default for DatasetOptions {
    fn default() -> Self {
        Self::new()
    }
}
