//! The page index of one column chunk, as a list of pages.

use lath_format::{ColumnIndex, FileMetaData};
use lath_parquet::PageIndex;

/// What a file says of itself: its footer, and its page index where that was asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Described<'a> {
    pub(crate) metadata: &'a FileMetaData,
    pub(crate) indexes: Option<&'a PageIndex>,
}

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
    pub(crate) min: Option<&'a [u8]>,
    pub(crate) max: Option<&'a [u8]>,
}

/// The pages of a column chunk; `None` if it has no offset index.
pub(crate) fn pages(described: Described<'_>, row_group: usize, column: usize) -> Option<Vec<PageEntry<'_>>> {
    let locations = described.indexes?.offset_index(row_group, column)?.page_locations.as_slice();
    if locations.is_empty() {
        return None;
    }
    let index = column_index(described, row_group, column);
    let row_count = described.metadata.row_counts().get(row_group)?.cast_signed();
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
pub(crate) fn column_index(described: Described<'_>, row_group: usize, column: usize) -> Option<&ColumnIndex> {
    described.indexes?.column_index(row_group, column)
}

fn bounds(index: &ColumnIndex, page: usize) -> Option<PageBounds<'_>> {
    let is_null_page = *index.null_pages.get(page)?;
    Some(PageBounds {
        is_null_page,
        null_count: index.null_counts.as_ref().and_then(|counts| counts.get(page)).copied(),
        min: index.bounds(page).map(|(min, _)| min),
        max: index.bounds(page).map(|(_, max)| max),
    })
}
