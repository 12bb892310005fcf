//! Files that scans found to be in another state than the catalog has.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// Files that were found to be in another state than a catalog has.
#[derive(Debug, Default)]
pub(crate) struct StaleFiles {
    slots: Mutex<BTreeSet<u32>>,
}

impl StaleFiles {
    pub(crate) fn add(&self, slot: u32) {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner).insert(slot);
    }

    /// All of them, which are forgotten.
    pub(crate) fn take(&self) -> BTreeSet<u32> {
        std::mem::take(&mut self.slots.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}
