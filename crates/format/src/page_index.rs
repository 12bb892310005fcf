//! The [page index]: the places of the pages of a column chunk, and the bounds of their values.
//!
//! [page index]: https://github.com/apache/parquet-format/blob/master/PageIndex.md

use crate::error::{Error, Result};
use crate::statistics::integers;
use crate::thrift::{ThriftError, ThriftReader, WireType};

/// The place of a data page.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PageLocation {
    /// Offset of its header from the start of the file.
    pub offset: i64,
    /// Its length in bytes, header included.
    pub compressed_page_size: i32,
    /// Its first row, counted from the start of the row group.
    pub first_row_index: i64,
}

/// The data pages of a column chunk.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OffsetIndex {
    /// The pages in their order.
    pub page_locations: Vec<PageLocation>,
    /// By page: bytes of byte arrays, without the length prefixes of PLAIN.
    pub unencoded_byte_array_data_bytes: Option<Vec<i64>>,
}

impl OffsetIndex {
    /// Reads an `OffsetIndex`, without checking its values.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if it is truncated or malformed.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut index = Self::default();
        let read = ThriftReader::new(bytes).each_field(|reader, field| {
            match (field.id, field.wire_type) {
                (1, WireType::List) => reader.each_structure(|reader, _| {
                    let mut page = PageLocation::default();
                    reader.each_field(|reader, field| {
                        match (field.id, field.wire_type) {
                            (1, WireType::I64) => page.offset = reader.i64()?,
                            (2, WireType::I32) => page.compressed_page_size = reader.i32()?,
                            (3, WireType::I64) => page.first_row_index = reader.i64()?,
                            _ => reader.skip(field)?,
                        }
                        Ok(())
                    })?;
                    index.page_locations.push(page);
                    Ok(())
                })?,
                (2, WireType::List) => index.unencoded_byte_array_data_bytes = Some(integers(reader)?),
                _ => reader.skip(field)?,
            }
            Ok(())
        });
        read.map_err(|error| Error::malformed("offset index", error))?;
        Ok(index)
    }
}

/// The order of the bounds of a chunk's pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum BoundaryOrder {
    /// UNORDERED, 0.
    Unordered,
    /// ASCENDING, 1.
    Ascending,
    /// DESCENDING, 2.
    Descending,
    /// An unknown number.
    Unknown(i32),
}

impl BoundaryOrder {
    fn from_id(id: i32) -> Self {
        match id {
            0 => Self::Unordered,
            1 => Self::Ascending,
            2 => Self::Descending,
            id => Self::Unknown(id),
        }
    }

    /// The number of the order.
    pub fn id(self) -> i32 {
        match self {
            Self::Unordered => 0,
            Self::Ascending => 1,
            Self::Descending => 2,
            Self::Unknown(id) => id,
        }
    }
}

/// Bounds and counts of the values of each data page of a chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnIndex {
    /// By page: whether all of its values are null.
    pub null_pages: Vec<bool>,
    /// By page: a lower bound in the PLAIN encoding, without the length prefix of byte arrays.
    pub min_values: Vec<Vec<u8>>,
    /// By page: an upper bound.
    pub max_values: Vec<Vec<u8>>,
    /// The order of the bounds.
    pub boundary_order: BoundaryOrder,
    /// By page: number of nulls.
    pub null_counts: Option<Vec<i64>>,
    /// By page, then by repetition level: number of values.
    pub repetition_level_histograms: Option<Vec<i64>>,
    /// By page, then by definition level: number of values.
    pub definition_level_histograms: Option<Vec<i64>>,
    /// By page: number of NaNs.
    pub nan_counts: Option<Vec<i64>>,
}

