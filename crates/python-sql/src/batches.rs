//! Batches of a statement's rows.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::Stream;
use lath::arrow::array::RecordBatch;
use lath_pyo3::batches::{Iteration, Running};
use lath_pyo3::capsule;
use lath_pyo3::error::Failure;
use lath_pyo3::work::drop_apart;
use lath_sql::{Answer, Stop};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};

use crate::error::failure;

/// The name of a statement's rows in errors.
pub(crate) const RESULT: &str = "the result";

/// The rows of the answer to a statement of `text`, which `stop` stops.
pub(crate) fn running(answer: Answer, text: Arc<str>, stop: Stop) -> Running {
    let (schema, progress) = (answer.schema().clone(), answer.progress());
    let position = move || {
        let (done, total) = progress.rows();
        (done, Some(total))
    };
    let batches = Box::pin(Failing { answer: Some(answer), text });
    Running::new(RESULT, schema, batches, Arc::new(position), move || stop.stop())
}

/// An answer whose errors are failures.
struct Failing {
    answer: Option<Answer>,
    text: Arc<str>,
}

impl Stream for Failing {
    type Item = Result<RecordBatch, Failure>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Self { answer, text } = &mut *self;
        let Some(answer) = answer else { return Poll::Ready(None) };
        let next = Pin::new(answer).poll_next(context);
        next.map(|batch| batch.map(|batch| batch.map_err(|error| failure(error, text))))
    }
}

impl Drop for Failing {
    fn drop(&mut self) {
        // Dropping the last reference to a session waits for its threads to end, and these may wait for the GIL to release Python
        // objects.
        if let Some(answer) = self.answer.take() {
            drop_apart(answer);
        }
    }
}

/// An iterator of the batches of a result. The remaining batches can be taken by its `__arrow_c_stream__`, once.
#[pyclass(name = "Batches", module = "lath_sql", frozen)]
pub(crate) struct PyBatches {
    iteration: Iteration,
}

impl PyBatches {
    pub(crate) fn new(running: Running) -> Self {
        Self { iteration: Iteration::new(running, None) }
    }
}

#[pymethods]
impl PyBatches {
    /// Names and types of the columns.
    #[getter]
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let capsule = capsule::schema_out(py, self.iteration.schema())?;
        py.import("lath._lath")?.call_method1("schema", (capsule,))
    }

    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(batch) = self.iteration.next(py)? else { return Ok(None) };
        let capsules = capsule::batch_out(py, &batch)?;
        py.import("lath._lath")?.call_method1("batch", (capsules,)).map(Some)
    }

    /// Stops the statement.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.iteration.close(py)
    }

    fn __enter__(this: Py<Self>) -> Py<Self> {
        this
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) -> PyResult<()> {
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
