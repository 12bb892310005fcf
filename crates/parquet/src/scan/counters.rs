//! What a scan has done so far, counted by all its threads.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counters that every thread of a scan adds to.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) files: AtomicU64,
    pub(super) row_groups: AtomicU64,
    pub(super) rows: AtomicU64,
    pub(super) rows_tested: AtomicU64,
    pub(super) rows_found: AtomicU64,
}

impl Counters {
    /// Adds a window of `rows`, of which `found` survived.
    pub(super) fn add_window(&self, rows: usize, found: usize) {
        self.rows_tested.fetch_add(rows as u64, Ordering::Relaxed);
        self.rows_found.fetch_add(found as u64, Ordering::Relaxed);
    }

    /// Adds rows that are all wanted, of which nothing has to be read to know it.
    pub(super) fn add_settled(&self, rows: u64) {
        self.rows_tested.fetch_add(rows, Ordering::Relaxed);
        self.rows_found.fetch_add(rows, Ordering::Relaxed);
    }
}

/// What a scan has done.
#[non_exhaustive]
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScanReport {
    /// Files that were opened.
    pub files: u64,
    /// Row groups in them that were chosen.
    pub row_groups: u64,
    /// Rows in these.
    pub rows: u64,
    /// Rows that were looked at so far.
    pub rows_tested: u64,
    /// Rows of these for which the predicate is true.
    pub rows_found: u64,
}

impl Counters {
    pub(super) fn report(&self) -> ScanReport {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        ScanReport {
            files: get(&self.files),
            row_groups: get(&self.row_groups),
            rows: get(&self.rows),
            rows_tested: get(&self.rows_tested),
            rows_found: get(&self.rows_found),
        }
    }
}
