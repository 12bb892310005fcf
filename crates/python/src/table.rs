//! Tables with a primary key.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use lath::arrow::array::{RecordBatch, RecordBatchReader};
use lath::arrow::schema::{ArrowError, SchemaRef};
use lath::table::{
    ChangeRetention, Changes, EncryptionKey, HistoryRetention, ImportOptions, ImportReport, Key, MappedColumn,
    PublishOptions, PublishedCommit, Snapshot, Table, TableBatches, TableOptions, TableScan, Transaction,
};
use lath::{Cancel, Dataset, DatasetOptions, Error, is_store};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyDict, PyList, PyString, PyTuple};

use crate::arrow::{PyBatch, PySchema};
use crate::condition::{Condition, PyPredicate, Tester, next_tested};
use crate::files::PyDataset;
use crate::follower::{PyFollower, consumer_options};
use crate::store::parse_durability;
use crate::value::KeyFields;
use lath_pyo3::encryption::encryption_key as key_argument;
use lath_pyo3::error::Failure;
use lath_pyo3::fork::{OfProcess, Origin, runtime};
use lath_pyo3::location::Locations;
use lath_pyo3::opening::{Opening, duration, wait_duration};
use lath_pyo3::progress::Watcher;
use lath_pyo3::rows::Rows;
use lath_pyo3::{capsule, progress, work};

/// The name of an open table in errors.
const TABLE: &str = "the table";

/// A table with a primary key, in a folder.
#[pyclass(name = "Table", module = "lath", frozen)]
pub(crate) struct PyTable {
    /// `None` once it is closed.
    table: Mutex<Option<OfProcess<Table>>>,
    folder: PathBuf,
    origin: Origin,
}

/// The keyword arguments with which a table is opened.
#[derive(Debug, Default)]
struct OpenArguments {
    durability: Option<String>,
    background: bool,
    flush_rows: Option<u64>,
    cache_bytes: Option<u64>,
    disk_cache_bytes: Option<u64>,
    wait: Option<f64>,
    encryption_key: Option<EncryptionKey>,
}

impl OpenArguments {
    fn options(&self) -> PyResult<TableOptions> {
        let mut options = TableOptions::new().background(self.background).runtime(&runtime()?);
        if let Some(durability) = &self.durability {
            options = options.durability(parse_durability(durability)?);
        }
        if let Some(rows) = self.flush_rows {
            options = options.flush_rows(rows);
        }
        if let Some(bytes) = self.cache_bytes {
            options = options.cache_bytes(bytes);
        }
        if let Some(bytes) = self.disk_cache_bytes {
            options = options.disk_cache_bytes(bytes);
        }
        if let Some(seconds) = self.wait {
            options = options.wait(wait_duration(seconds)?);
        }
        Ok(self.encryption_key.clone().into_iter().fold(options, TableOptions::encryption_key))
    }
}

