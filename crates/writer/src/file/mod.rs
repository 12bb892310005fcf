//! Writes record batches to a Parquet file.

mod copy;
mod encrypt;
pub(crate) mod footer;
pub(crate) mod output;
mod page_index;
mod pool;
pub(crate) mod row_group;
mod summary;

pub use self::copy::needs_writer_name;
pub use self::summary::{ChosenEncoding, ColumnSummary, WriteSummary};

use std::fmt;
use std::io::Write;
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use lath_format::FileEncryptor;
use lath_parquet::{Error, ParquetFile, Projection, Result, SortingColumn};

use self::copy::copy_row_group;
use self::encrypt::file_encryptor;
use self::footer::magic;
use self::output::Output;
use self::pool::Pool;
use self::row_group::RowGroups;
use super::footprint::{batch_bytes, slice_bytes};
use super::options::WriteOptions;
use super::schema::WriteSchema;
use super::sort_keys::SortCheck;
use super::stripe::stripe;
use super::target::AtomicFile;

/// Maximum rows passed to leaves at once.
const PIECE_ROWS: usize = 65_536;
/// Maximum data passed to leaves at once, as a divisor of the memory budget.
const PIECE_SHARE: usize = 8;
/// Maximum bytes that wait to be encoded while the caller goes on to the next batch.
const AHEAD_BYTES: usize = 64 << 20;
/// Maximum bytes that wait to be encoded, as a divisor of the memory budget.
const AHEAD_SHARE: usize = 4;
/// Values in leaves that were not counted yet are assumed to take this multiple of their size in Arrow, because the tables of
/// dictionaries are larger than their contents, plus a number of bytes for each leaf.
const GROWTH: usize = 3;
const LEAF_BYTES: usize = 48 << 10;
/// Maximum Bloom filters that wait for the end of the file, as a divisor of the memory budget.
const BLOOM_SHARE: usize = 4;

/// Writes record batches to a Parquet file.
///
/// ```
/// # use std::sync::Arc;
/// # use arrow_array::{ArrayRef, Int64Array, RecordBatch};
/// use lath_parquet::ParquetFile;
/// use lath_writer::{ParquetWriter, WriteOptions};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("numbers.parquet");
/// let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..1000));
/// let batch = RecordBatch::try_from_iter([("number", numbers)])?;
///
/// let mut writer = ParquetWriter::create(&path, &batch.schema(), WriteOptions::default())?;
/// writer.write(&batch)?;
/// writer.finish()?;
///
/// assert_eq!(ParquetFile::open(&path)?.row_count(), 1000);
/// # Ok(())
/// # }
/// ```
///
/// After an error the file cannot be finished. Dropping an unfinished writer leaves a file without a footer, or, if it was made
/// by [`create`](Self::create), the previous file.
///
/// # Memory
/// The writer holds the encoded pages of the current row group, dictionaries, the batches that wait to be encoded, and Bloom
/// filters, all within [`WriteOptions::memory_budget_bytes`]: a row group that would exceed the budget ends early. The minimum of
/// each leaf column (buffers of a page) and the footer, which grows with columns times row groups, are not counted.
pub struct ParquetWriter<W: Write = AtomicFile> {
    output: Output<W>,
    commit: fn(W) -> Result<()>,
    schema: WriteSchema,
    options: WriteOptions,
    encryptor: Option<FileEncryptor>,
    pool: Pool,
    row_groups: RowGroups,
    /// Checks whether rows are in the presumed order.
    sort_check: Option<SortCheck>,
    /// Rows of the current row group.
    rows: usize,
    /// Bytes that the leaves held when they were last counted, with nothing left to encode.
    counted_bytes: usize,
    /// Bytes of Arrow data passed to the leaves since.
    uncounted_bytes: usize,
    /// Bytes of the waiting Bloom filters when the current row group began.
    bloom_bytes: usize,
    /// Whether an error occurred.
    has_failed: bool,
}

impl ParquetWriter<AtomicFile> {
    /// Starts the file `path`, which appears whole in [`finish`](Self::finish), or not at all: see [`AtomicFile`].
    ///
    /// # Errors
    /// As [`new`](Self::new), and [`Error::Io`] if the file cannot be created.
    pub fn create(path: impl AsRef<Path>, schema: &SchemaRef, options: WriteOptions) -> Result<Self> {
        // Checked first, so that no file is created if the schema cannot be written.
        Plan::new(schema, options)?.create(path.as_ref())
    }

