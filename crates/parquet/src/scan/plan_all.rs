//! Planning all files of a scan at once.

use std::sync::Arc;

use super::counters::Planning;
use super::job::{Job, Work};
use super::task::{How, ScanPlan, ScanTask};
use crate::error::Result;
use crate::on_threads;

/// Plans all files of `job` on some threads.
pub(super) fn plan_all(job: Job, threads: usize) -> Result<ScanPlan> {
    let planner = match job.work {
        Work::Files(planner) => planner,
        Work::Tasks(tasks) => return Ok(ScanPlan::new(Arc::clone(&job.target.schema), tasks, job.limit)),
    };
    let how = How { batch_size: job.batch_size, verify_crc: job.verify_crc };
    let plan_file = |index: usize| {
        let mut planning = Planning::default();
        let open = planner.open(index, &mut planning);
        job.counters.add_planning(&planning);
        match open? {
            Some(file) => ScanTask::of_file(&planner, index, &file, file.source(), how, &job.counters),
            None => Ok(Vec::new()),
        }
    };
    let threads = threads.max(planner.dataset.concurrency());
    let tasks = on_threads::each(planner.file_count(), threads, "lath-plan", plan_file);
    let tasks = tasks.into_iter().collect::<Result<Vec<_>>>()?.concat();
    Ok(ScanPlan::new(Arc::clone(&job.target.schema), tasks, job.limit).with_report(job.counters.report()))
}
