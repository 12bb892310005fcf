//! The open column readers of a thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::job::Job;
use crate::decode::LeafReader;
use crate::error::{Error, Result};
use crate::options::Limits;
use crate::page::PagePlaces;
use crate::scan::columns::FilePlan;
use crate::scan::monitor::Cancel;
use crate::scan::planner::PlannedRowGroup;
use lath_source::ByteRanges;

/// The open column readers of a thread with their buffers, kept from one row group to the next.
#[derive(Debug)]
pub(in crate::scan) struct Reader {
    verify_crc: bool,
    computes_filters: bool,
    cancel: Cancel,
    stop: Arc<AtomicBool>,
    plan: Option<Arc<FilePlan>>,
    limits: Option<Limits>,
    leaves: Vec<Option<OpenLeaf>>,
}

/// The reader of a leaf, and the file that it was last used for.
#[derive(Debug)]
struct OpenLeaf {
    reader: LeafReader,
    source: Arc<dyn ByteRanges>,
}

impl Reader {
    /// A reader without open columns, for one thread of `job`. It stops once the job is cancelled or `stop` is set.
    pub(in crate::scan) fn new(job: &Job, stop: Arc<AtomicBool>) -> Self {
        Self {
            verify_crc: job.settings.verify_crc,
            computes_filters: job.runtime.computes_filters(),
            cancel: job.settings.cancel.clone(),
            stop,
            plan: None,
            limits: None,
            leaves: Vec::new(),
        }
    }

    /// Whether filters may be computed from the rows that are read.
    pub(in crate::scan) fn computes_filters(&self) -> bool {
        self.computes_filters
    }

    /// An error if the thread has to stop.
    pub(in crate::scan) fn check(&self) -> Result<()> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(Error::Cancelled);
        }
        self.cancel.check()
    }

    /// Starts a row group: closes the readers of another plan.
    pub(in crate::scan) fn start(&mut self, planned: &PlannedRowGroup) {
        let is_same = self.plan.as_ref().is_some_and(|plan| Arc::ptr_eq(plan, &planned.plan))
            && self.limits.as_ref() == Some(planned.file.limits());
        if !is_same {
            self.plan = Some(Arc::clone(&planned.plan));
            self.limits = Some(planned.file.limits().clone());
            self.leaves.clear();
            self.leaves.resize_with(planned.plan.leaves.len(), || None);
        }
    }

    /// Opens a leaf of the row group. `places` are the places of its pages, for skipping many.
    pub(in crate::scan) fn open(
        &mut self,
        planned: &PlannedRowGroup,
        leaf: usize,
        places: Option<Arc<PagePlaces>>,
    ) -> Result<LeafReader> {
        let mut reader = self.open_at_start(planned, leaf)?;
        if let Some(places) = places {
            reader.set_page_places(places);
        }
        Ok(reader)
    }

    fn open_at_start(&mut self, planned: &PlannedRowGroup, leaf: usize) -> Result<LeafReader> {
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

    /// Keeps a leaf's reader for reuse.
    pub(in crate::scan) fn put(&mut self, leaf: usize, reader: LeafReader, source: &Arc<dyn ByteRanges>) {
        if let Some(place) = self.leaves.get_mut(leaf) {
            *place = Some(OpenLeaf { reader, source: Arc::clone(source) });
        }
    }
}
