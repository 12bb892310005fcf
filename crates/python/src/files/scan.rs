//! Scans: rows and columns to read.

use std::sync::{Mutex, PoisonError};

use lath::arrow::schema::SchemaRef;
use lath::{Cancel, Scan, ScanProgress, Strings};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use super::batches::{PyBatches, SCAN, running};
use super::report;
use crate::arrow::PySchema;
use crate::condition::{Residual, Tester, all_tested};
use lath_pyo3::batches::Running;
use lath_pyo3::error::Failure;
use lath_pyo3::fork::OfProcess;
use lath_pyo3::progress::{Watcher, scan_position};
use lath_pyo3::rows::Rows;
use lath_pyo3::{capsule, work};

/// Rows and columns to read. They are read again whenever the scan is iterated or given to another library.
#[pyclass(name = "Scan", module = "lath", frozen)]
pub(crate) struct PyScan {
    /// Without the limit, if there is a residual.
    scan: OfProcess<Scan>,
    residual: Option<Residual>,
    columns: Option<Vec<String>>,
    limit: u64,
    schema: SchemaRef,
    /// Whether the caller chose the layout of strings.
    has_strings: bool,
    /// Whether threads that read the files call Python.
    calls_python: bool,
    /// Receives the progress of a run.
    progress: Option<Py<PyAny>>,
    last: Mutex<Option<ScanProgress>>,
    /// Stops the last run that reads all rows at once.
    cancel: Mutex<Cancel>,
}

impl PyScan {
    /// A scan with the caller's choices; without `columns`, all of them.
    pub(crate) fn new(
        py: Python<'_>,
        (scan, residual): (Scan, Option<Residual>),
        columns: Option<Vec<String>>,
        limit: Option<u64>,
        strings: Option<Strings>,
        calls_python: bool,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        Watcher::check(py, progress.as_ref())?;
        let limit = limit.unwrap_or(u64::MAX);
        let scan = scan.strings(strings.unwrap_or_default());
        let scan = if residual.is_none() { scan.limit(limit) } else { scan };
        let scan = columns.iter().fold(scan, Scan::select);
        let schema = scan.clone().build().map_err(Failure::from)?.schema();
        let has_strings = strings.is_some();
        let scan = OfProcess::new(scan);
        let (last, cancel) = (Mutex::new(None), Mutex::new(Cancel::new()));
        let scan = Self { scan, residual, columns, limit, schema, has_strings, calls_python, progress, last, cancel };
        if scan.residual.is_some() {
            // A condition that the other library refuses is an error here, before rows are read.
            let _ = scan.to_read(scan.scan()?, scan.columns.as_deref())?;
        }
        Ok(scan)
    }

    /// The scan that reads all that a scan of `columns` needs, and the tester of its batches.
    fn to_read(&self, scan: Scan, columns: Option<&[String]>) -> Result<(Scan, Option<Tester>), Failure> {
        let scan = columns.iter().fold(scan, |scan, &columns| scan.select(columns));
        let Some(residual) = &self.residual else { return Ok((scan, None)) };
        let schema = scan.clone().build()?.schema();
        let read = columns.iter().fold(scan, |scan, columns| scan.select(residual.and_columns(columns)));
        let tester = residual.tester(&read.clone().build()?.schema(), &schema, self.limit)?;
        Ok((read, Some(tester)))
    }

    fn start(&self, py: Python<'_>) -> PyResult<(Running, Option<Watcher>)> {
        let watcher = self.watcher(py)?;
        let cancel = Cancel::new();
        let (scan, tester) = self.to_read(self.scan()?, self.columns.as_deref())?;
        let stream = scan.cancel(&cancel).into_stream().map_err(Failure::from)?;
        self.note(stream.progress());
        Ok((running(stream, tester, cancel, self.calls_python), watcher))
    }

    fn scan(&self) -> Result<Scan, Failure> {
        self.scan.get(SCAN).cloned()
    }

    fn watcher(&self, py: Python<'_>) -> PyResult<Option<Watcher>> {
        Watcher::start(py, self.progress.as_ref())
    }

    fn new_cancel(&self) -> Cancel {
        let cancel = Cancel::new();
        *self.cancel.lock().unwrap_or_else(PoisonError::into_inner) = cancel.clone();
        cancel
    }

    fn note(&self, progress: ScanProgress) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(progress);
    }

    /// All rows. `strings` is the best layout for the library that receives them.
    fn rows(&self, py: Python<'_>, strings: Strings) -> PyResult<Rows> {
        let scan = if self.has_strings { self.scan()? } else { self.scan()?.strings(strings) };
        let cancel = self.new_cancel();
        let (scan, tester) = self.to_read(scan, self.columns.as_deref())?;
        let batches = scan.by_column(true).cancel(&cancel).build().map_err(Failure::from)?;
        let progress = batches.progress();
        self.note(progress.clone());
        let schema = tester.as_ref().map_or_else(|| batches.schema(), |tester| tester.schema().clone());
        let watcher = self.watcher(py)?;
        let batches = work::run_watched(
            py,
            || cancel.cancel(),
            watcher,
            || scan_position(&progress),
            || all_tested(batches, tester),
        )?;
        Ok(Rows::new(schema, batches))
    }
}

