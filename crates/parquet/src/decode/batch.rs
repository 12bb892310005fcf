//! What a leaf gives for some rows.

use arrow_array::{Array, ArrayRef, BooleanArray};
use arrow_buffer::BooleanBuffer;
use arrow_select::filter::{FilterPredicate, filter};
use lath_kernels::select;

use crate::error::{Error, Result};

/// What a leaf gives for a batch of rows.
#[derive(Debug, Clone)]
pub(crate) struct LeafBatch {
    /// A value or null for every slot of the leaf.
    pub(crate) array: ArrayRef,
    /// Definition level of every entry; empty unless the leaf was asked to keep levels.
    pub(crate) def_levels: Vec<u8>,
    /// Repetition level of every entry; empty unless the leaf was asked to keep levels and has repetition.
    pub(crate) rep_levels: Vec<u8>,
}

impl LeafBatch {
    /// The rows whose bits are set in `selection`, of a leaf without repetition; `filter` says the same.
    pub(crate) fn filter_flat(&self, selection: &[u8], filter: &FilterPredicate) -> Result<Self> {
        let array = filter.filter(&self.array).map_err(|error| Error::invalid(error.to_string()))?;
        let def_levels = match self.def_levels.as_slice() {
            [] => Vec::new(),
            levels => {
                let mut kept = vec![0; array.len()];
                select::compress_u8(levels, selection, 0, &mut kept)?;
                kept
            }
        };
        Ok(Self { array, def_levels, rep_levels: Vec::new() })
    }

    /// The rows whose bits are set in `selection`, of a leaf with repetition. `slot_def_level` is the definition level from
    /// which an entry is a slot.
    pub(crate) fn filter_repeated(&self, selection: &[u64], slot_def_level: u8) -> Result<Self> {
        let (mut def_levels, mut rep_levels) = (Vec::new(), Vec::new());
        let mut slots = Vec::with_capacity(self.array.len());
        let (mut row, mut is_selected) = (0usize, false);
        for (&rep, &def) in self.rep_levels.iter().zip(&self.def_levels) {
            if rep == 0 {
                is_selected = selection.get(row / 64).is_some_and(|word| word >> (row % 64) & 1 == 1);
                row += 1;
            }
            if is_selected {
                rep_levels.push(rep);
                def_levels.push(def);
            }
            if def >= slot_def_level {
                slots.push(is_selected);
            }
        }
        let slots = BooleanArray::new(BooleanBuffer::from(slots), None);
        let array = filter(&self.array, &slots).map_err(|error| Error::invalid(error.to_string()))?;
        Ok(Self { array, def_levels, rep_levels })
    }
}
