use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use arrow_schema::SchemaRef;
use lath_predicate::{Literal, Predicate, column};

use super::batches::ScanBatches;
use super::cancel::Cancel;
use super::counters::Counters;
use super::deletes::DeleteMask;
use super::dynamic::DynamicFilter;
use super::job::{Job, Work};
use super::plan_all::plan_all;
use super::planner::Planner;
use super::steps::ScanPlanner;
use super::stream::ScanStream;
use super::target::{Target, VirtualColumns};
use super::task::{How, ScanPlan, ScanTask};
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::file::ParquetFile;
use crate::options::Strings;
use crate::prune::Pruning;
use crate::runtime::Runtime;
use crate::schema::{ArrowLayout, Projection};

/// Says which rows to find, and what of them to read.
///
/// ```no_run
/// # fn main() -> lath_parquet::Result<()> {
/// use lath_parquet::ParquetFile;
///
/// let file = ParquetFile::open("trips.parquet")?;
/// let scan = file.scan().filter("city = 'Oslo' AND price > 10")?.select(["id", "price"]).limit(100);
/// for batch in scan.build()? {
///     println!("{} rows", batch?.num_rows());
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
#[must_use = "nothing is read before `build`, `into_stream` or `count`"]
pub struct Scan {
    source: Source,
    pruning: Pruning,
    predicate: Option<Predicate>,
    paths: Option<Vec<String>>,
    /// In their place.
    columns: Option<Vec<usize>>,
    /// In place of both.
    leaves: Option<Vec<usize>>,
    virtual_columns: VirtualColumns,
    row_groups: Option<Vec<usize>>,
    row_ranges: Option<Vec<Range<u64>>>,
    file_rows: Option<BTreeMap<usize, Vec<Range<u64>>>>,
    deleted: BTreeMap<usize, Arc<DeleteMask>>,
    filter: Option<DynamicFilter>,
    limit: u64,
    batch_size: usize,
    threads: usize,
    runtime: Option<Runtime>,
    layout: ArrowLayout,
    verify_crc: bool,
    unordered: bool,
    by_column: bool,
    memory_limit: usize,
    cancel: Cancel,
}

/// What is scanned.
#[derive(Debug, Clone)]
enum Source {
    File(ParquetFile),
    Dataset(Dataset),
    Tasks(Vec<ScanTask>),
    /// No row with these columns.
    Nothing(SchemaRef),
}

impl Scan {
    /// Default for [`Scan::batch_size`], in rows.
    pub const DEFAULT_BATCH_SIZE: usize = 8192;

    /// Default for [`Scan::memory_limit`]: 256 MiB.
    pub const DEFAULT_MEMORY_LIMIT: usize = 256 << 20;

    pub(crate) fn of_file(file: ParquetFile) -> Self {
        Self::new(Source::File(file))
    }

    pub(crate) fn of_dataset(dataset: Dataset) -> Self {
        Self::new(Source::Dataset(dataset))
    }

    /// Starts to say how tasks are run, one after the other or on threads, in their order unless any will do. Columns, predicate
    /// and batch size are those that the tasks were planned with: [`Scan::build`] refuses others.
    ///
    /// # Errors
    /// [`Error::Invalid`] if there is no task, and if tasks have different columns.
    pub fn of_tasks(tasks: impl IntoIterator<Item = ScanTask>) -> Result<Self> {
        let tasks: Vec<ScanTask> = tasks.into_iter().collect();
        let Some(first) = tasks.first() else { return Err(Error::invalid("there are no tasks")) };
        if let Some(other) = tasks.iter().find(|task| task.schema() != first.schema() || task.how() != first.how()) {
            return Err(Error::invalid(format!(
                "tasks of {} and {} have different columns or batch sizes; run them one by one",
                first.location(),
                other.location()
            )));
        }
        let How { batch_size, verify_crc } = first.how();
        let layout = first.planner().layout.clone();
        Ok(Self { batch_size, verify_crc, layout, ..Self::new(Source::Tasks(tasks)) })
    }

    /// A scan that finds nothing.
    pub(super) fn of_nothing(schema: &SchemaRef) -> Self {
        Self::new(Source::Nothing(Arc::clone(schema)))
    }

