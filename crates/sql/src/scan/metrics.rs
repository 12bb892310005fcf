//! Reports counters of scans as DataFusion's metrics.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use datafusion::physical_plan::metrics::{Count, ExecutionPlanMetricsSet, MetricBuilder};
use lath_parquet::ScanReport;

/// Reads one counter from a report.
type Counter = fn(&ScanReport) -> u64;

/// The metrics of one partition of a scan.
#[derive(Debug, Clone)]
pub(crate) struct ScanMetrics {
    counters: Vec<(Count, Counter)>,
    /// Rows of the tasks that are done, in all partitions.
    rows_done: Arc<AtomicU64>,
}

impl ScanMetrics {
    pub(crate) fn new(set: &ExecutionPlanMetricsSet, partition: usize, rows_done: &Arc<AtomicU64>) -> Self {
        let counters: [(&'static str, Counter); 9] = [
            ("row_groups_read", |report| report.row_groups),
            ("row_groups_pruned_dynamically_statistics", |report| report.pruned_dynamically.statistics.row_groups),
            ("row_groups_pruned_dynamically_bloom", |report| report.pruned_dynamically.bloom.row_groups),
            ("row_groups_pruned_dynamically_dictionary", |report| report.pruned_dynamically.dictionary.row_groups),
            ("rows_pruned_dynamically_page_index", |report| report.pruned_dynamically.page_index.rows),
            ("rows_tested", |report| report.rows_tested),
            ("rows_found", |report| report.rows_found),
            ("bytes_read", |report| report.bytes_read),
            ("requests", |report| report.requests),
        ];
        let counter = |(name, of)| (MetricBuilder::new(set).counter(name, partition), of);
        Self { counters: counters.map(counter).to_vec(), rows_done: Arc::clone(rows_done) }
    }

    /// Adds the report of a task with `task_rows` rows.
    pub(crate) fn add(&self, report: &ScanReport, task_rows: u64) {
        self.rows_done.fetch_add(task_rows, Ordering::Relaxed);
        for (counter, of) in &self.counters {
            counter.add(usize::try_from(of(report)).unwrap_or(usize::MAX));
        }
    }
}

/// Adds the counters of planning, once for the whole scan.
pub(crate) fn add_planning(set: &ExecutionPlanMetricsSet, report: &ScanReport) {
    let pruned = &report.pruned;
    for (name, count) in [
        ("files_opened", report.files_opened),
        ("files_pruned_partitions", report.files_pruned),
        ("row_groups_pruned_statistics", pruned.statistics.row_groups),
        ("row_groups_pruned_bloom", pruned.bloom.row_groups),
        ("row_groups_pruned_dictionary", pruned.dictionary.row_groups),
        ("pages_pruned_page_index", pruned.page_index.pages),
    ] {
        MetricBuilder::new(set).global_counter(name).add(usize::try_from(count).unwrap_or(usize::MAX));
    }
}
