//! Scans: rows that satisfy a condition, in no particular order.

mod block_rows;
mod current;
mod file;
mod hot;
mod key_windows;
mod plan;
mod row_merge;
mod row_source;

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Fields, Schema, SchemaRef};
use lath_parquet::{Predicate, ScanProgress, ScanReport};

use self::file::{ColdBatches, ColdOptions, ColdScan, scans_of_files};
use self::hot::HotScan;
use crate::error::{Error, Result};
use crate::read::count_all;
use crate::row::TableSchema;
use crate::view::{Engine, Expiry, View};

pub use self::plan::{FilesPlan, PlannedColumn, TablePlan};
pub(crate) use self::row_merge::RowMerge;
pub(crate) use self::row_source::{FileRange, RowSource};

/// Builder of a scan: columns and conditions. Rows come in no particular order.
///
/// ```no_run
/// # fn main() -> lath_table::Result<()> {
/// # let table = lath_table::Table::open("people", lath_table::TableOptions::new())?;
/// for batch in table.snapshot()?.scan().filter("age > 40")?.select(["name"]).build()? {
///     println!("{} rows", batch?.num_rows());
/// }
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is read before `build`"]
pub struct TableScan<'v> {
    engine: Arc<Engine>,
    /// An error if the pending rows of a transaction could not be written.
    view: Result<Box<dyn View + 'v>>,
    columns: Option<Vec<String>>,
    dictionary_columns: Vec<String>,
    predicate: Option<Predicate>,
    limit: u64,
    threads: Option<usize>,
}

impl<'v> TableScan<'v> {
    pub(crate) fn new(engine: Arc<Engine>, view: Result<Box<dyn View + 'v>>) -> Self {
        Self {
            engine,
            view,
            columns: None,
            dictionary_columns: Vec::new(),
            predicate: None,
            limit: u64::MAX,
            threads: None,
        }
    }

    /// Reads only these columns, in this order.
    pub fn select<S: Into<String>>(mut self, columns: impl IntoIterator<Item = S>) -> Self {
        self.columns = Some(columns.into_iter().map(Into::into).collect());
        self
    }

    /// Reads these columns, which are strings or binary, as Arrow dictionaries with keys of `Int32`. If files store few distinct values in
    /// a dictionary, no value is copied for each row. Columns that are not read are ignored.
    pub fn dictionary_columns<S: Into<String>>(mut self, columns: impl IntoIterator<Item = S>) -> Self {
        self.dictionary_columns = columns.into_iter().map(Into::into).collect();
        self
    }

    /// Finds only rows for which an SQL expression is true. Several conditions all have to be true.
    ///
    /// # Errors
    /// [`Error::Predicate`](crate::Error::Predicate) if the text is not understood.
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

    /// Ends after this many rows.
    pub fn limit(mut self, rows: u64) -> Self {
        self.limit = rows;
        self
    }

    /// Sets the number of threads that decode files; 0 means one for each core. The default is the runtime's number.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads);
        self
    }

    /// Starts reading.
    ///
    /// # Errors
    /// [`Error::Batch`](crate::Error::Batch) for columns that the table does not have or that cannot be read as dictionaries,
    /// [`Error::Predicate`](crate::Error::Predicate) or
    /// [`Error::Parquet`](crate::Error::Parquet) for a condition that does not fit them, and whatever goes wrong while files are looked up.
    pub fn build(self) -> Result<TableBatches<'v>> {
        let mut batches = self.prepare()?;
        batches.next_files()?;
        Ok(batches)
    }

    /// The batches before the first scan of files has begun.
    fn prepare(self) -> Result<TableBatches<'v>> {
        let Self { engine, view, columns, dictionary_columns, predicate, limit, threads } = self;
        let mut view = view?;
        let schema = Arc::clone(view.schema());
        let predicate = Expiry::and_live(view.expiry(), predicate);
        let columns = column_places(&schema, columns.as_deref())?;
        let output = Arc::new(output_schema(&schema, &columns, &dictionary_columns)?);
        let threads = threads.unwrap_or_else(|| engine.runtime.threads());
        let hot = HotScan::new(&schema, &columns, &output, predicate.as_ref(), threads)?;
        let options = ColdOptions {
            engine: &engine,
            columns: &columns,
            output: &output,
            predicate: predicate.as_ref(),
            limit,
            threads,
        };
        let waiting = scans_of_files(&mut *view, &options)?;
        Ok(TableBatches { view, output, cold: None, waiting, progress: Vec::new(), hot, left: limit })
    }

    /// The number of rows that are found, up to the limit.
    ///
    /// # Errors
    /// As [`build`](Self::build), and whatever goes wrong while reading.
    pub fn count(self) -> Result<u64> {
        if self.predicate.is_none() && self.view.as_ref().is_ok_and(|view| view.expiry().is_none()) {
            let Self { engine, view, limit, .. } = self;
            return Ok(count_all(&engine, &mut *view?)?.min(limit));
        }
        // Some column has to be read; the first of the key is small.
        let view = self.view?;
        let first = view.schema().key().fields().first().map(|field| field.name().clone());
        Self { view: Ok(view), ..self }
            .select(first)
            .build()?
            .try_fold(0, |count, batch| Ok(count + batch?.num_rows() as u64))
    }
}