#[pymethods]
impl PyTable {
    /// Creates a table in a folder.
    #[staticmethod]
    #[pyo3(signature = (
        folder, schema, key, *, cold = None, durability = None, background = true, flush_rows = None, cache_bytes = None,
        disk_cache_bytes = None, wait = None, encryption_key = None
    ))]
    #[expect(clippy::too_many_arguments, reason = "they are keyword arguments")]
    fn create(
        py: Python<'_>,
        folder: PathBuf,
        schema: &Bound<'_, PyAny>,
        key: Vec<String>,
        cold: Option<String>,
        durability: Option<String>,
        background: bool,
        flush_rows: Option<u64>,
        cache_bytes: Option<u64>,
        disk_cache_bytes: Option<u64>,
        wait: Option<f64>,
        encryption_key: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let schema = capsule::schema_in(schema)?;
        let encryption_key = key_argument(encryption_key)?;
        let arguments =
            OpenArguments { durability, background, flush_rows, cache_bytes, disk_cache_bytes, wait, encryption_key };
        let options = cold.into_iter().fold(arguments.options()?, TableOptions::cold_files);
        let at = folder.clone();
        let table = work::run_to_end(py, move || Ok(Table::create(&at, &schema, &key, options)?))?;
        Ok(Self::new(table, folder))
    }

    /// Opens a table.
    #[staticmethod]
    #[pyo3(signature = (
        folder, *, read_only = false, durability = None, background = true, flush_rows = None, cache_bytes = None, disk_cache_bytes = None,
        wait = None, encryption_key = None
    ))]
    #[expect(clippy::too_many_arguments, reason = "they are keyword arguments")]
    fn open(
        py: Python<'_>,
        folder: PathBuf,
        read_only: bool,
        durability: Option<String>,
        background: bool,
        flush_rows: Option<u64>,
        cache_bytes: Option<u64>,
        disk_cache_bytes: Option<u64>,
        wait: Option<f64>,
        encryption_key: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let encryption_key = key_argument(encryption_key)?;
        let arguments =
            OpenArguments { durability, background, flush_rows, cache_bytes, disk_cache_bytes, wait, encryption_key };
        let options = arguments.options()?;
        let at = folder.clone();
        let table = work::run_to_end(py, move || {
            Ok(if read_only { Table::open_read_only(&at, options)? } else { Table::open(&at, options)? })
        })?;
        Ok(Self::new(table, folder))
    }

    /// Creates a table of files that exist, and returns it with counts.
    #[staticmethod]
    #[pyo3(signature = (
        folder, source, key, *, copy = false, progress = None, durability = None, background = true, flush_rows = None, cache_bytes = None,
        wait = None, encryption_key = None
    ))]
    #[expect(clippy::too_many_arguments, reason = "they are keyword arguments")]
    fn import_from<'py>(
        py: Python<'py>,
        folder: PathBuf,
        source: ImportSource<'py>,
        key: Vec<String>,
        copy: bool,
        progress: Option<Py<PyAny>>,
        durability: Option<String>,
        background: bool,
        flush_rows: Option<u64>,
        cache_bytes: Option<u64>,
        wait: Option<f64>,
        encryption_key: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<(Self, Bound<'py, PyDict>)> {
        let (disk_cache_bytes, encryption_key) = (None, key_argument(encryption_key)?);
        let arguments =
            OpenArguments { durability, background, flush_rows, cache_bytes, disk_cache_bytes, wait, encryption_key };
        let options = arguments.options()?;
        let watcher = Watcher::start(py, progress.as_ref())?;
        let source = source.dataset(py)?;
        let (cancel, count) = (Cancel::new(), AtomicU64::new(0));
        let (table, report) = work::run_watched(
            py,
            || cancel.cancel(),
            watcher,
            || (count.load(Ordering::Relaxed), None),
            || {
                let import = ImportOptions::new().copy(copy);
                Ok(Table::import_with(&folder, &source, &key, options, import, |progress| {
                    count.store(progress.rows, Ordering::Relaxed);
                    if cancel.is_cancelled() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                })?)
            },
        )?;
        Ok((Self::new(table, folder), import_dict(py, &report)?))
    }

    /// Names and types of the columns.
    #[getter]
    fn schema(&self) -> PyResult<PySchema> {
        Ok(PySchema::new(self.table()?.schema().map_err(Failure::from)?))
    }

    /// The folder with its files.
    #[getter]
    fn folder(&self) -> PathBuf {
        self.folder.clone()
    }

    /// The URL below which its Parquet files are; `None` if they are in its folder.
    #[getter]
    fn cold(&self) -> PyResult<Option<String>> {
        let table = self.table()?;
        let location = table.location();
        Ok((location != table.folder()).then(|| location.display().to_string()))
    }

    /// Removes the objects of a table whose files are in a bucket, and returns the number of files.
    fn remove_objects(&self, py: Python<'_>) -> PyResult<usize> {
        self.run(py, |table| Ok(table.remove_objects()?))
    }

    /// Puts rows, which replace existing rows with the same keys.
    #[pyo3(signature = (rows, *, progress = None))]
    fn upsert(&self, py: Python<'_>, rows: &Bound<'_, PyAny>, progress: Option<Py<PyAny>>) -> PyResult<()> {
        self.change(py, rows, progress.as_ref(), Transaction::upsert)
    }

    /// Puts rows whose keys are new.
    #[pyo3(signature = (rows, *, progress = None))]
    fn insert(&self, py: Python<'_>, rows: &Bound<'_, PyAny>, progress: Option<Py<PyAny>>) -> PyResult<()> {
        self.change(py, rows, progress.as_ref(), Transaction::insert)
    }

    /// Changes some columns of existing rows. Returns the number of changed rows, and the number of keys without a row.
    fn update(&self, py: Python<'_>, rows: &Bound<'_, PyAny>) -> PyResult<(u64, u64)> {
        let mut counts = (0, 0);
        self.change(py, rows, None, |transaction, batch| {
            let updated = transaction.update(batch)?;
            counts = (counts.0 + updated.rows, counts.1 + updated.absent);
            Ok(())
        })?;
        Ok(counts)
    }

    /// Deletes the rows with these keys, if they exist.
    fn delete(&self, py: Python<'_>, keys: &Bound<'_, PyAny>) -> PyResult<()> {
        let table = self.table()?;
        let keys = KeyList::new(keys, &table.snapshot().map_err(Failure::from)?)?;
        work::run(
            py,
            || (),
            || match &keys {
                KeyList::List(keys) => Ok(table.delete(keys)?),
                KeyList::Rows(batches) => {
                    let mut transaction = table.begin()?;
                    batches.iter().try_for_each(|batch| transaction.delete(batch))?;
                    Ok(transaction.commit()?)
                }
            },
        )
    }

    /// Deletes the rows for which `where` is true, and returns their number.
    #[pyo3(signature = (r#where))]
    fn delete_where(&self, py: Python<'_>, r#where: &Bound<'_, PyAny>) -> PyResult<u64> {
        let (table, predicate) = (self.table()?, PyPredicate::of(r#where)?.predicate());
        work::run(py, || (), || Ok(table.delete_where(&predicate)?))
    }

    /// The row with this key, as a batch of one row; `None` if there is none.
    fn get(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<Option<PyBatch>> {
        let snapshot = self.table()?.snapshot().map_err(Failure::from)?;
        let key = key_fields(&snapshot).key(key)?;
        let row = py.detach(|| work::guard(|| Ok(snapshot.get(key)?)))?;
        Ok(row.map(PyBatch::new))
    }

    /// The rows with these keys, each once, in the order in which their keys are first given.
    fn get_many(&self, py: Python<'_>, keys: &Bound<'_, PyAny>) -> PyResult<PyBatch> {
        self.newest()?.get_many(py, keys)
    }

    /// Rows and columns to read, in no particular order.
    #[pyo3(signature = (columns = None, r#where = None, limit = None, *, threads = None))]
    fn scan(
        &self,
        columns: Option<Vec<String>>,
        r#where: Option<&Bound<'_, PyAny>>,
        limit: Option<u64>,
        threads: Option<usize>,
    ) -> PyResult<PyTableScan> {
        self.newest()?.scan(columns, r#where, limit, threads)
    }

    /// The number of rows for which `where` is true.
    #[pyo3(signature = (r#where = None))]
    fn count(&self, py: Python<'_>, r#where: Option<&Bound<'_, PyAny>>) -> PyResult<u64> {
        self.newest()?.count(py, r#where)
    }

    /// A snapshot of the last commit, the kept snapshot with this name, or the state after a commit or at a time.
    #[pyo3(signature = (name = None, *, version = None, time = None))]
    fn snapshot(
        &self,
        name: Option<&str>,
        version: Option<u64>,
        time: Option<SystemTime>,
    ) -> PyResult<PyTableSnapshot> {
        let newest = self.newest()?;
        let snapshot = match (name, version, time) {
            (None, None, None) => return Ok(newest),
            (Some(name), None, None) => newest.snapshot()?.snapshot_named(name),
            (None, Some(version), None) => newest.snapshot()?.at_version(version),
            (None, None, Some(time)) => newest.snapshot()?.at_time(time),
            _ => return Err(PyTypeError::new_err("give one of name, version and time")),
        };
        Ok(PyTableSnapshot::new(snapshot.map_err(Failure::from)?))
    }

    /// Keeps the states after later commits readable.
    #[pyo3(signature = (*, age = None, commits = None))]
    fn keep_history(&self, py: Python<'_>, age: Option<f64>, commits: Option<u64>) -> PyResult<()> {
        let retention = HistoryRetention::new();
        let age = age.map(|age| duration("age", age)).transpose()?;
        let retention = age.into_iter().fold(retention, HistoryRetention::age);
        let retention = commits.into_iter().fold(retention, HistoryRetention::commits);
        self.run(py, move |table| Ok(table.keep_history(retention)?))
    }

    /// Drops all earlier states, and keeps none from now on.
    fn drop_history(&self, py: Python<'_>) -> PyResult<()> {
        self.run(py, |table| Ok(table.drop_history()?))
    }

    /// The versions whose states can be read, each with the time since which it was the state.
    fn history(&self) -> PyResult<Vec<(u64, SystemTime)>> {
        let commits = self.newest()?.snapshot()?.history().map_err(Failure::from)?;
        Ok(commits.into_iter().map(|commit| (commit.version, commit.time)).collect())
    }

    /// Keeps the last commit as a snapshot with this name.
    fn keep_snapshot(&self, py: Python<'_>, name: String) -> PyResult<()> {
        self.run(py, move |table| Ok(table.keep_snapshot(&name)?))
    }

    /// Drops the snapshot with this name.
    fn drop_snapshot(&self, py: Python<'_>, name: String) -> PyResult<()> {
        self.run(py, move |table| Ok(table.drop_snapshot(&name)?))
    }

    /// The names of the kept snapshots.
    fn snapshot_names(&self) -> PyResult<Vec<String>> {
        Ok(self.table()?.snapshot_names().map_err(Failure::from)?)
    }

    /// Lets rows expire `lifetime` seconds after the time in a column.
    #[pyo3(signature = (column, lifetime = 0.0))]
    fn set_ttl(&self, py: Python<'_>, column: String, lifetime: f64) -> PyResult<()> {
        let lifetime = duration("lifetime", lifetime)?;
        self.run(py, move |table| Ok(table.set_ttl(&column, lifetime)?))
    }

    /// Ends the expiry of rows.
    fn drop_ttl(&self, py: Python<'_>) -> PyResult<()> {
        self.run(py, |table| Ok(table.drop_ttl()?))
    }

    /// The column by which rows expire, and their lifetime in seconds.
    fn ttl(&self) -> PyResult<Option<(String, f64)>> {
        let ttl = self.newest()?.snapshot()?.ttl();
        Ok(ttl.map(|ttl| (ttl.column, ttl.lifetime.as_secs_f64())))
    }

    /// Turns the change feed on: later commits record their changes. At most `rows` changes are kept.
    #[pyo3(signature = (rows = None))]
    fn keep_changes(&self, py: Python<'_>, rows: Option<u64>) -> PyResult<()> {
        let retention = rows.map_or_else(ChangeRetention::new, |rows| ChangeRetention::new().rows(rows));
        self.run(py, move |table| Ok(table.keep_changes(retention)?))
    }

    /// The changes of rows by the commits after `since`.
    fn changes(&self, since: u64) -> PyResult<PyChanges> {
        self.newest()?.changes(since)
    }

    /// Adds a consumer of the change feed.
    #[pyo3(signature = (name, *, bootstrap = false, rows = None))]
    fn add_consumer(&self, py: Python<'_>, name: String, bootstrap: bool, rows: Option<u64>) -> PyResult<()> {
        let options = consumer_options(bootstrap, rows);
        self.run(py, move |table| Ok(table.add_consumer(&name, options)?))
    }

    /// Drops a consumer.
    fn drop_consumer(&self, py: Python<'_>, name: String) -> PyResult<()> {
        self.run(py, move |table| Ok(table.drop_consumer(&name)?))
    }

    /// The consumers, each with the last commit that it has acknowledged.
    fn consumers(&self) -> PyResult<BTreeMap<String, u64>> {
        let consumers = self.table()?.consumers().map_err(Failure::from)?;
        Ok(consumers.into_iter().map(|consumer| (consumer.name, consumer.sequence)).collect())
    }

    /// The changes that a consumer has not acknowledged.
    fn consume(&self, name: &str) -> PyResult<PyChanges> {
        Ok(PyChanges::new(self.table()?.consume(name).map_err(Failure::from)?))
    }

    /// Moves the position of a consumer.
    fn acknowledge(&self, py: Python<'_>, name: String, sequence: u64) -> PyResult<()> {
        self.run(py, move |table| Ok(table.acknowledge(&name, sequence)?))
    }

    /// Follows the changes, as a consumer or after a commit.
    #[pyo3(signature = (consumer = None, *, since = None, bootstrap = false, rows = None, timeout = None))]
    fn follow(
        &self,
        consumer: Option<&str>,
        since: Option<u64>,
        bootstrap: bool,
        rows: Option<u64>,
        timeout: Option<f64>,
    ) -> PyResult<PyFollower> {
        let table = self.table()?;
        let follower = match (consumer, since) {
            (Some(name), None) => table.follow(name, consumer_options(bootstrap, rows)).map_err(Failure::from)?,
            (None, Some(since)) if !bootstrap && rows.is_none() => table.follow_since(since),
            _ => return Err(PyTypeError::new_err("give consumer, with bootstrap and rows, or since")),
        };
        let timeout = timeout.map(|timeout| duration("timeout", timeout)).transpose()?;
        Ok(PyFollower::new(follower, timeout))
    }

    /// Publishes the table as one of Iceberg, now and at each flush, and returns what is published.
    #[pyo3(signature = (*, keep = 600.0, max_age = None, map_types = false, formats = None))]
    fn publish<'py>(
        &self,
        py: Python<'py>,
        keep: f64,
        max_age: Option<f64>,
        map_types: bool,
        formats: Option<Vec<String>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let formats = formats.unwrap_or_else(|| vec!["iceberg".to_owned()]);
        if let Some(other) = formats.iter().find(|format| !matches!(format.as_str(), "iceberg" | "delta")) {
            return Err(PyValueError::new_err(format!("formats={other:?}: formats are 'iceberg' and 'delta'")));
        }
        let has = |name: &str| formats.iter().any(|format| format == name);
        let options = PublishOptions::new().iceberg(has("iceberg")).delta(has("delta"));
        let options = options.keep(duration("keep", keep)?).map_types(map_types);
        let max_age = max_age.map(|seconds| duration("max_age", seconds)).transpose()?;
        let options = max_age.into_iter().fold(options, PublishOptions::max_age);
        let published = self.run(py, move |table| Ok(table.publish(options)?))?;
        published_dict(py, &published)
    }

    /// Flushes and publishes, and returns what is published.
    fn publish_now<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let published = self.run(py, |table| Ok(table.publish_now()?))?;
        published_dict(py, &published)
    }

    /// Ends publishing, and removes the metadata.
    fn stop_publishing(&self, py: Python<'_>) -> PyResult<()> {
        self.run(py, |table| Ok(table.stop_publishing()?))
    }

    /// The published snapshot; `None` if the table is not published.
    fn publication<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(publication) = self.run(py, |table| Ok(table.publication()?))? else { return Ok(None) };
        let result = PyDict::new(py);
        result.set_item("version", publication.version)?;
        result.set_item("time", publication.time)?;
        result.set_item("snapshots", publication.snapshots)?;
        result.set_item("metadata", location(py, &publication.metadata)?)?;
        result.set_item("mapped", mapped_dict(py, &publication.mapped)?)?;
        Ok(Some(result))
    }

    /// Moves recently written rows to files, and returns the numbers of rows and files.
    fn flush<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let flushed = self.run(py, |table| Ok(table.flush()?))?;
        let result = PyDict::new(py);
        result.set_item("rows", flushed.rows)?;
        result.set_item("files", flushed.files)?;
        Ok(result)
    }

    /// Merges small files, and files with many deleted rows, and returns counts.
    fn compact<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let compacted = self.run(py, |table| Ok(table.compact()?))?;
        let result = PyDict::new(py);
        result.set_item("merges", compacted.merges)?;
        result.set_item("files_before", compacted.files_before)?;
        result.set_item("files_after", compacted.files_after)?;
        result.set_item("rows", compacted.rows)?;
        Ok(result)
    }

    /// Removes files that are no longer needed, and returns their number.
    fn vacuum(&self, py: Python<'_>) -> PyResult<usize> {
        self.run(py, |table| Ok(table.vacuum()?))
    }

    /// Makes all commits so far durable.
    fn sync(&self, py: Python<'_>) -> PyResult<()> {
        self.run(py, |table| Ok(table.sync()?))
    }

    /// Closes the table, as soon as no snapshot, scan or change list of it is in use.
    fn close(&self, py: Python<'_>) {
        if self.origin != Origin::here() {
            return;
        }
        py.detach(|| drop(self.table.lock().unwrap_or_else(PoisonError::into_inner).take()));
    }

    fn __enter__(this: Py<Self>) -> Py<Self> {
        this
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) {
        self.close(py);
    }

    fn __repr__(&self) -> String {
        format!("<lath.Table in {}>", self.folder.display())
    }
}

