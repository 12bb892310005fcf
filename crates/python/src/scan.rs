//! Scans: which rows and columns are read.

use std::sync::{Mutex, PoisonError};

use lath::arrow::array::RecordBatch;
use lath::arrow::schema::SchemaRef;
use lath::{Cancel, Scan, ScanProgress, Strings};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::batches::{PyBatches, running};
use crate::report;
use crate::schema::PySchema;
use lath_pyo3::batches::{Reader, Running};
use lath_pyo3::error::Failure;
use lath_pyo3::fork::OfProcess;
use lath_pyo3::progress::{Watcher, of_scan};
use lath_pyo3::rows::Rows;
use lath_pyo3::{capsule, work};

/// What a scan is called in errors.
pub(crate) const SCAN: &str = "the scan";

/// Rows and columns to read. Each time that it is iterated, or given to another library, it reads them anew.
#[pyclass(name = "Scan", module = "lath", frozen)]
pub(crate) struct PyScan {
    scan: OfProcess<Scan>,
    schema: SchemaRef,
    /// Whether the caller chose how strings come.
    has_strings: bool,
    /// What is told how far a run is.
    progress: Option<Py<PyAny>>,
    last: Mutex<Option<ScanProgress>>,
}

impl PyScan {
    /// `strings` and `progress` are what the caller chose.
    pub(crate) fn new(
        py: Python<'_>,
        scan: Scan,
        strings: Option<Strings>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        Watcher::check(py, progress.as_ref())?;
        let scan = scan.strings(strings.unwrap_or_default());
        let schema = scan.clone().build().map_err(Failure::from)?.schema();
        Ok(Self {
            scan: OfProcess::new(scan),
            schema,
            has_strings: strings.is_some(),
            progress,
            last: Mutex::new(None),
        })
    }

    fn start(&self, py: Python<'_>) -> PyResult<(Running, Option<Watcher>)> {
        let watcher = self.watcher(py)?;
        let cancel = Cancel::new();
        let stream = self.scan()?.cancel(&cancel).into_stream().map_err(Failure::from)?;
        self.note(stream.progress());
        Ok((running(stream, cancel), watcher))
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

    /// All rows. `strings` is what the library that gets them deals best with.
    fn rows(&self, py: Python<'_>, strings: Strings) -> PyResult<Rows> {
        let scan = if self.has_strings { self.scan()? } else { self.scan()?.strings(strings) };
        let cancel = Cancel::new();
        let batches = scan.by_column(true).cancel(&cancel).build().map_err(Failure::from)?;
        let progress = batches.progress();
        self.note(progress.clone());
        let schema = batches.schema();
        let watcher = self.watcher(py)?;
        let batches = work::run_watched(
            py,
            || cancel.cancel(),
            watcher,
            || of_scan(&progress),
            || Ok(batches.collect::<lath::Result<Vec<RecordBatch>>>()?),
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

    /// What the last run has done, so far or when it ended; `None` before the first.
    #[getter]
    fn report<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner).clone();
        last.map(|progress| report::report(py, &progress.report())).transpose()
    }

    fn __iter__(&self, py: Python<'_>) -> PyResult<PyBatches> {
        let (running, watcher) = self.start(py)?;
        Ok(PyBatches::new(running, watcher))
    }

    /// The number of rows, without reading more than that takes.
    fn count(&self, py: Python<'_>) -> PyResult<u64> {
        let cancel = Cancel::new();
        let scan = self.scan()?.select(Vec::<String>::new()).cancel(&cancel);
        let batches = scan.build().map_err(Failure::from)?;
        let progress = batches.progress();
        self.note(progress.clone());
        work::run_watched(
            py,
            || cancel.cancel(),
            self.watcher(py)?,
            || of_scan(&progress),
            || Ok(batches.count_rows()?),
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
