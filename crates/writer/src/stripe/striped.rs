use arrow_array::{Array, ArrayRef};
use arrow_buffer::NullBuffer;

use crate::physical::Values;

/// The values of one leaf column in a batch: its levels and its slots.
///
/// An *entry* is a pair of levels, as in the file; a *slot* is an entry whose definition level reaches the innermost repeated
/// ancestor's element (every entry, if nothing repeats).
#[derive(Debug, Clone)]
pub(crate) struct StripedLeaf {
    /// Rows of the batch.
    pub(crate) rows: usize,
    /// Definition level of each entry; `None` if all entries of a column without repetition have its maximum.
    pub(crate) def_levels: Option<Vec<u8>>,
    /// Repetition level of each entry; `None` if nothing repeats: then every row is an entry.
    pub(crate) rep_levels: Option<Vec<u8>>,
    /// One element for each slot, in order.
    pub(crate) values: ArrayRef,
    /// The slots with a value: neither the leaf nor a struct above it, within the innermost repetition, is null. `None` if all
    /// have one.
    pub(crate) present: Option<NullBuffer>,
}

impl StripedLeaf {
    /// Number of level pairs.
    pub(crate) fn entry_count(&self) -> usize {
        self.rep_levels.as_ref().map_or(self.rows, Vec::len)
    }

    /// The row of the batch with present slot `index`.
    pub(crate) fn row_of_value(&self, index: usize) -> usize {
        let slot = match &self.present {
            Some(present) => present.inner().set_indices().nth(index).unwrap_or(0),
            None => index,
        };
        let Some(rep_levels) = &self.rep_levels else { return slot };
        let Some(def_levels) = &self.def_levels else {
            return rep_levels.iter().take(slot + 1).filter(|&&level| level == 0).count().saturating_sub(1);
        };
        // Finds the entry with this index among the entries at the maximum definition level.
        let max_def = def_levels.iter().copied().max().unwrap_or(0);
        let entry =
            def_levels.iter().enumerate().filter(|(_, level)| **level == max_def).nth(index).map_or(0, |(at, _)| at);
        rep_levels[..=entry].iter().filter(|&&level| level == 0).count().saturating_sub(1)
    }

    /// Bytes of the slots in Arrow, with their share of shared buffers.
    pub(crate) fn byte_count(&self, values: &Values) -> usize {
        let slots = self.values.len();
        match self.values.data_type().primitive_width() {
            Some(width) => slots * width,
            None => values.plain_len() + slots.div_ceil(8),
        }
    }
}