/// The files that a table is made of.
enum ImportSource<'py> {
    Dataset(Bound<'py, PyDataset>),
    Locations(Locations),
}

impl<'a, 'py> FromPyObject<'a, 'py> for ImportSource<'py> {
    type Error = PyErr;

    fn extract(source: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        match source.cast::<PyDataset>() {
            Ok(dataset) => Ok(Self::Dataset(dataset.to_owned())),
            Err(_) => source.extract().map(Self::Locations),
        }
    }
}

impl ImportSource<'_> {
    fn dataset(self, py: Python<'_>) -> PyResult<Dataset> {
        match self {
            Self::Dataset(dataset) => dataset.get().all_files(py),
            Self::Locations(locations) => {
                let locations = locations.into_vec();
                // Files with other columns than the first one's are written again.
                let options = DatasetOptions::new().union_schemas(true).runtime(&runtime()?);
                work::run_to_end(py, move || Opening::open(None, &locations, options)?.into_dataset())
            }
        }
    }
}

fn import_dict<'py>(py: Python<'py>, report: &ImportReport) -> PyResult<Bound<'py, PyDict>> {
    let rewritten = report.rewritten.iter().map(|file| {
        let result = PyDict::new(py);
        result.set_item("location", &file.location)?;
        result.set_item("reason", &file.reason)?;
        result.set_item("rows", file.rows)?;
        Ok(result)
    });
    let result = PyDict::new(py);
    result.set_item("rows", report.rows)?;
    result.set_item("files", report.files)?;
    result.set_item("linked", report.linked)?;
    result.set_item("rewritten", rewritten.collect::<PyResult<Vec<_>>>()?)?;
    Ok(result)
}

