use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use lath_predicate::{Literal, Predicate, column};

use super::batches::ScanBatches;
use super::cancel::Cancel;
use super::counters::Counters;
use super::job::{Job, Plans};
use super::stream::ScanStream;
use super::target::{Target, VirtualColumns};
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::file::ParquetFile;
use crate::options::Strings;
use crate::prune::Pruning;
use crate::read::ReadBuilder;

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
    virtual_columns: VirtualColumns,
    row_groups: Option<Vec<usize>>,
    row_ranges: Option<Vec<Range<u64>>>,
    file_rows: Option<BTreeMap<usize, Vec<Range<u64>>>>,
    limit: u64,
    batch_size: usize,
    threads: usize,
    strings: Strings,
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
}

impl Scan {
    /// Default for [`Scan::memory_limit`]: 256 MiB.
    pub const DEFAULT_MEMORY_LIMIT: usize = 256 << 20;

    pub(crate) fn of_file(file: ParquetFile) -> Self {
        Self::new(Source::File(file))
    }

    pub(crate) fn of_dataset(dataset: Dataset) -> Self {
        Self::new(Source::Dataset(dataset))
    }

    fn new(source: Source) -> Self {
        Self {
            source,
            pruning: Pruning::default(),
            predicate: None,
            paths: None,
            virtual_columns: VirtualColumns::default(),
            row_groups: None,
            row_ranges: None,
            file_rows: None,
            limit: u64::MAX,
            batch_size: ReadBuilder::DEFAULT_BATCH_SIZE,
            threads: 1,
            strings: Strings::default(),
            verify_crc: true,
            unordered: false,
            by_column: false,
            memory_limit: Self::DEFAULT_MEMORY_LIMIT,
            cancel: Cancel::default(),
        }
    }

    /// Finds only rows for which an SQL expression is true; see [`Predicate::parse`].
    ///
    /// # Errors
    /// [`Error::Invalid`] if the text is not understood.
    pub fn filter(self, text: &str) -> Result<Self> {
        Ok(self.predicate(Predicate::parse(text)?))
    }

    /// Finds only rows for which `predicate` is true, instead of what was set before.
    pub fn predicate(mut self, predicate: Predicate) -> Self {
        self.predicate = Some(predicate);
        self
    }

    /// Finds only rows that have one of `values` in the column at `path`, beside what was set before.
    pub fn lookup<V: Into<Literal>>(self, path: &str, values: impl IntoIterator<Item = V>) -> Self {
        let found = column(path).is_in(values);
        let predicate = match self.predicate.clone() {
            Some(before) => before.and(found),
            None => found,
        };
        self.predicate(predicate)
    }

    /// Looks only at the rows of every file from number `row` on, counted from 0.
    pub fn seek(self, row: u64) -> Self {
        self.row_ranges(std::iter::once(row..u64::MAX))
    }

    /// Reads only these columns or nested fields, named by dotted path; a path stands for everything below it. Columns come in
    /// the order of the paths, what is within one in file order.
    pub fn select<S: Into<String>>(mut self, paths: impl IntoIterator<Item = S>) -> Self {
        self.paths = Some(paths.into_iter().map(Into::into).collect());
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

    /// The form of string and binary columns.
    pub fn strings(mut self, strings: Strings) -> Self {
        self.strings = strings;
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
    /// A few batches of each column then wait in memory, however large row groups are, and one row group is enough to keep all
    /// threads busy: for who wants all rows in order. Files are opened one after the other, so that many small ones are
    /// faster the other way. It has no effect where there is a predicate, on unordered scans and on streams. A scan that is
    /// dropped early waits for what its threads are decoding, which is a few batches.
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
        self.paths = Some(Vec::new());
        self.virtual_columns = VirtualColumns::default();
        self.build()?.count_rows()
    }

    fn job(self) -> Result<Job> {
        if self.batch_size == 0 {
            return Err(Error::invalid("the batch size must be at least 1 row"));
        }
        if self.threads == 0 {
            return Err(Error::invalid("the number of threads must be at least 1"));
        }
        let dataset = match self.source {
            Source::File(file) => Dataset::of([file])?,
            Source::Dataset(dataset) => dataset,
        };
        let file_count = dataset.files().len();
        if let Some((&last, _)) = self.file_rows.as_ref().and_then(BTreeMap::last_key_value)
            && last >= file_count
        {
            return Err(Error::invalid(format!(
                "there is no file {last}; the dataset has {file_count}, counted from 0"
            )));
        }
        let paths = self.paths.as_deref();
        let of_files: Option<Vec<String>> = paths.map(|paths| self.virtual_columns.without(paths).cloned().collect());
        let of_files = dataset.project(of_files.as_deref(), self.strings)?;
        let target = Target::new(of_files, paths, &self.virtual_columns, self.strings)?;
        let counters = Arc::new(Counters::new(dataset.files().len()));
        let job = Job {
            dataset,
            predicate: self.predicate,
            pruning: self.pruning,
            row_groups: self.row_groups,
            row_ranges: self.row_ranges,
            file_rows: self.file_rows,
            strings: self.strings,
            batch_size: self.batch_size,
            limit: self.limit,
            verify_crc: self.verify_crc,
            unordered: self.unordered,
            by_column: self.by_column,
            memory_limit: self.memory_limit,
            cancel: self.cancel,
            target: Arc::new(target),
            plans: Plans::default(),
            asks_singly: AtomicBool::new(false),
            counters,
        };
        job.check()?;
        Ok(job)
    }
}
