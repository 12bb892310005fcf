//! A row group, and what is to be done in it.

use std::ops::Range;
use std::sync::Arc;

use lath_predicate::BoundPredicate;

use super::super::deletes::DeleteMask;
use super::super::file_plan::FilePlan;
use super::super::target::FileTarget;
use super::Planner;
use crate::error::Error;
use crate::file::ParquetFile;
use crate::filters::FilterMemory;

/// A row group, some rows of which are to be looked at.
#[derive(Debug, Clone)]
pub(in crate::scan) struct Planned {
    pub(in crate::scan) planner: Arc<Planner>,
    /// The file's place in the dataset.
    pub(in crate::scan) file_index: usize,
    pub(in crate::scan) file: ParquetFile,
    pub(in crate::scan) plan: Arc<FilePlan>,
    pub(in crate::scan) target: Arc<FileTarget>,
    pub(in crate::scan) row_group: usize,
    /// Number within the file of the row group's first row.
    pub(in crate::scan) first_row: u64,
    /// Rows of the row group, sorted and disjoint.
    pub(in crate::scan) rows: Vec<Range<u64>>,
    /// Rows of the file that are not there any more.
    pub(in crate::scan) deleted: Option<Arc<DeleteMask>>,
    /// What is asked of them; `None` if all of them are wanted.
    pub(in crate::scan) predicate: Option<Arc<BoundPredicate>>,
    /// Version of the dynamic filter that all this goes by; 0 for none.
    pub(in crate::scan) narrowing: u64,
    /// Whether the page index may be used.
    pub(in crate::scan) uses_page_index: bool,
    /// Where a filter may be kept that is made of the row group's values.
    pub(in crate::scan) made_filters: Option<Arc<FilterMemory>>,
}

impl Planned {
    /// Number of rows to look at.
    pub(in crate::scan) fn row_count(&self) -> u64 {
        self.rows.iter().map(|range| range.end - range.start).sum()
    }

    /// Number of these that are still there.
    pub(in crate::scan) fn kept_row_count(&self) -> u64 {
        let Some(deleted) = &self.deleted else { return self.row_count() };
        let of_file = |rows: &Range<u64>| self.first_row + rows.start..self.first_row + rows.end;
        self.row_count() - self.rows.iter().map(|rows| deleted.count_within(&of_file(rows))).sum::<u64>()
    }

    /// Whether no row of the row group is left out before the predicate is asked.
    pub(in crate::scan) fn is_whole(&self) -> bool {
        is_whole(&self.file, self.row_group, &self.rows)
    }

    /// Adds file and row group to an error.
    pub(in crate::scan) fn locate(&self, error: Error) -> Error {
        self.file.locate(error).locate(|at| at.row_group = at.row_group.or(Some(self.row_group)))
    }
}

/// Whether `rows` are all of a row group.
pub(in crate::scan) fn is_whole(file: &ParquetFile, row_group: usize, rows: &[Range<u64>]) -> bool {
    let row_count = file.row_group_row_counts().get(row_group);
    matches!((rows, row_count), ([only], Some(&row_count)) if *only == (0..row_count))
}
