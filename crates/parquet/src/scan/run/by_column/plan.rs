//! Plan for reading a file by column, fixed before it starts.

use std::sync::{Arc, Mutex, PoisonError};

use crate::decode::LeafReader;
use crate::error::Result;
use crate::file::ParquetFile;
use crate::page::{ChunkSpec, PagePlaces};
use crate::scan::columns::{FilePlan, LeafPlaces};
use crate::scan::rows::RowGroupRows;

/// A read of some columns and rows of one file.
#[derive(Debug)]
pub(super) struct ColumnPlan {
    file: ParquetFile,
    pub(super) columns: Arc<FilePlan>,
    pub(super) rows: Vec<RowGroupRows>,
    pub(super) batch_size: usize,
    verify_crc: bool,
    /// For each of `rows`: the places of the leaves' pages.
    places: Vec<Mutex<LeafPlaces>>,
}

impl ColumnPlan {
    pub(super) fn new(
        file: ParquetFile,
        columns: Arc<FilePlan>,
        rows: Vec<RowGroupRows>,
        batch_size: usize,
        verify_crc: bool,
    ) -> Self {
        let places = rows.iter().map(|_| Mutex::default()).collect();
        Self { file, columns, rows, batch_size, verify_crc, places }
    }

    /// The chunk of the plan's `leaf` in `row_group`.
    pub(super) fn chunk_spec(&self, leaf: usize, row_group: usize) -> Result<ChunkSpec> {
        self.file.chunk_spec(row_group, self.columns.leaves[leaf].leaf.column)
    }

    /// Places of a leaf's pages in the row group of `rows[index]`, if some are skipped.
    pub(super) fn places(&self, leaf: usize, index: usize) -> Result<Option<Arc<PagePlaces>>> {
        let RowGroupRows { row_group, ranges } = &self.rows[index];
        if matches!(ranges.as_slice(), [only] if only.start == 0) {
            return Ok(None);
        }
        let mut places = self.places[index].lock().unwrap_or_else(PoisonError::into_inner);
        places.of(leaf, &self.columns.leaves, &self.file, *row_group)
    }

    /// Opens the column chunk of the plan's `leaf` in `row_group`.
    pub(super) fn open_leaf(&self, leaf: usize, row_group: usize) -> Result<LeafReader> {
        self.columns.leaves[leaf].open(&self.file, row_group, self.verify_crc)
    }
}
