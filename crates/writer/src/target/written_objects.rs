use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lath_source::{Store, Version};

use super::parallel::in_parallel;

/// Objects that a commit which has not ended made visible.
#[derive(Debug, Clone, Default)]
pub(super) struct WrittenObjects(Arc<Mutex<Vec<(Store, Version)>>>);

impl WrittenObjects {
    pub(super) fn add(&self, store: Store, version: Version) {
        self.lock().push((store, version));
    }

    /// Lets the objects stay.
    pub(super) fn keep(&self) {
        self.lock().clear();
    }

    /// Deletes the objects, unless others have replaced them.
    pub(super) fn delete(&self) {
        let written = mem::take(&mut *self.lock());
        // What cannot be deleted stays: a destructor cannot return an error.
        in_parallel(written, |(store, version)| drop(store.delete(&version)));
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(Store, Version)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