/// A path, or the URL of an object as text: `pathlib` would join its slashes.
fn location<'py>(py: Python<'py>, path: &Path) -> PyResult<Bound<'py, PyAny>> {
    match path.to_str().filter(|path| is_store(path)) {
        Some(url) => Ok(PyString::new(py, url).into_any()),
        None => Ok(path.into_pyobject(py)?.into_any()),
    }
}

fn published_dict<'py>(py: Python<'py>, published: &PublishedCommit) -> PyResult<Bound<'py, PyDict>> {
    let result = PyDict::new(py);
    result.set_item("version", published.version)?;
    result.set_item("rows", published.rows)?;
    result.set_item("files", published.files)?;
    result.set_item("metadata", location(py, &published.metadata)?)?;
    result.set_item("mapped", mapped_dict(py, &published.mapped)?)?;
    Ok(result)
}

/// The columns that are published in wider types, with the names of these types.
fn mapped_dict<'py>(py: Python<'py>, mapped: &[MappedColumn]) -> PyResult<Bound<'py, PyDict>> {
    let result = PyDict::new(py);
    for column in mapped {
        result.set_item(&column.column, column.to.to_string())?;
    }
    Ok(result)
}

impl PyTable {
    fn new(table: Table, folder: PathBuf) -> Self {
        Self { table: Mutex::new(Some(OfProcess::new(table))), folder, origin: Origin::here() }
    }