    /// Starts the file `path` as [`new_like`](Self::new_like) and [`create`](Self::create) do.
    ///
    /// # Errors
    /// As [`new_like`](Self::new_like), and [`Error::Io`] if the file cannot be created.
    pub fn create_like(
        path: impl AsRef<Path>,
        file: &ParquetFile,
        projection: Option<&Projection>,
        options: WriteOptions,
    ) -> Result<Self> {
        Plan::like(file, projection, options)?.create(path.as_ref())
    }
}

impl<W: Write> ParquetWriter<W> {
    /// Starts a file that is written to `sink`.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the schema has a type that Parquet lacks, or if the options contradict it; [`Error::Io`] if the sink
    /// fails.
    pub fn new(sink: W, schema: &SchemaRef, options: WriteOptions) -> Result<Self> {
        Plan::new(schema, options)?.start(Output::new(sink, None), |_| Ok(()))
    }

    /// Starts a file with the Parquet schema of `file`, or the part of it that `projection` selects, and its key-value metadata,
    /// in addition to the options'. Row groups of any file can then be copied, including files that Lath would write with other
    /// types.
    ///
    /// # Errors
    /// As [`new`](Self::new), and [`Error::Invalid`] for columns that the file does not have.
    pub fn new_like(
        sink: W,
        file: &ParquetFile,
        projection: Option<&Projection>,
        options: WriteOptions,
    ) -> Result<Self> {
        Plan::like(file, projection, options)?.start(Output::new(sink, None), |_| Ok(()))
    }

