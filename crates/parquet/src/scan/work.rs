//! What there is to do in a row group, and what a thread keeps from one to the next.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::cancel::Cancel;
use super::deletes::DeleteMask;
use super::file_plan::FilePlan;
use super::planner::Planner;
use super::target::FileTarget;
use crate::decode::LeafReader;
use crate::error::{Error, Result};
use crate::file::ParquetFile;
use crate::filters::FilterMemory;
use crate::options::Limits;
use crate::page::PagePlaces;
use lath_predicate::BoundPredicate;
use lath_source::ByteRanges;

/// A row group, some rows of which are to be looked at.
#[derive(Debug, Clone)]
pub(super) struct Planned {
    pub(super) planner: Arc<Planner>,
    /// The file's place in the dataset.
    pub(super) file_index: usize,
    pub(super) file: ParquetFile,
    pub(super) plan: Arc<FilePlan>,
    pub(super) target: Arc<FileTarget>,
    pub(super) row_group: usize,
    /// Number within the file of the row group's first row.
    pub(super) first_row: u64,
    /// Rows of the row group, sorted and disjoint.
    pub(super) rows: Vec<Range<u64>>,
    /// Rows of the file that are not there any more.
    pub(super) deleted: Option<Arc<DeleteMask>>,
    /// What is asked of them; `None` if all of them are wanted.
    pub(super) predicate: Option<Arc<BoundPredicate>>,
    /// Version of the dynamic filter that all this goes by; 0 for none.
    pub(super) narrowing: u64,
    /// Whether the page index may be used.
    pub(super) uses_page_index: bool,
    /// Where a filter may be kept that is made of the row group's values.
    pub(super) made_filters: Option<Arc<FilterMemory>>,
}

impl Planned {
    /// Number of rows to look at.
    pub(super) fn row_count(&self) -> u64 {
        self.rows.iter().map(|range| range.end - range.start).sum()
    }

    /// Number of these that are still there.
    pub(super) fn kept_row_count(&self) -> u64 {
        let Some(deleted) = &self.deleted else { return self.row_count() };
        let of_file = |rows: &Range<u64>| self.first_row + rows.start..self.first_row + rows.end;
        self.row_count() - self.rows.iter().map(|rows| deleted.count_within(&of_file(rows))).sum::<u64>()
    }

    /// Whether no row of the row group is left out before the predicate is asked.
    pub(super) fn is_whole(&self) -> bool {
        is_whole(&self.file, self.row_group, &self.rows)
    }

    /// Adds file and row group to an error.
    pub(super) fn locate(&self, error: Error) -> Error {
        self.file.locate(error).locate(|at| at.row_group = at.row_group.or(Some(self.row_group)))
    }
}

/// Whether `rows` are all of a row group.
pub(super) fn is_whole(file: &ParquetFile, row_group: usize, rows: &[Range<u64>]) -> bool {
    let row_count = file.row_group_row_counts().get(row_group);
    matches!((rows, row_count), ([only], Some(&row_count)) if *only == (0..row_count))
}

/// What one thread keeps while it goes from row group to row group: open column readers with their buffers.
#[derive(Debug)]
pub(super) struct Reader {
    verify_crc: bool,
    cancel: Cancel,
    stop: Arc<AtomicBool>,
    plan: Option<Arc<FilePlan>>,
    limits: Option<Limits>,
    leaves: Vec<Option<Left>>,
}

/// The reader of a leaf, and the file that it was used for.
#[derive(Debug)]
struct Left {
    reader: LeafReader,
    source: Arc<dyn ByteRanges>,
}

impl Reader {
    /// A reader without anything open. It gives up where `cancel` or `stop` say so.
    pub(super) fn new(verify_crc: bool, cancel: Cancel, stop: Arc<AtomicBool>) -> Self {
        Self { verify_crc, cancel, stop, plan: None, limits: None, leaves: Vec::new() }
    }

    /// An error if the work is to end.
    pub(super) fn check(&self) -> Result<()> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(Error::Cancelled);
        }
        self.cancel.check()
    }

    /// Closes what is open of files of another plan.
    pub(super) fn turn_to(&mut self, planned: &Planned) {
        let is_same = self.plan.as_ref().is_some_and(|plan| Arc::ptr_eq(plan, &planned.plan))
            && self.limits.as_ref() == Some(planned.file.limits());
        if !is_same {
            self.plan = Some(Arc::clone(&planned.plan));
            self.limits = Some(planned.file.limits().clone());
            self.leaves.clear();
            self.leaves.resize_with(planned.plan.leaves.len(), || None);
        }
    }

    /// Opens a leaf of the row group, whose pages are found by `places` where many are passed over.
    pub(super) fn open(
        &mut self,
        planned: &Planned,
        leaf: usize,
        places: Option<Arc<PagePlaces>>,
    ) -> Result<LeafReader> {
        let mut reader = self.open_at_start(planned, leaf)?;
        if let Some(places) = places {
            reader.find_pages_by(places);
        }
        Ok(reader)
    }

    fn open_at_start(&mut self, planned: &Planned, leaf: usize) -> Result<LeafReader> {
        let planned_leaf = &planned.plan.leaves[leaf];
        match self.leaves[leaf].take() {
            Some(Left { mut reader, source }) => {
                let chunk = planned.file.chunk_spec(planned.row_group, planned_leaf.leaf.column)?;
                if Arc::ptr_eq(&source, planned.file.source()) {
                    reader.turn_to(chunk)?;
                } else {
                    reader.turn_to_file(Arc::clone(planned.file.source()), chunk)?;
                }
                Ok(reader)
            }
            None => planned_leaf.open(&planned.file, planned.row_group, self.verify_crc),
        }
    }

    /// Takes a leaf's reader back.
    pub(super) fn put(&mut self, leaf: usize, reader: LeafReader, source: &Arc<dyn ByteRanges>) {
        if let Some(place) = self.leaves.get_mut(leaf) {
            *place = Some(Left { reader, source: Arc::clone(source) });
        }
    }
}