    fn table(&self) -> Result<Table, Failure> {
        // In a forked process, the lock might be held for ever.
        self.origin.check(TABLE)?;
        let table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        let table = table.as_ref().ok_or_else(|| Failure::invalid("the table is closed: open it again"))?;
        table.get(TABLE).cloned()
    }

    fn newest(&self) -> PyResult<PyTableSnapshot> {
        Ok(PyTableSnapshot::new(self.table()?.snapshot().map_err(Failure::from)?))
    }

    fn run<T: Send + 'static>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Table) -> Result<T, Failure> + Send + 'static,
    ) -> PyResult<T> {
        let table = self.table()?;
        work::run_to_end(py, move || work(&table))
    }

    /// Changes rows, all in one commit.
    fn change(
        &self,
        py: Python<'_>,
        rows: &Bound<'_, PyAny>,
        progress: Option<&Py<PyAny>>,
        mut change: impl FnMut(&mut Transaction, &RecordBatch) -> lath::table::Result<()> + Send,
    ) -> PyResult<()> {
        let watcher = Watcher::start(py, progress)?;
        let total = watcher.as_ref().map_or(Ok(None), |_| progress::row_count(rows))?;
        let (table, reader) = (self.table()?, capsule::reader_in(rows)?);
        let (cancel, count) = (Cancel::new(), AtomicU64::new(0));
        let position = || (count.load(Ordering::Relaxed), total);
        work::run_watched(
            py,
            || cancel.cancel(),
            watcher,
            position,
            || {
                let mut transaction = table.begin()?;
                for batch in reader {
                    if cancel.is_cancelled() {
                        return Err(Error::Cancelled.into());
                    }
                    let batch = batch?;
                    change(&mut transaction, &batch)?;
                    count.fetch_add(batch.num_rows() as u64, Ordering::Relaxed);
                }
                Ok(transaction.commit()?)
            },
        )
    }
}

