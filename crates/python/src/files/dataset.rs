//! Datasets: files that are read as one table.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow_select::take::take;
use lath::arrow::array::{RecordBatch, RecordBatchOptions, UInt32Array};
use lath::arrow::schema::{Schema, SchemaRef};
use lath::{Dataset, DatasetOptions, FolderFormat, Predicate, Scan};
use lath_pyo3::opening::{Locations, OpenSource, Opening};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};

use super::options;
use super::scan::PyScan;
use super::statistics;
use crate::arrow::{PyBatch, PySchema};
use crate::condition::{Condition, Residual};
use crate::value::literals;
use lath_pyo3::error::Failure;
use lath_pyo3::fork::{OfProcess, forked_runtime};
use lath_pyo3::{capsule, work};

/// Opens files as one table: paths, directories, globs, `@` lists and URLs.
#[pyfunction]
#[pyo3(signature = (
    paths, *, union_schemas = false, partitions = true, partition_types = None, footer_key = None, column_keys = None,
    aad_prefix = None, int96_unit = None, plain_files = false, at = None, revalidate = true, requests_in_flight = None, retries = None,
    request_timeout = None
))]
#[expect(clippy::too_many_arguments, reason = "they are keyword arguments")]
pub(crate) fn open(
    py: Python<'_>,
    paths: Locations,
    union_schemas: bool,
    partitions: bool,
    partition_types: Option<HashMap<String, Py<PyAny>>>,
    footer_key: Option<Vec<u8>>,
    column_keys: Option<HashMap<String, Vec<u8>>>,
    aad_prefix: Option<Vec<u8>>,
    int96_unit: Option<String>,
    plain_files: bool,
    at: Option<Bound<'_, PyAny>>,
    revalidate: bool,
    requests_in_flight: Option<usize>,
    retries: Option<usize>,
    request_timeout: Option<f64>,
) -> PyResult<PyDataset> {
    // A number, a text, or a time, whose text is in the form of ISO 8601.
    let at = at.map(|at| at.str()?.extract::<String>()).transpose()?;
    let opening = Opening {
        union_schemas,
        partitions,
        partition_types,
        footer_key,
        column_keys,
        aad_prefix,
        int96_unit,
        plain_files,
        at,
        revalidate,
        requests_in_flight,
        retries,
        request_timeout,
    };
    let options = opening.options(py)?;
    let locations = paths.into_vec();
    let options = match forked_runtime()? {
        Some(runtime) => options.runtime(&runtime),
        None => options,
    };
    let (named, chosen) = (locations.clone(), options.clone());
    let at = opening.at.clone();
    let opened = work::run_to_end(py, move || Opening::open(at.as_deref(), &named, chosen))?;
    let is_lake = opened.is_lake();
    let source = OfProcess::new(Source::new(opened));
    Ok(PyDataset { source, locations, is_lake, opening, options, forked: OnceLock::new() })
}

/// Whether a path is the folder of a table with a primary key.
#[pyfunction]
#[pyo3(name = "_is_keyed_table")]
pub(crate) fn is_keyed_table(path: PathBuf) -> bool {
    FolderFormat::at(path) == Some(FolderFormat::KeyedTable)
}

/// The name of a dataset in errors.
const DATASET: &str = "the dataset";

/// Files that are read as one table.
#[pyclass(name = "Dataset", module = "lath", frozen)]
#[derive(Debug)]
pub(crate) struct PyDataset {
    source: OfProcess<Source>,
    locations: Vec<PathBuf>,
    /// Whether it is a table of Delta Lake or Iceberg.
    is_lake: bool,
    opening: Opening,
    options: DatasetOptions,
    /// The files, opened again after the process was forked.
    forked: OnceLock<OfProcess<Source>>,
}

/// Files, or a version of a table of Delta Lake or Iceberg, whose files are listed when they are needed.
#[derive(Debug)]
struct Source {
    opened: OpenSource,
    /// All files of the version, once they are listed.
    all: OnceLock<Dataset>,
    /// Whether files were listed for a condition.
    was_searched: AtomicBool,
}

impl Source {
    fn new(opened: OpenSource) -> Self {
        Self { opened, all: OnceLock::new(), was_searched: AtomicBool::new(false) }
    }

    fn all(&self, py: Python<'_>) -> PyResult<&Dataset> {
        let version = match &self.opened {
            OpenSource::Files(dataset) => return Ok(dataset),
            OpenSource::Lake(version) => version,
        };
        if let Some(all) = self.all.get() {
            return Ok(all);
        }
        let version = version.clone();
        let listed = work::run_to_end(py, move || Ok(version.open(None)?.into_dataset()))?;
        Ok(self.all.get_or_init(|| listed))
    }

    /// The files that may have rows for which `predicate` is true, and perhaps others. The first search lists only such files; the second
    /// one lists all, so that the metadata is not read for each of many searches.
    fn matching(&self, py: Python<'_>, predicate: &Predicate) -> PyResult<Dataset> {
        let version = match &self.opened {
            OpenSource::Lake(version) if self.all.get().is_none() => version,
            _ => return self.all(py).cloned(),
        };
        if self.was_searched.swap(true, Ordering::Relaxed) {
            return self.all(py).cloned();
        }
        let (version, predicate) = (version.clone(), predicate.clone());
        work::run_to_end(py, move || Ok(version.open(Some(&predicate))?.into_dataset()))
    }
}