    /// The schema of the batches.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema.arrow
    }

    /// The sorting columns of the options.
    pub fn sorting_columns(&self) -> &[SortingColumn] {
        self.options.sorting()
    }

    /// Rows of the current row group so far.
    pub fn row_group_rows(&self) -> usize {
        self.rows
    }

    /// Bytes written so far.
    pub fn bytes_written(&self) -> u64 {
        self.output.position()
    }

    /// Writes a batch. Row groups end where the options say, also within batches.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the batch does not have the writer's schema, or has nulls where the schema allows none;
    /// [`Error::Io`] if the sink fails.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.attempt(|writer| writer.write_all(batch))
    }

    /// Copies a row group of another file, byte for byte, with its indexes and Bloom filters; rows that were written before end
    /// their row group. Columns that the writer's schema lacks are left out. Sorting columns are copied from `file`.
    ///
    /// # Errors
    /// [`Error::Invalid`] if `file` lacks a column, has it with another Parquet type, or has another number of columns of the
    /// same name; [`Error::Unsupported`] if it or this file is encrypted, or if its pages can be read only with the name of their writer;
    /// [`Error::Io`] if the source or the sink fails.
    pub fn copy_row_group(&mut self, file: &ParquetFile, row_group: usize) -> Result<()> {
        self.attempt(|writer| {
            writer.check_copies()?;
            writer.end_row_group()?;
            writer.settle()?;
            writer.write_large_bloom_filters()?;
            let copied = copy_row_group(file, row_group, &writer.schema, &mut writer.output)?;
            writer.row_groups.push(copied);
            Ok(())
        })
    }

    /// Checks that [`copy_row_group`](Self::copy_row_group) accepts the row groups of `file`, as far as its footer tells.
    ///
    /// # Errors
    /// As [`copy_row_group`](Self::copy_row_group).
    pub fn can_copy(&self, file: &ParquetFile) -> Result<()> {
        self.check_copies()?;
        copy::check(file, &self.schema)
    }

    fn check_copies(&self) -> Result<()> {
        if self.encryptor.is_some() {
            return Err(Error::unsupported("copying row groups into an encrypted file; write the rows"));
        }
        Ok(())
    }

    /// Sets a key of the file's metadata, which is written at its end; it replaces an earlier value.
    pub fn set_key_value_metadata(&mut self, key: impl Into<String>, value: impl Into<Option<String>>) {
        self.options.set_key_value(key.into(), value.into());
    }

    /// Ends the current row group, if it has rows.
    ///
    /// # Errors
    /// [`Error::Io`] if the sink fails; errors of encoding, which may come late.
    pub fn flush_row_group(&mut self) -> Result<()> {
        self.attempt(|writer| {
            writer.end_row_group()?;
            writer.settle()
        })
    }

    /// Writes the last row group and the footer, and returns a summary of the file.
    ///
    /// # Errors
    /// As [`flush_row_group`](Self::flush_row_group).
    pub fn finish(mut self) -> Result<WriteSummary> {
        let summary = self.attempt(Self::end)?;
        (self.commit)(self.output.into_sink()?)?;
        Ok(summary)
    }

    /// As [`finish`](Self::finish), and returns the sink.
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    pub fn finish_into(mut self) -> Result<(W, WriteSummary)> {
        let summary = self.attempt(Self::end)?;
        Ok((self.output.into_sink()?, summary))
    }

    fn attempt<T>(&mut self, action: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.has_failed {
            return Err(Error::invalid("writing has failed before; the file cannot be finished"));
        }
        // Also if it panics.
        self.has_failed = true;
        let outcome = action(self)?;
        self.has_failed = false;
        Ok(outcome)
    }

    fn write_all(&mut self, batch: &RecordBatch) -> Result<()> {
        if !self.schema.is_encodable {
            return Err(Error::unsupported("writing rows with the types of this file; its row groups can be copied"));
        }
        self.check_names(batch)?;
        let row_count = batch.num_rows();
        let row_bytes = (batch_bytes(batch) / row_count.max(1)).max(1);
        let piece_rows = (self.options.memory_budget() / PIECE_SHARE / row_bytes).clamp(1, PIECE_ROWS);
        let mut start = 0;
        while start < row_count {
            let room = self.options.row_group_row_limit() - self.rows;
            let len = room.min(piece_rows).min(row_count - start);
            self.write_piece(&batch.slice(start, len))?;
            start += len;
        }
        Ok(())
    }

    fn check_names(&self, batch: &RecordBatch) -> Result<()> {
        let (expected, actual) = (self.schema.arrow.fields(), batch.schema_ref().fields());
        if expected.len() != actual.len() {
            let (expected, actual) = (expected.len(), actual.len());
            return Err(Error::invalid(format!("expected a batch with {expected} columns, found {actual} columns")));
        }
        match expected.iter().zip(actual).find(|(expected, actual)| expected.name() != actual.name()) {
            Some((expected, actual)) => {
                let (expected, actual) = (expected.name(), actual.name());
                Err(Error::invalid(format!("expected column {expected}, found {actual}")))
            }
            None => Ok(()),
        }
    }

    /// Writes rows that fit into the current row group.
    fn write_piece(&mut self, batch: &RecordBatch) -> Result<()> {
        if let Some(check) = &mut self.sort_check {
            check.add(batch)?;
        }
        let mut leaves = Vec::with_capacity(self.schema.leaves.len());
        let mut bytes = Vec::with_capacity(self.schema.leaves.len());
        for (field, column) in self.schema.striped.iter().zip(batch.columns()) {
            stripe(field, column, &mut leaves)?;
            bytes.extend(leaves[bytes.len()..].iter().map(|leaf| {
                slice_bytes(&leaf.values)
                    + leaf.def_levels.as_ref().map_or(0, Vec::len)
                    + leaf.rep_levels.as_ref().map_or(0, Vec::len)
            }));
        }
        self.rows += batch.num_rows();
        self.uncounted_bytes += bytes.iter().sum::<usize>();
        self.pool.write(leaves.into_iter().zip(bytes));
        let ahead =
            if self.pool.has_workers() { AHEAD_BYTES.min(self.options.memory_budget() / AHEAD_SHARE) } else { 0 };
        self.pool.work_down_to(ahead)?;
        self.write_finished()?;
        if self.rows == self.options.row_group_row_limit() || self.is_full()? {
            self.end_row_group()?;
        }
        Ok(())
    }

    /// Whether the row group has reached its maximum size in bytes. The leaves are counted only when they may have reached it,
    /// and with nothing left to encode: so the result does not depend on the number of threads.
    fn is_full(&mut self) -> Result<bool> {
        let (limit, budget) = (self.options.row_group_byte_limit(), self.memory_left());
        if self.counted_bytes + self.uncounted_bytes < limit && self.held_bytes() < budget {
            return Ok(false);
        }
        self.count()?;
        Ok(self.counted_bytes >= limit.min(budget))
    }

    /// Counts the bytes that the leaves hold.
    fn count(&mut self) -> Result<()> {
        self.settle()?;
        self.counted_bytes = self.pool.buffered_bytes();
        self.uncounted_bytes = 0;
        Ok(())
    }

    /// The memory budget, less the bytes that wait to be written.
    fn memory_left(&self) -> usize {
        self.options.memory_budget().saturating_sub(self.bloom_bytes).max(1)
    }

    /// An upper bound of the bytes that the leaves hold, known without waiting for them.
    fn held_bytes(&self) -> usize {
        let least = if self.uncounted_bytes == 0 { 0 } else { self.schema.leaves.len() * LEAF_BYTES };
        self.counted_bytes.saturating_add(self.uncounted_bytes.saturating_mul(GROWTH)).saturating_add(least)
    }

    /// Ends the chunks of the current row group; they are written as they are finished.
    fn end_row_group(&mut self) -> Result<()> {
        if self.rows == 0 {
            return Ok(());
        }
        self.write_large_bloom_filters()?;
        // Leaves keep buffers for the next chunk: at most as much as they hold now.
        let most_kept = self.memory_left() / 2;
        if self.held_bytes() >= most_kept {
            self.count()?;
        }
        let is_tight = self.held_bytes() >= most_kept;
        self.pool.finish_chunks(is_tight);
        let sorting = self.sort_check.as_mut().and_then(SortCheck::end_row_group);
        self.row_groups.begin(self.rows, sorting);
        (self.rows, self.counted_bytes, self.uncounted_bytes) = (0, self.held_bytes(), 0);
        if is_tight {
            self.count()
        } else if self.pool.has_workers() {
            Ok(())
        } else {
            self.settle()
        }
    }

    /// Writes the Bloom filters of the row groups before the current one, if they have become too large to wait for the end of
    /// the file. Those row groups are finished first: only one at a time waits besides the current one, and the count does not
    /// depend on the number of threads.
    fn write_large_bloom_filters(&mut self) -> Result<()> {
        if self.row_groups.has_unfinished() {
            self.settle()?;
        }
        if self.row_groups.bloom_bytes() > self.options.memory_budget() / BLOOM_SHARE {
            self.row_groups.write_bloom_filters(&mut self.output)?;
        }
        self.bloom_bytes = self.row_groups.bloom_bytes();
        Ok(())
    }

    /// Encodes and writes everything that waits: chunks as they are finished, while other threads encode the next.
    fn settle(&mut self) -> Result<()> {
        while self.pool.work_a_step()? {
            self.write_finished()?;
        }
        self.write_finished()
    }

    fn write_finished(&mut self) -> Result<()> {
        self.row_groups.write_finished(&self.pool, self.schema.leaves.len(), self.encryptor.as_ref(), &mut self.output)
    }

    fn end(&mut self) -> Result<WriteSummary> {
        self.end_row_group()?;
        self.settle()?;
        let encryptor = self.encryptor.as_ref();
        let metadata = footer::write(&mut self.row_groups, &self.schema, &self.options, encryptor, &mut self.output)?;
        Ok(WriteSummary::new(metadata, self.row_groups.done(), &self.schema, self.output.position()))
    }
}

