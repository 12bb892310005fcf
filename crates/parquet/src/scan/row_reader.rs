//! Reads short ranges of rows of one file repeatedly.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use arrow_array::{Array, ArrayRef};
use arrow_schema::SchemaRef;
use arrow_select::concat::concat;

use crate::assemble::assemble;
use crate::decode::LeafReader;
use crate::error::{Error, Result};
use crate::file::ParquetFile;
use crate::options::Strings;
use crate::page::{ChunkSpec, PageOptions, PagePlaces, PageReader};
use crate::scan::columns::PlannedLeaf;
use crate::schema::{ArrowLayout, Node};

/// Reads short ranges of rows of a file, one column at a time, on the caller's thread.
///
/// A scan determines the types of columns and the places of their pages for each read. This reader does it once, so that a read
/// costs little more than the pages that have the rows. Offset indexes are read with the first read of a row group, and kept: 16
/// bytes a page.
/// kept: 16 bytes a page.
///
/// ```no_run
/// # fn main() -> lath_parquet::Result<()> {
/// use lath_parquet::{ParquetFile, RowReader, Strings};
///
/// let rows = RowReader::new(ParquetFile::open("orders.parquet")?, Strings::Offsets)?;
/// let ids = rows.read(0, 1_000_000..1_000_100)?;
/// assert_eq!(ids.len(), 100);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct RowReader {
    file: ParquetFile,
    schema: SchemaRef,
    columns: Vec<Column>,
    /// The first row of each row group, and the number of all rows.
    first_rows: Vec<u64>,
}

/// A column, and its chunks in each row group.
#[derive(Debug)]
struct Column {
    node: Node,
    leaves: Vec<PlannedLeaf>,
    row_groups: Vec<OnceLock<Vec<Chunk>>>,
}

/// The chunk of a leaf, and the places of its pages, if known.
#[derive(Debug)]
struct Chunk {
    spec: ChunkSpec,
    places: Option<Arc<PagePlaces>>,
}

impl RowReader {
    /// A reader of all columns of a file, with this layout of strings.
    ///
    /// # Errors
    /// As [`Scan::build`](crate::Scan::build).
    pub fn new(file: ParquetFile, strings: Strings) -> Result<Self> {
        let layout = ArrowLayout { strings, ..ArrowLayout::default() };
        let (schema, nodes) = file.build_schema(&file.schema_options().with_layout(&layout), None)?;
        let row_groups = file.metadata().row_group_count();
        let column = |node: Node| {
            let mut leaves = Vec::new();
            PlannedLeaf::collect(&node, false, &mut leaves);
            Column { node, leaves, row_groups: (0..row_groups).map(|_| OnceLock::new()).collect() }
        };
        let mut first_rows = vec![0];
        let mut row_count = 0;
        for rows in file.row_group_row_counts() {
            row_count += rows;
            first_rows.push(row_count);
        }
        Ok(Self { columns: nodes.into_iter().map(column).collect(), schema, first_rows, file })
    }

    /// The schema of the columns.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The row groups that contain a range of rows, which must not be empty and must lie within the file.
    pub fn row_groups_with(&self, rows: &Range<u64>) -> Range<usize> {
        let starts = &self.first_rows[..self.first_rows.len() - 1];
        starts.partition_point(|first| *first <= rows.start).saturating_sub(1)
            ..starts.partition_point(|first| *first < rows.end)
    }

    /// The values of a column, by its index in the [schema](Self::schema), in a range of rows of the file.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a column or rows that the file does not have; [`Error::Io`] or [`Error::Corrupt`] if they cannot be read.
    pub fn read(&self, column: usize, rows: Range<u64>) -> Result<ArrayRef> {
        let row_count = self.first_rows.last().copied().unwrap_or(0);
        let column = self.columns.get(column).filter(|_| rows.start < rows.end && rows.end <= row_count);
        let column = column
            .ok_or_else(|| self.file.locate(Error::invalid(format!("the file does not have the rows {rows:?}"))))?;
        let mut pieces = Vec::new();
        for row_group in self.row_groups_with(&rows) {
            let (first, end) = (self.first_rows[row_group], self.first_rows[row_group + 1]);
            let within = rows.start.max(first) - first..rows.end.min(end) - first;
            if within.start < within.end {
                pieces.push(self.read_in(column, row_group, within)?);
            }
        }
        match &pieces[..] {
            [piece] => Ok(Arc::clone(piece)),
            pieces => {
                let pieces: Vec<&dyn Array> = pieces.iter().map(|piece| &**piece).collect();
                concat(&pieces).map_err(|error| Error::from_arrow(&error))
            }
        }
    }

