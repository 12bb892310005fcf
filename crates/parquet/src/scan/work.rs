//! The open column readers of a thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::cancel::Cancel;
use super::file_plan::FilePlan;
use super::job::Job;
use super::planner::Planned;
use crate::decode::LeafReader;
use crate::error::{Error, Result};
use crate::options::Limits;
use crate::page::PagePlaces;
use lath_source::ByteRanges;

/// The column readers that a thread has open, with their buffers, which it keeps from one row group to the next.
#[derive(Debug)]
pub(super) struct Reader {
    verify_crc: bool,
    computes_filters: bool,
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
    /// A reader without open columns, for one thread of `job`. It stops once the job is cancelled or `stop` is set.
    pub(super) fn new(job: &Job, stop: Arc<AtomicBool>) -> Self {
        Self {
            verify_crc: job.verify_crc,
            computes_filters: job.runtime.computes_filters(),
            cancel: job.cancel.clone(),
            stop,
            plan: None,
            limits: None,
            leaves: Vec::new(),
        }
    }

    /// Whether filters may be computed of what is read.
    pub(super) fn computes_filters(&self) -> bool {
        self.computes_filters
    }

    /// An error if the thread has to stop.
    pub(super) fn check(&self) -> Result<()> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(Error::Cancelled);
        }
        self.cancel.check()
    }

    /// Starts a row group: closes the readers of another plan.
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

    /// Opens a leaf of the row group. `places` are those of its pages, for skipping many.
    pub(super) fn open(
        &mut self,
        planned: &Planned,
        leaf: usize,
        places: Option<Arc<PagePlaces>>,
    ) -> Result<LeafReader> {
        let mut reader = self.open_at_start(planned, leaf)?;
        if let Some(places) = places {
            reader.set_page_places(places);
        }
        Ok(reader)
    }

    fn open_at_start(&mut self, planned: &Planned, leaf: usize) -> Result<LeafReader> {
        let planned_leaf = &planned.plan.leaves[leaf];
        match self.leaves[leaf].take() {
            Some(OpenLeaf { mut reader, source }) => {
                let chunk = planned.file.chunk_spec(planned.row_group, planned_leaf.leaf.column)?;
                if Arc::ptr_eq(&source, planned.file.source()) {
                    reader.restart(chunk)?;
                } else {
                    reader.restart_in_file(Arc::clone(planned.file.source()), chunk)?;
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