impl PyDataset {
    fn source(&self) -> Result<&Source, Failure> {
        if let Ok(source) = self.source.get(DATASET) {
            return Ok(source);
        }
        if self.forked.get().is_none() {
            let options = forked_runtime()?.iter().fold(self.options.clone(), DatasetOptions::runtime);
            // Another thread may have been faster.
            let opened = Opening::open(self.opening.at.as_deref(), &self.locations, options)?;
            let _ = self.forked.set(OfProcess::new(Source::new(opened)));
        }
        self.forked.get().ok_or_else(|| Failure::bug("a dataset was not opened anew"))?.get(DATASET)
    }

    /// All files, also after the dataset is dropped.
    pub(crate) fn all_files(&self, py: Python<'_>) -> PyResult<Dataset> {
        self.dataset(py).cloned()
    }

    /// All files.
    fn dataset(&self, py: Python<'_>) -> PyResult<&Dataset> {
        self.source()?.all(py)
    }

    fn columns(&self) -> Result<&SchemaRef, Failure> {
        Ok(self.source()?.opened.schema())
    }

    /// A scan of the rows that satisfy `condition` except for its residual, and the residual. The scan has a thread for each core, or for
    /// each request in flight.
    fn scan_where(
        &self,
        py: Python<'_>,
        condition: Option<&Bound<'_, PyAny>>,
        threads: Option<usize>,
    ) -> PyResult<(Scan, Option<Residual>)> {
        let source = self.source()?;
        let is_read_whole = condition.is_none();
        let Condition { predicate, residual } = Condition::of(condition, source.opened.schema())?;
        let dataset = match &predicate {
            Some(predicate) => source.matching(py, predicate)?,
            None => source.all(py)?.clone(),
        };
        let mut scan = forked_runtime()?.iter().fold(dataset.scan(), Scan::runtime);
        if let Some(predicate) = predicate {
            scan = scan.predicate(predicate);
        }
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let default = if is_read_whole { cores } else { cores.max(dataset.concurrency()) };
        let residual = residual.map(|residual| residual.threads(threads.unwrap_or(cores)));
        Ok((scan.threads(threads.unwrap_or(default)), residual))
    }
}

#[pymethods]
impl PyDataset {
    /// Names and types of the columns, partition columns last.
    #[getter]
    fn schema(&self) -> PyResult<PySchema> {
        Ok(PySchema::new(self.columns()?.clone()))
    }

    /// The paths and URLs of the files.
    #[getter]
    fn files(&self, py: Python<'_>) -> PyResult<Vec<&str>> {
        Ok(self.dataset(py)?.files().iter().map(lath::DatasetFile::location).collect())
    }

    /// The names of the partition columns, which come from directory names.
    #[getter]
    fn partitions(&self, py: Python<'_>) -> PyResult<Vec<&str>> {
        Ok(self.dataset(py)?.partitions().iter().map(|column| column.field().name().as_str()).collect())
    }

    /// Whether it is a table of Delta Lake or Iceberg, whose files alone do not determine the rows.
    #[getter]
    fn _is_lake(&self) -> bool {
        self.is_lake
    }

