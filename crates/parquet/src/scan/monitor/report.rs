use std::time::Duration;

use crate::prune::PruneReport;

/// Report of a scan, running or ended.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ScanReport {
    /// Files of the dataset.
    pub files: u64,
    /// Files that were not opened, because their partition values or the table's evidence rule them out.
    pub files_pruned: u64,
    /// Files that were opened.
    pub files_opened: u64,
    /// Row groups and rows that were ruled out, by each kind of evidence.
    pub pruned: PruneReport,
    /// Row groups and rows that a [dynamic filter](crate::DynamicFilter) ruled out later.
    pub pruned_dynamically: PruneReport,
    /// Row groups left after pruning.
    pub row_groups: u64,
    /// Rows left after pruning.
    pub rows: u64,
    /// Rows tested so far.
    pub rows_tested: u64,
    /// Tested rows for which the predicate is true. With a limit, more may be found than are returned.
    pub rows_found: u64,
    /// Bytes read from the files, without the footers that were read to open them.
    pub bytes_read: u64,
    /// Requests that read them.
    pub requests: u64,
    /// Time by stage.
    pub times: ScanTimes,
}

/// Time of a scan by stage: the sum over all its threads, except for the elapsed time.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ScanTimes {
    /// Opening files.
    pub open: Duration,
    /// Pruning.
    pub prune: Duration,
    /// Reading the columns of the predicate, and testing them.
    pub test: Duration,
    /// Reading the other columns, and building batches.
    pub fetch: Duration,
    /// Since the scan was built.
    pub elapsed: Duration,
}
