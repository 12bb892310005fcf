//! Counts rows without building batches.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use super::job::{Job, panicked};
use super::row_group::{Next, RowGroupScan};
use super::work::Reader;
use crate::error::Result;
use crate::scan::planner::PlannedRowGroup;

/// State that the threads share.
struct Counting<'a> {
    job: &'a Job,
    next_file: AtomicUsize,
    row_groups: Mutex<Vec<PlannedRowGroup>>,
    /// Files that are being opened: they may add row groups.
    opening: AtomicUsize,
    count: AtomicU64,
    stop: Arc<AtomicBool>,
}

/// The number of rows that `job` finds, on `threads` threads.
pub(in crate::scan) fn count(job: &Job, threads: usize) -> Result<u64> {
    let counting = Counting {
        job,
        next_file: AtomicUsize::new(0),
        row_groups: Mutex::default(),
        opening: AtomicUsize::new(0),
        count: AtomicU64::new(0),
        stop: Arc::default(),
    };
    let results: Vec<Result<()>> = thread::scope(|scope| {
        let spawn =
            |_| thread::Builder::new().name("lath-scan".into()).spawn_scoped(scope, || counting.guarded_work()).ok();
        // Threads that cannot be started are not needed.
        let workers: Vec<_> = (1..threads).filter_map(spawn).collect();
        let own = counting.guarded_work();
        let others = workers.into_iter().map(|worker| worker.join().unwrap_or_else(|_| Err(panicked())));
        std::iter::once(own).chain(others).collect()
    });
    job.settings.cancel.check()?;
    let is_enough = counting.is_enough();
    match results.into_iter().find_map(Result::err) {
        // Errors after the limit was reached are of no interest.
        Some(error) if !is_enough => Err(error),
        _ => Ok(counting.count.load(Ordering::Relaxed).min(job.settings.limit)),
    }
}

impl Counting<'_> {
    fn guarded_work(&self) -> Result<()> {
        let result = catch_unwind(AssertUnwindSafe(|| self.work())).unwrap_or_else(|_| Err(panicked()));
        if result.is_err() {
            self.stop.store(true, Ordering::Relaxed);
        }
        result
    }

    fn work(&self) -> Result<()> {
        let mut reader = Reader::new(self.job, Arc::clone(&self.stop));
        loop {
            if self.is_enough() || self.stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            let planned = self.row_groups.lock().unwrap_or_else(PoisonError::into_inner).pop();
            if let Some(planned) = planned {
                self.count_row_group(planned, &mut reader)?;
                continue;
            }
            self.opening.fetch_add(1, Ordering::AcqRel);
            let file = self.next_file.fetch_add(1, Ordering::Relaxed);
            if file < self.job.unit_count() {
                let planned = self.job.plan_unit(file);
                if let Ok(planned) = planned {
                    let counted = planned.into_iter().filter_map(|planned| self.by_footer(planned));
                    let mut row_groups = self.row_groups.lock().unwrap_or_else(PoisonError::into_inner);
                    row_groups.extend(counted);
                    drop(row_groups);
                    self.opening.fetch_sub(1, Ordering::AcqRel);
                    continue;
                }
                self.opening.fetch_sub(1, Ordering::AcqRel);
                planned?;
            }
            if self.opening.fetch_sub(1, Ordering::AcqRel) == 1 && self.is_empty() {
                return Ok(());
            }
            thread::yield_now();
        }
    }

    fn is_empty(&self) -> bool {
        self.row_groups.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    fn is_enough(&self) -> bool {
        self.count.load(Ordering::Relaxed) >= self.job.settings.limit
    }

    /// Counts a row group whose rows all pass; returns others.
    fn by_footer(&self, planned: PlannedRowGroup) -> Option<PlannedRowGroup> {
        if planned.predicate.is_some() || self.job.settings.filter.is_some() {
            return Some(planned);
        }
        let rows = planned.kept_row_count();
        self.job.counters.add_settled(rows);
        self.count.fetch_add(rows, Ordering::Relaxed);
        None
    }

    fn count_row_group(&self, planned: PlannedRowGroup, reader: &mut Reader) -> Result<()> {
        let Some(planned) = self.job.narrow(planned)? else { return Ok(()) };
        let mut scan = RowGroupScan::new(planned, reader, usize::MAX);
        loop {
            let count = match scan.next(reader, &self.job.counters)?.1 {
                Next::Survivors(survivors) => survivors.count() as u64,
                Next::Nothing => continue,
                Next::End => break,
            };
            if self.count.fetch_add(count, Ordering::Relaxed).saturating_add(count) >= self.job.settings.limit {
                break;
            }
        }
        scan.finish(reader);
        Ok(())
    }
}
