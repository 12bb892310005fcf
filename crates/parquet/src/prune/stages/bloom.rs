//! Prunes by Bloom filters.

use std::sync::Arc;

use lath_predicate::{Test, ValueSet, ValueTest};

use super::{Candidate, Stages};
use crate::error::Result;
use crate::prune::bloom::{self, Keys, Lookup, ProbeResults};
use crate::prune::decisive::{self, Leaf};

impl Stages<'_> {
    /// Probes Bloom filters for the keys of decisive leaves.
    pub(in crate::prune) fn bloom(&mut self) -> Result<()> {
        if !self.pruning.bloom || self.columns.iter().all(|column| column.keys.is_none()) {
            return Ok(());
        }
        let candidates = std::mem::take(&mut self.remaining);
        // Row groups share their test unless statistics have decided different parts of it.
        for group in candidates.chunk_by(|one, next| one.test == next.test) {
            self.probe_group(group)?;
        }
        Ok(())
    }

    fn probe_group(&mut self, group: &[Candidate]) -> Result<()> {
        let Some(first) = group.first() else { return Ok(()) };
        let test = Arc::clone(&self.tests[first.test]);
        let has_filter = |leaf: &usize| {
            let in_file = |candidate: &Candidate| self.chunk(candidate.row_group, *leaf)?.bloom_filter();
            self.file.filters().cached_column(*leaf).is_some()
                || group.iter().any(|candidate| in_file(candidate).is_some())
        };
        let mut leaves = Vec::new();
        let filter_of = |column: usize, test: &ValueTest| self.filter_leaf(column, test).filter(has_filter);
        decisive::collect_decisive(&test, &filter_of, &mut leaves);
        // Sorted by address for binary search.
        leaves.sort_unstable_by_key(|((_, test), _)| std::ptr::from_ref(*test));
        let (tests, lookups): (Vec<&ValueTest>, Vec<Lookup>) =
            leaves.into_iter().filter_map(|(leaf, filter)| Some((leaf.1, self.lookup(leaf, filter)?))).unzip();
        if lookups.is_empty() {
            self.remaining.extend_from_slice(group);
            return Ok(());
        }
        let row_groups: Vec<usize> = group.iter().map(|candidate| candidate.row_group).collect();
        let results = bloom::probe(self.file, &lookups, &row_groups, self.pruning.filter_memory.as_ref())?;
        let results_of = |leaf: &ValueTest| {
            let found = tests.binary_search_by_key(&std::ptr::from_ref(leaf), |test| std::ptr::from_ref(*test));
            results.get(found.ok()?)
        };
        // In the common case of one key and thousands of filters, leaves need not be searched.
        let only = match (&*test, results.as_slice()) {
            (Test::Values { .. }, [results]) => Some(results),
            _ => None,
        };
        for (number, &candidate) in group.iter().enumerate() {
            let is_absent = |leaf: &ValueTest| results_of(leaf).is_some_and(|results| results.is_absent(number));
            let is_ruled_out = match only {
                Some(results) => results.is_absent(number),
                None => decisive::is_ruled_out(&test, &is_absent),
            };
            if is_ruled_out {
                self.report.bloom.add_row_group(self.row_count(candidate));
                continue;
            }
            let is_narrower = |results: &ProbeResults| results.is_absent(number) || results.narrowed(number).is_some();
            let narrower = results.iter().any(is_narrower).then(|| {
                decisive::replace_leaves(&test, &|column, leaf| narrow(column, leaf, results_of(leaf)?, number))
            });
            self.retain(candidate, narrower);
        }
        Ok(())
    }

    /// The lookup of a test's keys in the filters of the Parquet leaf `filter`.
    fn lookup(&self, (column, test): Leaf<'_>, filter: usize) -> Option<Lookup> {
        Some(Lookup { leaf: filter, keys: Keys::new(self.columns.get(column)?.keys?, test)? })
    }
}

/// The test of a leaf without the keys that a filter ruled out; `None` if it ruled out none.
fn narrow(column: usize, test: &ValueTest, results: &ProbeResults, number: usize) -> Option<Test> {
    if results.is_absent(number) {
        return Some(Test::Constant(Some(false)));
    }
    let (Some(keys), ValueTest::In(set)) = (results.narrowed(number), test) else { return None };
    let values = keys.iter().filter_map(|&key| set.values().get(key as usize));
    Some(Test::Values { column, test: ValueTest::In(ValueSet::new(values.cloned().collect())) })
}
