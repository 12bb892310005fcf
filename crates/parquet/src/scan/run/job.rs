//! The work of a scan, and the schema of its result.

use std::ops::Range;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::runtime::Runtime;
use crate::scan::columns::Target;
use crate::scan::dynamic::DynamicFilter;
use crate::scan::monitor::{Cancel, Counters};
use crate::scan::planner::{PlannedRowGroup, Planner};
use crate::scan::task::ScanTask;

/// A scan, fixed before it starts.
#[derive(Debug)]
pub(in crate::scan) struct Job {
    pub(in crate::scan) work: Work,
    pub(in crate::scan) settings: Settings,
    pub(in crate::scan) runtime: Runtime,
    pub(in crate::scan) target: Arc<Target>,
    pub(in crate::scan) counters: Arc<Counters>,
}

/// Settings of running a scan.
#[derive(Debug, Clone)]
pub(in crate::scan) struct Settings {
    pub(in crate::scan) limit: u64,
    pub(in crate::scan) batch_size: usize,
    pub(in crate::scan) verify_crc: bool,
    pub(in crate::scan) unordered: bool,
    pub(in crate::scan) by_column: bool,
    pub(in crate::scan) memory_budget_bytes: usize,
    pub(in crate::scan) filter: Option<DynamicFilter>,
    pub(in crate::scan) cancel: Cancel,
}

/// The units of a scan: files or tasks. Each is planned when the scan reaches it, and becomes some row groups.
#[derive(Debug)]
pub(in crate::scan) enum Work {
    /// Files that are planned as the scan reaches them.
    Files(Arc<Planner>),
    /// Tasks that were planned before, one row group each.
    Tasks(Vec<ScanTask>),
}

impl Job {
    /// Number of files, or of tasks.
    pub(in crate::scan) fn unit_count(&self) -> usize {
        match &self.work {
            Work::Files(planner) => planner.file_count(),
            Work::Tasks(tasks) => tasks.len(),
        }
    }

    /// Whether opening a unit may wait for I/O, so that threads take one at a time.
    pub(in crate::scan) fn waits_for_units(&self) -> bool {
        match &self.work {
            Work::Files(planner) => planner.dataset.concurrency() > 1,
            Work::Tasks(_) => true,
        }
    }

    /// The planner of a scan whose threads share the columns of a row group.
    pub(in crate::scan) fn by_column(&self) -> Option<&Arc<Planner>> {
        match &self.work {
            Work::Files(planner)
                if self.settings.by_column && !self.settings.unordered && self.settings.filter.is_none() =>
            {
                let has_deleted = || planner.dataset.files().iter().any(|file| file.deleted().is_some());
                let reads_all = planner.query.predicate.is_none() && planner.query.deleted.is_empty();
                (reads_all && !has_deleted()).then_some(planner)
            }
            _ => None,
        }
    }

    /// Plans several units.
    pub(in crate::scan) fn plan_units(&self, units: Range<usize>) -> Vec<Result<Vec<PlannedRowGroup>>> {
        match &self.work {
            Work::Files(planner) => planner.plan_files(units, &self.counters),
            Work::Tasks(tasks) => tasks[units].iter().map(|task| self.plan_task(task)).collect(),
        }
    }

    /// Plans one unit.
    pub(in crate::scan) fn plan_unit(&self, unit: usize) -> Result<Vec<PlannedRowGroup>> {
        match &self.work {
            Work::Files(planner) => planner.plan_one(unit, &self.counters),
            Work::Tasks(tasks) => self.plan_task(&tasks[unit]),
        }
    }

    /// Applies the current dynamic filter to a row group; `None` if no row remains.
    pub(in crate::scan) fn narrow(&self, planned: PlannedRowGroup) -> Result<Option<PlannedRowGroup>> {
        let newer = self.settings.filter.as_ref().and_then(|filter| filter.newer_than(planned.narrowing));
        let Some(narrowing) = newer else { return Ok(Some(planned)) };
        let planner = Arc::clone(&planned.planner);
        let file = planned.file.clone();
        planner.narrow(planned, &narrowing, &self.counters).map_err(|error| file.locate(error))
    }

    /// Whether the dynamic filter has changed since it was applied to `planned`.
    pub(in crate::scan) fn has_newer_filter(&self, planned: &PlannedRowGroup) -> bool {
        self.settings.filter.as_ref().is_some_and(|filter| filter.newer_than(planned.narrowing).is_some())
    }

    fn plan_task(&self, task: &ScanTask) -> Result<Vec<PlannedRowGroup>> {
        self.settings.cancel.check()?;
        Ok(vec![task.start(&self.counters)?])
    }
}

/// The error of a thread that panicked: a bug in Lath, which the caller gets instead of waiting forever.
pub(in crate::scan) fn panicked() -> Error {
    Error::internal("a scanning thread panicked")
}
