use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use datafusion::datasource::source::DataSourceExec;
use datafusion::physical_plan::ExecutionPlan;

use crate::source::LathSource;

/// How far the scans of a query are.
#[derive(Clone)]
pub struct QueryProgress {
    plan: Arc<dyn ExecutionPlan>,
}

impl QueryProgress {
    pub(crate) fn new(plan: &Arc<dyn ExecutionPlan>) -> Self {
        Self { plan: Arc::clone(plan) }
    }

    /// Rows of the row groups that are done, and of all row groups that were left when the query was planned. A query that needs few of
    /// them ends before all are done.
    pub fn rows(&self) -> (u64, u64) {
        fn add(plan: &Arc<dyn ExecutionPlan>, done: &mut u64, total: &mut u64) {
            if let Some(source) = plan.downcast_ref::<DataSourceExec>()
                && let Some(source) = source.data_source().downcast_ref::<LathSource>()
            {
                *done += source.rows_done.load(Ordering::Relaxed);
                *total += source.plan.row_count();
            }
            for child in plan.children() {
                add(child, done, total);
            }
        }
        let (mut done, mut total) = (0, 0);
        add(&self.plan, &mut done, &mut total);
        (done, total)
    }
}

impl fmt::Debug for QueryProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueryProgress").field("rows", &self.rows()).finish_non_exhaustive()
    }
}
