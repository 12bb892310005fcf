//! A cache of parsed footers, and of the Bloom filters of their files.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::file::ParquetFile;
use crate::filters::FilterMemory;
use lath_source::Version;

/// A cache of parsed footers, within a memory budget, for opening the same files again.
///
/// A footer is found by the file's location and used only for the version of the file that it was read from: size, modification
/// times and identity of a local file, size and entity tag of an object. The memory of parsed metadata and of page indexes read
/// later counts; when the budget is exceeded, the least recently used footers are evicted. Clones are handles of the same cache.
/// Decrypted footers are not cached.
///
/// Bloom filters are cached with the footers, in the rest of the budget: a filter is read whole once the blocks read for keys
/// have cost as much, if there is room for all of it. A block costs as much as 4 KiB of a filter, a request to a store as much as
/// 128 KiB. Computed filters are cached there too ([`Pruning::computed_filters`](crate::Pruning::computed_filters)). Filters are
/// evicted with their footer, never to make room for other filters, so that a working set larger than the budget is not read over
/// Filters with separate memory ([`Pruning::filter_memory`](crate::Pruning::filter_memory)) do not count. An evicted footer
/// evicted footer and its filters take memory as long as a handle of the file exists. Threads that add to the cache at the same
/// moment may exceed the budget by that much, until the next footer is added.
#[derive(Clone)]
pub struct FooterCache {
    shared: Arc<CacheParts>,
}

struct CacheParts {
    budget_bytes: usize,
    /// Threads that open files with cached footers only read it, and do not wait for each other.
    state: RwLock<State>,
    /// Number of uses so far.
    clock: AtomicU64,
    /// Its budget is the rest after the footers.
    filters: Arc<FilterMemory>,
}

#[derive(Default)]
struct State {
    entries: HashMap<Arc<str>, Entry>,
    bytes: usize,
}

struct Entry {
    file: ParquetFile,
    version: Version,
    bytes: usize,
    /// The clock at the last use.
    used: AtomicU64,
}

impl FooterCache {
    /// Budget of the default cache: 256 MiB. Not measured: it bounds memory.
    pub const DEFAULT_BUDGET_BYTES: usize = 256 << 20;

    /// The part of the budget, in eighths, that remains in use after eviction, so that not every new footer evicts others. Not measured:
    /// more would evict more often, less would evict footers that are still needed.
    const KEPT_EIGHTHS: usize = 7;

    /// A new cache. With a budget of 0 nothing is cached.
    pub fn new(budget_bytes: usize) -> Self {
        let filters = Arc::new(FilterMemory::new(budget_bytes as u64));
        Self {
            shared: Arc::new(CacheParts { budget_bytes, state: RwLock::default(), clock: AtomicU64::new(0), filters }),
        }
    }

    /// Number of cached footers.
    pub fn len(&self) -> usize {
        self.read().entries.len()
    }

    /// Whether the cache is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of memory of the footers, and of the Bloom filters cached with them.
    pub fn byte_count(&self) -> usize {
        self.read().bytes + self.filter_bytes()
    }

    /// The memory in which filters of the files are cached.
    pub(crate) fn filters(&self) -> &Arc<FilterMemory> {
        &self.shared.filters
    }

    fn filter_bytes(&self) -> usize {
        usize::try_from(self.shared.filters.used()).unwrap_or(usize::MAX)
    }

    /// Evicts entries beyond the budget, which have to be dropped without the lock, and gives filters the rest of the budget.
    fn keep_within_budget(&self, state: &mut State) -> Vec<Entry> {
        let budget = self.shared.budget_bytes;
        let used = state.bytes.saturating_add(self.filter_bytes());
        let kept = budget / 8 * Self::KEPT_EIGHTHS;
        let removed = if used > budget { state.make_room(used - kept) } else { Vec::new() };
        self.shared.filters.set_budget(budget.saturating_sub(state.bytes) as u64);
        removed
    }

    /// Removes all entries.
    pub fn clear(&self) {
        let entries = {
            let mut state = self.lock();
            state.bytes = 0;
            std::mem::take(&mut state.entries)
        };
        drop(entries);
        drop(self.keep_within_budget(&mut self.lock()));
    }

    /// The file at `location`, and its version.
    pub(crate) fn get(&self, location: &str) -> Option<(ParquetFile, Version)> {
        let state = self.read();
        let entry = state.entries.get(location)?;
        entry.used.store(self.tick(), Ordering::Relaxed);
        let found = (entry.file.clone(), entry.version.clone());
        let bytes_before = entry.bytes;
        drop(state);
        if entry_bytes(location, &found.0) != bytes_before {
            self.recount(location);
        }
        Some(found)
    }

