//! What a read does, fixed before it starts.

use arrow_schema::SchemaRef;

use super::leaf_stream::PlannedLeaf;
use super::selection::RowGroupRows;
use crate::decode::LeafReader;
use crate::error::Result;
use crate::file::ParquetFile;
use crate::page::ChunkSpec;
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
}

impl ReadPlan {
    /// Where the column chunk of the plan's `leaf` in `row_group` is.
    pub(super) fn chunk_spec(&self, leaf: usize, row_group: usize) -> Result<ChunkSpec> {
        self.file.chunk_spec(row_group, self.leaves[leaf].leaf.column)
    }

    /// Opens the column chunk of the plan's `leaf` in `row_group`.
    pub(super) fn open_leaf(&self, leaf: usize, row_group: usize) -> Result<LeafReader> {
        self.leaves[leaf].open(&self.file, row_group, self.verify_crc)
    }
}
