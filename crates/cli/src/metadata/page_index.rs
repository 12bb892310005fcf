//! The page index of one column chunk, as a list of pages.

use lath_format::{ColumnIndex, FileMetaData};
use lath_parquet::PageIndex;

/// The footer of a file, and its page index where that was read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FileInfo<'a> {
    pub(crate) metadata: &'a FileMetaData,
    pub(crate) indexes: Option<&'a PageIndex>,
}

/// A data page, as the page index describes it.
#[derive(Debug, Clone)]
pub(crate) struct PageEntry<'a> {
    pub(crate) offset: i64,
    /// Header included.
    pub(crate) compressed_bytes: i64,
    /// First row of the page, counted in the row group.
    pub(crate) first_row: i64,
    pub(crate) row_count: i64,
    /// Its entry in the column index, if there is one.
    pub(crate) bounds: Option<PageBounds<'a>>,
}

/// The column index's entry of a data page.
#[derive(Debug, Clone)]
pub(crate) struct PageBounds<'a> {
    pub(crate) is_null_page: bool,
    pub(crate) null_count: Option<i64>,
    pub(crate) min: Option<&'a [u8]>,
    pub(crate) max: Option<&'a [u8]>,
}

/// The pages of a column chunk; `None` if it has no offset index.
pub(crate) fn pages(info: FileInfo<'_>, row_group: usize, column: usize) -> Option<Vec<PageEntry<'_>>> {
    let locations = info.indexes?.offset_index(row_group, column)?.page_locations.as_slice();
    if locations.is_empty() {
        return None;
    }
    let index = column_index(info, row_group, column);
    let row_count = info.metadata.row_counts().get(row_group)?.cast_signed();
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
pub(crate) fn column_index(info: FileInfo<'_>, row_group: usize, column: usize) -> Option<&ColumnIndex> {
    info.indexes?.column_index(row_group, column)
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