    fn new(source: Source) -> Self {
        Self {
            source,
            pruning: Pruning::default(),
            predicate: None,
            paths: None,
            columns: None,
            leaves: None,
            virtual_columns: VirtualColumns::default(),
            row_groups: None,
            row_ranges: None,
            file_rows: None,
            deleted: BTreeMap::new(),
            filter: None,
            limit: u64::MAX,
            batch_size: Self::DEFAULT_BATCH_SIZE,
            threads: 1,
            runtime: None,
            layout: ArrowLayout::default(),
            verify_crc: true,
            unordered: false,
            by_column: false,
            memory_limit: Self::DEFAULT_MEMORY_LIMIT,
            cancel: Cancel::default(),
        }
    }

    /// Finds only rows for which an SQL expression is true; see [`Predicate::parse`]. Several conditions all have to be true, whichever
    /// of the three methods they come by.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the text is not understood.
    pub fn filter(self, text: &str) -> Result<Self> {
        Ok(self.predicate(Predicate::parse(text)?))
    }

    /// Finds only rows for which `predicate` is true, too.
    pub fn predicate(mut self, predicate: Predicate) -> Self {
        self.predicate = Some(match self.predicate.take() {
            Some(before) => before.and(predicate),
            None => predicate,
        });
        self
    }

    /// Finds only rows that have one of `values` in the column at `path`, too.
    pub fn lookup<V: Into<Literal>>(self, path: &str, values: impl IntoIterator<Item = V>) -> Self {
        self.predicate(column(path).is_in(values))
    }

    /// Looks only at the rows of every file from number `row` on, counted from 0.
    pub fn seek(self, row: u64) -> Self {
        self.rows(row..u64::MAX)
    }

    /// Reads only these columns or nested fields, named by dotted path; a path stands for everything below it. Columns come in
    /// the order of the paths, what is within one in file order.
    pub fn select<S: Into<String>>(mut self, paths: impl IntoIterator<Item = S>) -> Self {
        self.paths = Some(paths.into_iter().map(Into::into).collect());
        (self.columns, self.leaves) = (None, None);
        self
    }

    /// As [`Scan::select`], by the places of columns among [`Dataset::schema`]'s or [`ParquetFile::schema`]'s, counted from 0.
    pub fn select_columns(mut self, columns: impl IntoIterator<Item = usize>) -> Self {
        self.columns = Some(columns.into_iter().collect());
        self.leaves = None;
        self
    }

    /// As [`Scan::select`], by the numbers of leaves in the Parquet schema of the one file that is scanned, counted from 0: the way to
    /// tell apart columns that have the same path. Columns come in file order.
    pub fn select_leaves(mut self, leaves: impl IntoIterator<Item = usize>) -> Self {
        self.leaves = Some(leaves.into_iter().collect());
        self
    }

    /// Adds a column of this name that says which file a row is from. It comes where [`Scan::select`] names it, else last.
    pub fn file_name_column(mut self, name: impl Into<String>) -> Self {
        self.virtual_columns.file_name = Some(name.into());
        self
    }

    /// Adds a column of this name with the row's number within its file, counted from 0. It comes where [`Scan::select`] names
    /// it, else last.
    pub fn row_number_column(mut self, name: impl Into<String>) -> Self {
        self.virtual_columns.row_number = Some(name.into());
        self
    }

    /// Looks only at these row groups of every file, counted from 0, in the order given.
    pub fn row_groups(mut self, row_groups: impl IntoIterator<Item = usize>) -> Self {
        self.row_groups = Some(row_groups.into_iter().collect());
        self
    }

    /// Looks only at these rows of every file, numbered from 0 over the whole file; what lies past the end is left out.
    pub fn rows(self, rows: Range<u64>) -> Self {
        self.row_ranges([rows])
    }

    /// Looks only at the rows of every file in these ranges, which have to be sorted and must not overlap. Rows are numbered
    /// from 0 over the whole file.
    pub fn row_ranges(mut self, ranges: impl IntoIterator<Item = Range<u64>>) -> Self {
        self.row_ranges = Some(ranges.into_iter().collect());
        self
    }

    /// Looks only at some rows of some files, and opens no others: for each file, by its place among [`Dataset::files`], ranges as
    /// those of [`Scan::row_ranges`], in whose place they come.
    pub fn file_rows(mut self, rows: impl IntoIterator<Item = (usize, Vec<Range<u64>>)>) -> Self {
        self.file_rows = Some(rows.into_iter().collect());
        self
    }