/// A snapshot of a table at one commit.
#[pyclass(name = "TableSnapshot", module = "lath", frozen)]
pub(crate) struct PyTableSnapshot {
    snapshot: OfProcess<Snapshot>,
}

impl PyTableSnapshot {
    fn new(snapshot: Snapshot) -> Self {
        Self { snapshot: OfProcess::new(snapshot) }
    }

    fn snapshot(&self) -> Result<&Snapshot, Failure> {
        self.snapshot.get(TABLE)
    }
}

#[pymethods]
impl PyTableSnapshot {
    /// Names and types of the columns.
    #[getter]
    fn schema(&self) -> PyResult<PySchema> {
        Ok(PySchema::new(self.snapshot()?.schema().clone()))
    }

    /// The number of the commit.
    #[getter]
    fn version(&self) -> PyResult<u64> {
        Ok(self.snapshot()?.version())
    }

    fn get(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<Option<PyBatch>> {
        let snapshot = self.snapshot()?;
        let key = key_fields(snapshot).key(key)?;
        let row = py.detach(|| work::guard(|| Ok(snapshot.get(key)?)))?;
        Ok(row.map(PyBatch::new))
    }

    fn get_many(&self, py: Python<'_>, keys: &Bound<'_, PyAny>) -> PyResult<PyBatch> {
        let snapshot = self.snapshot()?;
        let keys = KeyList::new(keys, snapshot)?;
        let found = work::run(
            py,
            || (),
            || {
                Ok(match keys {
                    KeyList::List(keys) => snapshot.get_many(keys)?,
                    KeyList::Rows(batches) => match &batches[..] {
                        [batch] => snapshot.get_many(batch)?,
                        _ => return Err(Failure::invalid("keys: give them as one batch, or as a list")),
                    },
                })
            },
        )?;
        Ok(PyBatch::new(found.rows().clone()))
    }

    #[pyo3(signature = (columns = None, r#where = None, limit = None, *, threads = None))]
    fn scan(
        &self,
        columns: Option<Vec<String>>,
        r#where: Option<&Bound<'_, PyAny>>,
        limit: Option<u64>,
        threads: Option<usize>,
    ) -> PyResult<PyTableScan> {
        let snapshot = self.snapshot()?;
        let condition = Condition::of(r#where, snapshot.schema())?;
        // A missing column is an error here, before rows are requested.
        for name in columns.iter().flatten() {
            if snapshot.schema().field_with_name(name).is_err() {
                return Err(Failure::invalid(format!("the table has no column {name:?}")).into());
            }
        }
        let limit = limit.unwrap_or(u64::MAX);
        let scan = PyTableScan { snapshot: OfProcess::new(snapshot.clone()), columns, condition, limit, threads };
        if let Some(condition) = r#where.filter(|_| scan.condition.residual.is_some()) {
            // A condition that the other library refuses is an error here too.
            condition.py().detach(|| work::guard(|| scan.start()))?;
        }
        Ok(scan)
    }

    #[pyo3(signature = (r#where = None))]
    fn count(&self, py: Python<'_>, r#where: Option<&Bound<'_, PyAny>>) -> PyResult<u64> {
        self.scan(None, r#where, None, None)?.count(py)
    }

    fn changes(&self, since: u64) -> PyResult<PyChanges> {
        let changes = self.snapshot()?.changes(since).map_err(Failure::from)?;
        Ok(PyChanges::new(changes))
    }
}

/// Rows and columns of a table to read.
#[pyclass(name = "TableScan", module = "lath", frozen)]
pub(crate) struct PyTableScan {
    snapshot: OfProcess<Snapshot>,
    columns: Option<Vec<String>>,
    condition: Condition,
    limit: u64,
    threads: Option<usize>,
}

#[pymethods]
impl PyTableScan {
    /// The number of rows.
    fn count(&self, py: Python<'_>) -> PyResult<u64> {
        work::run(
            py,
            || (),
            || match self.condition.residual {
                None => Ok(self.scan(self.columns.as_deref())?.count()?),
                Some(_) => self.start_with(Some(&[]))?.map(|batch| Ok(batch?.num_rows() as u64)).sum(),
            },
        )
    }

    fn to_arrow<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.rows(py)?.into_arrow(py)
    }

    fn to_polars<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.rows(py)?.into_polars(py)
    }

