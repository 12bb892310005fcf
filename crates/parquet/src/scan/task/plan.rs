use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use arrow_schema::SchemaRef;

use super::{How, ScanTask};
use crate::dataset::DatasetOptions;
use crate::error::{Error, Result};
use crate::scan::builder::Scan;
use crate::scan::job::{Job, Work, panicked};
use crate::scan::report::ScanReport;

/// All tasks of a scan, in the order of its rows.
///
/// Like a task, a plan can be written down with `serde`: what all tasks have in common is written once.
#[derive(Clone)]
pub struct ScanPlan {
    schema: SchemaRef,
    pub(super) tasks: Vec<ScanTask>,
    pub(super) limit: u64,
    report: ScanReport,
}

impl ScanPlan {
    pub(super) fn new(schema: SchemaRef, tasks: Vec<ScanTask>, limit: u64) -> Self {
        Self { schema, tasks, limit, report: ScanReport::default() }
    }

    /// Plans all files of `job` on some threads.
    pub(in crate::scan) fn of_job(job: Job, threads: usize) -> Result<Self> {
        let planner = match job.work {
            Work::Files(ref planner) => Arc::clone(planner),
            Work::Tasks(tasks) => return Ok(Self::new(Arc::clone(&job.target.schema), tasks, job.limit)),
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
            let threads: Vec<_> =
                (1..threads.max(planner.dataset.concurrency()).min(files)).filter_map(spawn).collect();
            work();
            threads.into_iter().any(|thread| thread.join().is_err())
        });
        if panics {
            return Err(panicked());
        }
        let mut planned = planned.into_inner().unwrap_or_else(PoisonError::into_inner);
        planned.sort_unstable_by_key(|(file, _)| *file);
        let tasks = planned.into_iter().map(|(_, tasks)| tasks).collect::<Result<Vec<_>>>()?.concat();
        let plan = Self::new(Arc::clone(&job.target.schema), tasks, job.limit);
        Ok(Self { report: job.counters.report(), ..plan })
    }

    /// The schema of the batches.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The tasks.
    pub fn tasks(&self) -> &[ScanTask] {
        &self.tasks
    }

    /// The tasks, to be shared out.
    pub fn into_tasks(self) -> Vec<ScanTask> {
        self.tasks
    }

    /// The rows that are enough, if the scan had a limit: of all tasks together.
    pub fn limit(&self) -> Option<u64> {
        (self.limit < u64::MAX).then_some(self.limit)
    }

    /// Number of rows that are looked at: the most that the tasks give.
    pub fn row_count(&self) -> u64 {
        self.tasks.iter().map(ScanTask::row_count).sum::<u64>().min(self.limit)
    }

    /// Whether the tasks give exactly [`ScanPlan::row_count`] rows.
    pub fn is_exact(&self) -> bool {
        self.tasks.iter().all(ScanTask::is_exact)
    }

    /// About how many bytes of files are read, compressed.
    pub fn byte_count(&self) -> u64 {
        self.tasks.iter().map(ScanTask::byte_count).sum()
    }

    /// What planning has done; nothing where the plan was read from its written form.
    pub fn report(&self) -> ScanReport {
        self.report
    }

    /// Starts to say how all tasks are run.
    ///
    /// # Errors
    /// As [`Scan::of_tasks`].
    pub fn scan(&self) -> Result<Scan> {
        if self.tasks.is_empty() {
            return Ok(Scan::of_nothing(&self.schema));
        }
        Ok(Scan::of_tasks(self.tasks.iter().cloned())?.limit(self.limit))
    }

    /// The same plan, its files opened with `options`; see [`ScanTask::open_with`].
    ///
    /// # Errors
    /// As [`ScanTask::open_with`].
    pub fn open_with(&self, options: &DatasetOptions) -> Result<Self> {
        let Some(first) = self.tasks.first() else { return Ok(self.clone()) };
        if self.tasks.iter().any(|task| !Arc::ptr_eq(&task.planner, &first.planner)) {
            return Err(Error::internal("a plan with tasks of another"));
        }
        let versions: Vec<_> = self.tasks.iter().map(|task| (task.file, task.version.clone())).collect();
        let planner = Arc::new(first.planner.open_with(options, &versions)?);
        let open = |task: &ScanTask| ScanTask { planner: Arc::clone(&planner), open: None, ..task.clone() };
        Ok(Self { tasks: self.tasks.iter().map(open).collect(), ..self.clone() })
    }
}

impl fmt::Debug for ScanPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScanPlan")
            .field("tasks", &self.tasks.len())
            .field("rows", &self.row_count())
            .field("schema", &self.schema)
            .finish_non_exhaustive()
    }
}
