//! The answer of a statement.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lath::arrow::array::RecordBatch;
use lath::arrow::schema::SchemaRef;
use lath_pyo3::batches::{Reader, Running};
use lath_pyo3::error::Failure;
use lath_pyo3::fork::Origin;
use lath_pyo3::rows::Rows;
use lath_pyo3::{capsule, work};
use lath_sql::{Answer, QueryProgress, Stop};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::batches::{PyBatches, RESULT, running};
use crate::offsets::{batch_with_offsets, schema_with_offsets};
use crate::preview::{SHOWN_ROWS, first_rows};

/// The rows of a statement, computed while they are read, and read once.
#[pyclass(name = "Result", module = "lath_sql", frozen)]
pub(crate) struct PyAnswer {
    /// `None` once the rows were taken.
    rows: Mutex<Option<Running>>,
    schema: SchemaRef,
    progress: QueryProgress,
    stop: Stop,
    origin: Origin,
}

impl PyAnswer {
    /// The answer of a statement of `text`, which `stop` stops.
    pub(crate) fn new(answer: Answer, text: Arc<str>, stop: Stop) -> Self {
        let (schema, progress) = (answer.schema().clone(), answer.progress());
        let rows = Mutex::new(Some(running(answer, text, stop.clone())));
        Self { rows, schema, progress, stop, origin: Origin::here() }
    }

    /// Runs the statement to its end, and keeps the rows.
    pub(crate) fn finish(&self, py: Python<'_>) -> PyResult<()> {
        self.peek(py, usize::MAX).map(drop)
    }

    /// The first rows, without taking them; `None` if they were taken.
    fn peek(&self, py: Python<'_>, row_count: usize) -> PyResult<Option<Vec<RecordBatch>>> {
        self.origin.check(RESULT)?;
        work::run(py, || self.stop.stop(), || self.lock().as_mut().map(|running| running.peek(row_count)).transpose())
    }

    fn take(&self, py: Python<'_>) -> PyResult<Running> {
        self.origin.check(RESULT)?;
        let running = py.detach(|| self.lock().take());
        let taken = || Failure::invalid("the rows of this result were taken already: run the statement again");
        Ok(running.ok_or_else(taken)?)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Running>> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn collect(&self, py: Python<'_>) -> PyResult<Vec<RecordBatch>> {
        let running = self.take(py)?;
        work::run(py, || self.stop.stop(), || running.collect())
    }

    /// All rows, with strings that every version of pyarrow has.
    fn rows_with_offsets(&self, py: Python<'_>) -> PyResult<Rows> {
        let schema = schema_with_offsets(&self.schema);
        let batches = self.collect(py)?;
        let batches = work::run(
            py,
            || (),
            || Ok(batches.iter().map(|batch| batch_with_offsets(batch, &schema)).collect::<Result<_, _>>()?),
        )?;
        Ok(Rows::new(schema, batches))
    }
}

#[pymethods]
impl PyAnswer {
    /// Names and types of the columns.
    #[getter]
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let capsule = capsule::schema_out(py, &self.schema)?;
        py.import("lath._lath")?.call_method1("schema", (capsule,))
    }

    /// The plan with the metrics of its operators so far.
    fn explain(&self, py: Python<'_>) -> PyResult<String> {
        self.origin.check(RESULT)?;
        Ok(py.detach(|| self.progress.explain()))
    }

    /// The counters of scans so far, summed over all scans.
    #[getter]
    fn counters(&self, py: Python<'_>) -> PyResult<BTreeMap<String, u64>> {
        self.origin.check(RESULT)?;
        Ok(py.detach(|| self.progress.counters()))
    }

    /// All rows as a `pyarrow.Table`.
    fn to_arrow<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.rows_with_offsets(py)?.into_arrow(py)
    }

    /// All rows as a `polars.DataFrame`.
    fn to_polars<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Rows::new(self.schema.clone(), self.collect(py)?).into_polars(py)
    }

    /// All rows as a `pandas.DataFrame`.
    fn to_pandas<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.rows_with_offsets(py)?.into_pandas(py)
    }

    /// As `to_pandas`.
    fn df<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.to_pandas(py)
    }

    /// As `to_polars`.
    fn pl<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.to_polars(py)
    }

    /// As `to_arrow`.
    fn arrow<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.to_arrow(py)
    }

    /// The names of the columns.
    #[getter]
    fn columns(&self) -> Vec<&str> {
        self.schema.fields().iter().map(|field| field.name().as_str()).collect()
    }

    /// The remaining rows as tuples.
    fn fetchall<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.fetch(py, usize::MAX)
    }

    /// The next rows as tuples.
    #[pyo3(signature = (size = 1))]
    fn fetchmany<'py>(&self, py: Python<'py>, size: usize) -> PyResult<Bound<'py, PyAny>> {
        self.fetch(py, size)
    }

    /// The next row as a tuple; `None` after the last one.
    fn fetchone<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.fetch(py, 1)?.try_iter()?.next().transpose()
    }

    /// Prints the first rows as a table.
    fn show(&self, py: Python<'_>) -> PyResult<()> {
        py.import("builtins")?.call_method1("print", (self.__repr__(py)?,)).map(drop)
    }

    /// Stops the statement. Unread rows are lost.
    fn close(&self, py: Python<'_>) {
        if self.origin == Origin::here() {
            self.stop.stop();
            py.detach(|| drop(self.lock().take()));
        }
    }

    fn __iter__(&self, py: Python<'_>) -> PyResult<PyBatches> {
        Ok(PyBatches::new(self.take(py)?))
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        capsule::stream_out(py, Box::new(Reader::new(self.take(py)?, None)))
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsule::schema_out(py, &self.schema)
    }

    fn __repr__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.shown(py, "text")
    }

    fn _repr_html_<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.shown(py, "html")
    }
}

impl PyAnswer {
    /// The next rows as tuples.
    fn fetch<'py>(&self, py: Python<'py>, row_count: usize) -> PyResult<Bound<'py, PyAny>> {
        self.origin.check(RESULT)?;
        let schema = schema_with_offsets(&self.schema);
        let rows = work::run(
            py,
            || self.stop.stop(),
            || match self.lock().as_mut() {
                Some(running) => {
                    let batches = running.take_rows(row_count)?;
                    Ok(batches.iter().map(|batch| batch_with_offsets(batch, &schema)).collect::<Result<_, _>>()?)
                }
                None => Err(Failure::invalid("the rows of this result were taken already: run the statement again")),
            },
        )?;
        let table = Rows::new(schema, rows).into_arrow(py)?;
        py.import("lath_sql._fetch")?.call_method1("tuples", (table,))
    }

    /// The first rows as a table. They are computed for it, and can still be read.
    fn shown<'py>(&self, py: Python<'py>, format: &str) -> PyResult<Bound<'py, PyAny>> {
        let fields = self.schema.fields();
        let names: Vec<&str> = fields.iter().map(|field| field.name().as_str()).collect();
        let types: Vec<String> = fields.iter().map(|field| field.data_type().to_string()).collect();
        let rows = match self.peek(py, SHOWN_ROWS + 1)? {
            Some(batches) => Some(first_rows(&batches).map_err(Failure::from)?),
            None => None,
        };
        py.import("lath_sql._preview")?.call_method1(format, (names, types, rows))
    }
}
