use std::sync::atomic::{AtomicUsize, Ordering};

/// A budget of bytes that scans share.
#[derive(Debug)]
pub(crate) struct MemoryBudget {
    limit: usize,
    used: AtomicUsize,
}

impl MemoryBudget {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, used: AtomicUsize::new(0) }
    }

    /// Takes `bytes` if they are available.
    pub(crate) fn try_take(&self, bytes: usize) -> bool {
        let fits = |used: usize| used.checked_add(bytes).filter(|used| *used <= self.limit);
        self.used.try_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_ok()
    }

    /// Takes `bytes`, available or not.
    pub(crate) fn take(&self, bytes: usize) {
        self.used.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Returns bytes to the budget.
    pub(crate) fn give_back(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }

    pub(crate) fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }
}
