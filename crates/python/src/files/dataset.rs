//! Datasets: files that are read as one table.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow_select::take::take;
use lath::arrow::array::{RecordBatch, RecordBatchOptions, UInt32Array};
use lath::arrow::schema::{Schema, SchemaRef};
use lath::{Dataset, DatasetOptions, Predicate, Scan, Strings};
use lath_pyo3::location::Location;
use lath_pyo3::opening::{OpenSource, Opening};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList, PyTuple};

use super::batches::PyBatches;
use super::metadata;
use super::options;
use super::scan::PyScan;
use super::statistics;
use crate::arrow::{PyBatch, PySchema};
use crate::condition::{Condition, Residual};
use crate::value::literals;
use lath_pyo3::error::Failure;
use lath_pyo3::fork::{OfProcess, forked_runtime};
use lath_pyo3::{capsule, work};

/// The name of a dataset in errors.
const DATASET: &str = "the dataset";

/// Files that are read as one table.
#[pyclass(name = "Dataset", module = "lath", frozen)]
#[derive(Debug)]
pub(crate) struct PyDataset {
    source: OfProcess<Source>,
    locations: Vec<Location>,
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
    /// A dataset of the files that were opened at `locations` with these arguments.
    pub(super) fn new(opened: OpenSource, locations: Vec<Location>, opening: Opening, options: DatasetOptions) -> Self {
        let is_lake = opened.is_lake();
        Self {
            source: OfProcess::new(Source::new(opened)),
            locations,
            is_lake,
            opening,
            options,
            forked: OnceLock::new(),
        }
    }

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

    fn table_schema(&self) -> Result<&SchemaRef, Failure> {
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
        Ok(PySchema::new(self.table_schema()?.clone()))
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

    /// The names of the columns.
    #[getter]
    fn columns(&self) -> PyResult<Vec<&str>> {
        Ok(self.table_schema()?.fields().iter().map(|field| field.name().as_str()).collect())
    }

    /// The number of rows.
    #[getter]
    fn num_rows(&self, py: Python<'_>) -> PyResult<u64> {
        self.count(py, None, None, None)
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(usize::try_from(self.num_rows(py)?).unwrap_or(usize::MAX))
    }

    /// A dataset is true, whether it has rows or not: counting may take long.
    fn __bool__(&self) -> bool {
        true
    }

    fn __iter__(&self, py: Python<'_>) -> PyResult<PyBatches> {
        self.whole(py)?.__iter__(py)
    }

    fn __aiter__(&self, py: Python<'_>) -> PyResult<PyBatches> {
        self.__iter__(py)
    }

    /// The first rows.
    #[pyo3(signature = (rows = 5, columns = None))]
    fn head(&self, py: Python<'_>, rows: u64, columns: Option<Vec<String>>) -> PyResult<PyScan> {
        self.py_scan(py, self.scan_where(py, None, None)?, columns, Some(rows), None, None)
    }

    /// The first rows as a table of a notebook.
    fn _repr_html_(this: Bound<'_, Self>) -> PyResult<Bound<'_, PyAny>> {
        this.py().import("lath._preview")?.call_method1("dataset", (this,))
    }

    /// Pickles what opens the same files again.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let reopen = py.import("lath._lath")?.getattr("_reopen")?;
        Ok((reopen, self._opening(py)?.into_pyobject(py)?))
    }

    /// The metadata in the footer of a file, as `lath._metadata` has it.
    fn _file_metadata<'py>(&self, py: Python<'py>, file: usize) -> PyResult<Bound<'py, PyDict>> {
        let dataset = self.dataset(py)?;
        let Some(file) = dataset.files().get(file).cloned() else {
            return Err(Failure::invalid(format!("there is no file {file}")).into());
        };
        let file = work::run_to_end(py, move || Ok(file.open()?))?;
        metadata::metadata(py, &file)
    }

    /// Whether it is a table of Delta Lake or Iceberg, whose files alone do not determine the rows.
    #[getter]
    fn _is_lake(&self) -> bool {
        self.is_lake
    }

    /// The arguments of `lath.open`, with which another module can open the same files.
    fn _opening<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyList>, Bound<'py, PyDict>)> {
        Ok((PyList::new(py, &self.locations)?, (&self.opening).into_pyobject(py)?))
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
        self.scan(py, columns, Some(r#where), limit, None, None, true, None, None, None, None, true, None, progress)
    }

    /// The rows for which `where` is true, to be awaited.
    #[pyo3(signature = (r#where, columns = None, limit = None))]
    fn find_async<'py>(
        this: Bound<'py, Self>,
        r#where: Bound<'py, PyAny>,
        columns: Option<Vec<String>>,
        limit: Option<u64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        this.py().import("lath._async")?.call_method1("find", (this, r#where, columns, limit))
    }

    /// The number of rows for which `where` is true, to be awaited.
    #[pyo3(signature = (r#where = None))]
    fn count_async<'py>(this: Bound<'py, Self>, r#where: Option<Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        this.py().import("lath._async")?.call_method1("count", (this, r#where))
    }

    /// Rows and columns to read.
    #[pyo3(signature = (
        columns = None, r#where = None, limit = None, *, batch_size = None, threads = None, ordered = true,
        strings = None, dictionary_columns = None, file_name = None, row_number = None, verify_checksums = true,
        row_groups = None, progress = None
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
        row_groups: Option<Vec<usize>>,
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
        if let Some(row_groups) = row_groups {
            scan = scan.row_groups(row_groups);
        }
        self.py_scan(py, (scan, residual), columns, limit, options::strings(strings)?, progress)
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
        condition.filter(self.table_schema()?).map_err(Failure::from)?;
        let (source, py) = (self.source()?, keys.py());
        let dataset = source.matching(py, &condition)?;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let scan = forked_runtime()?.iter().fold(dataset.scan(), Scan::runtime).threads(cores);
        self.py_scan(py, (scan.predicate(condition), None), columns, limit, None, progress)
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
        capsule::schema_out(py, self.table_schema()?)
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
    fn py_scan(
        &self,
        py: Python<'_>,
        scan: (Scan, Option<Residual>),
        columns: Option<Vec<String>>,
        limit: Option<u64>,
        strings: Option<Strings>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<PyScan> {
        let calls_python = self.locations.iter().any(Location::calls_python);
        PyScan::new(py, scan, columns, limit, strings, calls_python, progress)
    }

    fn whole(&self, py: Python<'_>) -> PyResult<PyScan> {
        self.py_scan(py, self.scan_where(py, None, None)?, None, None, None, None)
    }

    /// The rows that satisfy a condition, without columns.
    fn rows_alone(
        &self,
        py: Python<'_>,
        condition: Option<&Bound<'_, PyAny>>,
        threads: Option<usize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<PyScan> {
        self.py_scan(py, self.scan_where(py, condition, threads)?, Some(Vec::new()), None, None, progress)
    }
}
