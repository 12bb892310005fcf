//! Writing Parquet files.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use lath::arrow::array::RecordBatch;
use lath::arrow::schema::{Schema, SchemaRef};
use lath::{Cancel, Error, FolderFormat, ParquetWriter, WriteOptions, WriteSummary};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use super::conversion::Conversion;
use super::settings::{self, Setting, conversion_rules, with_schema_metadata};
use crate::arrow::PySchema;
use lath_pyo3::error::Failure;
use lath_pyo3::fork::{OfProcess, Origin};
use lath_pyo3::progress::Watcher;
use lath_pyo3::{capsule, work};

/// The name of a file that is being written in errors.
const FILE: &str = "the file";

/// A file that is being written.
#[pyclass(name = "Writer", module = "lath", frozen)]
pub(crate) struct PyWriter {
    writer: Mutex<Option<OfProcess<Output>>>,
    origin: Origin,
    schema: SchemaRef,
    conversion: Option<Conversion>,
}

/// The destination of a file.
enum Output {
    Path(Box<ParquetWriter>),
    File(Box<ParquetWriter<PythonFile>>),
}

impl Output {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), Error> {
        match self {
            Self::Path(writer) => writer.write(batch),
            Self::File(writer) => writer.write(batch),
        }
    }

    fn set_metadata(&mut self, key: String, value: Option<String>) {
        match self {
            Self::Path(writer) => writer.set_key_value_metadata(key, value),
            Self::File(writer) => writer.set_key_value_metadata(key, value),
        }
    }

    fn flush_row_group(&mut self) -> Result<(), Error> {
        match self {
            Self::Path(writer) => writer.flush_row_group(),
            Self::File(writer) => writer.flush_row_group(),
        }
    }

    fn finish(self) -> Result<WriteSummary, Error> {
        match self {
            Self::Path(writer) => writer.finish(),
            Self::File(writer) => Ok(writer.finish_into()?.1),
        }
    }
}

/// Divides the rows of one call into row groups.
struct RowGroups {
    row_count: usize,
    /// Rows until the current one is full.
    left: usize,
}

impl RowGroups {
    fn new(row_count: usize) -> Self {
        Self { row_count, left: row_count }
    }

    fn write(&mut self, batch: &RecordBatch, output: &mut Output) -> Result<(), Error> {
        let mut start = 0;
        while start < batch.num_rows() {
            let count = self.left.min(batch.num_rows() - start);
            output.write(&batch.slice(start, count))?;
            (start, self.left) = (start + count, self.left - count);
            if self.left == 0 {
                output.flush_row_group()?;
                self.left = self.row_count;
            }
        }
        Ok(())
    }
}

/// A file object of Python.
struct PythonFile(Py<PyAny>);

impl Write for PythonFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Python::attach(|py| {
            let written = self.0.bind(py).call_method1("write", (PyBytes::new(py, bytes),))?;
            // Raw files may write less; others return nothing, or the number of bytes.
            written.extract::<Option<usize>>().map(|count| count.unwrap_or(bytes.len()))
        })
        .map_err(|error: PyErr| io::Error::other(error.to_string()))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[pymethods]
impl PyWriter {
    #[new]
    fn new(
        py: Python<'_>,
        target: &Bound<'_, PyAny>,
        schema: &Bound<'_, PyAny>,
        settings: Vec<Setting<'_>>,
    ) -> PyResult<Self> {
        let schema = SchemaRef::from(capsule::schema_in(schema)?);
        let conversion = Conversion::new(&schema, conversion_rules(&settings)?);
        let schema = conversion.as_ref().map_or(schema, |conversion| conversion.schema().clone());
        let options = with_schema_metadata(py, &schema, options(&schema, &settings)?, &settings)?;
        let output = if target.hasattr("write")? {
            let file = PythonFile(target.clone().unbind());
            let schema = schema.clone();
            Output::File(Box::new(work::run(py, || (), || Ok(ParquetWriter::new(file, &schema, options)?))?))
        } else {
            let path: PathBuf = target.extract()?;
            let schema = schema.clone();
            // Looking into a store takes requests.
            let create = || {
                FolderFormat::check_written(&path)?;
                ParquetWriter::create(&path, &schema, options)
                    .map_err(|error| failure(&path.display().to_string(), error))
            };
            Output::Path(Box::new(work::run(py, || (), create)?))
        };
        Ok(Self { writer: Mutex::new(Some(OfProcess::new(output))), origin: Origin::here(), schema, conversion })
    }

