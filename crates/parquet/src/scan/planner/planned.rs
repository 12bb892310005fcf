//! A planned row group.

use std::ops::Range;
use std::sync::Arc;

use lath_predicate::BoundPredicate;

use super::Planner;
use crate::deletes::DeleteMask;
use crate::error::Error;
use crate::file::ParquetFile;
use crate::filters::FilterMemory;
use crate::scan::columns::{FilePlan, FileTarget};

/// A row group with the rows to scan.
#[derive(Debug, Clone)]
pub(in crate::scan) struct PlannedRowGroup {
    pub(in crate::scan) planner: Arc<Planner>,
    /// Index of the file in the dataset.
    pub(in crate::scan) file_index: usize,
    pub(in crate::scan) file: ParquetFile,
    pub(in crate::scan) plan: Arc<FilePlan>,
    pub(in crate::scan) target: Arc<FileTarget>,
    pub(in crate::scan) row_group: usize,
    /// Number within the file of the row group's first row.
    pub(in crate::scan) first_row: u64,
    /// Rows of the row group, sorted and disjoint.
    pub(in crate::scan) rows: Vec<Range<u64>>,
    /// Deleted rows of the file.
    pub(in crate::scan) deleted: Option<Arc<DeleteMask>>,
    /// The predicate that rows have to pass; `None` if all rows pass.
    pub(in crate::scan) predicate: Option<Arc<BoundPredicate>>,
    /// Version of the dynamic filter that has been applied; 0 for none.
    pub(in crate::scan) narrowing: u64,
    /// Whether the page index may be used.
    pub(in crate::scan) uses_page_index: bool,
    /// Memory for computed filters of the row group; `None` if filters are not computed.
    pub(in crate::scan) computed_filters: Option<Arc<FilterMemory>>,
}

impl PlannedRowGroup {
    /// Number of rows to scan.
    pub(in crate::scan) fn row_count(&self) -> u64 {
        self.rows.iter().map(|range| range.end - range.start).sum()
    }

    /// Number of rows to scan that are not deleted.
    pub(in crate::scan) fn kept_row_count(&self) -> u64 {
        let Some(deleted) = &self.deleted else { return self.row_count() };
        let of_file = |rows: &Range<u64>| self.first_row + rows.start..self.first_row + rows.end;
        self.row_count() - self.rows.iter().map(|rows| deleted.count_within(&of_file(rows))).sum::<u64>()
    }

    /// Whether all rows of the row group are scanned.
    pub(in crate::scan) fn is_whole(&self) -> bool {
        is_whole(&self.file, self.row_group, &self.rows)
    }

    /// Adds file and row group to an error.
    pub(in crate::scan) fn locate(&self, error: Error) -> Error {
        self.file.locate(error).locate(|at| at.row_group = at.row_group.or(Some(self.row_group)))
    }
}

/// Whether `rows` are all rows of a row group.
pub(in crate::scan) fn is_whole(file: &ParquetFile, row_group: usize, rows: &[Range<u64>]) -> bool {
    let row_count = file.row_group_row_counts().get(row_group);
    matches!((rows, row_count), ([only], Some(&row_count)) if *only == (0..row_count))
}
