//! Scans that another process can read.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use datafusion::common::Result;
use datafusion::datasource::source::DataSourceExec;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::metrics::MetricsSet;
use lath_parquet::ScanTask;

use crate::scan::LathSource;

/// A scan of files, whose tasks any process can read that may open the files.
#[derive(Debug, Clone)]
pub struct RemoteScan {
    source: LathSource,
}

/// Says why the file of a task must not be opened; `None` if it may.
pub type FileRefusal = Arc<dyn Fn(&ScanTask) -> Option<String> + Send + Sync>;

impl RemoteScan {
    /// The scan that a plan is; `None` for all other plans.
    pub fn of(plan: &Arc<dyn ExecutionPlan>) -> Option<Self> {
        let exec = plan.downcast_ref::<DataSourceExec>()?;
        exec.data_source().downcast_ref::<LathSource>().cloned().map(|source| Self { source })
    }

    /// The tasks, in the order of the scan's rows.
    pub fn tasks(&self) -> &[ScanTask] {
        self.source.plan.tasks()
    }

    /// Number of partitions that read tasks at the same time.
    pub fn partitions(&self) -> usize {
        self.source.partitions
    }

    /// The maximum number of rows that each partition returns, if there is one.
    pub fn fetch(&self) -> Option<usize> {
        self.source.fetch
    }

    /// Adds what another process counted while it read all tasks of this scan: to the counters of the scan it is a part of.
    pub fn add_counters(&self, counters: &MetricsSet) {
        counters.iter().for_each(|counter| self.source.metrics.register(Arc::clone(counter)));
        self.source.rows_done.fetch_add(self.source.plan.row_count(), Ordering::Relaxed);
    }

    /// The scan of some tasks, by their indices, in a number of partitions.
    ///
    /// # Errors
    /// If there is no task with an index.
    pub fn with_tasks(&self, tasks: &[usize], partitions: usize) -> Result<Arc<dyn ExecutionPlan>> {
        let plan = self.source.plan.only(tasks).map_err(crate::error::external)?;
        Ok(DataSourceExec::from_data_source(LathSource { plan: Arc::new(plan), partitions, ..self.source.clone() }))
    }
}
