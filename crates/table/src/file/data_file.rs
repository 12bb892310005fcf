//! Reads one Parquet file of a table.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use lath_parquet::{BlockChecksums, DatasetFile, Scan, ScanBatches};

use super::blocks::ColdBlocks;
use super::files::Files;
use crate::error::{Error, Result};
use crate::records::{BLOCK_ROWS, BlockKeys, FileEntry};
use crate::row::{ROW_NUMBER, TableSchema, Upgrade, as_type};

/// A file, read in its own schema or a newer one.
#[derive(Debug)]
pub(crate) struct DataFile {
    rows: u64,
    upgrade: Arc<Upgrade>,
    file: DatasetFile,
    keys: Arc<BlockKeys>,
    /// Whether checksums of its blocks verify the bytes that are read.
    is_verified: bool,
    /// Set at the first read of a block.
    blocks: OnceLock<Arc<ColdBlocks>>,
}

impl DataFile {
    /// Finds the file among the table's.
    pub(crate) fn find(
        files: &Files,
        entry: &FileEntry,
        schema: &Arc<TableSchema>,
        keys: BlockKeys,
        checksums: Option<Arc<BlockChecksums>>,
    ) -> Result<Self> {
        if keys.len() as u64 != entry.rows.div_ceil(BLOCK_ROWS) {
            let path = files.path(&entry.name);
            return Err(Error::corrupt(format!("{} has another number of blocks than its entry says", path.display())));
        }
        Self::with_keys(files, entry, schema, keys, checksums)
    }

    /// The file without the keys of its blocks, so that it has no lookups by key.
    pub(crate) fn without_keys(
        files: &Files,
        entry: &FileEntry,
        schema: &Arc<TableSchema>,
        checksums: Option<Arc<BlockChecksums>>,
    ) -> Result<Self> {
        let keys = BlockKeys::new(entry.is_by_key());
        Self::with_keys(files, entry, schema, keys, checksums)
    }

    fn with_keys(
        files: &Files,
        entry: &FileEntry,
        schema: &Arc<TableSchema>,
        keys: BlockKeys,
        checksums: Option<Arc<BlockChecksums>>,
    ) -> Result<Self> {
        let file = files.find(entry)?;
        let is_verified = checksums.is_some();
        let file = match checksums {
            Some(checksums) => file.verified(checksums),
            None => file,
        };
        let upgrade = Arc::new(Upgrade::new(schema.with_version(entry.schema)?, Arc::clone(schema)));
        Ok(Self { rows: entry.rows, upgrade, file, keys: Arc::new(keys), is_verified, blocks: OnceLock::new() })
    }

    /// The file, read in another schema.
    pub(crate) fn in_schema(&self, schema: &Arc<TableSchema>) -> Self {
        let upgrade = Arc::new(Upgrade::new(Arc::clone(self.upgrade.from()), Arc::clone(schema)));
        // Blocks have strings in one form.
        let blocks = if self.schema().strings() == schema.strings() { self.blocks.clone() } else { OnceLock::new() };
        let (file, keys) = (self.file.clone(), Arc::clone(&self.keys));
        Self { rows: self.rows, upgrade, file, keys, is_verified: self.is_verified, blocks }
    }

    /// Whether Bloom filters, statistics and indexes of the file may rule out rows. Only the checksums of the file's blocks detect damage in
    /// them, and a damaged one would hide rows.
    pub(crate) fn is_verified(&self) -> bool {
        self.is_verified
    }

    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// The schema in which it is read.
    pub(crate) fn schema(&self) -> &Arc<TableSchema> {
        self.upgrade.to()
    }

    /// The schema in which it was written.
    pub(crate) fn stored_schema(&self) -> &Arc<TableSchema> {
        self.upgrade.from()
    }

    pub(crate) fn upgrade(&self) -> &Arc<Upgrade> {
        &self.upgrade
    }

    pub(crate) fn file(&self) -> &DatasetFile {
        &self.file
    }

    /// The cached blocks of the file, opened by the first call.
    pub(crate) fn blocks(&self) -> Result<&ColdBlocks> {
        if let Some(blocks) = self.blocks.get() {
            return Ok(blocks);
        }
        let key = self.stored_schema().key().fields();
        let filtered = if self.is_verified { key } else { &[] };
        let opened = Arc::new(ColdBlocks::open(self.file.open()?, self.schema().strings(), filtered)?);
        Ok(self.blocks.get_or_init(|| opened))
    }

    /// Keys of its blocks.
    pub(crate) fn keys(&self) -> &BlockKeys {
        &self.keys
    }

    /// The rows of a block.
    pub(crate) fn block_rows(&self, block: usize) -> Range<u64> {
        let start = block as u64 * BLOCK_ROWS;
        start..(start + BLOCK_ROWS).min(self.rows)
    }

