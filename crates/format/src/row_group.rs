use crate::chunk::{Chunks, ColumnChunk};
use crate::error::Result;
use crate::thrift::{ThriftError, ThriftReader, WireType};

/// A column by which the rows of a row group are sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SortingColumn {
    /// Number of the leaf column. It is not checked.
    pub column_idx: i32,
    /// Whether values descend.
    pub descending: bool,
    /// Whether nulls come first.
    pub nulls_first: bool,
}

/// The metadata of a row group.
#[derive(Debug, Clone, Copy)]
pub struct RowGroup<'a> {
    chunks: &'a Chunks,
    index: usize,
}

impl<'a> RowGroup<'a> {
    /// Row group `index`, which must exist.
    pub(crate) fn new(chunks: &'a Chunks, index: usize) -> Self {
        Self { chunks, index }
    }

    /// Its number, counted from 0.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Number of rows.
    pub fn num_rows(&self) -> u64 {
        self.chunks.footer().row_counts()[self.index]
    }

    /// Number of columns: the leaves of the schema.
    pub fn num_columns(&self) -> usize {
        self.chunks.footer().column_count()
    }

    /// The chunk of a leaf column; `None` if there is no such leaf.
    pub fn column(&self, leaf: usize) -> Option<Result<ColumnChunk<'a>>> {
        (leaf < self.num_columns()).then(|| self.chunks.chunk(self.index, leaf))
    }

    /// The chunks of all columns.
    pub fn columns(&self) -> impl ExactSizeIterator<Item = Result<ColumnChunk<'a>>> + use<'a> {
        let (chunks, index) = (self.chunks, self.index);
        (0..self.num_columns()).map(move |leaf| chunks.chunk(index, leaf))
    }

    /// Bytes of all pages before compression, from the footer.
    pub fn total_byte_size(&self) -> Option<i64> {
        self.integer(2)
    }

    /// Bytes of all pages in the file, from the footer; if it does not have the sum, the sum over the readable chunks.
    pub fn compressed_size(&self) -> u64 {
        let stated = self.integer(6).and_then(|bytes| u64::try_from(bytes).ok()).filter(|&bytes| bytes > 0);
        stated.unwrap_or_else(|| {
            self.columns().flatten().map(|chunk| chunk.compressed_size()).fold(0, u64::saturating_add)
        })
    }

    /// Offset of the first page.
    pub fn file_offset(&self) -> Option<i64> {
        self.integer(5)
    }

    /// Its ordinal in the footer.
    pub fn ordinal(&self) -> Option<i16> {
        self.integer(7).and_then(|ordinal| ordinal.try_into().ok())
    }

    /// The columns by which its rows are sorted, the most significant one first.
    pub fn sorting_columns(&self) -> Option<Vec<SortingColumn>> {
        let mut columns = None;
        self.each_field(|reader, field_id, wire_type| match (field_id, wire_type) {
            (4, WireType::List) => {
                let columns = columns.insert(Vec::new());
                reader.each_structure(|reader, _| {
                    columns.push(SortingColumn::read(reader)?);
                    Ok(())
                })?;
                Ok(true)
            }
            _ => Ok(false),
        });
        columns
    }

    fn integer(&self, id: i16) -> Option<i64> {
        let mut found = None;
        self.each_field(|reader, field_id, wire_type| {
            let is_it = field_id == id && matches!(wire_type, WireType::I16 | WireType::I32 | WireType::I64);
            if is_it {
                found = Some(reader.i64()?);
            }
            Ok(is_it)
        });
        found
    }

    /// Reads the fields after the list of columns. `read` returns whether it has consumed the value.
    fn each_field(&self, mut read: impl FnMut(&mut ThriftReader<'_>, i16, WireType) -> Result<bool, ThriftError>) {
        let (mut reader, previous) = self.chunks.footer().row_group_tail(self.index);
        // The structure is well-formed. Only optional fields can have a wrong type.
        let _ = reader.each_field_after(previous, |reader, field| {
            if read(reader, field.id, field.wire_type)? { Ok(()) } else { reader.skip(field) }
        });
    }
}

impl SortingColumn {
    fn read(reader: &mut ThriftReader<'_>) -> Result<Self, ThriftError> {
        let mut column = Self { column_idx: -1, descending: false, nulls_first: false };
        reader.each_field(|reader, field| {
            match (field.id, field.wire_type) {
                (1, WireType::I32) => column.column_idx = reader.i32()?,
                (2, value) => {
                    column.descending = value == WireType::True;
                    reader.skip(field)?;
                }
                (3, value) => {
                    column.nulls_first = value == WireType::True;
                    reader.skip(field)?;
                }
                _ => reader.skip(field)?,
            }
            Ok(())
        })?;
        Ok(column)
    }
}
