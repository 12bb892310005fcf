//! Sessions: named tables, and statements on them.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use datafusion::common::TableReference;
use datafusion::datasource::MemTable;
use lath::Runtime;
use lath::arrow::array::RecordBatch;
use lath_cluster::{Cluster, ClusterOptions};
use lath_pyo3::encryption::encryption_key as key_argument;
use lath_pyo3::error::{Failure, Kind};
use lath_pyo3::fork::{OfProcess, Origin, runtime};
use lath_pyo3::location::Location;
use lath_pyo3::opening::{OpenSource, Opening, wait_duration};
use lath_pyo3::{capsule, work};
use lath_sql::{BlockingSession, Error, Session, SessionBuilder, Stop, lake_table, split_statements};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::answer::PyAnswer;
use crate::error::failure;
use crate::transaction::PyTransaction;

/// Name of a session in errors.
const SESSION: &str = "the session";

/// The workers at addresses.
fn workers(
    addresses: &[String],
    token: Option<String>,
    authorities: Option<PathBuf>,
    min_bytes: Option<u64>,
) -> PyResult<Cluster> {
    let options = token.into_iter().fold(ClusterOptions::new(), ClusterOptions::token);
    let authorities = authorities.map(std::fs::read).transpose()?;
    let options = authorities.into_iter().fold(options, ClusterOptions::authorities);
    let options = min_bytes.into_iter().fold(options, ClusterOptions::min_bytes);
    Cluster::new(addresses, options).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Named tables and settings that statements share.
#[pyclass(name = "Session", module = "lath_sql", frozen)]
pub(crate) struct PySession {
    /// `None` once it is closed.
    open: Mutex<Option<OfProcess<Open>>>,
    origin: Origin,
    /// Whether statements find variables of their caller.
    finds_variables: bool,
}

#[derive(Clone)]
struct Open {
    session: Arc<BlockingSession>,
    runtime: Runtime,
}

#[pymethods]
impl PySession {
    #[new]
    #[pyo3(signature = (
        *,
        memory_limit = None,
        threads = None,
        database = None,
        read_only = false,
        wait = None,
        encryption_key = None,
        cluster = None,
        cluster_token = None,
        cluster_ca = None,
        cluster_min_bytes = None,
        replacement_scans = true
    ))]
    #[expect(clippy::too_many_arguments, reason = "each is a keyword in Python")]
    fn new(
        py: Python<'_>,
        memory_limit: Option<usize>,
        threads: Option<usize>,
        database: Option<PathBuf>,
        read_only: bool,
        wait: Option<f64>,
        encryption_key: Option<&Bound<'_, PyAny>>,
        cluster: Option<Vec<String>>,
        cluster_token: Option<String>,
        cluster_ca: Option<PathBuf>,
        cluster_min_bytes: Option<u64>,
        replacement_scans: bool,
    ) -> PyResult<Self> {
        if threads == Some(0) || memory_limit == Some(0) {
            return Err(PyValueError::new_err("threads and memory_limit have to be at least 1"));
        }
        if read_only && database.is_none() {
            return Err(PyValueError::new_err("read_only is about the database: give its folder"));
        }
        if wait.is_some() && database.is_none() {
            return Err(PyValueError::new_err("wait is about the database: give its folder"));
        }
        let encryption_key = key_argument(encryption_key)?;
        let runtime = match threads {
            Some(threads) => Runtime::builder().threads(threads).build(),
            None => runtime()?,
        };
        let mut builder = Session::builder().runtime(&runtime);
        if let Some(bytes) = memory_limit {
            builder = builder.memory_budget_bytes(bytes);
        }
        builder = encryption_key.into_iter().fold(builder, SessionBuilder::encryption_key);
        if let Some(folder) = database {
            // A session that was just dropped may still have it open.
            work::wait_for_drops(py);
            builder = if read_only { builder.read_only_database(folder) } else { builder.database(folder) };
            if let Some(seconds) = wait {
                builder = builder.database_wait(wait_duration(seconds)?);
            }
        }
        if let Some(addresses) = cluster {
            builder = workers(&addresses, cluster_token, cluster_ca, cluster_min_bytes)?.extend(builder);
        } else if cluster_token.is_some() || cluster_ca.is_some() || cluster_min_bytes.is_some() {
            return Err(PyValueError::new_err(
                "cluster_token, cluster_ca and cluster_min_bytes are about the cluster: give its addresses",
            ));
        }
        let session = work::run_to_end(py, move || {
            let session = builder.build().map_err(Error::from).and_then(BlockingSession::new);
            session.map_err(|error| failure(error, ""))
        })?;
        let open = Open { session: Arc::new(session), runtime };
        let open = Mutex::new(Some(OfProcess::new(open)));
        Ok(Self { open, origin: Origin::here(), finds_variables: replacement_scans })
    }

    /// Runs the statements of a text, and returns the result of the last one.
    #[pyo3(signature = (text, /))]
    fn sql(&self, py: Python<'_>, text: &str) -> PyResult<PyAnswer> {
        let frame = match self.finds_variables {
            true => Some(py.import("lath_sql._scope")?.call_method0("caller")?),
            false => None,
        };
        self.sql_within(py, text, frame)
    }

    /// As `sql`, with the variables of a frame.
    #[pyo3(name = "_sql_within", signature = (text, frame, /))]
    fn sql_within(&self, py: Python<'_>, text: &str, frame: Option<Bound<'_, PyAny>>) -> PyResult<PyAnswer> {
        let Open { session, .. } = self.open()?;
        let text: Arc<str> = text.into();
        let statements = split_statements(&text).map_err(|error| failure(error, &text))?;
        let Some(last) = statements.last().cloned() else {
            return Err(Failure::invalid("there is no statement: write one, such as SELECT 1").into());
        };
        let checked = statements.iter().try_for_each(|statement| session.check_syntax(&text, statement.clone()));
        checked.map_err(|error| failure(error, &text))?;
        for statement in statements {
            let is_last = statement == last;
            let found = match &frame {
                Some(frame) => self.register_variables(py, &text, &statement, frame)?,
                None => Vec::new(),
            };
            let ran = run(py, &session, &text, statement.clone());
            for name in &found {
                self.deregister(name)?;
            }
            let (answer, has_rows) = ran?;
            if !has_rows {
                answer.finish(py)?;
            }
            if is_last {
                return Ok(answer);
            }
            if has_rows {
                let line = text[..statement.start].matches('\n').count() + 1;
                let what = "the rows of this statement would be lost, because others come after it: run it by a call of its own";
                return Err(Failure::invalid(format!("line {line}: {what}")).into());
            }
        }
        Err(Failure::bug("the last statement was not found").into())
    }

    /// A transaction for a `with` block.
    #[pyo3(signature = (*, read_only = false))]
    fn transaction(this: Py<Self>, read_only: bool) -> PyTransaction {
        PyTransaction::new(this.into_any(), read_only)
    }

    /// Whether a transaction is open; not in a closed session.
    #[getter]
    fn in_transaction(&self) -> bool {
        self.open().is_ok_and(|open| open.session.session().is_in_transaction())
    }

    /// Registers files or rows as a table.
    fn register(&self, py: Python<'_>, name: &str, source: &Bound<'_, PyAny>) -> PyResult<()> {
        let open = self.open()?;
        let lath = py.import("lath._lath")?;
        if source.is_instance(&lath.getattr("Dataset")?)? {
            let (locations, opening): (Vec<Location>, Opening) = source.call_method0("_opening")?.extract()?;
            // Threads of a query cannot wait for the GIL.
            let locations = locations.into_iter().map(Location::into_memory).collect::<PyResult<Vec<_>>>()?;
            let options = opening.options(py)?.runtime(&open.runtime);
            let opened = work::run_to_end(py, move || Opening::open(opening.at.as_deref(), &locations, options))?;
            open.replace(name, || {
                let session = open.session.session();
                let registered = match opened {
                    OpenSource::Files(dataset) => session.register(name, dataset),
                    OpenSource::Lake(version) => {
                        let table = lake_table(name, *version, &open.runtime);
                        session.context().register_table(name, table).map(drop)
                    }
                };
                registered.map_err(|error| failure(error.into(), ""))
            })?;
        } else if source.is_instance(&lath.getattr("Table")?)? {
            let folder: PathBuf = source.getattr("folder")?.extract()?;
            work::run_to_end(py, open.into_work(name, move |open, name| open.attach(name, &folder)))?;
        } else if source.hasattr("__arrow_c_stream__")? || source.hasattr("__arrow_c_array__")? {
            let rows = source_rows(py, source)?;
            open.replace(name, || open.register_rows(name, rows))?;
        } else if let Ok(location) = source.extract::<PathBuf>() {
            work::run_to_end(py, open.into_work(name, move |open, name| open.register_location(name, &location)))?;
        } else {
            return Err(PyTypeError::new_err(format!(
                "{name}: give a dataset or a table of Lath, the path of files, or anything with __arrow_c_stream__"
            )));
        }
        Ok(())
    }

    /// Removes a registered table. Its files stay.
    fn deregister(&self, name: &str) -> PyResult<()> {
        let Open { session, .. } = self.open()?;
        let removed = session.session().context().deregister_table(name);
        match removed.map_err(|error| failure(error.into(), ""))? {
            Some(_) => Ok(()),
            None => Err(Failure::new(Kind::NotFound, format!("there is no table {name:?}")).into()),
        }
    }

    /// The names of tables and views, in ascending order.
    #[getter]
    fn tables(&self) -> PyResult<Vec<String>> {
        Ok(self.open()?.session.tables())
    }

    /// Closes the session and its database. Earlier results can still be read.
    fn close(&self, py: Python<'_>) {
        if self.origin == Origin::here() {
            drop_open(self.lock().take());
            work::wait_for_drops(py);
        }
    }

    fn __enter__(this: Py<Self>) -> Py<Self> {
        this
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) {
        self.close(py);
    }
}

