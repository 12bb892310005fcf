//! Sorts rows by columns, on disk if memory does not suffice, and merges sorted inputs.

mod memory;
mod merge;
mod row_order;
mod spill;
#[cfg(test)]
mod tests;

use std::fmt;
use std::io::Write;
use std::path::PathBuf;

use arrow_array::RecordBatch;
use arrow_row::Rows;
use arrow_schema::SchemaRef;
use lath_parquet::{Error, Result};

use self::memory::SortedInMemory;
use self::spill::Run;
use super::footprint::batch_bytes;
use super::sort_keys::SortKeys;
use super::{ParquetWriter, SortingColumn, WriteSummary};

pub use merge::MergedBatches;
pub use row_order::RowOrder;

/// Rows of the result's batches.
const BATCH_ROWS: usize = 8_192;
/// Maximum open runs; more runs are merged into one.
const MAX_RUNS: usize = 64;
/// Bytes a row in the sorted order.
const ORDER_BYTES: usize = 16;

/// Options of sorting.
#[derive(Debug, Clone)]
pub struct SortOptions {
    memory_budget_bytes: usize,
    folder: Option<PathBuf>,
}

impl SortOptions {
    /// Default for [`memory_budget_bytes`](Self::memory_budget_bytes): 1 GiB.
    pub const DEFAULT_MEMORY_BUDGET_BYTES: usize = 1 << 30;

    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the maximum bytes of rows and keys in memory; more rows are spilled to temporary files. Default:
    /// [`Self::DEFAULT_MEMORY_BUDGET_BYTES`].
    #[must_use]
    pub fn memory_budget_bytes(mut self, bytes: usize) -> Self {
        self.memory_budget_bytes = bytes;
        self
    }

    /// Sets the folder of temporary files. They have no name, so that none is ever left behind. Default: the system's.
    #[must_use]
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }
}

impl Default for SortOptions {
    fn default() -> Self {
        Self { memory_budget_bytes: Self::DEFAULT_MEMORY_BUDGET_BYTES, folder: None }
    }
}

/// Sorts rows. Rows with equal keys keep their order.
///
/// Floating-point numbers follow IEEE 754's total order; byte strings compare as unsigned bytes.
///
/// ```
/// # use std::sync::Arc;
/// # use arrow_array::{ArrayRef, Int64Array, RecordBatch};
/// use lath_parquet::SortingColumn;
/// use lath_writer::{SortOptions, Sorter};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let column: ArrayRef = Arc::new(Int64Array::from(vec![3, 1, 2]));
/// let batch = RecordBatch::try_from_iter([("id", column)])?;
///
/// let mut sorter = Sorter::new(&batch.schema(), &[SortingColumn::descending("id")], SortOptions::new())?;
/// sorter.push(batch)?;
/// let sorted: Vec<RecordBatch> = sorter.finish()?.collect::<Result<_, _>>()?;
///
/// assert_eq!(**sorted[0].column(0), Int64Array::from(vec![3, 2, 1]));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Sorter {
    schema: SchemaRef,
    columns: Vec<SortingColumn>,
    keys: SortKeys,
    options: SortOptions,
    batches: Vec<RecordBatch>,
    rows: Vec<Rows>,
    /// Bytes of batches and keys.
    bytes: usize,
    runs: Vec<Run>,
}

impl Sorter {
    /// # Errors
    /// [`Error::Invalid`] without columns, and if a column is missing or repeated.
    pub fn new(schema: &SchemaRef, columns: &[SortingColumn], options: SortOptions) -> Result<Self> {
        let keys = SortKeys::new(schema, columns)?;
        let (schema, columns) = (SchemaRef::clone(schema), columns.to_vec());
        Ok(Self { schema, columns, keys, options, batches: Vec::new(), rows: Vec::new(), bytes: 0, runs: Vec::new() })
    }

