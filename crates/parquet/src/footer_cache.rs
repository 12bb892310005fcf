//! Footers kept for whoever opens the same file next.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::file::ParquetFile;
use crate::filters::FilterMemory;
use lath_source::Version;

/// Footers that have been read and parsed, kept within a budget of memory for whoever opens the same file next.
///
/// A footer is found by the file's location and used for the file in the state that it was read of: size, time of change and
/// identity of a local file, size and entity tag of an object. What is used is what memory the parsed metadata takes, with the
/// page indexes that have been read since; when the budget is spent, the footers used longest ago go first. Clones are
/// handles of the same cache. Footers that were decrypted are not kept.
///
/// Bloom filters are kept with the footers, in what these leave of the budget: a filter is read whole, instead of the blocks that
/// keys need, once these have cost as much, and if there is room for all of it. A block costs what 4 KiB of a filter do, a request to
/// a store what 128 KiB do.
/// So are filters that were made of values ([`Pruning::makes_filters`](crate::Pruning::makes_filters)).
/// Filters go with their footer, never to make room for other filters, so that more files than fit are not read over and over.
/// Those that a query keeps elsewhere ([`Pruning::filter_memory`](crate::Pruning::filter_memory)) are not counted here. A footer
/// that has left the cache, and its filters, take memory as long as someone has the file open; and threads that add something at
/// the same moment may exceed the budget by that, until the next footer comes in.
#[derive(Clone)]
pub struct FooterCache {
    shared: Arc<Shared>,
}

struct Shared {
    budget_bytes: usize,
    /// Threads that open files whose footers are known only read it, and do not wait for each other.
    state: RwLock<State>,
    /// Counts uses.
    clock: AtomicU64,
    /// Has what the footers leave of the budget.
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
    /// What the clock said at the last use.
    used: AtomicU64,
}

impl FooterCache {
    /// Budget of the cache of the process: 256 MiB.
    pub const DEFAULT_BUDGET_BYTES: usize = 256 << 20;

    /// What a budget is filled up to after it was exceeded, in eighths: not to have to make room for every footer.
    const KEPT_EIGHTHS: usize = 7;

    /// A cache of its own. With a budget of 0 nothing is kept.
    pub fn new(budget_bytes: usize) -> Self {
        let filters = Arc::new(FilterMemory::new(budget_bytes as u64));
        Self { shared: Arc::new(Shared { budget_bytes, state: RwLock::default(), clock: AtomicU64::new(0), filters }) }
    }

    /// The cache that datasets of the process share unless they are given another.
    pub fn of_process() -> Self {
        static CACHE: OnceLock<FooterCache> = OnceLock::new();
        CACHE.get_or_init(|| Self::new(Self::DEFAULT_BUDGET_BYTES)).clone()
    }

    /// Number of footers kept.
    pub fn len(&self) -> usize {
        self.read().entries.len()
    }

    /// Whether nothing is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of memory that the footers take, and the Bloom filters kept with them.
    pub fn byte_count(&self) -> usize {
        self.read().bytes + self.filter_bytes()
    }

    /// Where the filters of files are kept whose footers are.
    pub(crate) fn filters(&self) -> &Arc<FilterMemory> {
        &self.shared.filters
    }

    fn filter_bytes(&self) -> usize {
        usize::try_from(self.shared.filters.used()).unwrap_or(usize::MAX)
    }

    /// Takes out what is too much, which is to be dropped without the lock, and gives filters what the footers leave.
    fn keep_within_budget(&self, state: &mut State) -> Vec<Entry> {
        let budget = self.shared.budget_bytes;
        let used = state.bytes.saturating_add(self.filter_bytes());
        let kept = budget / 8 * Self::KEPT_EIGHTHS;
        let removed = if used > budget { state.make_room(used - kept) } else { Vec::new() };
        self.shared.filters.set_budget(budget.saturating_sub(state.bytes) as u64);
        removed
    }

    /// Drops everything.
    pub fn clear(&self) {
        let entries = {
            let mut state = self.lock();
            state.bytes = 0;
            std::mem::take(&mut state.entries)
        };
        drop(entries);
        drop(self.keep_within_budget(&mut self.lock()));
    }