impl<W: Write> fmt::Debug for ParquetWriter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ParquetWriter")
            .field("schema", &self.schema.arrow)
            .field("row_groups", &self.row_groups.len())
            .field("bytes_written", &self.output.position())
            .finish_non_exhaustive()
    }
}

/// A file that can be written, as far as is known before writing.
struct Plan {
    schema: WriteSchema,
    options: WriteOptions,
    encryptor: Option<FileEncryptor>,
    pool: Pool,
}

impl Plan {
    fn new(schema: &SchemaRef, options: WriteOptions) -> Result<Self> {
        options.check()?;
        let schema = WriteSchema::new(schema, &options)?;
        Self::of(schema, options)
    }

    fn like(file: &ParquetFile, projection: Option<&Projection>, options: WriteOptions) -> Result<Self> {
        options.check()?;
        let schema = WriteSchema::like(file, projection, &options)?;
        Self::of(schema, options)
    }

    fn of(schema: WriteSchema, options: WriteOptions) -> Result<Self> {
        options.sorting().iter().try_for_each(|sorting| schema.sorting_leaf(&sorting.path).map(drop))?;
        // A schema that can only be copied has no leaves to encode.
        let encoded = if schema.is_encodable { schema.leaves.as_slice() } else { &[] };
        let pool = Pool::new(encoded, options.thread_count())?;
        let keys = options.encryption_keys();
        let encryptor = keys.map(|keys| file_encryptor(keys, &schema)).transpose()?;
        Ok(Self { schema, options, encryptor, pool })
    }

    fn create(self, path: &Path) -> Result<ParquetWriter<AtomicFile>> {
        let file = AtomicFile::create(path)?;
        let name = Some(file.name().clone());
        self.start(Output::new(file, name), AtomicFile::commit)
    }

    fn start<W: Write>(self, mut output: Output<W>, commit: fn(W) -> Result<()>) -> Result<ParquetWriter<W>> {
        let Self { schema, options, encryptor, pool } = self;
        let sort_check = SortCheck::new(&schema.arrow, options.presumed_sorting(), |path| schema.sorting_leaf(path));
        output.write(magic(encryptor.as_ref()))?;
        Ok(ParquetWriter {
            output,
            commit,
            schema,
            options,
            encryptor,
            pool,
            row_groups: RowGroups::default(),
            sort_check,
            rows: 0,
            counted_bytes: 0,
            uncounted_bytes: 0,
            bloom_bytes: 0,
            has_failed: false,
        })
    }
}