    fn to_pandas<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.rows(py)?.into_pandas(py)
    }

    fn __iter__(&self, py: Python<'_>) -> PyResult<PyTableBatches> {
        let running = py.detach(|| work::guard(|| self.start()))?;
        Ok(PyTableBatches { running: Mutex::new(running), origin: Origin::here() })
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let all = self.snapshot.get(TABLE)?.schema();
        let schema = match &self.columns {
            Some(columns) => {
                let places = columns.iter().map(|name| all.index_of(name)).collect::<Result<Vec<_>, _>>();
                Arc::new(places.and_then(|places| all.project(&places)).map_err(Failure::from)?)
            }
            None => Arc::clone(all),
        };
        capsule::schema_out(py, &schema)
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let running = py.detach(|| work::guard(|| self.start()))?;
        capsule::stream_out(py, Box::new(PanicCatchingReader(running)))
    }
}

impl PyTableScan {
    fn start(&self) -> Result<RunningTableScan, Failure> {
        self.start_with(self.columns.as_deref())
    }

    fn start_with(&self, columns: Option<&[String]>) -> Result<RunningTableScan, Failure> {
        let mut batches = self.scan(columns)?.build()?;
        let schema = batches.schema();
        let mut tester = None;
        if let Some(residual) = &self.condition.residual {
            if let Some(columns) = columns {
                batches = self.scan(Some(&residual.and_columns(columns)))?.build()?;
            }
            tester = Some(residual.tester(&batches.schema(), &schema, self.limit)?);
        }
        Ok(RunningTableScan { batches: OfProcess::new(batches), tester, schema })
    }

