//! What a thread keeps from one row group to the next.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::cancel::Cancel;
use super::file_plan::FilePlan;
use super::planner::Planned;
use crate::decode::LeafReader;
use crate::error::{Error, Result};
use crate::options::Limits;
use crate::page::PagePlaces;
use lath_source::ByteRanges;

/// What one thread keeps while it goes from row group to row group: open column readers with their buffers.
#[derive(Debug)]
pub(super) struct Reader {
    verify_crc: bool,
    cancel: Cancel,
    stop: Arc<AtomicBool>,
    plan: Option<Arc<FilePlan>>,
    limits: Option<Limits>,
    leaves: Vec<Option<OpenLeaf>>,
}

/// The reader of a leaf, and the file that it was used for.
#[derive(Debug)]
struct OpenLeaf {
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

    /// Starts a row group: closes what is open of files of another plan.
    pub(super) fn start(&mut self, planned: &Planned) {
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
            Some(OpenLeaf { mut reader, source }) => {
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
            *place = Some(OpenLeaf { reader, source: Arc::clone(source) });
        }
    }
}
