//! Decodes one leaf over all selected row groups.

use std::sync::Arc;

use super::batch_cursor::{BatchCursor, Step};
use super::plan::ColumnPlan;
use crate::decode::{LeafBatch, LeafReader};
use crate::error::{Error, Result};

/// The batches of a leaf that one stream decodes, if several streams share the leaf: in turn, each takes `segment` batches.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lane {
    pub(super) index: usize,
    pub(super) count: usize,
    pub(super) segment: usize,
}

impl Lane {
    /// The lane of a leaf that is decoded by one stream.
    pub(super) const ONLY: Self = Self { index: 0, count: 1, segment: 1 };

    /// The index of the lane that decodes a leaf's `batch`, counted from 0 over the whole read.
    pub(super) fn of(self, batch: usize) -> usize {
        batch / self.segment % self.count
    }
}

/// Decodes one leaf batch by batch, going from row group to row group.
#[derive(Debug)]
pub(super) struct LeafStream {
    plan: Arc<ColumnPlan>,
    /// Index among the plan's leaves.
    leaf: usize,
    lane: Lane,
    /// Number of the leaf's next batch, counted over all lanes.
    batch: usize,
    /// Rows of other lanes to skip before the next batch.
    skip: usize,
    /// Index among the plan's row groups.
    row_group: usize,
    cursor: BatchCursor,
    reader: Option<LeafReader>,
    /// Whether the reader is at the row group's chunk.
    is_open: bool,
    steps: Vec<Step>,
}

impl LeafStream {
    pub(super) fn new(plan: Arc<ColumnPlan>, leaf: usize, lane: Lane) -> Self {
        Self {
            plan,
            leaf,
            lane,
            batch: 0,
            skip: 0,
            row_group: 0,
            cursor: BatchCursor::default(),
            reader: None,
            is_open: false,
            steps: Vec::new(),
        }
    }

    /// The lane's next batch; `None` after the last.
    pub(super) fn next(&mut self) -> Result<Option<LeafBatch>> {
        while let Some(rows) = self.plan.rows.get(self.row_group) {
            if self.cursor.next(rows, self.plan.batch_size, &mut self.steps) == 0 {
                self.cursor = BatchCursor::default();
                self.row_group += 1;
                self.is_open = false;
                self.skip = 0;
                continue;
            }
            let is_mine = self.lane.of(self.batch) == self.lane.index;
            self.batch += 1;
            if !is_mine {
                self.skip += self.steps.iter().map(|step| step.skip + step.read).sum::<usize>();
                continue;
            }
            let reader = match &mut self.reader {
                Some(reader) => {
                    if !self.is_open {
                        reader.restart(self.plan.chunk_spec(self.leaf, rows.row_group)?)?;
                    }
                    reader
                }
                None => self.reader.insert(self.plan.open_leaf(self.leaf, rows.row_group)?),
            };
            if !self.is_open
                && let Some(places) = self.plan.places(self.leaf, self.row_group)?
            {
                reader.set_page_places(places);
            }
            self.is_open = true;
            for step in &self.steps {
                let skip = std::mem::take(&mut self.skip) + step.skip;
                if skip > 0 {
                    reader.skip(skip)?;
                }
                reader.append(step.read)?;
            }
            return reader.finish().map(Some);
        }
        Ok(None)
    }
}

/// The error of a stream that has no more batches although one is needed.
pub(super) fn stream_ended() -> Error {
    Error::internal("a column has fewer batches than its row groups have rows")
}
