//! What a read does, fixed before it starts.

use std::sync::{Arc, Mutex, PoisonError};

use arrow_schema::SchemaRef;

use super::leaf_places::LeafPlaces;
use super::planned_leaf::PlannedLeaf;
use super::selection::RowGroupRows;
use crate::decode::LeafReader;
use crate::error::Result;
use crate::file::ParquetFile;
use crate::page::{ChunkSpec, PagePlaces};
use crate::schema::Node;

/// A read of some columns and rows of one file.
#[derive(Debug)]
pub(super) struct ReadPlan {
    pub(super) file: ParquetFile,
    pub(super) schema: SchemaRef,
    pub(super) nodes: Vec<Node>,
    pub(super) leaves: Vec<PlannedLeaf>,
    pub(super) rows: Vec<RowGroupRows>,
    pub(super) batch_size: usize,
    pub(super) verify_crc: bool,
    /// For each of `rows`: where the pages of the leaves are.
    pub(super) places: Vec<Mutex<LeafPlaces>>,
}

impl ReadPlan {
    /// Where the column chunk of the plan's `leaf` in `row_group` is.
    pub(super) fn chunk_spec(&self, leaf: usize, row_group: usize) -> Result<ChunkSpec> {
        self.file.chunk_spec(row_group, self.leaves[leaf].leaf.column)
    }

    /// Where the pages of a leaf are in the row group of `rows[index]`, if some are passed over.
    pub(super) fn places(&self, leaf: usize, index: usize) -> Result<Option<Arc<PagePlaces>>> {
        let RowGroupRows { row_group, ranges } = &self.rows[index];
        if matches!(ranges.as_slice(), [only] if only.start == 0) {
            return Ok(None);
        }
        let mut places = self.places[index].lock().unwrap_or_else(PoisonError::into_inner);
        places.of(leaf, &self.leaves, &self.file, *row_group)
    }

    /// Opens the column chunk of the plan's `leaf` in `row_group`.
    pub(super) fn open_leaf(&self, leaf: usize, row_group: usize) -> Result<LeafReader> {
        self.leaves[leaf].open(&self.file, row_group, self.verify_crc)
    }
}
