//! What pruning has ruled out, by kind of evidence.

use std::ops::AddAssign;

/// What one kind of evidence has ruled out.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Row groups without a remaining row.
    pub row_groups: u64,
    /// Pages without a remaining row, in row groups that have some; of all columns whose indexes were read.
    pub pages: u64,
    /// Rows, in row groups and in pages.
    pub rows: u64,
}

/// What pruning has ruled out, in the order in which evidence is used.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PruneReport {
    /// Row groups that were considered.
    pub row_groups: u64,
    /// Their rows.
    pub rows: u64,
    /// By statistics of column chunks, and by conditions that are false for any row.
    pub statistics: Pruned,
    /// By Bloom filters.
    pub bloom: Pruned,
    /// By dictionary pages.
    pub dictionary: Pruned,
    /// By the page index.
    pub page_index: Pruned,
}

impl Pruned {
    pub(super) fn add_row_group(&mut self, rows: u64) {
        self.row_groups += 1;
        self.rows += rows;
    }
}

impl PruneReport {
    /// Of row groups of so many rows, all of them ruled out by their Bloom filters.
    pub(super) fn ruled_out_by_filters(row_counts: &[u64]) -> Self {
        let mut report = Self { row_groups: row_counts.len() as u64, rows: row_counts.iter().sum(), ..Self::default() };
        row_counts.iter().for_each(|rows| report.bloom.add_row_group(*rows));
        report
    }
}

impl AddAssign for Pruned {
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
