//! The page index of one column chunk, as a list of pages.

use std::borrow::Cow;

use parquet::data_type::AsBytes;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::page_index::column_index::ColumnIndexMetaData;

/// What the page index says of one data page.
#[derive(Debug, Clone)]
pub(crate) struct PageEntry<'a> {
    pub(crate) offset: i64,
    /// Header included.
    pub(crate) compressed_bytes: i64,
    /// Row of the row group at which the page starts.
    pub(crate) first_row: i64,
    pub(crate) row_count: i64,
    /// What the column index says, if there is one.
    pub(crate) bounds: Option<PageBounds<'a>>,
}

/// What the column index says of one data page.
#[derive(Debug, Clone)]
pub(crate) struct PageBounds<'a> {
    pub(crate) is_null_page: bool,
    pub(crate) null_count: Option<i64>,
    pub(crate) min: Option<Cow<'a, [u8]>>,
    pub(crate) max: Option<Cow<'a, [u8]>>,
}

/// The pages of a column chunk; `None` if it has no offset index. `metadata` has its page index loaded.
pub(crate) fn pages(metadata: &ParquetMetaData, row_group: usize, column: usize) -> Option<Vec<PageEntry<'_>>> {
    let locations = metadata.offset_index()?.get(row_group)?.get(column)?.page_locations();
    if locations.is_empty() {
        return None;
    }
    let index = column_index(metadata, row_group, column);
    let row_count = metadata.row_group(row_group).num_rows();
    let ends = locations.iter().skip(1).map(|location| location.first_row_index).chain([row_count]);
    let pages = locations.iter().zip(ends).enumerate().map(|(page, (location, end))| PageEntry {
        offset: location.offset,
        compressed_bytes: location.compressed_page_size.into(),
        first_row: location.first_row_index,
        row_count: end.saturating_sub(location.first_row_index),
        bounds: index.and_then(|index| bounds(index, page)),
    });
    Some(pages.collect())
}

/// The column index of a column chunk, if it has one.
pub(crate) fn column_index(
    metadata: &ParquetMetaData,
    row_group: usize,
    column: usize,
) -> Option<&ColumnIndexMetaData> {
    let index = metadata.column_index()?.get(row_group)?.get(column)?;
    (!matches!(index, ColumnIndexMetaData::NONE)).then_some(index)
}

fn bounds(index: &ColumnIndexMetaData, page: usize) -> Option<PageBounds<'_>> {
    if page as u64 >= index.num_pages() {
        return None;
    }
    let (min, max) = if index.is_null_page(page) { (None, None) } else { min_max(index, page) };
    Some(PageBounds {
        is_null_page: index.is_null_page(page),
        null_count: index.null_counts().and_then(|counts| counts.get(page)).copied(),
        min,
        max,
    })
}

type MinMax<'a> = (Option<Cow<'a, [u8]>>, Option<Cow<'a, [u8]>>);

fn min_max(index: &ColumnIndexMetaData, page: usize) -> MinMax<'_> {
    fn plain<'a, T: AsBytes>(min: Option<&'a T>, max: Option<&'a T>) -> MinMax<'a> {
        (min.map(|value| value.as_bytes().into()), max.map(|value| value.as_bytes().into()))
    }
    fn byte(value: Option<&bool>) -> Option<Cow<'static, [u8]>> {
        value.map(|&value| Cow::Owned(vec![u8::from(value)]))
    }
    match index {
        ColumnIndexMetaData::NONE => (None, None),
        ColumnIndexMetaData::BOOLEAN(index) => (byte(index.min_value(page)), byte(index.max_value(page))),
        ColumnIndexMetaData::INT32(index) => plain(index.min_value(page), index.max_value(page)),
        ColumnIndexMetaData::INT64(index) => plain(index.min_value(page), index.max_value(page)),
        ColumnIndexMetaData::INT96(index) => plain(index.min_value(page), index.max_value(page)),
        ColumnIndexMetaData::FLOAT(index) => plain(index.min_value(page), index.max_value(page)),
        ColumnIndexMetaData::DOUBLE(index) => plain(index.min_value(page), index.max_value(page)),
        ColumnIndexMetaData::BYTE_ARRAY(index) | ColumnIndexMetaData::FIXED_LEN_BYTE_ARRAY(index) => {
            (index.min_value(page).map(Cow::Borrowed), index.max_value(page).map(Cow::Borrowed))
        }
    }
}