    /// The file at `location`, and the state that it was read in.
    pub(crate) fn get(&self, location: &str) -> Option<(ParquetFile, Version)> {
        let state = self.read();
        let entry = state.entries.get(location)?;
        entry.used.store(self.tick(), Ordering::Relaxed);
        let found = (entry.file.clone(), entry.version.clone());
        let bytes_before = entry.bytes;
        drop(state);
        if bytes_of(location, &found.0) != bytes_before {
            self.recount(location);
        }
        Some(found)
    }

    /// What `judge` says of the files kept for these locations, with the states that they were read in. It is asked of all of
    /// them at once, with the cache locked against changes: a handle for each would have threads write to counters that they
    /// share, and wait for each in turn.
    pub(crate) fn judge<T>(
        &self,
        locations: &[Option<&str>],
        judge: impl FnOnce(&[Option<&ParquetFile>]) -> Vec<Option<T>>,
    ) -> Vec<Option<(T, Version)>> {
        let state = self.read();
        let entries: Vec<Option<&Entry>> =
            locations.iter().map(|location| location.and_then(|location| state.entries.get(location))).collect();
        let files: Vec<Option<&ParquetFile>> = entries.iter().map(|entry| entry.map(|entry| &entry.file)).collect();
        let judged = judge(&files);
        let now = self.shared.clock.fetch_add(locations.len() as u64, Ordering::Relaxed);
        let mut grown = Vec::new();
        let answers = entries.iter().zip(locations).zip(judged).zip(now..).map(|(((entry, location), judged), now)| {
            let (judged, entry, location) = (judged?, (*entry)?, (*location)?);
            entry.used.store(now, Ordering::Relaxed);
            if bytes_of(location, &entry.file) != entry.bytes {
                grown.push(location);
            }
            Some((judged, entry.version.clone()))
        });
        let answers = answers.collect();
        drop(state);
        grown.into_iter().for_each(|location| self.recount(location));
        answers
    }

    /// Takes note that an entry takes more memory than before.
    fn recount(&self, location: &str) {
        let mut state = self.lock();
        let State { entries, bytes } = &mut *state;
        let Some(entry) = entries.get_mut(location) else { return };
        let bytes_now = bytes_of(location, &entry.file);
        *bytes = *bytes - entry.bytes + bytes_now;
        entry.bytes = bytes_now;
        let removed = self.keep_within_budget(&mut state);
        drop(state);
        drop(removed);
    }

    /// Keeps the footer of `file`, in place of an earlier one.
    pub(crate) fn insert(&self, location: &Arc<str>, version: Version, file: ParquetFile) {
        let bytes = bytes_of(location, &file);
        if bytes > self.shared.budget_bytes {
            return;
        }
        let mut state = self.lock();
        let entry = Entry { file, version, bytes, used: AtomicU64::new(self.tick()) };
        state.bytes += bytes;
        let replaced = state.entries.insert(Arc::clone(location), entry);
        state.bytes -= replaced.as_ref().map_or(0, |entry| entry.bytes);
        let removed = self.keep_within_budget(&mut state);
        // What is freed is freed without the lock.
        drop(state);
        drop((replaced, removed));
    }

    /// Forgets the footer of the file at `location`.
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

/// What an entry takes, but for the filters.
fn bytes_of(location: &str, file: &ParquetFile) -> usize {
    file.memory_bytes() + location.len() + size_of::<Entry>()
}

impl State {
    /// Takes out entries, those used longest ago first, until they have given up so many bytes, filters included. The newest stays.
    fn make_room(&mut self, bytes: usize) -> Vec<Entry> {
        let mut ages: Vec<(u64, Arc<str>)> = self
            .entries
            .iter()
            .map(|(location, entry)| (entry.used.load(Ordering::Relaxed), Arc::clone(location)))
            .collect();
        ages.sort_unstable_by_key(|(used, _)| *used);
        ages.pop();
        let (mut removed, mut given_up) = (Vec::new(), 0);
        for (_, location) in ages {
            if given_up >= bytes {
                break;
            }
            if let Some(entry) = self.entries.remove(&location) {
                self.bytes -= entry.bytes;
                given_up += entry.bytes + usize::try_from(entry.file.filters().kept_bytes()).unwrap_or(usize::MAX);
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
