//! Writes sorted rows to files of a table.

use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, FieldRef};
use lath_parquet::{BlockChecksums, ChecksummedWriter, DeleteMask, SortingColumn};
use lath_source::Version;
use lath_writer::{AtomicFile, BloomFilter, ColumnOptions, ParquetWriter, WriteOptions};

use crate::error::{Error, Result};
use crate::file::{DataFile, encrypted, locate};
use crate::records::{BLOCK_ROWS, BlockKeys, FileEntry, State};
use crate::row::{ByteList, RowOrder, TableSchema};
use crate::view::Engine;

/// A complete, synced file that no commit names yet.
#[derive(Debug)]
pub(crate) struct NewFile {
    pub(crate) entry: FileEntry,
    pub(crate) keys: BlockKeys,
    pub(crate) checksums: BlockChecksums,
}

/// Writes sorted rows to files of bounded length.
#[derive(Debug)]
pub(crate) struct SortedFiles {
    state: State,
    schema: Arc<TableSchema>,
    level: u32,
    /// `None` for the order of keys.
    order: Option<Arc<RowOrder>>,
    options: WriteOptions,
    /// Whether stopping the background thread stops this.
    is_maintenance: bool,
    current: Option<Current>,
    done: NewFiles,
}

/// Files that are removed again unless they are [kept](Self::keep).
#[derive(Debug)]
pub(crate) struct NewFiles {
    engine: Arc<Engine>,
    files: Vec<NewFile>,
    /// Names of files that are complete.
    unkept: Vec<String>,
    /// Names that the engine has registered as being written.
    names: Vec<String>,
}

#[derive(Debug)]
struct Current {
    writer: WriterOf,
    entry: FileEntry,
    keys: BlockKeys,
}

/// A writer with `Debug`.
struct WriterOf(ParquetWriter<ChecksummedWriter<AtomicFile>>);

impl std::fmt::Debug for WriterOf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ParquetWriter").field("bytes", &self.0.bytes_written()).finish_non_exhaustive()
    }
}

impl SortedFiles {
    /// Files of the rows of a commit with this state, in its order.
    pub(crate) fn new(engine: &Arc<Engine>, state: &State, schema: &Arc<TableSchema>, level: u32) -> Result<Self> {
        let order = RowOrder::from_ids(&state.cluster, schema)?.map(Arc::new);
        let options = write_options(&engine.options.write, schema, order.as_deref());
        let (state, schema) = (state.clone(), Arc::clone(schema));
        let done = NewFiles::new(engine);
        Ok(Self { state, schema, level, order, options, is_maintenance: true, current: None, done })
    }

    /// Files of the rows that a transaction with this state puts. The caller waits for them, so that all threads of the runtime encode.
    pub(crate) fn for_transaction(engine: &Arc<Engine>, state: &State, schema: &Arc<TableSchema>) -> Result<Self> {
        let mut files = Self::new(engine, state, schema, 0)?;
        // Other changes of the transaction to these keys, before and after, have its own stamp.
        files.state.stamp -= 1;
        files.options = files.options.default_threads(engine.runtime.threads());
        files.is_maintenance = false;
        Ok(files)
    }

    /// The order of rows; `None` for the order of keys.
    pub(crate) fn order(&self) -> Option<&Arc<RowOrder>> {
        self.order.as_ref()
    }

    pub(crate) fn schema(&self) -> &Arc<TableSchema> {
        &self.schema
    }

    /// Adds rows with these keys, which come next in the order of files.
    pub(crate) fn push(&mut self, batch: &RecordBatch, keys: &ByteList) -> Result<()> {
        // Rows that a transaction puts may have fewer categories than its later ones.
        let batch = &self.schema.file_batch(self.schema.with_all_categories(batch)?)?;
        let mut start = 0;
        while start < batch.num_rows() {
            if self.is_maintenance && self.done.engine.signal.is_over() {
                return Err(Error::Closing);
            }
            let mut current = match self.current.take() {
                Some(current) => current,
                None => self.start(keys.get(start))?,
            };
            let room = usize::try_from(self.done.engine.options.file_rows - current.entry.rows).unwrap_or(usize::MAX);
            let end = batch.num_rows().min(start.saturating_add(room));
            match &mut current.keys {
                BlockKeys::First(fences) => {
                    for at in start..end {
                        let row = current.entry.rows + (at - start) as u64;
                        if row.is_multiple_of(BLOCK_ROWS) {
                            fences.push(keys.get(at))?;
                        }
                    }
                    current.entry.max = keys.get(end - 1).to_vec();
                }
                BlockKeys::Bounds(bounds) => (start..end).try_for_each(|at| bounds.push(keys.get(at)))?,
            }
            current.writer.0.write(&batch.slice(start, end - start))?;
            current.entry.rows += (end - start) as u64;
            let is_full = current.entry.rows == self.done.engine.options.file_rows;
            self.current = Some(current);
            if is_full {
                self.end_file()?;
            }
            start = end;
        }
        Ok(())
    }

    /// The files, complete.
    pub(crate) fn finish(mut self) -> Result<NewFiles> {
        self.end_file()?;
        Ok(self.done)
    }