    /// Passes over rows that are deleted: for each file, by its place among [`Dataset::files`], in addition to those before.
    pub fn deleted(mut self, masks: impl IntoIterator<Item = (usize, DeleteMask)>) -> Self {
        for (file, mask) in masks {
            let before = self.deleted.entry(file).or_default();
            *Arc::make_mut(before) |= &mask;
        }
        self
    }

    /// Goes by a condition that becomes known while the scan runs, beside the predicate. With several, the last one counts.
    pub fn dynamic_filter(mut self, filter: &DynamicFilter) -> Self {
        self.filter = Some(filter.clone());
        self
    }

    /// Which kinds of evidence may rule out row groups and pages; all of them by default.
    pub fn pruning(mut self, pruning: Pruning) -> Self {
        self.pruning = pruning;
        self
    }

    /// Ends after this many rows, and all work with it.
    pub fn limit(mut self, rows: u64) -> Self {
        self.limit = rows;
        self
    }

    /// Most rows of a batch. Batches also end where row groups end; where a filter drops rows, rows are joined to batches of at
    /// least an eighth of this, and of fewer than a quarter strings are copied if they are little of the pages that they would
    /// hold in memory.
    pub fn batch_size(mut self, rows: usize) -> Self {
        self.batch_size = rows;
        self
    }

    /// Threads that work. With one, it is the caller's, unless the scan becomes a stream.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Works with the memory of `runtime`, on as many threads as it says and started as it says, instead of on one thread with the
    /// runtime of the process. Files are opened with what [`DatasetOptions::runtime`](crate::DatasetOptions::runtime) says.
    pub fn runtime(mut self, runtime: &Runtime) -> Self {
        self.threads = runtime.threads();
        self.runtime = Some(runtime.clone());
        self
    }

    /// The form of string and binary columns.
    pub fn strings(mut self, strings: Strings) -> Self {
        self.layout.strings = strings;
        self
    }

    /// Columns to come out as Arrow dictionaries with keys of `Int32`, named as in [`Scan::select`].
    pub fn dictionary_columns<S: Into<String>>(mut self, paths: impl IntoIterator<Item = S>) -> Self {
        self.layout.dictionary_columns = paths.into_iter().map(Into::into).collect();
        self
    }

    /// Whether pages that carry a CRC are checked against it (on by default).
    pub fn verify_crc(mut self, verify: bool) -> Self {
        self.verify_crc = verify;
        self
    }

    /// Whether batches may come in any order, as soon as they are there; by default they come in the order of files and rows.
    pub fn unordered(mut self, unordered: bool) -> Self {
        self.unordered = unordered;
        self
    }

    /// Whether threads share the columns of one row group, instead of taking a row group each (off by default).
    ///
    /// One row group is then enough to keep all threads busy, and however large row groups are, each column is decoded only a
    /// few batches ahead: 12, and fewer where there are more than 21 columns (4 from 64 columns on). Where there are fewer columns
    /// than would keep the threads busy, several threads share each, and then each holds up to 262,144 decoded rows.
    ///
    /// It fits whoever wants all rows in order. Files are opened one after the other, so that many small ones are faster without it.
    /// It has no effect with a predicate, on unordered scans, streams and tasks, and with one thread. A scan that is dropped early
    /// waits for the few batches that its threads are decoding.
    pub fn by_column(mut self, by_column: bool) -> Self {
        self.by_column = by_column;
        self
    }

    /// Bounds the bytes of batches that are decoded before they are asked for; see [`Scan::DEFAULT_MEMORY_LIMIT`]. Besides,
    /// every thread holds the pages that it decodes and the batch that it makes.
    pub fn memory_limit(mut self, bytes: usize) -> Self {
        self.memory_limit = bytes;
        self
    }

    /// A handle that stops the scan from elsewhere.
    pub fn cancel(mut self, cancel: &Cancel) -> Self {
        self.cancel = cancel.clone();
        self
    }

    /// Plans the scan. No page is read before the first batch is asked for.
    ///
    /// # Errors
    /// [`Error::Invalid`] for columns, files, row groups or ranges that are not there, for a predicate that does not fit their
    /// columns, and for a batch size or number of threads of 0; [`Error::Unsupported`] for a schema that cannot be read.
    pub fn build(self) -> Result<ScanBatches> {
        let threads = self.threads;
        Ok(ScanBatches::new(self.job()?, threads))
    }

