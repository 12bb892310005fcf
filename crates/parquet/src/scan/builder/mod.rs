mod entry;
mod run;

use std::sync::Arc;

use arrow_schema::SchemaRef;
use lath_predicate::Predicate;

use super::dynamic::DynamicFilter;
use super::task::ScanTask;
use crate::dataset::Dataset;
use crate::deletes::DeleteMask;
use crate::error::Result;
use crate::file::ParquetFile;
use crate::options::Strings;
use crate::prune::Pruning;
use crate::runtime::{Runtime, threads_or_cores};
use crate::scan::columns::VirtualColumns;
use crate::scan::monitor::Cancel;
use crate::scan::planner::Query;
use crate::scan::rows::RowSelection;
use crate::scan::run::Settings;

/// Builder of a scan: which rows of files to find, and which columns to read.
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
    query: Query,
    paths: Option<Vec<String>>,
    /// Column indices, instead of `paths`; leaf numbers ([`Query::leaves`]) instead of both.
    columns: Option<Vec<usize>>,
    virtual_columns: VirtualColumns,
    settings: Settings,
    threads: usize,
    runtime: Option<Runtime>,
}

/// Input of a scan.
#[derive(Debug, Clone)]
enum Source {
    File(ParquetFile),
    Dataset(Dataset),
    Tasks(Vec<ScanTask>),
    /// No rows, with these columns.
    Nothing(SchemaRef),
}

impl Scan {
    /// Default for [`Scan::batch_size`], in rows.
    pub const DEFAULT_BATCH_SIZE: usize = 8192;

    /// Default for [`Scan::memory_budget_bytes`]: 256 MiB.
    pub const DEFAULT_MEMORY_BUDGET_BYTES: usize = 256 << 20;

    fn new(source: Source) -> Self {
        Self {
            source,
            query: Query::default(),
            paths: None,
            columns: None,
            virtual_columns: VirtualColumns::default(),
            settings: Settings {
                limit: u64::MAX,
                batch_size: Self::DEFAULT_BATCH_SIZE,
                verify_crc: true,
                unordered: false,
                by_column: false,
                memory_budget_bytes: Self::DEFAULT_MEMORY_BUDGET_BYTES,
                filter: None,
                cancel: Cancel::default(),
            },
            threads: 1,
            runtime: None,
        }
    }

    /// Finds only rows for which an SQL expression is true; see [`Predicate::parse`]. If `filter` and `predicate` are called several
    /// times, all conditions must hold.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) if the text is not understood.
    pub fn filter(self, text: &str) -> Result<Self> {
        Ok(self.predicate(Predicate::parse(text)?))
    }

    /// Finds only rows for which `predicate` is true, in addition to other conditions.
    ///
    /// ```no_run
    /// # fn main() -> lath_parquet::Result<()> {
    /// use lath_parquet::{ParquetFile, column};
    ///
    /// let file = ParquetFile::open("trips.parquet")?;
    /// println!("{} rows", file.scan().predicate(column("id").is_in([17, 4711])).count()?);
    /// # Ok(())
    /// # }
    /// ```
    pub fn predicate(mut self, predicate: Predicate) -> Self {
        let predicate = match self.query.predicate.take() {
            Some(before) => before.and(predicate),
            None => predicate,
        };
        self.query.predicate = (predicate != Predicate::TRUE).then_some(predicate);
        self
    }

    /// Reads only these columns or nested fields, named by dotted path; a path includes everything below it. Columns come in the
    /// order of the paths, fields within a column in file order.
    pub fn select<S: Into<String>>(mut self, paths: impl IntoIterator<Item = S>) -> Self {
        self.paths = Some(paths.into_iter().map(Into::into).collect());
        (self.columns, self.query.leaves) = (None, None);
        self
    }

    /// As [`Scan::select`], by the index of columns in [`Dataset::schema`] or [`ParquetFile::schema`], counted from 0.
    pub fn select_columns(mut self, columns: impl IntoIterator<Item = usize>) -> Self {
        self.columns = Some(columns.into_iter().collect());
        self.query.leaves = None;
        self
    }

    /// As [`Scan::select`], by leaf numbers in the Parquet schema of the one file that is scanned, counted from 0. That tells
    /// columns with the same path apart. Columns come in file order.
    pub fn select_leaves(mut self, leaves: impl IntoIterator<Item = usize>) -> Self {
        self.query.leaves = Some(leaves.into_iter().collect());
        self
    }

    /// Adds a column of this name with the file of each row, at the place that [`Scan::select`] gives it, else last.
    pub fn file_name_column(mut self, name: impl Into<String>) -> Self {
        self.virtual_columns.file_name = Some(name.into());
        self
    }

    /// Adds a column of this name with each row's number within its file, counted from 0, at the place that [`Scan::select`]
    /// gives it, else last.
    pub fn row_number_column(mut self, name: impl Into<String>) -> Self {
        self.virtual_columns.row_number = Some(name.into());
        self
    }