    /// Rows of a row group, counted from its first.
    fn read_in(&self, column: &Column, row_group: usize, rows: Range<u64>) -> Result<ArrayRef> {
        let chunks = self.chunks(column, row_group)?;
        let row_count = (rows.end - rows.start) as usize;
        let mut batches = Vec::with_capacity(chunks.len());
        for (leaf, chunk) in column.leaves.iter().zip(chunks) {
            let mut reader = self.open(leaf, chunk)?;
            reader.skip(rows.start as usize)?;
            reader.append(row_count)?;
            batches.push(reader.finish()?);
        }
        let assembled = assemble(&column.node, &mut batches.into_iter(), row_count, self.file.limits());
        assembled.map_err(|error| self.file.locate(error))
    }

    fn chunks<'r>(&self, column: &'r Column, row_group: usize) -> Result<&'r [Chunk]> {
        let known = &column.row_groups[row_group];
        if let Some(chunks) = known.get() {
            return Ok(chunks);
        }
        let numbers: Vec<usize> = column.leaves.iter().map(|leaf| leaf.leaf.column).collect();
        let places = self.file.page_places_from(row_group, &numbers, 0)?;
        let chunks = numbers.iter().zip(places);
        let chunks =
            chunks.map(|(&number, places)| Ok(Chunk { spec: self.file.chunk_spec(row_group, number)?, places }));
        let chunks = chunks.collect::<Result<Vec<_>>>()?;
        Ok(known.get_or_init(|| chunks))
    }

    fn open(&self, leaf: &PlannedLeaf, chunk: &Chunk) -> Result<LeafReader> {
        let options = PageOptions { verify_crc: true, limits: self.file.limits().clone() };
        let pages = PageReader::new(Arc::clone(self.file.source()), chunk.spec.clone(), options)?;
        let mut reader = leaf.reader(pages, self.file.limits())?;
        if let Some(places) = &chunk.places {
            reader.set_page_places(Arc::clone(places));
        }
        Ok(reader)
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::builder::{Int64Builder, ListBuilder};
    use arrow_array::{Int64Array, RecordBatch, StringArray};

    use super::*;
    use lath_writer::{ColumnOptions, ParquetWriter, WriteOptions};

    const ROWS: usize = 2500;

    /// A file of three row groups with small pages: numbers, strings with few distinct values, numbers with nulls, lists, and
    /// structs.
    fn file() -> ParquetFile {
        let mut lists = ListBuilder::new(Int64Builder::new());
        for row in 0..ROWS {
            lists.append_value((0..row % 4).map(|at| Some((row * 10 + at) as i64)));
        }
        let numbers = || Int64Array::from_iter_values((0..ROWS).map(|row| row as i64 * 7));
        let nested = [("x", Arc::new(numbers()) as ArrayRef), ("y", Arc::new(numbers()) as _)];
        let nested = arrow_array::StructArray::try_from(nested.to_vec()).unwrap();
        let columns: [(&str, ArrayRef); 5] = [
            ("id", Arc::new(numbers())),
            ("status", Arc::new(StringArray::from_iter_values((0..ROWS).map(|row| format!("status {}", row % 5))))),
            ("count", Arc::new(Int64Array::from_iter((0..ROWS).map(|row| (row % 3 > 0).then_some(row as i64))))),
            ("list", Arc::new(lists.finish())),
            ("nested", Arc::new(nested)),
        ];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let options = WriteOptions::default().row_group_rows(1000).column("status", ColumnOptions::new().page_rows(64));
        let options = ["id", "count", "list.list.item"]
            .iter()
            .fold(options, |options, name| options.column(*name, ColumnOptions::new().page_rows(100)));
        let mut bytes = Vec::new();
        let mut writer = ParquetWriter::new(&mut bytes, &batch.schema(), options).unwrap();
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
        ParquetFile::from_bytes(bytes.into()).unwrap()
    }

    #[test]
    fn ranges_of_rows_are_those_of_a_scan() {
        let file = file();
        for strings in [Strings::Offsets, Strings::Views] {
            let all: Vec<RecordBatch> = file.scan().strings(strings).build().unwrap().collect::<Result<_>>().unwrap();
            let all = arrow_select::concat::concat_batches(&all[0].schema(), &all).unwrap();
            let rows = RowReader::new(file.clone(), strings).unwrap();
            assert_eq!(rows.schema().fields(), all.schema().fields());
            for range in [0..1, 0..100, 99..101, 990..1010, 999..2001, 2499..2500, 0..2500, 1234..1300, 1000..1001] {
                for column in 0..all.num_columns() {
                    let expected = all.column(column).slice(range.start as usize, (range.end - range.start) as usize);
                    assert_eq!(&rows.read(column, range.clone()).unwrap(), &expected, "{column} {range:?}");
                }
            }
            assert_eq!(rows.row_groups_with(&(999..1001)), 0..2);
            assert_eq!(rows.row_groups_with(&(1000..1001)), 1..2);
        }
    }

    #[test]
    fn rows_and_columns_that_are_not_there_are_errors() {
        let rows = RowReader::new(file(), Strings::default()).unwrap();
        for (column, range) in [(0, 0..2501), (0, 5..5), (5, 0..1)] {
            assert!(matches!(rows.read(column, range), Err(Error::Invalid { .. })), "{column}");
        }
    }
}