    /// Plans all files, on the scan's threads, and gives what is left to be read as tasks. Footers are read, and what rules out
    /// row groups and pages; no other page. A dynamic filter, threads and the order of batches are for whoever runs the tasks.
    ///
    /// # Errors
    /// As [`Scan::build`], and whatever goes wrong while reading footers and indexes.
    pub fn plan(self) -> Result<ScanPlan> {
        let threads = self.threads;
        plan_all(self.job()?, threads)
    }

    /// As [`Scan::plan`], by a planner that does no I/O: it says which bytes it needs.
    ///
    /// # Errors
    /// As [`Scan::build`], and [`Error::Invalid`] for a scan of tasks.
    pub fn into_planner(self) -> Result<ScanPlanner> {
        ScanPlanner::new(self.job()?)
    }

    /// As [`Scan::build`], as a stream. Files are opened and rows decoded by threads of the scan's own, of which there is at
    /// least one.
    ///
    /// # Errors
    /// As [`Scan::build`].
    pub fn into_stream(self) -> Result<ScanStream> {
        self.build().map(ScanStream::new)
    }

    /// The number of rows that the scan finds, up to its limit. No batch is made: of row groups all of whose rows are wanted
    /// nothing is read, of others the columns of the predicate.
    ///
    /// # Errors
    /// As [`Scan::build`], and whatever goes wrong while reading.
    pub fn count(mut self) -> Result<u64> {
        if !matches!(self.source, Source::Tasks(_)) {
            (self.paths, self.columns, self.leaves) = (Some(Vec::new()), None, None);
            self.virtual_columns = VirtualColumns::default();
        }
        self.build()?.count_rows()
    }

    fn job(self) -> Result<Job> {
        if self.batch_size == 0 {
            return Err(Error::invalid("the batch size must be at least 1 row"));
        }
        if self.threads == 0 {
            return Err(Error::invalid("the number of threads must be at least 1"));
        }
        let (work, target, files) = match self.source {
            Source::File(ref file) => self.files_of(Dataset::of([file.clone()])?)?,
            Source::Dataset(ref dataset) => self.files_of(dataset.clone())?,
            Source::Tasks(ref tasks) => self.tasks_of(tasks)?,
            Source::Nothing(ref schema) => {
                let target = Target::new(Arc::clone(schema), None, &VirtualColumns::default(), self.layout.strings)?;
                (Work::Tasks(Vec::new()), Arc::new(target), 0)
            }
        };
        Ok(Job {
            work,
            batch_size: self.batch_size,
            limit: self.limit,
            verify_crc: self.verify_crc,
            unordered: self.unordered,
            by_column: self.by_column,
            memory_limit: self.memory_limit,
            filter: self.filter,
            runtime: self.runtime.unwrap_or_else(Runtime::of_process),
            cancel: self.cancel,
            target,
            counters: Arc::new(Counters::new(files)),
        })
    }

    /// What is to be found in a dataset, as what, and how many files that is about.
    fn files_of(&self, dataset: Dataset) -> Result<(Work, Arc<Target>, usize)> {
        let file_count = dataset.files().len();
        let last_with_rows = self.file_rows.as_ref().and_then(BTreeMap::last_key_value).map(|(&last, _)| last);
        let last_with_deletes = self.deleted.last_key_value().map(|(&last, _)| last);
        if let Some(last) = last_with_rows.max(last_with_deletes).filter(|&last| last >= file_count) {
            return Err(Error::invalid(format!(
                "there is no file {last}; the dataset has {file_count}, counted from 0"
            )));
        }
        if self.leaves.is_some() && !matches!(self.source, Source::File(_)) {
            return Err(Error::invalid("leaves are numbered within one file; scan that, or select columns by name"));
        }
        let chosen = self.columns.as_ref().map(|columns| names_of(&dataset, columns)).transpose()?;
        let paths = chosen.as_deref().or(self.paths.as_deref()).filter(|_| self.leaves.is_none());
        let of_files = match (&self.source, &self.leaves) {
            (Source::File(file), Some(leaves)) => {
                let projection = Projection::from_leaves(leaves.iter().copied());
                file.build_schema(&file.schema_options().with_layout(&self.layout), Some(&projection))?.0
            }
            _ => {
                let paths = paths.map(|paths| self.virtual_columns.without(paths).cloned().collect::<Vec<_>>());
                dataset.project(paths.as_deref(), &self.layout)?
            }
        };
        let target = Arc::new(Target::new(of_files, paths, &self.virtual_columns, self.layout.strings)?);
        let planner = Planner {
            dataset,
            predicate: self.predicate.clone(),
            pruning: self.pruning.clone(),
            row_groups: self.row_groups.clone(),
            row_ranges: self.row_ranges.clone(),
            file_rows: self.file_rows.clone(),
            deleted: self.deleted.clone(),
            layout: self.layout.clone(),
            leaves: self.leaves.clone(),
            limit: self.limit,
            cancel: self.cancel.clone(),
            target: Arc::clone(&target),
            plans: Arc::default(),
        };
        planner.check()?;
        Ok((Work::Files(Arc::new(planner)), target, file_count))
    }