impl ColumnIndex {
    /// Reads a `ColumnIndex`, in which all lists of pages have the length of [`null_pages`](Self::null_pages).
    ///
    /// # Errors
    /// [`Error::Corrupt`] if it is truncated or malformed, or if its lists have different lengths.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut index = Self {
            null_pages: Vec::new(),
            min_values: Vec::new(),
            max_values: Vec::new(),
            boundary_order: BoundaryOrder::Unordered,
            null_counts: None,
            repetition_level_histograms: None,
            definition_level_histograms: None,
            nan_counts: None,
        };
        let read = ThriftReader::new(bytes).each_field(|reader, field| {
            match (field.id, field.wire_type) {
                (1, WireType::List) => {
                    let (element, count) = reader.list()?;
                    if !matches!(element, WireType::True | WireType::False) && count > 0 {
                        return Err(ThriftError::Malformed("list of null pages"));
                    }
                    for _ in 0..count {
                        index.null_pages.push(reader.bool_element()?);
                    }
                }
                (2, WireType::List) => index.min_values = byte_strings(reader)?,
                (3, WireType::List) => index.max_values = byte_strings(reader)?,
                (4, WireType::I32) => index.boundary_order = BoundaryOrder::from_id(reader.i32()?),
                (5, WireType::List) => index.null_counts = Some(integers(reader)?),
                (6, WireType::List) => index.repetition_level_histograms = Some(integers(reader)?),
                (7, WireType::List) => index.definition_level_histograms = Some(integers(reader)?),
                (8, WireType::List) => index.nan_counts = Some(integers(reader)?),
                _ => reader.skip(field)?,
            }
            Ok(())
        });
        read.map_err(|error| Error::malformed("column index", error))?;
        let pages = index.null_pages.len();
        let counts = [&index.null_counts, &index.nan_counts];
        let is_even = index.min_values.len() == pages
            && index.max_values.len() == pages
            && counts.iter().all(|counts| counts.as_ref().is_none_or(|counts| counts.len() == pages));
        if !is_even {
            return Err(Error::corrupt("malformed column index: its lists have different lengths"));
        }
        Ok(index)
    }

    /// Number of pages.
    pub fn page_count(&self) -> usize {
        self.null_pages.len()
    }

    /// The bounds of a page's values; `None` for a page of nulls, or if there is no such page.
    pub fn bounds(&self, page: usize) -> Option<(&[u8], &[u8])> {
        if *self.null_pages.get(page)? {
            return None;
        }
        Some((self.min_values.get(page)?, self.max_values.get(page)?))
    }

    /// The number of values of a page by definition level, from 0.
    pub fn definition_level_histogram(&self, page: usize) -> Option<&[i64]> {
        self.histogram(self.definition_level_histograms.as_deref()?, page)
    }

    /// The number of values of a page by repetition level, from 0.
    pub fn repetition_level_histogram(&self, page: usize) -> Option<&[i64]> {
        self.histogram(self.repetition_level_histograms.as_deref()?, page)
    }

    fn histogram<'a>(&self, levels: &'a [i64], page: usize) -> Option<&'a [i64]> {
        let len = levels.len().checked_div(self.page_count())?;
        levels.chunks(len.max(1)).nth(page)
    }

    /// Bytes of memory that the index takes.
    pub fn memory_bytes(&self) -> usize {
        let strings = self.min_values.iter().chain(&self.max_values).map(|value| value.len() + size_of::<Vec<u8>>());
        let counts =
            [&self.null_counts, &self.repetition_level_histograms, &self.definition_level_histograms, &self.nan_counts];
        let counts = counts.iter().map(|counts| counts.as_ref().map_or(0, |counts| counts.len() * 8));
        self.null_pages.len() + strings.sum::<usize>() + counts.sum::<usize>()
    }
}

fn byte_strings(reader: &mut ThriftReader<'_>) -> Result<Vec<Vec<u8>>, ThriftError> {
    let (element, count) = reader.list()?;
    if element != WireType::Binary && count > 0 {
        return Err(ThriftError::Malformed("list of byte strings"));
    }
    let mut values = Vec::new();
    for _ in 0..count {
        values.push(reader.binary()?.to_vec());
    }
    Ok(values)
}
