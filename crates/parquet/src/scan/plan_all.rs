//! Planning all files of a scan at once.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use super::job::{Job, Work, panicked};
use super::task::{How, ScanPlan, ScanTask};
use crate::error::Result;

/// Plans all files of `job` on some threads.
pub(super) fn plan_all(job: Job, threads: usize) -> Result<ScanPlan> {
    let planner = match job.work {
        Work::Files(ref planner) => Arc::clone(planner),
        Work::Tasks(tasks) => return Ok(ScanPlan::new(Arc::clone(&job.target.schema), tasks, job.limit)),
    };
    let how = How { batch_size: job.batch_size, verify_crc: job.verify_crc };
    let files = planner.file_count();
    let next = AtomicUsize::new(0);
    let planned = Mutex::new(Vec::new());
    let plan_file = |file: usize| -> Result<Vec<ScanTask>> {
        let left = planner.plan_one(file, &job.counters)?;
        let Some(first) = left.first() else { return Ok(Vec::new()) };
        // Without what counts and reads ahead, which belongs to whoever runs the task.
        let again = planner.dataset.files()[file].open()?;
        let is_same = Arc::ptr_eq(again.metadata(), first.file.metadata());
        let open = if is_same { again } else { first.file.clone() };
        Ok(left.into_iter().map(|planned| ScanTask::new(planned, open.clone(), how)).collect())
    };
    let work = || {
        while let file = next.fetch_add(1, Ordering::Relaxed)
            && file < files
        {
            let tasks = plan_file(file);
            let failed = tasks.is_err();
            planned.lock().unwrap_or_else(PoisonError::into_inner).push((file, tasks));
            if failed {
                next.store(files, Ordering::Relaxed);
            }
        }
    };
    let panics = thread::scope(|scope| {
        // A thread that cannot be had is done without.
        let spawn = |_| thread::Builder::new().name("lath-plan".into()).spawn_scoped(scope, work).ok();
        let threads: Vec<_> = (1..threads.max(planner.dataset.concurrency()).min(files)).filter_map(spawn).collect();
        work();
        threads.into_iter().any(|thread| thread.join().is_err())
    });
    if panics {
        return Err(panicked());
    }
    let mut planned = planned.into_inner().unwrap_or_else(PoisonError::into_inner);
    planned.sort_unstable_by_key(|(file, _)| *file);
    let tasks = planned.into_iter().map(|(_, tasks)| tasks).collect::<Result<Vec<_>>>()?.concat();
    let plan = ScanPlan::new(Arc::clone(&job.target.schema), tasks, job.limit);
    Ok(plan.with_report(job.counters.report()))
}
