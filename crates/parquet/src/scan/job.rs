//! The work of a scan, and the form of its result.

use std::ops::Range;
use std::sync::Arc;

use super::cancel::Cancel;
use super::counters::Counters;
use super::dynamic::DynamicFilter;
use super::planner::{Planned, Planner};
use super::target::Target;
use super::task::ScanTask;
use crate::error::{Error, Result};
use crate::runtime::Runtime;

/// Everything that is decided before a scan starts.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) work: Work,
    pub(super) batch_size: usize,
    pub(super) limit: u64,
    pub(super) verify_crc: bool,
    pub(super) unordered: bool,
    pub(super) by_column: bool,
    pub(super) memory_budget_bytes: usize,
    pub(super) filter: Option<DynamicFilter>,
    pub(super) runtime: Runtime,
    pub(super) cancel: Cancel,
    pub(super) target: Arc<Target>,
    pub(super) counters: Arc<Counters>,
}

/// The units of a scan, files or tasks. Each is planned when the scan reaches it, and becomes some row groups.
#[derive(Debug)]
pub(super) enum Work {
    /// Files that are planned as the scan reaches them.
    Files(Arc<Planner>),
    /// Tasks that were planned before, one row group each.
    Tasks(Vec<ScanTask>),
}

impl Job {
    /// Number of files, or of tasks.
    pub(super) fn unit_count(&self) -> usize {
        match &self.work {
            Work::Files(planner) => planner.file_count(),
            Work::Tasks(tasks) => tasks.len(),
        }
    }

    /// Whether each unit may have to be waited for, so that threads take one at a time.
    pub(super) fn waits_for_units(&self) -> bool {
        match &self.work {
            Work::Files(planner) => planner.dataset.concurrency() > 1,
            Work::Tasks(_) => true,
        }
    }

    /// The planner of a scan whose threads share the columns of a row group.
    pub(super) fn by_column(&self) -> Option<&Arc<Planner>> {
        match &self.work {
            Work::Files(planner) if self.by_column && !self.unordered && self.filter.is_none() => {
                (planner.predicate.is_none() && planner.deleted.is_empty()).then_some(planner)
            }
            _ => None,
        }
    }

    /// Plans several units.
    pub(super) fn plan_units(&self, units: Range<usize>) -> Vec<Result<Vec<Planned>>> {
        match &self.work {
            Work::Files(planner) => planner.plan_files(units, &self.counters),
            Work::Tasks(tasks) => tasks[units].iter().map(|task| self.plan_task(task)).collect(),
        }
    }

    /// Plans one unit.
    pub(super) fn plan_unit(&self, unit: usize) -> Result<Vec<Planned>> {
        match &self.work {
            Work::Files(planner) => planner.plan_one(unit, &self.counters),
            Work::Tasks(tasks) => self.plan_task(&tasks[unit]),
        }
    }

    /// Applies the current dynamic filter to a row group; `None` if no row remains.
    pub(super) fn narrow(&self, planned: Planned) -> Result<Option<Planned>> {
        let newer = self.filter.as_ref().and_then(|filter| filter.newer_than(planned.narrowing));
        let Some(narrowing) = newer else { return Ok(Some(planned)) };
        let planner = Arc::clone(&planned.planner);
        let file = planned.file.clone();
        planner.narrow(planned, &narrowing, &self.counters).map_err(|error| file.locate(error))
    }

    /// Whether the dynamic filter has changed since it was applied to `planned`.
    pub(super) fn has_newer_filter(&self, planned: &Planned) -> bool {
        self.filter.as_ref().is_some_and(|filter| filter.newer_than(planned.narrowing).is_some())
    }

    fn plan_task(&self, task: &ScanTask) -> Result<Vec<Planned>> {
        self.cancel.check()?;
        Ok(vec![task.start(&self.counters)?])
    }
}

/// The error of a thread that panicked: a bug of ours, which the caller gets instead of waiting forever.
pub(super) fn panicked() -> Error {
    Error::internal("a scanning thread panicked")
}
