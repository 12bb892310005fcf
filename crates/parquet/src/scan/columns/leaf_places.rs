use std::sync::Arc;

use super::planned_leaf::PlannedLeaf;
use crate::error::Result;
use crate::file::ParquetFile;
use crate::page::PagePlaces;

/// Places of the pages of leaves in a row group, as far as they are worth knowing. Requests the places of all leaves together,
/// when the first is needed.
#[derive(Debug, Default)]
pub(in crate::scan) struct LeafPlaces(Option<Vec<Option<Arc<PagePlaces>>>>);

impl LeafPlaces {
    /// Places of the pages of one of `leaves`, by its index.
    pub(in crate::scan) fn of(
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