    /// A scan of these columns of its schema, as far as the file has them, on the caller's thread.
    pub(crate) fn scan(&self, columns: &[usize]) -> Result<Scan> {
        let columns = ColdColumns::new(&self.upgrade, columns);
        let scan = self.file.open()?.scan();
        Ok(scan.strings(self.schema().strings()).select_columns(columns.read))
    }

    /// Batches of these columns in the file's schema, with the numbers of their rows. A column may repeat.
    pub(crate) fn numbered(&self, scan: Scan, columns: &[usize]) -> Result<NumberedBatches> {
        let batches = scan.row_number_column(ROW_NUMBER).build()?;
        Ok(NumberedBatches { batches, columns: ColdColumns::new(&self.upgrade, columns) })
    }
}

/// Batches of a file with the numbers of their rows.
#[derive(Debug)]
pub(crate) struct NumberedBatches {
    batches: ScanBatches,
    columns: ColdColumns,
}

impl Iterator for NumberedBatches {
    type Item = Result<(Vec<ArrayRef>, Vec<u64>)>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.batches.next()?;
        Some(batch.map_err(Error::from).and_then(|batch| {
            let numbers = batch.columns().last().and_then(|column| column.as_primitive_opt::<Int64Type>());
            let numbers = numbers.ok_or_else(|| Error::internal("a scan gave no row numbers"))?;
            let numbers = numbers.values().iter().map(|&number| number as u64).collect();
            Ok((self.columns.arrays(&batch)?, numbers))
        }))
    }
}

/// Columns of a schema, and their places in a file of the same or an older schema.
#[derive(Debug)]
pub(crate) struct ColdColumns {
    upgrade: Arc<Upgrade>,
    columns: Vec<usize>,
    /// The types that are returned.
    types: Vec<DataType>,
    /// The columns that are read from the file: places in its own schema, each once.
    read: Vec<usize>,
    /// For each column its place in `read`; `None` if the file does not have it.
    sources: Vec<Option<usize>>,
}

impl ColdColumns {
    pub(crate) fn new(upgrade: &Arc<Upgrade>, columns: &[usize]) -> Self {
        let mut read = Vec::new();
        let mut source = |&column: &usize| {
            let place = upgrade.place(column)?;
            Some(read.iter().position(|&other| other == place).unwrap_or_else(|| {
                read.push(place);
                read.len() - 1
            }))
        };
        let sources = columns.iter().map(&mut source).collect();
        let types = columns.iter().map(|&column| upgrade.to().arrow().field(column).data_type().clone()).collect();
        Self { upgrade: Arc::clone(upgrade), columns: columns.to_vec(), types, read, sources }
    }

    /// Reads the first columns with the types that they have in a schema.
    pub(crate) fn with_types(mut self, schema: &Schema) -> Self {
        for (own, field) in self.types.iter_mut().zip(schema.fields()) {
            own.clone_from(field.data_type());
        }
        self
    }

    pub(crate) fn upgrade(&self) -> &Arc<Upgrade> {
        &self.upgrade
    }

    /// The columns, by their places in the newer schema.
    pub(crate) fn columns(&self) -> &[usize] {
        &self.columns
    }

    /// For each column its place among those that are [read](Self::read); `None` if the file does not have it.
    pub(crate) fn sources(&self) -> &[Option<usize>] {
        &self.sources
    }

    /// The names in the file of the string and binary columns that are returned as dictionaries.
    pub(crate) fn dictionaries(&self) -> impl Iterator<Item = String> {
        let given = self.types.iter().zip(&self.sources);
        let sources =
            given.filter(|(given, _)| matches!(given, DataType::Dictionary(..))).filter_map(|(_, source)| *source);
        let fields = sources.map(|source| self.upgrade.from().arrow().field(self.read[source]));
        // A name with a dot could belong to a field within another column.
        let has_values = |field: &&Field| {
            (field.data_type().is_string() || field.data_type().is_binary()) && !field.name().contains('.')
        };
        fields.filter(has_values).map(|field| field.name().clone())
    }

    /// The places in the file's own schema of the columns that the file has, each once.
    pub(crate) fn read(&self) -> &[usize] {
        &self.read
    }

    /// The columns of a batch from a scan of the file, whose first columns are `read`.
    pub(crate) fn arrays(&self, scanned: &RecordBatch) -> Result<Vec<ArrayRef>> {
        if scanned.num_columns() < self.read.len() {
            return Err(Error::internal("a scan gave too few columns"));
        }
        let array = |((&column, given), source): ((&usize, &DataType), &Option<usize>)| match source {
            Some(at) => {
                let array = as_type(Arc::clone(scanned.column(*at)), given)?;
                self.upgrade.to().with_column_categories(column, array)
            }
            None => as_type(self.upgrade.column(column, None, scanned.num_rows())?, given),
        };
        self.columns.iter().zip(&self.types).zip(&self.sources).map(array).collect()
    }
}
