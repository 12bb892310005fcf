//! The column index of one column chunk: what is known of the values of each page.

use parquet::schema::types::ColumnDescriptor;

use super::super::bounds::{BoundReader, Read};
use super::super::domain::Domain;
use crate::page::thrift::{ThriftError, ThriftReader, WireType};

/// A `ColumnIndex`, borrowed from its bytes; all lists have an element for each page.
#[derive(Debug, Default)]
pub(super) struct ColumnIndex<'a> {
    null_pages: Vec<bool>,
    mins: Vec<&'a [u8]>,
    maxs: Vec<&'a [u8]>,
    null_counts: Option<Vec<i64>>,
    nan_counts: Option<Vec<i64>>,
}

impl<'a> ColumnIndex<'a> {
    /// Reads an index of `page_count` pages; `None` if it is malformed or has not that many.
    pub(super) fn read(bytes: &'a [u8], page_count: usize) -> Option<Self> {
        let mut index = Self::default();
        index.read_fields(bytes, page_count).ok()?;
        let has_all = [index.null_pages.len(), index.mins.len(), index.maxs.len()] == [page_count; 3];
        has_all.then_some(index)
    }

    fn read_fields(&mut self, bytes: &'a [u8], page_count: usize) -> Result<(), ThriftError> {
        ThriftReader::new(bytes).each_field(|reader, field| {
            match (field.id, field.wire_type) {
                (1, WireType::List) => {
                    self.null_pages = list(reader, page_count, &BOOLEANS, ThriftReader::bool_element)?
                }
                (2, WireType::List) => self.mins = list(reader, page_count, &[WireType::Binary], ThriftReader::binary)?,
                (3, WireType::List) => self.maxs = list(reader, page_count, &[WireType::Binary], ThriftReader::binary)?,
                (5, WireType::List) => {
                    self.null_counts = Some(list(reader, page_count, &[WireType::I64], ThriftReader::i64)?);
                }
                (8, WireType::List) => {
                    self.nan_counts = Some(list(reader, page_count, &[WireType::I64], ThriftReader::i64)?);
                }
                _ => reader.skip(field)?,
            }
            Ok(())
        })
    }

    /// What a page of `row_count` rows holds.
    pub(super) fn domain(
        &self,
        bounds: Option<&BoundReader>,
        column: &ColumnDescriptor,
        page: usize,
        row_count: u64,
    ) -> Domain<'a> {
        let is_flat = column.max_rep_level() == 0;
        // A row of a repeated column has any number of values.
        let value_count = if is_flat { row_count } else { u64::MAX };
        let count = |counts: &Option<Vec<i64>>| counts.as_ref().and_then(|counts| u64::try_from(counts[page]).ok());
        let null_count = if column.max_def_level() == 0 { Some(0) } else { count(&self.null_counts) };
        if self.null_pages[page] {
            // The `parquet` crate compares nulls with rows: in its files, pages of lists that have as many are called null.
            return match is_flat && null_count.is_none_or(|nulls| nulls == row_count) {
                true => Domain { values: None, nans: false, nulls: true },
                false => Domain::ANY,
            };
        }
        let (read, is_float) = match bounds {
            Some(bounds) => (bounds.of_page(column, self.mins[page], self.maxs[page]), bounds.is_float()),
            // Without bounds, whether there may be NaNs makes no difference.
            None => (Read::UNKNOWN, true),
        };
        read.domain(is_float, value_count, null_count, count(&self.nan_counts))
    }
}

const BOOLEANS: [WireType; 2] = [WireType::True, WireType::False];

/// A list with as many elements of one of these types as there are pages.
fn list<'a, T>(
    reader: &mut ThriftReader<'a>,
    page_count: usize,
    types: &[WireType],
    mut element: impl FnMut(&mut ThriftReader<'a>) -> Result<T, ThriftError>,
) -> Result<Vec<T>, ThriftError> {
    let (wire_type, len) = reader.list()?;
    if len != page_count || len > 0 && !types.contains(&wire_type) {
        return Err(ThriftError::Malformed("list of a column index"));
    }
    (0..len).map(|_| element(reader)).collect()
}