    /// Names and types of the columns.
    #[getter]
    fn schema(&self) -> PySchema {
        PySchema::new(self.schema.clone())
    }

    /// Writes the rows of any object with Arrow data (`total` rows, if known), and returns their number. With `row_group_rows`, they begin
    /// a row group, and each row group has this number of rows.
    #[pyo3(signature = (rows, progress = None, total = None, row_group_rows = None))]
    fn write(
        &self,
        py: Python<'_>,
        rows: &Bound<'_, PyAny>,
        progress: Option<Py<PyAny>>,
        total: Option<u64>,
        row_group_rows: Option<usize>,
    ) -> PyResult<u64> {
        let watcher = Watcher::start(py, progress.as_ref())?;
        let reader = capsule::reader_in(rows)?;
        let (cancel, count) = (Cancel::new(), AtomicU64::new(0));
        let position = || (count.load(Ordering::Relaxed), total);
        work::run_watched(
            py,
            || cancel.cancel(),
            watcher,
            position,
            || {
                self.with_output(|output| {
                    let mut row_groups = row_group_rows.map(RowGroups::new);
                    if row_groups.is_some() {
                        output.flush_row_group()?;
                    }
                    for batch in reader {
                        if cancel.is_cancelled() {
                            return Err(Error::Cancelled.into());
                        }
                        let batch = batch?;
                        let batch = match &self.conversion {
                            Some(conversion) => conversion.apply(&batch)?,
                            None => batch,
                        };
                        match &mut row_groups {
                            Some(row_groups) => row_groups.write(&batch, output)?,
                            None => output.write(&batch)?,
                        }
                        count.fetch_add(batch.num_rows() as u64, Ordering::Relaxed);
                    }
                    if row_groups.is_some() {
                        output.flush_row_group()?;
                    }
                    Ok(count.load(Ordering::Relaxed))
                })
            },
        )
    }

    /// Ends the current row group, if it has rows.
    fn flush_row_group(&self, py: Python<'_>) -> PyResult<()> {
        work::run(py, || (), || self.with_output(|output| Ok(output.flush_row_group()?)))
    }

    /// Sets a key of the file's metadata.
    fn set_metadata(&self, key: String, value: Option<String>) -> PyResult<()> {
        let set = |output: &mut Output| {
            output.set_metadata(key, value);
            Ok(())
        };
        Ok(self.with_output(set)?)
    }

    /// Finishes the file, which then appears at its path, and returns its counts.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.origin.check(FILE)?;
        let output = py.detach(|| self.take()).ok_or_else(closed)?.into_inner(FILE)?;
        let summary = work::run(py, || (), || Ok(output.finish()?))?;
        let result = PyDict::new(py);
        result.set_item("rows", summary.rows)?;
        result.set_item("row_groups", summary.row_groups)?;
        result.set_item("bytes", summary.bytes)?;
        Ok(result)
    }

    /// Discards the file: no file appears at the path.
    fn abort(&self, py: Python<'_>) {
        // Another process may be writing it.
        if self.origin == Origin::here() {
            py.detach(|| drop(self.take()));
        }
    }
}

impl PyWriter {
    fn take(&self) -> Option<OfProcess<Output>> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn with_output<T>(&self, action: impl FnOnce(&mut Output) -> Result<T, Failure>) -> Result<T, Failure> {
        self.origin.check(FILE)?;
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        action(writer.as_mut().ok_or_else(closed)?.get_mut(FILE)?)
    }
}

fn closed() -> Failure {
    Failure::invalid("the file is finished, or was given up: start another")
}

fn options(schema: &Schema, settings: &[Setting<'_>]) -> PyResult<WriteOptions> {
    settings.iter().try_fold(WriteOptions::default(), |options, setting| settings::apply(options, schema, setting))
}

/// The error that `target` could not be written.
fn failure(target: &str, error: Error) -> Failure {
    match error {
        Error::Io { op, source, .. } => Failure::io(target, op, &source),
        Error::Invalid { what } => Failure::invalid(format!("{target}: cannot write this as Parquet: {what}")),
        other => other.into(),
    }
}
