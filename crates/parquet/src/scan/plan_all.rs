//! Planning all files of a scan at once.

use std::sync::Arc;

use super::task::{How, ScanPlan, ScanTask};
use crate::error::Result;
use crate::on_threads;
use crate::scan::monitor::Planning;
use crate::scan::run::{Job, Work};

/// Plans the files of `job` on several threads: all, or as many from the start as certainly reach the limit.
pub(super) fn plan_all(job: Job, threads: usize) -> Result<ScanPlan> {
    let planner = match job.work {
        Work::Files(planner) => planner,
        Work::Tasks(tasks) => return Ok(ScanPlan::new(Arc::clone(&job.target.schema), tasks, job.settings.limit)),
    };
    let how = How { batch_size: job.settings.batch_size, verify_crc: job.settings.verify_crc };
    let plan_file = |index: usize| {
        let mut planning = Planning::default();
        let open = planner.open(index, &mut planning);
        job.counters.add_planning(&planning);
        match open? {
            Some(file) => ScanTask::for_file(&planner, index, &file, file.source(), how, &job.counters),
            None => Ok(Vec::new()),
        }
    };
    let threads = threads.max(planner.dataset.concurrency());
    let file_count = planner.file_count();
    let mut tasks: Vec<ScanTask> = Vec::new();
    let (mut planned, mut rows) = (0, 0);
    // With a limit: one file for each thread, then double the number each time.
    let mut next_count = if job.settings.limit == u64::MAX { file_count } else { threads.max(1) };
    while planned < file_count && rows < job.settings.limit {
        next_count = next_count.min(file_count - planned);
        let of_files = on_threads::each(next_count, threads, "lath-plan", |at| plan_file(planned + at));
        for task in of_files.into_iter().collect::<Result<Vec<_>>>()?.into_iter().flatten() {
            rows += if task.is_exact() { task.row_count() } else { 0 };
            tasks.push(task);
        }
        planned += next_count;
        next_count = planned;
    }
    Ok(ScanPlan::new(Arc::clone(&job.target.schema), tasks, job.settings.limit).with_report(job.counters.report()))
}
