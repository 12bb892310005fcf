//! Batches of rows.

use std::sync::{Mutex, PoisonError};

use lath::arrow::array::{RecordBatch, RecordBatchReader as _};
use lath::arrow::schema::SchemaRef;
use lath_pyo3::rows::Rows;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};

use super::schema::PySchema;
use lath_pyo3::capsule::{self, Reader};
use lath_pyo3::error::Failure;

/// Some rows, as Arrow arrays.
#[pyclass(name = "Batch", module = "lath", frozen)]
#[derive(Debug)]
pub(crate) struct PyBatch {
    batch: RecordBatch,
}

impl PyBatch {
    pub(crate) fn new(batch: RecordBatch) -> Self {
        Self { batch }
    }
}

/// The batch in the capsules that `__arrow_c_array__` of another module returns.
#[pyfunction]
#[pyo3(signature = (capsules, /))]
pub(crate) fn batch(capsules: &Bound<'_, PyTuple>) -> PyResult<PyBatch> {
    Ok(PyBatch::new(capsule::batch_from_capsules(capsules)?))
}

#[pymethods]
impl PyBatch {
    /// Number of rows.
    #[getter]
    fn num_rows(&self) -> usize {
        self.batch.num_rows()
    }

    /// Number of columns.
    #[getter]
    fn num_columns(&self) -> usize {
        self.batch.num_columns()
    }

    /// Names and types of the columns.
    #[getter]
    fn schema(&self) -> PySchema {
        PySchema::new(self.batch.schema())
    }

    /// The rows as a `pyarrow.RecordBatch`.
    fn to_arrow<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        this.py().import("pyarrow")?.call_method1("record_batch", (this,))
    }

    /// The rows as a `polars.DataFrame`.
    fn to_polars<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Rows::new(self.batch.schema(), vec![self.batch.clone()]).into_polars(py)
    }

    /// The rows as a `pandas.DataFrame`.
    fn to_pandas<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Self::to_arrow(this)?.call_method0("to_pandas")
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        // The requested schema is ignored: the interface requires a cast only if it is possible.
        drop(requested_schema);
        capsule::batch_out(py, &self.batch)
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsule::schema_out(py, &self.batch.schema())
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    fn __repr__(&self) -> String {
        format!("<lath.Batch of {} rows, {} columns>", self.batch.num_rows(), self.batch.num_columns())
    }
}

/// Rows of another library. Their columns are known before they are read, and they can be read once.
#[pyclass(name = "Stream", module = "lath", frozen)]
pub(crate) struct PyStream {
    reader: Mutex<Option<Reader>>,
    schema: SchemaRef,
}

/// Takes the rows of any object with Arrow data.
#[pyfunction]
#[pyo3(signature = (rows, /))]
pub(crate) fn stream(rows: &Bound<'_, PyAny>) -> PyResult<PyStream> {
    let reader = capsule::reader_in(rows)?;
    let schema = reader.schema();
    Ok(PyStream { reader: Mutex::new(Some(reader)), schema })
}

#[pymethods]
impl PyStream {
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner).take();
        capsule::stream_out(py, reader.ok_or_else(|| Failure::invalid("these rows were taken already"))?)
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsule::schema_out(py, &self.schema)
    }
}
