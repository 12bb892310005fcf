use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::file::ParquetFile;
use crate::source::Version;

/// Footers that have been read and parsed, kept within a budget of memory for whoever opens the same file next.
///
/// A footer is found by the file's location and used for the file in the state that it was read of: size, time of change and
/// identity of a local file, size and entity tag of an object. What is used is what memory the parsed metadata takes, with the
/// page indexes that have been read since; when the budget is spent, the footers used longest ago go first. Clones are
/// handles of the same cache. Footers that were decrypted are not kept.
#[derive(Clone)]
pub struct FooterCache {
    shared: Arc<Shared>,
}

struct Shared {
    budget_bytes: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    entries: HashMap<Arc<str>, Entry>,
    bytes: usize,
    clock: u64,
}

struct Entry {
    file: ParquetFile,
    version: Version,
    bytes: usize,
    used: u64,
}

impl FooterCache {
    /// Budget of the cache of the process: 256 MiB.
    pub const DEFAULT_BUDGET_BYTES: usize = 256 << 20;

    /// What a budget is filled up to after it was exceeded, in eighths: not to have to make room for every footer.
    const KEPT_EIGHTHS: usize = 7;

    /// A cache of its own. With a budget of 0 nothing is kept.
    pub fn new(budget_bytes: usize) -> Self {
        Self { shared: Arc::new(Shared { budget_bytes, state: Mutex::default() }) }
    }

    /// The cache that datasets of the process share unless they are given another.
    pub fn of_process() -> Self {
        static CACHE: OnceLock<FooterCache> = OnceLock::new();
        CACHE.get_or_init(|| Self::new(Self::DEFAULT_BUDGET_BYTES)).clone()
    }

    /// Number of footers kept.
    pub fn len(&self) -> usize {
        self.lock().entries.len()
    }

    /// Whether nothing is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of memory that the footers take.
    pub fn byte_count(&self) -> usize {
        self.lock().bytes
    }

    /// Drops everything.
    pub fn clear(&self) {
        let entries = {
            let mut state = self.lock();
            state.bytes = 0;
            std::mem::take(&mut state.entries)
        };
        drop(entries);
    }

    /// The file at `location`, and the state that it was read in.
    pub(super) fn get(&self, location: &str) -> Option<(ParquetFile, Version)> {
        let mut state = self.lock();
        let State { entries, bytes, clock } = &mut *state;
        let entry = entries.get_mut(location)?;
        *clock += 1;
        entry.used = *clock;
        let bytes_now = entry.file.memory_bytes();
        *bytes = *bytes - entry.bytes + bytes_now;
        entry.bytes = bytes_now;
        Some((entry.file.clone(), entry.version.clone()))
    }

    /// Keeps the footer of `file`, in place of an earlier one.
    pub(super) fn insert(&self, location: &Arc<str>, version: Version, file: ParquetFile) {
        let bytes = file.memory_bytes() + location.len() + size_of::<Entry>();
        if bytes > self.shared.budget_bytes {
            return;
        }
        let mut state = self.lock();
        state.clock += 1;
        let entry = Entry { file, version, bytes, used: state.clock };
        state.bytes += bytes;
        let replaced = state.entries.insert(Arc::clone(location), entry);
        state.bytes -= replaced.as_ref().map_or(0, |entry| entry.bytes);
        let dropped = if state.bytes > self.shared.budget_bytes {
            state.make_room(self.shared.budget_bytes / 8 * Self::KEPT_EIGHTHS)
        } else {
            Vec::new()
        };
        // What is freed is freed without the lock.
        drop(state);
        drop((replaced, dropped));
    }

    /// Forgets the footer of the file at `location`.
    pub(super) fn remove(&self, location: &str) {
        let mut state = self.lock();
        let removed = state.entries.remove(location);
        state.bytes -= removed.as_ref().map_or(0, |entry| entry.bytes);
        drop(state);
        drop(removed);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Takes out entries, those used longest ago first, until the others take at most so many bytes. The newest stays.
    fn make_room(&mut self, most_bytes: usize) -> Vec<Entry> {
        let mut ages: Vec<(u64, Arc<str>)> =
            self.entries.iter().map(|(location, entry)| (entry.used, Arc::clone(location))).collect();
        ages.sort_unstable_by_key(|(used, _)| *used);
        ages.pop();
        let mut removed = Vec::new();
        for (_, location) in ages {
            if self.bytes <= most_bytes {
                break;
            }
            if let Some(entry) = self.entries.remove(&location) {
                self.bytes -= entry.bytes;
                removed.push(entry);
            }
        }
        removed
    }
}

impl fmt::Debug for FooterCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.lock();
        f.debug_struct("FooterCache")
            .field("budget_bytes", &self.shared.budget_bytes)
            .field("bytes", &state.bytes)
            .field("footers", &state.entries.len())
            .finish()
    }
}
