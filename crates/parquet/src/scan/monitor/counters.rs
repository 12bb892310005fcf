//! Counters of a running scan, shared by its threads.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::report::{ScanReport, ScanTimes};
use crate::prune::PruneReport;
use lath_source::Traffic;

/// Counters that every thread of a scan adds to.
#[derive(Debug)]
pub(in crate::scan) struct Counters {
    start: Instant,
    files: u64,
    files_opened: AtomicU64,
    files_pruned: AtomicU64,
    row_groups: AtomicU64,
    rows: AtomicU64,
    rows_tested: AtomicU64,
    rows_found: AtomicU64,
    pruned: Mutex<PruneReport>,
    pruned_dynamically: Mutex<PruneReport>,
    pub(in crate::scan) traffic: Arc<Traffic>,
    nanos: [AtomicU64; 4],
}

/// Counters of one thread while it plans files. Planning one of many files takes microseconds, so that shared counters would slow
/// it down.
#[derive(Debug, Default)]
pub(in crate::scan) struct Planning {
    files_opened: u64,
    files_pruned: u64,
    row_groups: u64,
    rows: u64,
    pub(in crate::scan) pruned: PruneReport,
    pub(in crate::scan) open: Duration,
    pub(in crate::scan) prune: Duration,
}

impl Planning {
    /// Adds a file that was not opened.
    pub(in crate::scan) fn add_pruned_file(&mut self) {
        self.files_pruned += 1;
    }

    /// Adds a file that was opened, and the row groups and rows left after pruning.
    pub(in crate::scan) fn add_file(&mut self, row_groups: usize, rows: u64) {
        self.files_opened += 1;
        self.row_groups += row_groups as u64;
        self.rows += rows;
    }
}

/// Stages of the work of a scan's threads.
#[derive(Debug, Clone, Copy)]
pub(in crate::scan) enum Stage {
    Open,
    Prune,
    Test,
    Fetch,
}

impl Counters {
    /// Counters of a scan of `files` files.
    pub(in crate::scan) fn new(files: usize) -> Self {
        Self {
            start: Instant::now(),
            files: files as u64,
            files_opened: AtomicU64::default(),
            files_pruned: AtomicU64::default(),
            row_groups: AtomicU64::default(),
            rows: AtomicU64::default(),
            rows_tested: AtomicU64::default(),
            rows_found: AtomicU64::default(),
            pruned: Mutex::default(),
            pruned_dynamically: Mutex::default(),
            traffic: Arc::default(),
            nanos: Default::default(),
        }
    }

    /// Does `work` and adds its time to `stage`.
    pub(in crate::scan) fn timed<T>(&self, stage: Stage, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = work();
        self.add_time(stage, start.elapsed());
        result
    }

    fn add_time(&self, stage: Stage, time: Duration) {
        add(&self.nanos[stage as usize], u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    }

    /// Adds the counters of a thread that planned files.
    pub(in crate::scan) fn add_planning(&self, planning: &Planning) {
        add(&self.files_pruned, planning.files_pruned);
        add(&self.files_opened, planning.files_opened);
        add(&self.row_groups, planning.row_groups);
        add(&self.rows, planning.rows);
        *self.pruned.lock().unwrap_or_else(PoisonError::into_inner) += planning.pruned;
        self.add_time(Stage::Open, planning.open);
        self.add_time(Stage::Prune, planning.prune);
    }

    /// Adds row groups and rows that a dynamic filter ruled out later.
    pub(in crate::scan) fn add_narrowing(&self, pruned: PruneReport, time: Duration) {
        *self.pruned_dynamically.lock().unwrap_or_else(PoisonError::into_inner) += pruned;
        self.add_time(Stage::Prune, time);
    }

    /// Adds a window of `rows` rows, of which `found` survived.
    pub(in crate::scan) fn add_window(&self, rows: usize, found: usize) {
        self.add_rows(rows as u64, found as u64);
    }

    /// Adds rows that all pass without being read.
    pub(in crate::scan) fn add_settled(&self, rows: u64) {
        self.add_rows(rows, rows);
    }

    fn add_rows(&self, rows: u64, found: u64) {
        add(&self.rows_tested, rows);
        add(&self.rows_found, found);
    }

    pub(in crate::scan) fn report(&self) -> ScanReport {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let time = |stage: Stage| Duration::from_nanos(get(&self.nanos[stage as usize]));
        ScanReport {
            files: self.files,
            files_pruned: get(&self.files_pruned),
            files_opened: get(&self.files_opened),
            pruned: *self.pruned.lock().unwrap_or_else(PoisonError::into_inner),
            pruned_dynamically: *self.pruned_dynamically.lock().unwrap_or_else(PoisonError::into_inner),
            row_groups: get(&self.row_groups),
            rows: get(&self.rows),
            rows_tested: get(&self.rows_tested),
            rows_found: get(&self.rows_found),
            bytes_read: self.traffic.bytes(),
            requests: self.traffic.requests(),
            times: ScanTimes {
                open: time(Stage::Open),
                prune: time(Stage::Prune),
                test: time(Stage::Test),
                fetch: time(Stage::Fetch),
                elapsed: self.start.elapsed(),
            },
        }
    }
}

fn add(counter: &AtomicU64, count: u64) {
    counter.fetch_add(count, Ordering::Relaxed);
}
