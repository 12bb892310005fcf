//! Iteration over the batches of a scan.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use lath::arrow::array::RecordBatch;
use lath::{Cancel, ScanStream};
use lath_pyo3::batches::{Iteration, Running};
use lath_pyo3::capsule;
use lath_pyo3::error::Failure;
use lath_pyo3::progress::{Watcher, scan_position};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::arrow::{PyBatch, PySchema};
use crate::condition::Tester;

/// The name of a scan in errors.
pub(crate) const SCAN: &str = "the scan";

/// The batches of a scan, which `cancel` stops, as `tester` leaves them.
pub(crate) fn running(stream: ScanStream, tester: Option<Tester>, cancel: Cancel, calls_python: bool) -> Running {
    let schema = tester.as_ref().map_or_else(|| stream.schema(), |tester| tester.schema().clone());
    let progress = stream.progress();
    let position = Arc::new(move || scan_position(&progress));
    let running =
        Running::new(SCAN, schema, Box::pin(TestedStream { stream, tester }), position, move || cancel.cancel());
    running.calling_python(calls_python)
}

/// A scan as a tester leaves it, whose errors are failures.
struct TestedStream {
    stream: ScanStream,
    tester: Option<Tester>,
}

impl Stream for TestedStream {
    type Item = Result<RecordBatch, Failure>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Self { stream, tester } = &mut *self;
        loop {
            if tester.as_ref().is_some_and(Tester::is_done) {
                return Poll::Ready(None);
            }
            let Some(batch) = ready!(Pin::new(&mut *stream).poll_next(context)?) else { return Poll::Ready(None) };
            let Some(tester) = tester else { return Poll::Ready(Some(Ok(batch))) };
            let batch = tester.filter(&batch)?;
            if batch.num_rows() > 0 {
                return Poll::Ready(Some(Ok(batch)));
            }
        }
    }
}

/// An iterator of the batches of a scan. Its `__arrow_c_stream__` takes the rest, once.
#[pyclass(name = "Batches", module = "lath", frozen)]
pub(crate) struct PyBatches {
    iteration: Iteration,
}

impl PyBatches {
    pub(crate) fn new(running: Running, watcher: Option<Watcher>) -> Self {
        Self { iteration: Iteration::new(running, watcher) }
    }
}

#[pymethods]
impl PyBatches {
    /// Names and types of the columns.
    #[getter]
    fn schema(&self) -> PySchema {
        PySchema::new(self.iteration.schema().clone())
    }

    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __aiter__(this: Py<Self>) -> Py<Self> {
        this
    }

    /// The next batch, for which another thread waits.
    fn __anext__(this: Bound<'_, Self>) -> PyResult<Bound<'_, PyAny>> {
        this.py().import("lath._async")?.call_method1("next_batch", (this,))
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<PyBatch>> {
        Ok(self.iteration.next(py)?.map(PyBatch::new))
    }

    /// Stops the scan.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.iteration.close(py)
    }

    fn __enter__(this: Py<Self>) -> Py<Self> {
        this
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, pyo3::types::PyTuple>) -> PyResult<()> {
        self.close(py)
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        capsule::stream_out(py, self.iteration.take(py)?)
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsule::schema_out(py, self.iteration.schema())
    }
}
