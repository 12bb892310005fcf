//! Cache of the dead rows of files.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use lath_parquet::DeleteMask;

use crate::records::FileEntry;

/// Number of states of a file that are cached: the newest commit and a few snapshots.
const STATES: usize = 4;

/// The rows of a file that are dead in a commit: masked, or with a key that is hot or deleted.
///
/// A row that is dead stays dead in all later commits, so the entry of one commit is a subset for the next.
#[derive(Debug, Clone)]
pub(crate) struct DeadEntry {
    /// The writer that made the commit. A commit of another writer with a higher number need not follow it: after a loss of power, say.
    pub(crate) incarnation: u64,
    pub(crate) stamp: u64,
    /// The generation that the store had with this commit.
    pub(crate) generation: u64,
    pub(crate) dead: Arc<DeleteMask>,
}

/// The entries of each file, by its number.
#[derive(Debug, Default)]
pub(crate) struct DeadCache {
    files: Mutex<HashMap<u64, Vec<DeadEntry>>>,
    /// For each file, the stamp of the newest mask that was found to be whole, and how many rows it has.
    whole_masks: Mutex<HashMap<u64, (u64, u64)>>,
}

impl DeadCache {
    /// The entry of the newest commit of this writer up to `stamp`.
    pub(crate) fn get(&self, file: u64, incarnation: u64, stamp: u64) -> Option<DeadEntry> {
        let files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let known = files.get(&file)?.iter();
        known.filter(|known| known.incarnation == incarnation && known.stamp <= stamp).max_by_key(|k| k.stamp).cloned()
    }

    pub(crate) fn put(&self, file: u64, known: DeadEntry) {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let states = files.entry(file).or_default();
        states.retain(|other| (other.incarnation, other.stamp) != (known.incarnation, known.stamp));
        if states.len() == STATES {
            states.remove(0);
        }
        states.push(known);
    }

    /// Whether the mask that a file has now was found to be whole.
    pub(crate) fn is_mask_whole(&self, entry: &FileEntry) -> bool {
        let masks = self.whole_masks.lock().unwrap_or_else(PoisonError::into_inner);
        masks.get(&entry.number) == Some(&(entry.mask_stamp, entry.masked))
    }

    pub(crate) fn set_mask_whole(&self, entry: &FileEntry) {
        let mut masks = self.whole_masks.lock().unwrap_or_else(PoisonError::into_inner);
        masks.insert(entry.number, (entry.mask_stamp, entry.masked));
    }

    /// Forgets all files but these.
    pub(crate) fn retain(&self, keep: impl Fn(u64) -> bool) {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        files.retain(|&file, _| keep(file));
        let mut masks = self.whole_masks.lock().unwrap_or_else(PoisonError::into_inner);
        masks.retain(|&file, _| keep(file));
    }
}