    fn tasks_of(&self, tasks: &[ScanTask]) -> Result<(Work, Arc<Target>, usize)> {
        let Some(first) = tasks.first() else { return Err(Error::internal("no tasks")) };
        let Self {
            predicate, paths, columns, leaves, virtual_columns, row_groups, row_ranges, file_rows, deleted, ..
        } = self;
        let says_what = predicate.is_some()
            || paths.is_some()
            || columns.is_some()
            || leaves.is_some()
            || *virtual_columns != VirtualColumns::default()
            || row_groups.is_some()
            || row_ranges.is_some()
            || file_rows.is_some()
            || !deleted.is_empty();
        let how = How { batch_size: self.batch_size, verify_crc: self.verify_crc };
        if says_what || how != first.how() || self.layout != first.planner().layout {
            return Err(Error::invalid(
                "what tasks read was settled when they were planned: say it before planning, or cut tasks by their rows",
            ));
        }
        let mut files: Vec<(usize, usize)> =
            tasks.iter().map(|task| (Arc::as_ptr(task.planner()).addr(), task.file_index())).collect();
        files.sort_unstable();
        files.dedup();
        Ok((Work::Tasks(tasks.to_vec()), Arc::clone(&first.planner().target), files.len()))
    }
}

/// The names of the columns at these places.
fn names_of(dataset: &Dataset, columns: &[usize]) -> Result<Vec<String>> {
    let fields = dataset.schema().fields();
    let name = |&at: &usize| match fields.get(at) {
        Some(field) => Ok(field.name().clone()),
        None => Err(Error::invalid(format!("there is no column {at}; there are {}, counted from 0", fields.len()))),
    };
    columns.iter().map(name).collect()
}

impl ScanTask {
    /// Reads the rows, on the thread that asks for them. A task that was read from its written form opens its file with the caches and
    /// connections of `runtime`.
    ///
    /// # Errors
    /// As [`Scan::build`](super::Scan::build).
    pub fn execute(&self, runtime: &Runtime) -> Result<ScanBatches> {
        let task = if self.is_open() { self.clone() } else { self.open_by(runtime)? };
        Scan::of_tasks([task])?.runtime(runtime).threads(1).build()
    }
}

impl ScanPlan {
    /// Starts to say how all tasks are run.
    ///
    /// # Errors
    /// As [`Scan::of_tasks`].
    pub fn scan(&self) -> Result<Scan> {
        if self.tasks().is_empty() {
            return Ok(Scan::of_nothing(self.schema()));
        }
        Ok(Scan::of_tasks(self.tasks().iter().cloned())?.limit(self.limit().unwrap_or(u64::MAX)))
    }
}

impl ParquetFile {
    /// Starts to say which rows to find.
    pub fn scan(&self) -> Scan {
        Scan::of_file(self.clone())
    }

    /// Finds the rows that have one of `values` in the column at `path`.
    ///
    /// ```no_run
    /// # fn main() -> lath_parquet::Result<()> {
    /// let file = lath_parquet::ParquetFile::open("trips.parquet")?;
    /// for batch in file.lookup("id", [17, 4711]).select(["id", "price"]).build()? {
    ///     println!("{} rows", batch?.num_rows());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn lookup<V: Into<Literal>>(&self, path: &str, values: impl IntoIterator<Item = V>) -> Scan {
        self.scan().lookup(path, values)
    }

    /// Finds the rows from number `row` on, counted from 0.
    pub fn seek(&self, row: u64) -> Scan {
        self.scan().seek(row)
    }
}

impl Dataset {
    /// Starts to say which rows to find.
    pub fn scan(&self) -> Scan {
        Scan::of_dataset(self.clone())
    }
}