impl PySession {
    /// Registers the variables of a frame that a statement reads as tables, and returns their names.
    fn register_variables(
        &self,
        py: Python<'_>,
        text: &Arc<str>,
        statement: &Range<usize>,
        frame: &Bound<'_, PyAny>,
    ) -> PyResult<Vec<String>> {
        let missing = self.open()?.session.missing_tables(text, statement.clone());
        if missing.is_empty() {
            return Ok(missing);
        }
        let found = py.import("lath_sql._scope")?.call_method1("find", (frame, missing))?;
        let mut names = Vec::new();
        for (name, source) in found.extract::<Vec<(String, Bound<'_, PyAny>)>>()? {
            // Quoted: it may have upper-case letters.
            let name = TableReference::bare(name).to_quoted_string();
            self.register(py, &name, &source)?;
            names.push(name);
        }
        Ok(names)
    }

    fn open(&self) -> Result<Open, Failure> {
        self.origin.check(SESSION)?;
        let open = self.lock();
        open.as_ref().ok_or_else(|| Failure::invalid("the session is closed"))?.get(SESSION).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, Option<OfProcess<Open>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for PySession {
    fn drop(&mut self) {
        drop_open(self.open.get_mut().unwrap_or_else(PoisonError::into_inner).take());
    }
}

/// Dropping the last reference waits for the session's threads to end, and these may wait for the GIL to release Python objects.
fn drop_open(open: Option<OfProcess<Open>>) {
    if let Some(Ok(open)) = open.map(|open| open.into_inner(SESSION)) {
        work::drop_apart(open);
    }
}

/// Begins a statement, and returns whether its rows are still to be computed. Changes are complete before a result is returned.
fn run(
    py: Python<'_>,
    session: &Arc<BlockingSession>,
    text: &Arc<str>,
    statement: Range<usize>,
) -> PyResult<(PyAnswer, bool)> {
    let stop = Stop::new();
    let answer = work::run(
        py,
        || stop.stop(),
        || session.run_in(text, statement, Some(&stop)).map_err(|error| failure(error, text)),
    )?;
    let has_rows = !answer.writes() && !answer.schema().fields().is_empty();
    Ok((PyAnswer::new(answer, Arc::clone(text), stop), has_rows))
}

/// The rows of a Python object. They are read here, because threads of a query cannot wait for the GIL, which the reader of the
/// result may hold.
fn source_rows(py: Python<'_>, source: &Bound<'_, PyAny>) -> PyResult<MemTable> {
    let reader = capsule::reader_in(source)?;
    let schema = reader.schema();
    let batches = work::run_to_end(py, move || Ok(reader.collect::<Result<Vec<RecordBatch>, _>>()?))?;
    let table = MemTable::try_new(schema, vec![batches]).map_err(|error| failure(error.into(), ""))?;
    Ok(table)
}

impl Open {
    /// Replaces the table that was registered under this name; it stays if that fails.
    fn replace(&self, name: &str, register: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
        let context = self.session.session().context();
        let before = context.deregister_table(name).map_err(|error| failure(error.into(), ""))?;
        register().inspect_err(|_| {
            if let Some(before) = before {
                // It was just registered under this name.
                let _ = context.register_table(name, before);
            }
        })
    }

    fn register_rows(&self, name: &str, rows: MemTable) -> Result<(), Failure> {
        let registered = self.session.session().context().register_table(name, Arc::new(rows));
        registered.map(drop).map_err(|error| failure(error.into(), ""))
    }

    /// Work that cannot be stopped.
    fn into_work(
        self,
        name: &str,
        work: impl FnOnce(&Self, &str) -> Result<(), Failure> + Send + 'static,
    ) -> impl FnOnce() -> Result<(), Failure> + Send + 'static {
        let name = name.to_owned();
        move || work(&self, &name)
    }

    /// Attaches the table with a primary key in a folder, for reading.
    fn attach(&self, name: &str, folder: &Path) -> Result<(), Failure> {
        self.replace(name, || self.try_attach(name, folder)?.map_err(|error| failure(error, "")))
    }

    fn try_attach(&self, name: &str, folder: &Path) -> Result<Result<(), Error>, Failure> {
        let folder = path_text(folder)?;
        let statement = format!(
            "CREATE EXTERNAL TABLE {} STORED AS LATH LOCATION {folder} OPTIONS (read_only true)",
            TableReference::from(name).to_quoted_string()
        );
        Ok(self.session.run(&statement).map(drop))
    }

    /// Registers a location as a table: the folder of a table with a primary key, or files.
    fn register_location(&self, name: &str, location: &Path) -> Result<(), Failure> {
        self.replace(name, || {
            if location.is_dir() {
                match self.try_attach(name, location)? {
                    Err(Error::Table(error)) if matches!(*error, lath::table::Error::NoTable { .. }) => {}
                    attached => return attached.map_err(|error| failure(error, "")),
                }
            }
            let view = TableReference::from(name).to_quoted_string();
            let statement = format!("CREATE TEMPORARY VIEW {view} AS SELECT * FROM {}", path_text(location)?);
            self.session.run(&statement).map(drop).map_err(|error| failure(error, ""))
        })
    }
}

/// A path as an SQL string.
fn path_text(path: &Path) -> Result<String, Failure> {
    let path = path.to_str().ok_or_else(|| {
        Failure::invalid(format!("{}: the path is no Unicode; register a dataset that lath.open gives", path.display()))
    })?;
    Ok(format!("'{}'", path.replace('\'', "''")))
}
