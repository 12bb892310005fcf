//! Prunes by dictionary pages.

use std::ops::Range;
use std::sync::Arc;

use lath_predicate::{Test, ValueTest};

use super::{Candidate, Stages};
use crate::error::Result;
use crate::prune::column::PreparedColumn;
use crate::prune::decisive;
use crate::prune::dictionary::{self, DictionaryValues};
use crate::prune::outcomes::{Evidence, Outcomes, outcomes, simplify_with};
use crate::prune::thresholds::MAX_ROW_GROUPS_READ_TOGETHER;

impl Stages<'_> {
    /// Tests the values of dictionary pages.
    pub(in crate::prune) fn dictionary(&mut self) -> Result<()> {
        if !self.pruning.dictionary {
            return Ok(());
        }
        let candidates = std::mem::take(&mut self.remaining);
        for batch in candidates.chunks(MAX_ROW_GROUPS_READ_TOGETHER) {
            self.test_dictionaries(batch)?;
        }
        Ok(())
    }

    fn test_dictionaries(&mut self, batch: &[Candidate]) -> Result<()> {
        let tests: Vec<Arc<Test>> = batch.iter().map(|candidate| Arc::clone(&self.tests[candidate.test])).collect();
        let (mut ranges, mut wanted) = (Vec::new(), Vec::new());
        for (number, candidate) in batch.iter().enumerate() {
            let dictionary = |column: usize, test: &ValueTest| self.dictionary_range(candidate.row_group, column, test);
            let mut leaves = Vec::new();
            decisive::collect_decisive(&tests[number], &dictionary, &mut leaves);
            for ((column, test), range) in leaves {
                ranges.push(range);
                wanted.push((number, column, test));
            }
        }
        if ranges.is_empty() {
            self.remaining.extend_from_slice(batch);
            return Ok(());
        }
        let pages = self.file.read_many(&ranges)?;
        let mut evidence: Vec<LeafOutcomes<'_>> = batch.iter().map(|_| LeafOutcomes::default()).collect();
        for ((number, column, test), page) in wanted.into_iter().zip(pages) {
            let (row_group, Some(prepared)) = (batch[number].row_group, self.columns.get(column)) else { continue };
            if let Some(values) = DictionaryValues::decode(self.file, row_group, prepared, page) {
                let outcomes = values.outcomes(test, self.may_have_nulls(row_group, prepared));
                evidence[number].leaves.push((test, outcomes));
            }
        }
        for ((&candidate, evidence), test) in batch.iter().zip(evidence).zip(&tests) {
            if outcomes(test, &evidence).can_be_true() {
                self.retain(candidate, simplify_with(test, &evidence));
            } else {
                self.report.dictionary.add_row_group(self.row_count(candidate));
            }
        }
        Ok(())
    }

    /// The range of the dictionary page with evidence for a test, unless a filter was probed for it.
    fn dictionary_range(&self, row_group: usize, column: usize, test: &ValueTest) -> Option<Range<u64>> {
        let prepared = self.columns.get(column).filter(|prepared| prepared.applies_to(test))?;
        let chunk = self.chunk(row_group, prepared.column.leaf?)?;
        let was_probed =
            self.pruning.bloom && chunk.bloom_filter().is_some() && self.filter_leaf(column, test).is_some();
        if was_probed || matches!(test, ValueTest::IsNull | ValueTest::Always(_)) {
            return None;
        }
        dictionary::page_range(chunk, self.pruning).filter(|range| range.end <= self.file.source().len())
    }

    fn may_have_nulls(&self, row_group: usize, column: &PreparedColumn<'_>) -> bool {
        let is_required = column.descriptor.is_some_and(|descriptor| descriptor.max_def_level() == 0);
        let statistics = column.column.leaf.and_then(|leaf| self.chunk(row_group, leaf)?.statistics());
        !is_required && statistics.and_then(|statistics| statistics.null_count) != Some(0)
    }
}

/// The outcomes of some leaves of a test, identified by their address.
#[derive(Default)]
struct LeafOutcomes<'t> {
    leaves: Vec<(&'t ValueTest, Outcomes)>,
}

impl Evidence for LeafOutcomes<'_> {
    fn values(&self, _: usize, test: &ValueTest) -> Outcomes {
        let leaf = self.leaves.iter().find(|(leaf, _)| std::ptr::eq(*leaf, test));
        leaf.map_or(Outcomes::ANY, |(_, outcomes)| *outcomes)
    }
}
