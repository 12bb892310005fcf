//! Converts batches in memory to tables of other libraries.

use lath::arrow::array::{RecordBatch, RecordBatchIterator};
use lath::arrow::schema::SchemaRef;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::capsule;

/// Batches of one schema.
#[pyclass(module = "lath", frozen)]
#[derive(Debug)]
pub struct Rows {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

impl Rows {
    /// The batches, which have this schema.
    pub fn new(schema: SchemaRef, batches: Vec<RecordBatch>) -> Self {
        Self { schema, batches }
    }

    /// A `pyarrow.Table`.
    ///
    /// # Errors
    /// If pyarrow is not installed, or refuses the rows.
    pub fn into_arrow(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        py.import("pyarrow")?.call_method1("table", (self,))
    }

    /// A `polars.DataFrame`.
    ///
    /// # Errors
    /// If polars is not installed, or refuses the rows.
    pub fn into_polars(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        py.import("polars")?.call_method1("DataFrame", (self,))
    }

    /// A `pandas.DataFrame`.
    ///
    /// # Errors
    /// If pandas or pyarrow is not installed, or refuses the rows.
    pub fn into_pandas(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        self.into_arrow(py)?.call_method0("to_pandas")
    }
}

#[pymethods]
impl Rows {
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let batches = self.batches.clone().into_iter().map(Ok);
        capsule::stream_out(py, Box::new(RecordBatchIterator::new(batches, self.schema.clone())))
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsule::schema_out(py, &self.schema)
    }
}
