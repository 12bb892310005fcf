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
use lath_pyo3::batches::{Reader, Running};
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
    /// Receives the progress of a run.
    progress: Option<Py<PyAny>>,
    last: Mutex<Option<ScanProgress>>,
}

impl PyScan {
    /// A scan with the caller's choices; without `columns`, all of them.
    pub(crate) fn new(
        py: Python<'_>,
        (scan, residual): (Scan, Option<Residual>),
        columns: Option<Vec<String>>,
        limit: Option<u64>,
        strings: Option<Strings>,
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
        let scan = Self { scan, residual, columns, limit, schema, has_strings, progress, last: Mutex::new(None) };
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
        Ok((running(stream, tester, cancel), watcher))
    }

    fn scan(&self) -> Result<Scan, Failure> {
        self.scan.get(SCAN).cloned()
    }

    fn watcher(&self, py: Python<'_>) -> PyResult<Option<Watcher>> {
        Watcher::start(py, self.progress.as_ref())
    }

    fn note(&self, progress: ScanProgress) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(progress);
    }

    /// All rows. `strings` is the best layout for the library that receives them.
    fn rows(&self, py: Python<'_>, strings: Strings) -> PyResult<Rows> {
        let scan = if self.has_strings { self.scan()? } else { self.scan()?.strings(strings) };
        let cancel = Cancel::new();
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

    fn __iter__(&self, py: Python<'_>) -> PyResult<PyBatches> {
        let (running, watcher) = self.start(py)?;
        Ok(PyBatches::new(running, watcher))
    }

    /// The number of rows, without reading more than that takes.
    pub(crate) fn count(&self, py: Python<'_>) -> PyResult<u64> {
        let cancel = Cancel::new();
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
        capsule::stream_out(py, Box::new(Reader::new(running, watcher)))
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsule::schema_out(py, &self.schema)
    }

    fn __repr__(&self) -> String {
        let names: Vec<&str> = self.schema.fields().iter().map(|field| field.name().as_str()).collect();
        format!("<lath.Scan of the columns {}>", names.join(", "))
    }
}
