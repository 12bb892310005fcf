use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use datafusion::datasource::source::DataSourceExec;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::display::DisplayableExecutionPlan;
use datafusion::physical_plan::metrics::{MetricValue, MetricsSet};

use crate::scan::LathSource;

/// The progress of a query's scans.
#[derive(Clone)]
pub struct QueryProgress {
    plan: Arc<dyn ExecutionPlan>,
}

impl QueryProgress {
    pub(crate) fn new(plan: &Arc<dyn ExecutionPlan>) -> Self {
        Self { plan: Arc::clone(plan) }
    }

    /// The rows of completed row groups, and of all row groups that were left when the query was planned. A query that needs few rows ends
    /// before all are done.
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

impl QueryProgress {
    /// The plan with the metrics of its operators so far; at the end, the output of `EXPLAIN ANALYZE`.
    pub fn explain(&self) -> String {
        DisplayableExecutionPlan::with_metrics(self.plan.as_ref()).indent(true).to_string()
    }

    /// The counters of Lath's scans so far, summed over all scans, by the names in [`explain`](Self::explain).
    ///
    /// ```
    /// # let trips = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/data/trips");
    /// use lath_sql::{BlockingSession, Session};
    ///
    /// let session = BlockingSession::new(Session::new())?;
    /// let mut answer = session.run(&format!("SELECT * FROM '{trips}' WHERE started < '2025-01-10'"))?;
    /// let progress = answer.progress();
    /// answer.try_for_each(|batch| batch.map(drop))?;
    /// assert!(progress.counters()["row_groups_pruned_statistics"] > 0);
    /// # Ok::<(), lath_sql::Error>(())
    /// ```
    pub fn counters(&self) -> BTreeMap<String, u64> {
        fn add(plan: &Arc<dyn ExecutionPlan>, counters: &mut BTreeMap<String, u64>) {
            if let Some(source) = plan.downcast_ref::<DataSourceExec>()
                && source.data_source().is::<LathSource>()
            {
                for metric in plan.metrics().iter().flat_map(MetricsSet::iter) {
                    if let MetricValue::Count { name, count } = metric.value() {
                        *counters.entry(name.to_string()).or_default() += count.value() as u64;
                    }
                }
            }
            for child in plan.children() {
                add(child, counters);
            }
        }
        let mut counters = BTreeMap::new();
        add(&self.plan, &mut counters);
        counters
    }
}

impl fmt::Debug for QueryProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueryProgress").field("rows", &self.rows()).finish_non_exhaustive()
    }
}
