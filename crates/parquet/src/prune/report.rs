//! Reports of pruning, by kind of evidence.

use std::ops::AddAssign;

/// Row groups, pages and rows that one kind of evidence ruled out.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PrunedCounts {
    /// Row groups without a remaining row.
    pub row_groups: u64,
    /// Pages without a remaining row, in row groups that have some; of all columns whose indexes were read.
    pub pages: u64,
    /// Rows, in row groups and in pages.
    pub rows: u64,
}

/// Report of pruning, in the order in which evidence is used.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PruneReport {
    /// Row groups that were considered.
    pub row_groups: u64,
    /// Their rows.
    pub rows: u64,
    /// By statistics of column chunks, and by conditions that are false for any row.
    pub statistics: PrunedCounts,
    /// By Bloom filters.
    pub bloom: PrunedCounts,
    /// By dictionary pages.
    pub dictionary: PrunedCounts,
    /// By the page index.
    pub page_index: PrunedCounts,
}

impl PrunedCounts {
    pub(super) fn add_row_group(&mut self, rows: u64) {
        self.row_groups += 1;
        self.rows += rows;
    }
}

impl PruneReport {
    /// The report for row groups with these row counts that are all ruled out by their Bloom filters.
    pub(super) fn ruled_out_by_filters(row_counts: &[u64]) -> Self {
        let mut report = Self { row_groups: row_counts.len() as u64, rows: row_counts.iter().sum(), ..Self::default() };
        row_counts.iter().for_each(|rows| report.bloom.add_row_group(*rows));
        report
    }
}

impl AddAssign for PrunedCounts {
    fn add_assign(&mut self, other: Self) {
        self.row_groups += other.row_groups;
        self.pages += other.pages;
        self.rows += other.rows;
    }
}

impl AddAssign for PruneReport {
    fn add_assign(&mut self, other: Self) {
        self.row_groups += other.row_groups;
        self.rows += other.rows;
        self.statistics += other.statistics;
        self.bloom += other.bloom;
        self.dictionary += other.dictionary;
        self.page_index += other.page_index;
    }
}
