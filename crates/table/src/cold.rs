//! One Parquet file of a table, to be read.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, RecordBatch};
use lath_parquet::{DatasetFile, DatasetOptions, Scan, ScanBatches};

use crate::error::{Error, Result};
use crate::fences::{BLOCK_ROWS, Fences};
use crate::key_codec::as_type;
use crate::layout::FileEntry;
use crate::schema::{ROW_NUMBER, TableSchema, batch};

/// A file whose rows are in the order of their keys.
#[derive(Debug)]
pub(crate) struct ColdFile {
    rows: u64,
    /// The schema that its rows have.
    schema: Arc<TableSchema>,
    file: DatasetFile,
    fences: Fences,
}

impl ColdFile {
    /// Finds the file in the table's folder.
    pub(crate) fn find(
        folder: &Path,
        entry: &FileEntry,
        schema: Arc<TableSchema>,
        fences: Fences,
        options: &DatasetOptions,
    ) -> Result<Self> {
        let path = folder.join(&entry.name);
        let file = DatasetFile::find(&path, options)?.into_iter().next();
        let file = file.ok_or_else(|| Error::corrupt(format!("{} is missing", path.display())))?;
        if fences.len() as u64 != entry.rows.div_ceil(BLOCK_ROWS) {
            return Err(Error::corrupt(format!("{} has another number of blocks than its entry says", path.display())));
        }
        Ok(Self { rows: entry.rows, schema, file, fences })
    }

    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    pub(crate) fn schema(&self) -> &Arc<TableSchema> {
        &self.schema
    }

    pub(crate) fn file(&self) -> &DatasetFile {
        &self.file
    }

    pub(crate) fn fences(&self) -> &Fences {
        &self.fences
    }

    /// The rows of a block.
    pub(crate) fn block_rows(&self, block: usize) -> Range<u64> {
        let start = block as u64 * BLOCK_ROWS;
        start..(start + BLOCK_ROWS).min(self.rows)
    }

    /// A scan of these columns, by their places in the file's schema, on the caller's thread.
    pub(crate) fn scan(&self, columns: &[usize]) -> Result<Scan> {
        let scan = self.file.open()?.scan();
        Ok(scan.strings(self.schema.strings()).select_columns(columns.iter().copied()))
    }

    /// Batches of these columns as the file's schema has them. A column behind them has the row numbers.
    pub(crate) fn numbered(&self, scan: Scan, columns: &[usize]) -> Result<NumberedBatches> {
        let batches = scan.row_number_column(ROW_NUMBER).build()?;
        let order = (0..columns.len()).collect();
        Ok(NumberedBatches { batches, columns: columns.to_vec(), order, schema: Arc::clone(&self.schema) })
    }
}

/// Batches of a file with the numbers of their rows.
#[derive(Debug)]
pub(crate) struct NumberedBatches {
    batches: ScanBatches,
    columns: Vec<usize>,
    /// In which order they are given.
    order: Vec<usize>,
    schema: Arc<TableSchema>,
}

impl NumberedBatches {
    /// The same batches with these of their columns, any of them several times.
    pub(crate) fn rearranged(mut self, columns: &[usize]) -> Result<Self> {
        let place = |wanted: &usize| self.columns.iter().position(|column| column == wanted);
        let order = columns.iter().map(place).collect::<Option<Vec<_>>>();
        self.order = order.ok_or_else(|| Error::internal("a column is used that was not read"))?;
        Ok(self)
    }
}

impl Iterator for NumberedBatches {
    type Item = Result<(Vec<ArrayRef>, Vec<u64>)>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.batches.next()?;
        Some(batch.map_err(Error::from).and_then(|batch| {
            let numbers = batch.columns().last().and_then(|column| column.as_primitive_opt::<Int64Type>());
            let numbers = numbers.ok_or_else(|| Error::internal("a scan gave no row numbers"))?;
            let numbers = numbers.values().iter().map(|&number| number as u64).collect();
            let columns = typed_columns(&batch, &self.columns, &self.schema)?;
            Ok((self.order.iter().map(|&at| Arc::clone(&columns[at])).collect(), numbers))
        }))
    }
}

/// The first columns of a batch, with the types of `columns` in the table's schema.
fn typed_columns(batch: &RecordBatch, columns: &[usize], schema: &TableSchema) -> Result<Vec<ArrayRef>> {
    if batch.num_columns() < columns.len() {
        return Err(Error::internal("a scan gave too few columns"));
    }
    let typed = batch.columns().iter().zip(columns);
    typed.map(|(array, &column)| as_type(Arc::clone(array), schema.arrow().field(column).data_type())).collect()
}

/// A batch that was scanned of a file as one of the table's: with these columns of its schema.
pub(crate) fn typed_batch(scanned: &RecordBatch, columns: &[usize], schema: &TableSchema) -> Result<RecordBatch> {
    let arrays = typed_columns(scanned, columns, schema)?;
    let fields = Arc::new(schema.arrow().project(columns)?);
    batch(&fields, arrays, scanned.num_rows())
}