/// The places of these columns in the schema; of all if there are none.
pub(crate) fn column_places(schema: &TableSchema, columns: Option<&[String]>) -> Result<Vec<usize>> {
    match columns {
        Some(columns) => columns.iter().map(|name| schema.column(name)).collect(),
        None => Ok((0..schema.arrow().fields().len()).collect()),
    }
}

/// The schema of these columns, some of which are read as dictionaries.
fn output_schema(schema: &TableSchema, columns: &[usize], dictionary_columns: &[String]) -> Result<Schema> {
    let mut output = schema.arrow().project(columns)?;
    for name in dictionary_columns {
        let column = schema.column(name)?;
        let field = schema.arrow().field(column);
        let values = match field.data_type() {
            DataType::Utf8 | DataType::Utf8View => DataType::Utf8,
            DataType::Binary | DataType::BinaryView => DataType::Binary,
            large @ (DataType::LargeUtf8 | DataType::LargeBinary) => large.clone(),
            DataType::Dictionary(..) => continue,
            other => {
                return Err(Error::batch(format!(
                    "column {name:?} is {other}: only strings and binary can be read as dictionaries"
                )));
            }
        };
        let read_as = field.clone().with_data_type(DataType::Dictionary(Box::new(DataType::Int32), Box::new(values)));
        let read_as = Arc::new(read_as);
        let fields = columns
            .iter()
            .zip(output.fields())
            .map(|(&own, field)| Arc::clone(if own == column { &read_as } else { field }));
        output = Schema::new_with_metadata(fields.collect::<Fields>(), output.metadata().clone());
    }
    Ok(output)
}

/// The batches of a scan: first from files, then hot rows. There are no batches after an error.
pub struct TableBatches<'v> {
    view: Box<dyn View + 'v>,
    output: SchemaRef,
    cold: Option<ColdBatches>,
    /// Scans of files that come after `cold`, the next one last.
    waiting: Vec<ColdScan>,
    /// Progress of the scans that have begun.
    progress: Vec<ScanProgress>,
    hot: HotScan,
    left: u64,
}

impl TableBatches<'_> {
    /// The schema of the batches.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.output)
    }

    /// Progress of reading the files: a report for each schema in which files were written, the newest first, without hot rows.
    pub fn reports(&self) -> Vec<ScanReport> {
        self.progress.iter().map(ScanProgress::report).collect()
    }

    /// Begins the next scan of files, if there is one.
    fn next_files(&mut self) -> Result<()> {
        self.cold = self.waiting.pop().map(ColdScan::build).transpose()?;
        self.progress.extend(self.cold.as_ref().map(ColdBatches::progress));
        Ok(())
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        if self.left == 0 {
            return Ok(None);
        }
        while let Some(cold) = &mut self.cold {
            match cold.next()? {
                Some(batch) if batch.num_rows() > 0 => return Ok(Some(batch)),
                Some(_) => {}
                None => self.next_files()?,
            }
        }
        self.hot.next(&mut *self.view)
    }
}

impl Iterator for TableBatches<'_> {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.next_batch() {
            Ok(Some(batch)) => {
                let max = usize::try_from(self.left).unwrap_or(usize::MAX);
                let batch = if batch.num_rows() > max { batch.slice(0, max) } else { batch };
                self.left -= batch.num_rows() as u64;
                Some(Ok(batch))
            }
            Ok(None) => {
                self.left = 0;
                None
            }
            Err(error) => {
                self.left = 0;
                Some(Err(error))
            }
        }
    }
}

impl std::fmt::Debug for TableScan<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TableScan")
            .field("columns", &self.columns)
            .field("predicate", &self.predicate)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for TableBatches<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TableBatches").field("schema", &self.output).finish_non_exhaustive()
    }
}
