use std::time::Duration;

use crate::prune::PruneReport;

/// What a scan has done: so far, or when it has ended.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ScanReport {
    /// Files of the dataset.
    pub files: u64,
    /// Files that were not opened, since the values of their partition rule them out.
    pub files_pruned: u64,
    /// Files that were opened.
    pub files_opened: u64,
    /// What was ruled out in those, by each kind of evidence.
    pub pruned: PruneReport,
    /// What a [dynamic filter](crate::DynamicFilter) has ruled out since, of what was left of these row groups.
    pub pruned_dynamically: PruneReport,
    /// Row groups that were left to look at.
    pub row_groups: u64,
    /// Rows that were left to look at.
    pub rows: u64,
    /// Rows that were looked at so far.
    pub rows_tested: u64,
    /// Rows of these for which the predicate is true. With a limit, more may be found than are handed out.
    pub rows_found: u64,
    /// Bytes that were read of the files; footers that were read to open them are not counted.
    pub bytes_read: u64,
    /// Requests that read them.
    pub requests: u64,
    /// Where the time went.
    pub times: ScanTimes,
}

/// Where the time of a scan went: of all its threads together, but for the time that has passed.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ScanTimes {
    /// Opening files.
    pub open: Duration,
    /// Pruning.
    pub prune: Duration,
    /// Reading the columns of the predicate, and asking it.
    pub test: Duration,
    /// Reading the other columns, and making batches.
    pub fetch: Duration,
    /// Since the scan was built.
    pub elapsed: Duration,
}