    /// Adds rows.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the batch does not have the sorter's columns; [`Error::Io`] if a temporary file cannot be written.
    pub fn push(&mut self, batch: RecordBatch) -> Result<()> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        if batch.num_columns() != self.schema.fields().len() {
            return Err(Error::invalid("the columns of a batch differ from the columns to sort"));
        }
        let rows = self.keys.rows(&batch)?;
        self.bytes += batch_bytes(&batch) + rows.size() + batch.num_rows() * ORDER_BYTES;
        self.batches.push(batch);
        self.rows.push(rows);
        // The sorted batches that are being written take little more memory.
        if self.bytes >= self.options.memory_budget_bytes { self.spill() } else { Ok(()) }
    }

    /// All rows in order.
    ///
    /// # Errors
    /// [`Error::Io`] if a temporary file cannot be written.
    pub fn finish(mut self) -> Result<SortedBatches> {
        if self.runs.is_empty() {
            return Ok(SortedBatches(SortedRows::InMemory(self.sort())));
        }
        self.spill()?;
        let runs = self.runs.drain(..).map(Run::read).collect::<Result<Vec<_>>>()?;
        Ok(SortedBatches(SortedRows::OnDisk(MergedBatches::trusting(&self.schema, self.keys, runs)?)))
    }

    fn sort(&mut self) -> SortedInMemory {
        self.bytes = 0;
        SortedInMemory::new(std::mem::take(&mut self.batches), std::mem::take(&mut self.rows))
    }

    fn spill(&mut self) -> Result<()> {
        let sorted = self.sort();
        let folder = self.options.folder.as_deref();
        self.runs.extend(Run::write(&self.schema, folder, sorted)?);
        if self.runs.len() >= MAX_RUNS {
            let runs = self.runs.drain(..).map(Run::read).collect::<Result<Vec<_>>>()?;
            let keys = SortKeys::new(&self.schema, &self.columns)?;
            let merged = MergedBatches::trusting(&self.schema, keys, runs)?;
            self.runs.extend(Run::write(&self.schema, folder, merged)?);
        }
        Ok(())
    }
}

/// The sorted rows of a [`Sorter`].
pub struct SortedBatches(SortedRows);

enum SortedRows {
    InMemory(SortedInMemory),
    OnDisk(MergedBatches<spill::RunReader>),
}

impl Iterator for SortedBatches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            SortedRows::InMemory(batches) => batches.next(),
            SortedRows::OnDisk(batches) => batches.next(),
        }
    }
}

impl fmt::Debug for SortedBatches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_on_disk = matches!(self.0, SortedRows::OnDisk(_));
        f.debug_struct("SortedBatches").field("on_disk", &is_on_disk).finish_non_exhaustive()
    }
}

/// Sorts record batches and writes them to a Parquet file whose metadata records the order.
///
/// Rows are written to the file in [`finish`](Self::finish).
#[derive(Debug)]
pub struct SortingWriter<W: Write> {
    sorter: Sorter,
    writer: ParquetWriter<W>,
}

impl<W: Write> SortingWriter<W> {
    /// A sorting writer for `writer`, by the columns of [`WriteOptions::sorting_columns`](super::WriteOptions::sorting_columns).
    ///
    /// # Errors
    /// As [`Sorter::new`].
    pub fn new(writer: ParquetWriter<W>, options: SortOptions) -> Result<Self> {
        let sorter = Sorter::new(writer.schema(), writer.sorting_columns(), options)?;
        Ok(Self { sorter, writer })
    }

    /// Adds rows.
    ///
    /// # Errors
    /// As [`Sorter::push`].
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.sorter.push(batch.clone())
    }

    /// Writes all rows in order, and finishes the file.
    ///
    /// # Errors
    /// As [`Sorter::finish`] and [`ParquetWriter::finish`].
    pub fn finish(self) -> Result<WriteSummary> {
        let Self { sorter, mut writer } = self;
        for batch in sorter.finish()? {
            writer.write(&batch?)?;
        }
        writer.finish()
    }
}
