use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Memory for whole Bloom filters, shared by any number of files: a filter that is needed is read whole and cached with its file
/// if the budget allows, so that later probes read nothing.
///
/// ```
/// use std::sync::Arc;
///
/// use lath_parquet::{FilterMemory, Pruning};
///
/// let mut pruning = Pruning::default();
/// pruning.filter_memory = Some(Arc::new(FilterMemory::new(256 << 20)));
/// ```
#[derive(Debug)]
pub struct FilterMemory {
    budget: AtomicU64,
    used: AtomicU64,
}

impl FilterMemory {
    /// Memory of at most `budget` bytes.
    pub fn new(budget: u64) -> Self {
        Self { budget: AtomicU64::new(budget), used: AtomicU64::new(0) }
    }

    /// Bytes of the cached filters. They are freed when the last handle of their file is dropped.
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Changes the budget. Filters that are cached already stay.
    pub(crate) fn set_budget(&self, budget: u64) {
        self.budget.store(budget, Ordering::Relaxed);
    }

    /// Reserves `len` bytes; `None` if the budget has less left.
    pub(crate) fn reserve(self: &Arc<Self>, len: u64) -> Option<Reservation> {
        let budget = self.budget.load(Ordering::Relaxed);
        let within = |used: u64| used.checked_add(len).filter(|used| *used <= budget);
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, within).ok()?;
        Some(Reservation { memory: Arc::clone(self), len })
    }
}

/// Bytes of a [`FilterMemory`], released on drop.
#[derive(Debug)]
pub(crate) struct Reservation {
    memory: Arc<FilterMemory>,
    len: u64,
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.memory.used.fetch_sub(self.len, Ordering::Relaxed);
    }
}
