//! Sorted rows become files of a table.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, SchemaRef};
use lath_parquet::{AtomicFile, BloomFilter, ColumnOptions, ParquetWriter, SortingColumn, WriteOptions};

use crate::byte_list::ByteList;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::fences::{BLOCK_ROWS, Fences};
use crate::key_codec::KeyCodec;
use crate::layout::{FileEntry, State};
use crate::schema::TableSchema;

/// A file that has its name and is on the disk, and that no commit names yet.
#[derive(Debug)]
pub(crate) struct NewFile {
    pub(crate) entry: FileEntry,
    pub(crate) fences: Fences,
}

/// Writes rows that come in the order of their keys to files of bounded length.
#[derive(Debug)]
pub(crate) struct SortedFiles {
    state: State,
    schema: Arc<TableSchema>,
    level: u32,
    options: WriteOptions,
    /// Whether the end of the background thread ends this.
    is_maintenance: bool,
    current: Option<Current>,
    done: NewFiles,
}

/// Files that are removed again unless they are [kept](Self::keep).
#[derive(Debug)]
pub(crate) struct NewFiles {
    engine: Arc<Engine>,
    files: Vec<NewFile>,
    paths: Vec<PathBuf>,
    /// Names that the engine knows as those of files that are being written.
    names: Vec<String>,
}

#[derive(Debug)]
struct Current {
    writer: WriterOf,
    entry: FileEntry,
    fences: Fences,
}

/// A writer that can be shown.
struct WriterOf(ParquetWriter<AtomicFile>);

impl std::fmt::Debug for WriterOf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ParquetWriter").field("bytes", &self.0.bytes_written()).finish_non_exhaustive()
    }
}

impl SortedFiles {
    /// Files of the rows of a commit with this state.
    pub(crate) fn new(engine: &Arc<Engine>, state: &State, schema: &Arc<TableSchema>, level: u32) -> Self {
        let options = write_options(&engine.options.write, schema.arrow(), schema.key());
        let (state, schema) = (state.clone(), Arc::clone(schema));
        let done = NewFiles { engine: Arc::clone(engine), files: Vec::new(), paths: Vec::new(), names: Vec::new() };
        Self { state, schema, level, options, is_maintenance: true, current: None, done }
    }

    /// Files of the rows that a transaction with this state puts. The caller waits for them, so that all threads of the runtime encode.
    pub(crate) fn of_transaction(engine: &Arc<Engine>, state: &State, schema: &Arc<TableSchema>) -> Self {
        let mut files = Self::new(engine, state, schema, 0);
        // What else the transaction does to the keys has its stamp, before and after this.
        files.state.stamp -= 1;
        files.options = files.options.default_threads(engine.runtime.threads());
        files.is_maintenance = false;
        files
    }

    /// Adds rows with these keys.
    pub(crate) fn push(&mut self, batch: &RecordBatch, keys: &ByteList) -> Result<()> {
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
            for at in start..end {
                let row = current.entry.rows + (at - start) as u64;
                if row.is_multiple_of(BLOCK_ROWS) {
                    current.fences.push(keys.get(at))?;
                }
            }
            current.writer.0.write(&batch.slice(start, end - start))?;
            current.entry.rows += (end - start) as u64;
            current.entry.max = keys.get(end - 1).to_vec();
            let is_full = current.entry.rows == self.done.engine.options.file_rows;
            self.current = Some(current);
            if is_full {
                self.end()?;
            }
            start = end;
        }
        Ok(())
    }

    /// The files, complete.
    pub(crate) fn finish(mut self) -> Result<NewFiles> {
        self.end()?;
        Ok(self.done)
    }

    fn start(&mut self, min: &[u8]) -> Result<Current> {
        let engine = &self.done.engine;
        let (number, name) = engine.new_file(&self.state);
        engine.writing_files().insert(name.clone());
        self.done.names.push(name.clone());
        let writer = ParquetWriter::create(engine.path(&name), self.schema.arrow(), self.options.clone())?;
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
        };
        Ok(Current { writer: WriterOf(writer), entry, fences: Fences::default() })
    }

    /// Completes the current file: it is synced, gets its name, and its folder is synced.
    fn end(&mut self) -> Result<()> {
        let Some(Current { writer, mut entry, fences }) = self.current.take() else { return Ok(()) };
        self.done.paths.push(self.done.engine.path(&entry.name));
        entry.bytes = writer.0.finish()?.bytes;
        self.done.files.push(NewFile { entry, fences });
        Ok(())
    }
}

impl NewFiles {
    pub(crate) fn files(&self) -> &[NewFile] {
        &self.files
    }

    /// A commit names the files, or may do so.
    pub(crate) fn keep(&mut self) {
        self.paths.clear();
    }
}

impl Drop for NewFiles {
    fn drop(&mut self) {
        for path in &self.paths {
            // What cannot be removed is removed when the table is next opened.
            let _ = fs::remove_file(path);
        }
        let mut writing = self.engine.writing_files();
        writing.retain(|name| !self.names.contains(name));
    }
}

/// How files are written so that keys are found fast.
fn write_options(base: &WriteOptions, schema: &SchemaRef, key: &KeyCodec) -> WriteOptions {
    let mut options = base.clone().created_by(concat!("lath-table version ", env!("CARGO_PKG_VERSION")));
    let mut sorting = Vec::new();
    let mut is_sorted_alike = true;
    for &column in key.columns() {
        let field = schema.field(column);
        if field.data_type().is_nested() {
            is_sorted_alike = false;
            continue;
        }
        let mut own = ColumnOptions::new().page_rows(BLOCK_ROWS as usize);
        if has_bloom_filter(field.data_type()) {
            own = own.bloom_filter(BloomFilter::DEFAULT);
        }
        options = options.column(field.name(), own);
        // Parquet has another order of floats, and no order of some types.
        is_sorted_alike &= is_sorted_alike_in_parquet(field.data_type());
        if is_sorted_alike {
            sorting.push(SortingColumn::ascending(field.name()));
        }
    }
    options.sorting_columns(sorting)
}

fn has_bloom_filter(data_type: &DataType) -> bool {
    !matches!(data_type, DataType::Boolean | DataType::Null)
}

fn is_sorted_alike_in_parquet(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => is_sorted_alike_in_parquet(values),
        DataType::Interval(_) => false,
        other => !other.is_floating(),
    }
}