    fn start(&mut self, min: &[u8]) -> Result<Current> {
        let engine = &self.done.engine;
        let (number, name) = engine.new_file(&self.state);
        engine.writing_files().insert(name.clone());
        self.done.names.push(name.clone());
        let sink = ChecksummedWriter::new(engine.files.create(&name)?);
        let options = match engine.store.encryption_key() {
            Some(key) => encrypted(self.options.clone(), key)?,
            None => self.options.clone(),
        };
        let writer = ParquetWriter::new(sink, self.schema.file_schema(), options)?;
        let entry = FileEntry {
            number,
            name,
            schema: self.schema.version(),
            level: self.level,
            rows: 0,
            bytes: 0,
            masked: 0,
            mask_stamp: 0,
            born: self.state.stamp,
            min: min.to_vec(),
            max: Vec::new(),
            order: self.order.as_ref().map_or_else(Vec::new, |order| order.ids().to_vec()),
            is_checksummed: true,
            tag: String::new(),
        };
        let keys = BlockKeys::new(entry.is_by_key());
        Ok(Current { writer: WriterOf(writer), entry, keys })
    }

    /// Completes the current file: it is synced, gets its name, and its folder is synced. Rows that follow go to another one.
    pub(crate) fn end_file(&mut self) -> Result<()> {
        let Some(Current { writer, mut entry, mut keys }) = self.current.take() else { return Ok(()) };
        if let BlockKeys::Bounds(bounds) = &mut keys {
            bounds.end_block()?;
            let (min, max) = bounds.whole_file().ok_or_else(|| Error::internal("a file without rows was written"))?;
            (entry.min, entry.max) = (min.to_vec(), max.to_vec());
        }
        self.done.unkept.push(entry.name.clone());
        let (sink, written) = writer.0.finish_into()?;
        entry.bytes = written.bytes;
        let (file, checksums) = sink.finish();
        let version = file.commit_version()?;
        entry.tag = version.as_ref().and_then(Version::tag).unwrap_or_default().to_owned();
        self.done.files.push(NewFile { entry, keys, checksums });
        Ok(())
    }
}

impl NewFile {
    /// Its rows that have one of these keys, which are in ascending order and distinct.
    pub(crate) fn rows_with(&self, engine: &Engine, schema: &Arc<TableSchema>, keys: &[&[u8]]) -> Result<DeleteMask> {
        let checksums = Some(Arc::new(self.checksums.clone()));
        let file = DataFile::find(&engine.files, &self.entry, schema, self.keys.clone(), checksums)?;
        Ok(locate(&engine.blocks, &file, &self.entry, keys)?.into_iter().map(|(_, row)| row).collect())
    }
}

impl NewFiles {
    /// No files yet.
    pub(crate) fn new(engine: &Arc<Engine>) -> Self {
        Self { engine: Arc::clone(engine), files: Vec::new(), unkept: Vec::new(), names: Vec::new() }
    }

    /// Registers a file that is about to be made. Returns its path.
    pub(crate) fn begin(&mut self, name: String) -> PathBuf {
        let path = self.engine.files.path(&name);
        self.engine.writing_files().insert(name.clone());
        self.unkept.push(name.clone());
        self.names.push(name);
        path
    }

    pub(crate) fn files(&self) -> &[NewFile] {
        &self.files
    }

    /// Keeps the files: a commit names them, or may do so.
    pub(crate) fn keep(&mut self) {
        self.unkept.clear();
    }
}

impl Drop for NewFiles {
    fn drop(&mut self) {
        for name in &self.unkept {
            // A file that cannot be removed now is removed when the table is next opened, an object when it is next vacuumed.
            let _ = self.engine.files.remove(name);
        }
        let mut writing = self.engine.writing_files();
        writing.retain(|name| !self.names.contains(name));
    }
}

/// Options of files: small pages and Bloom filters for keys, and sorting columns.
fn write_options(base: &WriteOptions, schema: &TableSchema, order: Option<&RowOrder>) -> WriteOptions {
    let mut options = base.clone().created_by(concat!("lath-table version ", env!("CARGO_PKG_VERSION")));
    for field in schema.key().fields().iter().filter(|field| !field.data_type().is_nested()) {
        let mut own = ColumnOptions::new().page_rows(BLOCK_ROWS as usize);
        if has_bloom_filter(field.data_type()) {
            own = own.bloom_filter(BloomFilter::DEFAULT);
        }
        options = options.column(field.name(), own);
    }
    let sorted_by = order.map_or(schema.key(), RowOrder::codec).fields();
    // Parquet has another order of floats, and no order of some types.
    let sorted_alike = sorted_by.iter().take_while(|field| is_sorted_alike_in_parquet(field.data_type()));
    let sorting =
        |field: &FieldRef| SortingColumn { nulls_first: field.is_nullable(), ..SortingColumn::ascending(field.name()) };
    options.sorting_columns(sorted_alike.map(sorting))
}

fn has_bloom_filter(data_type: &DataType) -> bool {
    !matches!(data_type, DataType::Boolean | DataType::Null)
}

fn is_sorted_alike_in_parquet(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => is_sorted_alike_in_parquet(values),
        DataType::Interval(_) => false,
        other => !other.is_floating() && !other.is_nested(),
    }
}
