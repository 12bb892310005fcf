//! Prunes by the page index.

use std::ops::Range;
use std::sync::Arc;

use lath_predicate::Test;

use super::{Candidate, Stages};
use crate::error::Result;
use crate::prune::Surviving;
use crate::prune::page_index;
use crate::prune::report::PrunedCounts;
use crate::prune::thresholds::MAX_ROW_GROUPS_READ_TOGETHER;

impl Stages<'_> {
    /// Rules out pages, and adds the remaining rows to `surviving`.
    pub(in crate::prune) fn page_index(&mut self, surviving: &mut Vec<Surviving>) -> Result<()> {
        let candidates = std::mem::take(&mut self.remaining);
        surviving.reserve(candidates.len());
        for batch in candidates.chunks(MAX_ROW_GROUPS_READ_TOGETHER) {
            self.test_pages(batch, surviving)?;
        }
        Ok(())
    }

    fn test_pages(&mut self, batch: &[Candidate], surviving: &mut Vec<Surviving>) -> Result<()> {
        let mut chunks = Vec::new();
        if self.pruning.page_index {
            let mut columns = Vec::new();
            for candidate in batch {
                columns.clear();
                self.collect_columns(&self.tests[candidate.test], &mut columns);
                chunks.extend(columns.iter().map(|&(column, leaf)| (candidate.row_group, column, leaf)));
            }
        }
        let indexes = page_index::read(self.file, &chunks)?;
        let mut indexes = indexes.as_slice();
        for &candidate in batch {
            let own_count = indexes.iter().take_while(|index| index.row_group == candidate.row_group).count();
            let (own, rest) = indexes.split_at(own_count);
            indexes = rest;
            let (row_group, row_count) = (candidate.row_group, self.row_count(candidate));
            let mut test = Arc::clone(&self.tests[candidate.test]);
            let mut rows: Vec<Range<u64>> = std::iter::once(0..row_count).collect();
            if let Some(possible) = page_index::possible_rows(&test, self.columns, own, row_count) {
                rows = possible.rows;
                let left: u64 = rows.iter().map(|range| range.end - range.start).sum();
                self.report.page_index += match left {
                    0 => PrunedCounts { row_groups: 1, pages: 0, rows: row_count },
                    _ => PrunedCounts { row_groups: 0, pages: possible.pruned_pages, rows: row_count - left },
                };
                if left == 0 {
                    continue;
                }
                test = possible.test.map_or(test, Arc::new);
            }
            surviving.push(Surviving { row_group, rows, test });
        }
        Ok(())
    }

    /// Adds the columns, with their leaves, whose page indexes may have evidence for `test`.
    fn collect_columns(&self, test: &Test, columns: &mut Vec<(usize, usize)>) {
        match test {
            Test::All(tests) | Test::Any(tests) => tests.iter().for_each(|test| self.collect_columns(test, columns)),
            Test::Not(test) | Test::Is(test, _) => self.collect_columns(test, columns),
            Test::Values { column, test } => {
                let prepared = self.columns.get(*column).filter(|prepared| prepared.applies_to(test));
                if let Some(leaf) = prepared.and_then(|prepared| prepared.column.leaf)
                    && !columns.contains(&(*column, leaf))
                {
                    columns.push((*column, leaf));
                }
            }
            Test::Constant(_) | Test::Columns { .. } => {}
        }
    }
}