#[pymethods]
impl PyScan {
    /// Names and types of the columns.
    #[getter]
    fn schema(&self) -> PySchema {
        PySchema::new(self.schema.clone())
    }

    /// The report of the last run, also while it runs; `None` before the first.
    #[getter]
    pub(crate) fn report<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner).clone();
        last.map(|progress| report::report(py, &progress.report())).transpose()
    }

    fn __aiter__(&self, py: Python<'_>) -> PyResult<PyBatches> {
        self.__iter__(py)
    }

    pub(crate) fn __iter__(&self, py: Python<'_>) -> PyResult<PyBatches> {
        let (running, watcher) = self.start(py)?;
        Ok(PyBatches::new(running, watcher))
    }

    /// The number of rows, without reading more than that takes.
    pub(crate) fn count(&self, py: Python<'_>) -> PyResult<u64> {
        let cancel = self.new_cancel();
        let (scan, tester) = self.to_read(self.scan()?, Some(&[]))?;
        let batches = scan.by_column(true).cancel(&cancel).build().map_err(Failure::from)?;
        let progress = batches.progress();
        self.note(progress.clone());
        work::run_watched(
            py,
            || cancel.cancel(),
            self.watcher(py)?,
            || scan_position(&progress),
            || match tester {
                None => Ok(batches.count_rows()?),
                Some(_) => {
                    let batches = all_tested(batches, tester)?;
                    Ok(batches.iter().map(|batch| batch.num_rows() as u64).sum())
                }
            },
        )
    }

    /// All rows as a `pyarrow.Table`.
    pub(crate) fn to_arrow<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.rows(py, Strings::Offsets)?.into_arrow(py)
    }

    /// All rows as a `polars.DataFrame`.
    pub(crate) fn to_polars<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.rows(py, Strings::Views)?.into_polars(py)
    }

    /// All rows as a `pandas.DataFrame`.
    pub(crate) fn to_pandas<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.rows(py, Strings::Offsets)?.into_pandas(py)
    }

    #[pyo3(signature = (requested_schema = None))]
    pub(crate) fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let (running, watcher) = self.start(py)?;
        capsule::stream_out(py, running.into_reader(py, watcher)?)
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsule::schema_out(py, &self.schema)
    }

    /// Stops the last call of `to_arrow`, `to_polars`, `to_pandas` or `count`, which raises an error.
    fn _stop(&self) {
        self.cancel.lock().unwrap_or_else(PoisonError::into_inner).cancel();
    }

    /// All rows as a `pyarrow.Table`, to be awaited.
    fn to_arrow_async(this: Bound<'_, Self>) -> PyResult<Bound<'_, PyAny>> {
        run_async(&this, "to_arrow")
    }

    /// All rows as a `polars.DataFrame`, to be awaited.
    fn to_polars_async(this: Bound<'_, Self>) -> PyResult<Bound<'_, PyAny>> {
        run_async(&this, "to_polars")
    }

    /// All rows as a `pandas.DataFrame`, to be awaited.
    fn to_pandas_async(this: Bound<'_, Self>) -> PyResult<Bound<'_, PyAny>> {
        run_async(&this, "to_pandas")
    }

    /// The number of rows, to be awaited.
    fn count_async(this: Bound<'_, Self>) -> PyResult<Bound<'_, PyAny>> {
        run_async(&this, "count")
    }

    /// The first rows as a table of a notebook.
    pub(crate) fn _repr_html_(this: Bound<'_, Self>) -> PyResult<Bound<'_, PyAny>> {
        this.py().import("lath._preview")?.call_method1("scan", (this,))
    }

    /// The number of rows.
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(usize::try_from(self.count(py)?).unwrap_or(usize::MAX))
    }

    /// A scan is true, whether it has rows or not: finding out may take long.
    fn __bool__(&self) -> bool {
        true
    }

    fn __repr__(&self) -> String {
        let names: Vec<&str> = self.schema.fields().iter().map(|field| field.name().as_str()).collect();
        format!("<lath.Scan of the columns {}>", names.join(", "))
    }
}

/// A method of a scan as a coroutine.
fn run_async<'py>(scan: &Bound<'py, PyScan>, method: &str) -> PyResult<Bound<'py, PyAny>> {
    scan.py().import("lath._async")?.call_method1("run", (scan, method))
}