    /// The arguments of `lath.open`, with which another module can open the same files.
    fn _opening<'py>(&self, py: Python<'py>) -> PyResult<(Vec<PathBuf>, Bound<'py, PyDict>)> {
        Ok((self.locations.clone(), (&self.opening).into_pyobject(py)?))
    }

    /// A row for each file with the values of the partition columns.
    fn _partition_rows(&self, py: Python<'_>) -> PyResult<PyBatch> {
        let dataset = self.dataset(py)?;
        let mut columns = Vec::new();
        for (place, column) in dataset.partitions().iter().enumerate() {
            let row = |file: &lath::DatasetFile| {
                file.partition().get(place).copied().filter(|row| *row != lath::DatasetFile::NO_CONSTANT)
            };
            let rows: UInt32Array = dataset.files().iter().map(row).collect();
            columns.push(take(column.values(), &rows, None).map_err(Failure::from)?);
        }
        let fields = dataset.partitions().iter().map(|column| column.field().clone()).collect::<Vec<_>>();
        let options = RecordBatchOptions::new().with_row_count(Some(dataset.files().len()));
        let rows = RecordBatch::try_new_with_options(Schema::new(fields).into(), columns, &options);
        Ok(PyBatch::new(rows.map_err(Failure::from)?))
    }

    /// The files as a table provider of DataFusion, in a capsule.
    fn __datafusion_table_provider__<'py>(
        this: &Bound<'py, Self>,
        session: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        this.py().import("lath._sql")?.call_method1("table_provider", (this, session))
    }

    /// The number of rows for which `where` is true.
    #[pyo3(signature = (r#where = None, *, threads = None, progress = None))]
    fn count(
        &self,
        py: Python<'_>,
        r#where: Option<&Bound<'_, PyAny>>,
        threads: Option<usize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<u64> {
        self.rows_alone(py, r#where, threads, progress)?.count(py)
    }

    /// The rows for which `where` is true.
    #[pyo3(signature = (r#where, columns = None, limit = None, *, progress = None))]
    fn find(
        &self,
        r#where: &Bound<'_, PyAny>,
        columns: Option<Vec<String>>,
        limit: Option<u64>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<PyScan> {
        let py = r#where.py();
        self.scan(py, columns, Some(r#where), limit, None, None, true, None, None, None, None, true, progress)
    }

    /// Rows and columns to read.
    #[pyo3(signature = (
        columns = None, r#where = None, limit = None, *, batch_size = None, threads = None, ordered = true,
        strings = None, dictionary_columns = None, file_name = None, row_number = None, verify_checksums = true,
        progress = None
    ))]
    #[expect(clippy::too_many_arguments, reason = "they are keyword arguments")]
    fn scan(
        &self,
        py: Python<'_>,
        columns: Option<Vec<String>>,
        r#where: Option<&Bound<'_, PyAny>>,
        limit: Option<u64>,
        batch_size: Option<usize>,
        threads: Option<usize>,
        ordered: bool,
        strings: Option<&str>,
        dictionary_columns: Option<Vec<String>>,
        file_name: Option<String>,
        row_number: Option<String>,
        verify_checksums: bool,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<PyScan> {
        let (scan, residual) = self.scan_where(py, r#where, threads)?;
        let mut scan = scan.unordered(!ordered).verify_crc(verify_checksums);
        if let Some(rows) = batch_size {
            scan = scan.batch_size(rows);
        }
        if let Some(columns) = dictionary_columns {
            scan = scan.dictionary_columns(columns);
        }
        if let Some(name) = file_name {
            scan = scan.file_name_column(name);
        }
        if let Some(name) = row_number {
            scan = scan.row_number_column(name);
        }
        PyScan::new(py, (scan, residual), columns, limit, options::strings(strings)?, progress)
    }

    /// The rows that have one of `keys` in the column `column`.
    #[pyo3(signature = (column, keys, columns = None, limit = None, *, progress = None))]
    fn lookup(
        &self,
        column: &str,
        keys: &Bound<'_, PyAny>,
        columns: Option<Vec<String>>,
        limit: Option<u64>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<PyScan> {
        let condition = lath::column(column).is_in(literals(keys)?);
        condition.filter(self.columns()?).map_err(Failure::from)?;
        let (source, py) = (self.source()?, keys.py());
        let dataset = source.matching(py, &condition)?;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let scan = forked_runtime()?.iter().fold(dataset.scan(), Scan::runtime).threads(cores);
        PyScan::new(py, (scan.predicate(condition), None), columns, limit, None, progress)
    }

    /// Finds the rows for which `where` is true, and reports what was pruned without reading it.
    #[pyo3(signature = (r#where, *, threads = None, progress = None))]
    fn explain<'py>(
        &self,
        py: Python<'py>,
        r#where: &Bound<'py, PyAny>,
        threads: Option<usize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        // Also the files that the metadata of a table rules out are counted.
        self.dataset(py)?;
        let scan = self.rows_alone(py, Some(r#where), threads, progress)?;
        scan.count(py)?;
        scan.report(py)
    }

    /// Statistics of rows and columns, from the footers.
    fn statistics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let dataset = self.dataset(py)?.clone();
        statistics::statistics(py, work::run_to_end(py, move || Ok(dataset.statistics()?))?)
    }

    /// All rows as a `pyarrow.Table`.
    fn to_arrow<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.whole(py)?.to_arrow(py)
    }

    /// All rows as a `polars.DataFrame`.
    fn to_polars<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.whole(py)?.to_polars(py)
    }

    /// All rows as a `pandas.DataFrame`.
    fn to_pandas<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.whole(py)?.to_pandas(py)
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        self.whole(py)?.__arrow_c_stream__(py, requested_schema)
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsule::schema_out(py, self.columns()?)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let dataset = self.dataset(py)?;
        let files = dataset.files();
        let what = match files {
            [file] => file.location().to_owned(),
            [first, ..] => format!("{} files from {} on", files.len(), first.location()),
            [] => "no files".to_owned(),
        };
        Ok(format!("<lath.Dataset of {what}: {} columns>", dataset.schema().fields().len()))
    }
}

impl PyDataset {
    fn whole(&self, py: Python<'_>) -> PyResult<PyScan> {
        PyScan::new(py, self.scan_where(py, None, None)?, None, None, None, None)
    }

    /// The rows that satisfy a condition, without columns.
    fn rows_alone(
        &self,
        py: Python<'_>,
        condition: Option<&Bound<'_, PyAny>>,
        threads: Option<usize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<PyScan> {
        PyScan::new(py, self.scan_where(py, condition, threads)?, Some(Vec::new()), None, None, progress)
    }
}
