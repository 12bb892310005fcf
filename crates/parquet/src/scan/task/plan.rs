use std::fmt;
use std::sync::Arc;

use arrow_schema::SchemaRef;

use super::ScanTask;
use crate::dataset::DatasetOptions;
use crate::error::{Error, Result};
use crate::scan::monitor::ScanReport;
use crate::scan::planner::Planner;

/// All tasks of a scan, in the order of its rows.
///
/// Like a task, a plan can be serialized with `serde`: the part that all tasks share is written once.
#[derive(Clone)]
pub struct ScanPlan {
    pub(super) schema: SchemaRef,
    pub(super) tasks: Vec<ScanTask>,
    pub(super) limit: u64,
    pub(super) report: ScanReport,
}

impl ScanPlan {
    pub(in crate::scan) fn new(schema: SchemaRef, tasks: Vec<ScanTask>, limit: u64) -> Self {
        Self { schema, tasks, limit, report: ScanReport::default() }
    }

    /// The plan with a report of planning.
    pub(in crate::scan) fn with_report(self, report: ScanReport) -> Self {
        Self { report, ..self }
    }

    /// The plan with other tasks.
    pub(super) fn with_tasks(&self, tasks: Vec<ScanTask>) -> Self {
        Self { schema: Arc::clone(&self.schema), tasks, limit: self.limit, report: self.report }
    }

    /// The schema of the batches.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The tasks.
    pub fn tasks(&self) -> &[ScanTask] {
        &self.tasks
    }

    /// The tasks, by value.
    pub fn into_tasks(self) -> Vec<ScanTask> {
        self.tasks
    }

    /// The limit of the scan, if it had one: of all tasks together.
    pub fn limit(&self) -> Option<u64> {
        (self.limit < u64::MAX).then_some(self.limit)
    }

    /// The plan of some of its tasks, by their indices.
    ///
    /// ```
    /// # let trips = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/data/trips");
    /// use lath_parquet::{Dataset, DatasetOptions};
    ///
    /// let plan = Dataset::open([trips], DatasetOptions::new())?.scan().plan()?;
    /// let first = plan.only(&[0])?;
    /// assert_eq!(first.tasks().len(), 1);
    /// # Ok::<(), lath_parquet::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there is no task with an index.
    pub fn only(&self, tasks: &[usize]) -> Result<Self> {
        let task = |&index: &usize| {
            let task = self.tasks.get(index).cloned();
            task.ok_or_else(|| Error::invalid(format!("there is no task {index}: the plan has {}", self.tasks.len())))
        };
        Ok(self.with_tasks(tasks.iter().map(task).collect::<Result<_>>()?))
    }

    /// Number of rows that the tasks read: the maximum that they return.
    pub fn row_count(&self) -> u64 {
        self.tasks.iter().map(ScanTask::row_count).sum::<u64>().min(self.limit)
    }

    /// Whether the tasks return exactly [`ScanPlan::row_count`] rows.
    pub fn is_exact(&self) -> bool {
        self.tasks.iter().all(ScanTask::is_exact)
    }

    /// Estimate of the bytes to read from files, compressed.
    pub fn byte_count(&self) -> u64 {
        self.tasks.iter().map(ScanTask::byte_count).sum()
    }

    /// Report of planning; empty for a deserialized plan.
    pub fn report(&self) -> ScanReport {
        self.report
    }

    /// A copy of the plan whose files are opened with `options`; see [`ScanTask::open_with`].
    ///
    /// # Errors
    /// As [`ScanTask::open_with`].
    pub fn open_with(&self, options: &DatasetOptions) -> Result<Self> {
        let Some(planner) = self.planner()? else { return Ok(self.clone()) };
        let versions: Vec<_> = self.tasks.iter().map(|task| (task.file, task.version.clone())).collect();
        let planner = Arc::new(planner.open_with(options, &versions)?);
        let open = |task: &ScanTask| ScanTask { planner: Arc::clone(&planner), open: None, ..task.clone() };
        Ok(self.with_tasks(self.tasks.iter().map(open).collect()))
    }

    /// The planner that all tasks share; `None` without tasks.
    pub(super) fn planner(&self) -> Result<Option<&Arc<Planner>>> {
        let first = self.tasks.first().map(|task| &task.planner);
        let is_first = |task: &ScanTask| first.is_some_and(|first| Arc::ptr_eq(&task.planner, first));
        match self.tasks.iter().all(is_first) {
            true => Ok(first),
            false => Err(Error::internal("a plan with tasks of another")),
        }
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
