//! The kinds of evidence in order, each used for the row groups that the ones before have not ruled out.

use std::ops::Range;
use std::sync::Arc;

use lath_format::ColumnChunk;
use lath_predicate::{BoundPredicate, Test, ValueSet, ValueTest};

use super::Surviving;
use super::bloom::{self, KeyKind, Keys, Lookup, ProbeResults};
use super::column::PreparedColumn;
use super::decisive::{self, Leaf};
use super::dictionary::{self, DictionaryValues};
use super::options::Pruning;
use super::outcomes::{Evidence, Outcomes, outcomes, simplify_with};
use super::page_index;
use super::report::{PruneReport, Pruned};
use super::statistics::RowGroupStatistics;
use super::thresholds::MAX_ROW_GROUPS_READ_TOGETHER;
use crate::error::Result;
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

    /// Starts with the row groups of `row_groups` that statistics do not rule out.
    pub(super) fn statistics(&mut self, row_groups: &[usize]) -> Result<()> {
        let cached = self.probe_cached(row_groups)?;
        let test = Arc::clone(&self.tests[0]);
        let row_counts = self.file.row_group_row_counts();
        self.report.row_groups += row_groups.len() as u64;
        self.report.rows += row_groups.iter().map(|&row_group| row_counts[row_group]).sum::<u64>();
        let (file, columns) = (self.file, self.columns);
        let evaluate = |row_group: usize| {
            let statistics = RowGroupStatistics { file, columns, row_group };
            outcomes(&test, &statistics).can_be_true().then(|| simplify_with(&test, &statistics))
        };
        // Without statistics, all row groups have the same outcomes.
        let may_pass = outcomes(&test, &NoEvidence).can_be_true();
        for (number, &row_group) in row_groups.iter().enumerate() {
            let rows = row_counts[row_group];
            if cached.as_ref().is_some_and(|results| results.is_absent(number)) {
                self.report.bloom.add_row_group(rows);
                continue;
            }
            let simplified = if self.pruning.statistics { evaluate(row_group) } else { may_pass.then_some(None) };
            match simplified {
                Some(simplified) if rows > 0 => self.retain(Candidate { row_group, test: 0 }, simplified),
                _ => self.report.statistics.add_row_group(rows),
            }
        }
        Ok(())
    }

    /// Probes the filters that are in memory, if the test only looks up one key. That takes less time than reading
    /// statistics, which are not in the processor's cache if there are many files.
    fn probe_cached(&self, row_groups: &[usize]) -> Result<Option<ProbeResults>> {
        let key = if self.pruning.bloom { single_key(self.columns, &self.tests[0]) } else { None };
        let Some((leaf, kind, test)) = key else { return Ok(None) };
        bloom::probe_cached(self.file, leaf, || Keys::new(kind, test), row_groups)
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

    /// Probes Bloom filters for the keys of decisive leaves.
    pub(super) fn bloom(&mut self) -> Result<()> {
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
        // The common case of one key and thousands of filters takes no search for leaves.
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

    /// The leaf whose filters can be probed for the keys of a test.
    fn filter_leaf(&self, column: usize, test: &ValueTest) -> Option<usize> {
        self.columns.get(column)?.filter_leaf(test)
    }

    /// Tests the values of dictionary pages.
    pub(super) fn dictionary(&mut self) -> Result<()> {
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

    /// The range of the dictionary page that has evidence of a test, unless a filter was probed for it.
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

    /// Rules out pages, and adds the remaining rows to `surviving`.
    pub(super) fn page_index(&mut self, surviving: &mut Vec<Surviving>) -> Result<()> {
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
                    0 => Pruned { row_groups: 1, pages: 0, rows: row_count },
                    _ => Pruned { row_groups: 0, pages: possible.pruned_pages, rows: row_count - left },
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

    /// Adds the columns, with their leaves, whose page indexes may have evidence of `test`.
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

    fn chunk(&self, row_group: usize, leaf: usize) -> Option<ColumnChunk<'a>> {
        self.file.metadata().chunk(row_group, leaf).ok()
    }

    fn row_count(&self, candidate: Candidate) -> u64 {
        self.file.row_group_row_counts()[candidate.row_group]
    }
}

/// The test of a leaf without the keys that a filter has ruled out; `None` if it has ruled out none.
fn narrow(column: usize, test: &ValueTest, results: &ProbeResults, number: usize) -> Option<Test> {
    if results.is_absent(number) {
        return Some(Test::Constant(Some(false)));
    }
    let (Some(keys), ValueTest::In(set)) = (results.narrowed(number), test) else { return None };
    let values = keys.iter().filter_map(|&key| set.values().get(key as usize));
    Some(Test::Values { column, test: ValueTest::In(ValueSet::new(values.cloned().collect())) })
}

/// No evidence: only constants are decided.
struct NoEvidence;

impl Evidence for NoEvidence {
    fn values(&self, _: usize, _: &ValueTest) -> Outcomes {
        Outcomes::ANY
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
