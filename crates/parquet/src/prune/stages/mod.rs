//! Stages of pruning: the kinds of evidence in order, each used for the row groups that are left.

mod bloom;
mod dictionary;
mod page_index;
mod statistics;

use std::sync::Arc;

use lath_format::ColumnChunk;
use lath_predicate::{BoundPredicate, Test, ValueTest};

use super::bloom::KeyKind;
use super::column::PreparedColumn;
use super::decisive;
use super::options::Pruning;
use super::report::PruneReport;
use crate::file::ParquetFile;

pub(super) struct Stages<'a> {
    pub(super) file: &'a ParquetFile,
    pub(super) columns: &'a [PreparedColumn<'a>],
    pub(super) pruning: &'a Pruning,
    pub(super) report: &'a mut PruneReport,
    /// The tests of row groups, the predicate's first.
    tests: Vec<Arc<Test>>,
    remaining: Vec<Candidate>,
}

/// A row group that no evidence has ruled out so far. It is small, because there may be thousands.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    row_group: usize,
    /// Index in [`Stages::tests`].
    test: usize,
}

/// For a test that only looks up one key: the leaf whose filters can be probed, and the key.
pub(super) fn single_key<'t>(
    columns: &[PreparedColumn<'_>],
    test: &'t Test,
) -> Option<(usize, KeyKind, &'t ValueTest)> {
    let Test::Values { column, test } = test else { return None };
    let column = columns.get(*column)?;
    let has_one_key = !matches!(test, ValueTest::In(set) if set.values().len() > 1);
    let leaf = column.filter_leaf(test).filter(|_| has_one_key)?;
    Some((leaf, column.keys?, test))
}

/// For a predicate of one column that is true only for certain keys: the leaf whose filters can be probed.
pub(crate) fn key_leaf(file: &ParquetFile, predicate: &BoundPredicate) -> Option<(usize, KeyKind)> {
    let [column] = predicate.columns.as_slice() else { return None };
    let prepared = PreparedColumn::new(file, column);
    let mut leaves = Vec::new();
    let has_keys = decisive::collect_decisive(&predicate.test, &|_, test| prepared.filter_leaf(test), &mut leaves);
    let (_, leaf) = leaves.first().filter(|_| has_keys)?;
    Some((*leaf, prepared.keys?))
}

impl<'a> Stages<'a> {
    pub(super) fn new(
        file: &'a ParquetFile,
        columns: &'a [PreparedColumn<'a>],
        predicate: &BoundPredicate,
        pruning: &'a Pruning,
        report: &'a mut PruneReport,
    ) -> Self {
        let test = Arc::new(predicate.test.clone().simplify());
        Self { file, columns, pruning, report, tests: vec![test], remaining: Vec::new() }
    }

    /// Retains a row group for the next kind of evidence, with a simplified test if there is one.
    fn retain(&mut self, candidate: Candidate, simplified: Option<Test>) {
        let test = match simplified {
            None => candidate.test,
            Some(test) if self.tests.last().is_some_and(|last| **last == test) => self.tests.len() - 1,
            Some(test) => {
                self.tests.push(Arc::new(test));
                self.tests.len() - 1
            }
        };
        self.remaining.push(Candidate { test, ..candidate });
    }

    /// The leaf whose filters can be probed for the keys of a test.
    fn filter_leaf(&self, column: usize, test: &ValueTest) -> Option<usize> {
        self.columns.get(column)?.filter_leaf(test)
    }

    fn chunk(&self, row_group: usize, leaf: usize) -> Option<ColumnChunk<'a>> {
        self.file.metadata().chunk(row_group, leaf).ok()
    }

    fn row_count(&self, candidate: Candidate) -> u64 {
        self.file.row_group_row_counts()[candidate.row_group]
    }
}