    fn scan(&self, columns: Option<&[String]>) -> Result<TableScan<'static>, Failure> {
        let threads = self.threads.map_or_else(|| Ok(runtime()?.threads()), Ok::<_, Failure>)?;
        let mut scan = self.snapshot.get(TABLE)?.scan().threads(threads);
        if self.condition.residual.is_none() {
            scan = scan.limit(self.limit);
        }
        if let Some(columns) = columns {
            scan = scan.select(columns);
        }
        Ok(self.condition.predicate.iter().cloned().fold(scan, TableScan::predicate))
    }

    fn rows(&self, py: Python<'_>) -> PyResult<Rows> {
        let cancel = Cancel::new();
        work::run(
            py,
            || cancel.cancel(),
            || {
                let running = self.start()?;
                let schema = Arc::clone(&running.schema);
                let mut rows = Vec::new();
                for batch in running {
                    if cancel.is_cancelled() {
                        return Err(Error::Cancelled.into());
                    }
                    rows.push(batch?);
                }
                Ok(Rows::new(schema, rows))
            },
        )
    }
}

/// Iteration over the batches of a table's scan.
struct RunningTableScan {
    batches: OfProcess<TableBatches<'static>>,
    tester: Option<Tester>,
    schema: SchemaRef,
}

impl Iterator for RunningTableScan {
    type Item = Result<RecordBatch, Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.batches.get_mut(TABLE) {
            Ok(batches) => next_tested(batches, self.tester.as_mut()),
            Err(failure) => Some(Err(failure)),
        }
    }
}

/// A table scan for the C stream interface, with panics turned into errors.
struct PanicCatchingReader(RunningTableScan);

impl Iterator for PanicCatchingReader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = work::guard(|| self.0.next().transpose());
        next.map_err(|failure| ArrowError::ExternalError(failure.message().into())).transpose()
    }
}

impl RecordBatchReader for PanicCatchingReader {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.0.schema)
    }
}

/// The batches of a table's scan.
#[pyclass(name = "TableBatches", module = "lath", frozen)]
pub(crate) struct PyTableBatches {
    running: Mutex<RunningTableScan>,
    origin: Origin,
}

#[pymethods]
impl PyTableBatches {
    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<PyBatch>> {
        self.origin.check(TABLE)?;
        py.check_signals()?;
        let batch = py.detach(|| {
            let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
            work::guard(|| running.next().transpose())
        })?;
        Ok(batch.map(PyBatch::new))
    }
}

/// Changes of rows by commits, as batches.
#[pyclass(name = "Changes", module = "lath", frozen)]
pub(crate) struct PyChanges {
    changes: Mutex<OfProcess<Changes>>,
    schema: SchemaRef,
    origin: Origin,
}

impl PyChanges {
    fn new(changes: Changes) -> Self {
        let schema = changes.schema();
        Self { changes: Mutex::new(OfProcess::new(changes)), schema, origin: Origin::here() }
    }
}

#[pymethods]
impl PyChanges {
    /// Names and types of the columns.
    #[getter]
    fn schema(&self) -> PySchema {
        PySchema::new(self.schema.clone())
    }

    /// The commit up to which all changes were returned, for the next call.
    #[getter]
    fn resume_at(&self) -> PyResult<u64> {
        self.origin.check(TABLE)?;
        Ok(self.changes.lock().unwrap_or_else(PoisonError::into_inner).get(TABLE)?.resume_at())
    }

    /// The remaining changes as a `pyarrow.Table`.
    fn to_arrow<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.origin.check(TABLE)?;
        let batches = work::run(
            py,
            || (),
            || {
                let mut changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
                Ok(changes.get_mut(TABLE)?.collect::<lath::table::Result<Vec<_>>>()?)
            },
        )?;
        Rows::new(self.schema.clone(), batches).into_arrow(py)
    }

    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<PyBatch>> {
        self.origin.check(TABLE)?;
        let batch = py.detach(|| {
            let mut changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
            work::guard(|| Ok(changes.get_mut(TABLE)?.next().transpose()?))
        })?;
        Ok(batch.map(PyBatch::new))
    }
}

/// Keys to get or delete.
enum KeyList {
    List(Vec<Key>),
    /// The key columns of batches.
    Rows(Vec<RecordBatch>),
}

impl KeyList {
    fn new(keys: &Bound<'_, PyAny>, snapshot: &Snapshot) -> PyResult<Self> {
        if keys.cast::<PyString>().is_ok() || keys.cast::<PyBytes>().is_ok() {
            return Err(PyTypeError::new_err("one key is not a list of keys: write [key]"));
        }
        if keys.cast::<PyList>().is_err() && keys.hasattr("column_names")? || keys.hasattr("columns")? {
            let reader = capsule::reader_in(keys)?;
            return Ok(Self::Rows(reader.collect::<Result<_, _>>().map_err(Failure::from)?));
        }
        Ok(Self::List(key_fields(snapshot).keys(keys)?))
    }
}

/// The key columns of a table.
fn key_fields(snapshot: &Snapshot) -> KeyFields<'_> {
    KeyFields::new(snapshot.schema(), snapshot.key_columns())
}