    /// The results of `evaluate` for the cached files at these locations, with the versions of the files. It is called once for
    /// all files, while the cache is locked for reading: cloning a handle of each would make threads contend for the reference
    /// counts.
    pub(crate) fn evaluate<T>(
        &self,
        locations: &[Option<&str>],
        evaluate: impl FnOnce(&[Option<&ParquetFile>]) -> Vec<Option<T>>,
    ) -> Vec<Option<(T, Version)>> {
        let state = self.read();
        let entries: Vec<Option<&Entry>> =
            locations.iter().map(|location| location.and_then(|location| state.entries.get(location))).collect();
        let files: Vec<Option<&ParquetFile>> = entries.iter().map(|entry| entry.map(|entry| &entry.file)).collect();
        let results = evaluate(&files);
        let now = self.shared.clock.fetch_add(locations.len() as u64, Ordering::Relaxed);
        let mut grown = Vec::new();
        let answers =
            entries.iter().zip(locations).zip(results).zip(now..).map(|(((entry, location), result), now)| {
                let (result, entry, location) = (result?, (*entry)?, (*location)?);
                entry.used.store(now, Ordering::Relaxed);
                if entry_bytes(location, &entry.file) != entry.bytes {
                    grown.push(location);
                }
                Some((result, entry.version.clone()))
            });
        let answers = answers.collect();
        drop(state);
        grown.into_iter().for_each(|location| self.recount(location));
        answers
    }

    /// Counts the memory of an entry again, which has grown.
    fn recount(&self, location: &str) {
        let mut state = self.lock();
        let State { entries, bytes } = &mut *state;
        let Some(entry) = entries.get_mut(location) else { return };
        let bytes_now = entry_bytes(location, &entry.file);
        *bytes = *bytes - entry.bytes + bytes_now;
        entry.bytes = bytes_now;
        let removed = self.keep_within_budget(&mut state);
        drop(state);
        drop(removed);
    }

    /// Caches the footer of `file`, in place of an earlier one.
    pub(crate) fn insert(&self, location: &Arc<str>, version: Version, file: ParquetFile) {
        let bytes = entry_bytes(location, &file);
        if bytes > self.shared.budget_bytes {
            return;
        }
        let mut state = self.lock();
        let entry = Entry { file, version, bytes, used: AtomicU64::new(self.tick()) };
        state.bytes += bytes;
        let replaced = state.entries.insert(Arc::clone(location), entry);
        state.bytes -= replaced.as_ref().map_or(0, |entry| entry.bytes);
        let removed = self.keep_within_budget(&mut state);
        // Memory is freed without the lock.
        drop(state);
        drop((replaced, removed));
    }

    /// Removes the footer of the file at `location`.
    pub(crate) fn remove(&self, location: &str) {
        let mut state = self.lock();
        let removed = state.entries.remove(location);
        state.bytes -= removed.as_ref().map_or(0, |entry| entry.bytes);
        let removed = (removed, self.keep_within_budget(&mut state));
        drop(state);
        drop(removed);
    }

    fn tick(&self) -> u64 {
        self.shared.clock.fetch_add(1, Ordering::Relaxed)
    }

    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.shared.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> RwLockWriteGuard<'_, State> {
        self.shared.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Bytes of an entry without its filters.
fn entry_bytes(location: &str, file: &ParquetFile) -> usize {
    file.memory_bytes() + location.len() + size_of::<Entry>()
}

impl State {
    /// Evicts the least recently used entries until they free this many bytes, including filters. The newest stays.
    fn make_room(&mut self, bytes: usize) -> Vec<Entry> {
        let mut ages: Vec<(u64, Arc<str>)> = self
            .entries
            .iter()
            .map(|(location, entry)| (entry.used.load(Ordering::Relaxed), Arc::clone(location)))
            .collect();
        ages.sort_unstable_by_key(|(used, _)| *used);
        ages.pop();
        let (mut removed, mut freed) = (Vec::new(), 0);
        for (_, location) in ages {
            if freed >= bytes {
                break;
            }
            if let Some(entry) = self.entries.remove(&location) {
                self.bytes -= entry.bytes;
                freed += entry.bytes + usize::try_from(entry.file.filters().cached_bytes()).unwrap_or(usize::MAX);
                removed.push(entry);
            }
        }
        removed
    }
}

impl fmt::Debug for FooterCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.read();
        f.debug_struct("FooterCache")
            .field("budget_bytes", &self.shared.budget_bytes)
            .field("bytes", &state.bytes)
            .field("footers", &state.entries.len())
            .finish()
    }
}
