use std::sync::Arc;
use std::time::Duration;

use arrow_schema::DataType;
use bytes::Bytes;

use super::footers_read::FootersRead;
use super::known_footers::KnownFooters;
use super::object_cache::ObjectCache;
use super::unread_file::UnreadFile;
use crate::error::{Error, Result};
use crate::file::{OpenOptions, ParquetFile};
use crate::footer_cache::FooterCache;
use crate::runtime::Runtime;
use crate::schema::ColumnMapping;
use lath_source::{Connections, FilePool, GrantedAccess, Store, StoreOptions, WebClient};

/// Options for finding and opening the files of a dataset, and for uniting them.
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
    pub(super) object_cache: Option<Arc<dyn ObjectCache>>,
}

impl DatasetOptions {
    /// Default for [`DatasetOptions::requests_in_flight`].
    pub const DEFAULT_REQUESTS_IN_FLIGHT: usize = 64;
    /// Default for [`DatasetOptions::retries`].
    pub const DEFAULT_RETRIES: usize = 5;
    /// Default for [`DatasetOptions::request_timeout`]: 30 seconds.
    pub const DEFAULT_REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

    /// The defaults: the schema of the first file, partitions found, the default footer cache, local files checked again before
    /// each use of a cached footer.
    pub fn new() -> Self {
        let runtime = Runtime::global();
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
                granted: GrantedAccess::default(),
            },
            footers_read: FootersRead::default(),
            known_footers: None,
            object_cache: None,
        }
    }

    /// Options for opening each file; its name is always the file's location.
    #[must_use]
    pub fn open_options(mut self, options: OpenOptions) -> Self {
        self.open = options;
        self
    }

    /// Sets the columns of the table that the files belong to ([`OpenOptions::columns`]).
    #[must_use]
    pub fn columns(mut self, columns: Arc<ColumnMapping>) -> Self {
        self.open = self.open.columns(columns);
        self
    }

    /// The options with which each file is opened.
    pub fn file_options(&self) -> &OpenOptions {
        &self.open
    }

    /// Whether the schema is the union of all files' schemas, instead of the first one's.
    ///
    /// Columns and the fields of structs are matched by name, and a file that lacks one has nulls there. If types differ, the
    /// narrowest type that holds every value of both is used: for integers, for floats, for integers and floats or decimals, for
    /// decimals, for timestamps, times and durations of different units, for dates and timestamps without a zone, for strings and
    /// binary in their several layouts; timestamps of different zones become UTC. Types without a common type are an error when
    /// the dataset is opened, as is a file with two columns of the same name.
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

    /// Whether the Parquet files of a folder of a keyed table, of Delta Lake, Iceberg or Hudi are read as plain files, although
    /// they do not determine the rows (off by default). They have rows that were replaced or deleted, and may lack others.
    /// Without this option, such a folder is an error; [`FolderFormat`](super::FolderFormat) tells how it is recognized. A single
    /// file that is named by itself is always read.
    #[must_use]
    pub fn plain_files(mut self, read: bool) -> Self {
        self.plain_files = read;
        self
    }

    /// Whether [`plain_files`](Self::plain_files) is on.
    pub fn reads_plain_files(&self) -> bool {
        self.plain_files
    }

    /// Sets the type of a partition column, instead of the one that its values suggest: any type that Arrow parses from text.
    #[must_use]
    pub fn partition_type(mut self, column: impl Into<String>, data_type: DataType) -> Self {
        self.partition_types.push((column.into(), data_type));
        self
    }

    /// Uses caches, open files and connections of `runtime` instead of the default runtime's, and its setting for computed
    /// filters.
    #[must_use]
    pub fn runtime(mut self, runtime: &Runtime) -> Self {
        self.footers = runtime.footer_cache().clone();
        self.files = Arc::clone(runtime.files());
        self.connections = runtime.connections().clone();
        self.computes_filters = runtime.computes_filters();
        self.open = self.open.schemas(runtime.schemas());
        self
    }

    /// Sets the footer cache, instead of the default one.
    #[must_use]
    pub fn footer_cache(mut self, cache: FooterCache) -> Self {
        self.footers = cache;
        self
    }

    /// Sets a source of footers that are not in the cache, used before reading them. It is not used for files that are mapped
    /// into memory or opened with keys.
    #[must_use]
    pub fn known_footers(mut self, known: Arc<dyn KnownFooters>) -> Self {
        self.known_footers = Some(known);
        self
    }

    /// Reads objects through a cache.
    #[must_use]
    pub fn object_cache(mut self, cache: Arc<dyn ObjectCache>) -> Self {
        self.object_cache = Some(cache);
        self
    }

    /// Whether a local file is checked (size, modification time and identity, by one system call) before its cached footer is
    /// used (on by default). Turn it off if files do not change while the process runs.
    ///
    /// An object of a store has the version of the listing; an object that was named by its URL has the version at which the
    /// dataset first opened it. One request checks whether a footer that another dataset has cached still belongs to the object,
    /// unless this option is off. An answer from a later version of the object is always an error.
    #[must_use]
    pub fn revalidate(mut self, look: bool) -> Self {
        self.revalidates = look;
        self
    }

    /// Sets the number of requests to a store that may be in flight at the same time; 0 is taken as 1.
    #[must_use]
    pub fn requests_in_flight(mut self, requests: usize) -> Self {
        self.store.requests_in_flight = requests.max(1);
        self
    }

    /// Sets how often a failed request is retried: a request without an answer, with a server's error (500 and above, 408, 429),
    /// or whose answer ended early. The pause is a tenth of a second at first, and doubles.
    #[must_use]
    pub fn retries(mut self, retries: usize) -> Self {
        self.store.retries = retries;
        self
    }

    /// Sets the time limit of one request to a store.
    #[must_use]
    pub fn request_timeout(mut self, timeout: Duration) -> Self {
        self.store.timeout = timeout;
        self
    }

    /// Sets the access to objects in S3 that a catalog has granted. Other objects are accessed as the environment says.
    #[must_use]
    pub fn granted_access(mut self, access: GrantedAccess) -> Self {
        self.store.granted = access;
        self
    }

    /// Whether access to objects was granted.
    pub fn has_granted_access(&self) -> bool {
        !self.store.granted.is_empty()
    }

    /// Whether schemas are united ([`DatasetOptions::union_schemas`]).
    pub fn unites_schemas(&self) -> bool {
        self.unites_schemas
    }

    /// Whether there are partition columns ([`DatasetOptions::partitions`]).
    pub fn finds_partitions(&self) -> bool {
        self.finds_partitions
    }

    /// Whether types of partition columns were set ([`DatasetOptions::partition_type`]).
    pub fn chooses_partition_types(&self) -> bool {
        !self.partition_types.is_empty()
    }

    /// Whether there are keys for decryption.
    pub fn has_decryption_keys(&self) -> bool {
        self.open.has_keys()
    }

    /// The store of a URL, with the connections and limits of these options.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a malformed URL and for a build without stores.
    pub fn object_store(&self, url: &str) -> Result<Store> {
        Store::from_url(url, &self.store, &self.connections).map_err(|error| Error::invalid(format!("{url}: {error}")))
    }

    /// A client of web services, with the connections and limits of these options.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a build without stores.
    pub fn web_client(&self) -> Result<WebClient> {
        WebClient::new(&self.store, &self.connections).map_err(|error| Error::invalid(error.to_string()))
    }

    /// Opens the file called `location`, of `len` bytes, from its `end` alone ([`ParquetFile::read_end`]): its schema and the
    /// rest of its footer. Nothing else can be read from it.
    ///
    /// # Errors
    /// As [`OpenOptions::from_source`].
    pub fn open_end(&self, location: &str, len: u64, end: Bytes) -> Result<ParquetFile> {
        let open = self.open_options_for(&location.into()).end(end);
        open.from_source(Arc::new(UnreadFile { len }))
    }

    /// Options for opening each file.
    pub(crate) fn open(&self) -> &OpenOptions {
        &self.open
    }

    /// Whether filters may be computed for columns of the files.
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
