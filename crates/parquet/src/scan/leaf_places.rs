use std::sync::Arc;

use super::planned_leaf::PlannedLeaf;
use crate::error::Result;
use crate::file::ParquetFile;
use crate::page::PagePlaces;

/// Where the pages of leaves are in a row group, as far as it pays to know. Those of all leaves are asked for together, when the first
/// of them is needed.
#[derive(Debug, Default)]
pub(super) struct LeafPlaces(Option<Vec<Option<Arc<PagePlaces>>>>);

impl LeafPlaces {
    /// Those of one of `leaves`, by its index.
    pub(super) fn of(
        &mut self,
        leaf: usize,
        leaves: &[PlannedLeaf],
        file: &ParquetFile,
        row_group: usize,
    ) -> Result<Option<Arc<PagePlaces>>> {
        let places = match &mut self.0 {
            Some(places) => places,
            none => {
                let columns: Vec<usize> = leaves.iter().map(|leaf| leaf.leaf.column).collect();
                none.insert(file.page_places(row_group, &columns)?)
            }
        };
        Ok(places.get(leaf).cloned().flatten())
    }
}