    /// Scans only these row groups of every file, counted from 0, in the order given.
    pub fn row_groups(mut self, row_groups: impl IntoIterator<Item = usize>) -> Self {
        self.query.row_groups = Some(row_groups.into_iter().collect());
        self
    }

    /// Scans only rows with these numbers, counted from 0 over a whole file: a range (`10..20`, `10..`) or several ranges of every file, or
    /// the ranges of some files ([`RowSelection::in_files`]). A second call replaces the rows of the first.
    pub fn rows(mut self, rows: impl Into<RowSelection>) -> Self {
        self.query.rows = Some(rows.into());
        self
    }

    /// Skips deleted rows: for each file, by its index in [`Dataset::files`], in addition to earlier calls.
    pub fn deleted(mut self, masks: impl IntoIterator<Item = (usize, DeleteMask)>) -> Self {
        for (file, mask) in masks {
            let before = self.query.deleted.entry(file).or_default();
            *Arc::make_mut(before) |= &mask;
        }
        self
    }

    /// Applies a condition that becomes known while the scan runs, in addition to the predicate. If called several times, the
    /// last filter wins.
    pub fn dynamic_filter(mut self, filter: &DynamicFilter) -> Self {
        self.settings.filter = Some(filter.clone());
        self
    }

    /// Kinds of evidence that may rule out row groups and pages; all by default.
    pub fn pruning(mut self, pruning: Pruning) -> Self {
        self.query.pruning = pruning;
        self
    }

    /// Ends the scan after this many rows.
    pub fn limit(mut self, rows: u64) -> Self {
        self.settings.limit = rows;
        self
    }

    /// Maximum rows of a batch. Batches also end at the ends of row groups. If a predicate drops rows, small batches are
    /// concatenated to at least an eighth of the maximum; strings of batches below a quarter are copied if that frees most of the
    /// memory of their pages.
    pub fn batch_size(mut self, rows: usize) -> Self {
        self.settings.batch_size = rows;
        self
    }

    /// Number of threads; 0 means one for each core. With one, the default, the caller's thread does the work, unless the scan
    /// becomes a stream.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads_or_cores(threads);
        self
    }

    /// Uses memory, threads and settings of `runtime`, instead of one thread and the default runtime. Caches and open files come
    /// from [`DatasetOptions::runtime`](crate::DatasetOptions::runtime).
    pub fn runtime(mut self, runtime: &Runtime) -> Self {
        self.threads = runtime.threads();
        self.runtime = Some(runtime.clone());
        self
    }

    /// The Arrow layout of string and binary columns.
    pub fn strings(mut self, strings: Strings) -> Self {
        self.query.layout.strings = strings;
        self
    }

    /// Columns to read as Arrow dictionaries with keys of `Int32`, named as in [`Scan::select`].
    pub fn dictionary_columns<S: Into<String>>(mut self, paths: impl IntoIterator<Item = S>) -> Self {
        self.query.layout.dictionary_columns = paths.into_iter().map(Into::into).collect();
        self
    }

    /// Whether pages that carry a CRC are checked against it (on by default).
    pub fn verify_crc(mut self, verify: bool) -> Self {
        self.settings.verify_crc = verify;
        self
    }

    /// Whether batches may come in any order, as soon as they are ready; by default they come in the order of files and rows.
    pub fn unordered(mut self, unordered: bool) -> Self {
        self.settings.unordered = unordered;
        self
    }

    /// Whether threads share the columns of one row group, instead of taking a row group each (off by default).
    ///
    /// One row group is then enough to keep all threads busy. However large row groups are, each column is decoded only a few
    /// batches ahead: 12, and fewer with more than 21 columns (4 from 64 columns on). If there are too few columns to keep the
    /// threads busy, several threads share each, and each holds up to 262,144 decoded rows.
    ///
    /// Use it to read all rows in order. Files are opened one after another, so that many small files are faster without it. It
    /// has no effect with a predicate, on unordered scans, streams and tasks, and with one thread. Dropping the scan early waits
    /// for the few batches that its threads are decoding.
    pub fn by_column(mut self, by_column: bool) -> Self {
        self.settings.by_column = by_column;
        self
    }

    /// Bounds the bytes of batches that are decoded ahead of the caller; see [`Scan::DEFAULT_MEMORY_BUDGET_BYTES`]. In addition,
    /// every thread holds the pages that it decodes and the batch that it builds.
    pub fn memory_budget_bytes(mut self, bytes: usize) -> Self {
        self.settings.memory_budget_bytes = bytes;
        self
    }

    /// A handle that cancels the scan from another thread.
    pub fn cancel(mut self, cancel: &Cancel) -> Self {
        self.settings.cancel = cancel.clone();
        self
    }
}
