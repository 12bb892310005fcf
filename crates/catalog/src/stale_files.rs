//! Files that have changed since the catalog read them.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// Files that scans found changed since the catalog read them, by slot.
#[derive(Debug, Default)]
pub(crate) struct StaleFiles {
    slots: Mutex<BTreeSet<u32>>,
}

impl StaleFiles {
    pub(crate) fn add(&self, slot: u32) {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner).insert(slot);
    }

    /// Removes and returns all slots.
    pub(crate) fn take(&self) -> BTreeSet<u32> {
        std::mem::take(&mut self.slots.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}
