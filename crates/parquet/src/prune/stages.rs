//! The kinds of evidence, one after the other, each on the row groups that the one before has left.

use std::ops::Range;
use std::sync::Arc;

use lath_format::ColumnChunk;
use lath_predicate::{BoundPredicate, Test, ValueSet, ValueTest};

use super::Surviving;
use super::bloom::{self, Answers, KeyKind, Keys, Lookup};
use super::column::PreparedColumn;
use super::dictionary::{self, DictionaryValues};
use super::options::Pruning;
use super::outcomes::{Evidence, Outcomes, outcomes, settle};
use super::page_index;
use super::positive::{self, Leaf};
use super::report::{PruneReport, Pruned};
use super::statistics::RowGroupStatistics;
use crate::error::Result;
use crate::file::ParquetFile;

/// Row groups whose dictionaries and indexes are read at a time.
const ROW_GROUPS_AT_ONCE: usize = 64;

pub(super) struct Stages<'a> {
    pub(super) file: &'a ParquetFile,
    pub(super) columns: &'a [PreparedColumn<'a>],
    pub(super) pruning: &'a Pruning,
    pub(super) report: &'a mut PruneReport,
    /// The tests of row groups, the predicate's first.
    tests: Vec<Arc<Test>>,
    left: Vec<Candidate>,
}

/// A row group that nothing has ruled out so far. There may be thousands, so that one is small.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    row_group: usize,
    /// Index in [`Stages::tests`].
    test: usize,
}

/// Of a test that looks up one key and does nothing else: the leaf whose filters answer it, and what is looked up.
pub(super) fn key_alone<'t>(columns: &[PreparedColumn<'_>], test: &'t Test) -> Option<(usize, KeyKind, &'t ValueTest)> {
    let Test::Values { column, test } = test else { return None };
    let column = columns.get(*column)?;
    let is_of_one_key = !matches!(test, ValueTest::In(set) if set.values().len() > 1);
    let leaf = column.leaf_of_keys(test).filter(|_| is_of_one_key)?;
    Some((leaf, column.keys?, test))
}

/// Of a predicate of one column that passes nothing but keys of it: the leaf whose filters answer it.
pub(crate) fn leaf_of_keys(file: &ParquetFile, predicate: &BoundPredicate) -> Option<(usize, KeyKind)> {
    let [column] = predicate.columns.as_slice() else { return None };
    let prepared = PreparedColumn::new(file, column);
    let mut leaves = Vec::new();
    let is_of_keys = positive::deciding(&predicate.test, &|_, test| prepared.leaf_of_keys(test), &mut leaves);
    let (_, leaf) = leaves.first().filter(|_| is_of_keys)?;
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
        Self { file, columns, pruning, report, tests: vec![test], left: Vec::new() }
    }

    /// Begins with the row groups in which something may pass.
    pub(super) fn statistics(&mut self, row_groups: &[usize]) -> Result<()> {
        let kept = self.look_up_kept(row_groups)?;
        let test = Arc::clone(&self.tests[0]);
        let row_counts = self.file.row_group_row_counts();
        self.report.row_groups += row_groups.len() as u64;
        self.report.rows += row_groups.iter().map(|&row_group| row_counts[row_group]).sum::<u64>();
        let (file, columns) = (self.file, self.columns);
        let judge = |row_group: usize| {
            let statistics = RowGroupStatistics { file, columns, row_group };
            outcomes(&test, &statistics).can_be_true().then(|| settle(&test, &statistics))
        };
        // Without statistics it is the same for all of them.
        let may_pass = outcomes(&test, &Nothing).can_be_true();
        for (number, &row_group) in row_groups.iter().enumerate() {
            let rows = row_counts[row_group];
            if kept.as_ref().is_some_and(|answers| answers.is_absent(number)) {
                self.report.bloom.add_row_group(rows);
                continue;
            }
            let settled = if self.pruning.statistics { judge(row_group) } else { may_pass.then_some(None) };
            match settled {
                Some(settled) if rows > 0 => self.leave(Candidate { row_group, test: 0 }, settled),
                _ => self.report.statistics.add_row_group(rows),
            }
        }
        Ok(())
    }

    /// Looks up the keys of a test that is nothing else in the filters that are in memory: that takes less than to look at
    /// statistics, which have left the cache where there are many files.
    fn look_up_kept(&self, row_groups: &[usize]) -> Result<Option<Answers>> {
        let alone = if self.pruning.bloom { key_alone(self.columns, &self.tests[0]) } else { None };
        let Some((leaf, kind, test)) = alone else { return Ok(None) };
        bloom::probe_kept(self.file, leaf, || Keys::new(kind, test), row_groups)
    }

    /// Keeps a row group, with another test if part of its own is settled.
    fn leave(&mut self, candidate: Candidate, settled: Option<Test>) {
        let test = match settled {
            None => candidate.test,
            Some(test) if self.tests.last().is_some_and(|last| **last == test) => self.tests.len() - 1,
            Some(test) => {
                self.tests.push(Arc::new(test));
                self.tests.len() - 1
            }
        };
        self.left.push(Candidate { test, ..candidate });
    }

    /// Looks up the keys of tests that decide alone.
    pub(super) fn bloom(&mut self) -> Result<()> {
        if !self.pruning.bloom || self.columns.iter().all(|column| column.keys.is_none()) {
            return Ok(());
        }
        let left = std::mem::take(&mut self.left);
        // Row groups share their test unless statistics have settled different parts of it.
        for group in left.chunk_by(|one, next| one.test == next.test) {
            self.look_up(group)?;
        }
        Ok(())
    }

    fn look_up(&mut self, group: &[Candidate]) -> Result<()> {
        let Some(first) = group.first() else { return Ok(()) };
        let test = Arc::clone(&self.tests[first.test]);
        let has_filter = |leaf: &usize| {
            let of_leaf = |candidate: &Candidate| self.chunk(candidate.row_group, *leaf)?.bloom_filter();
            self.file.filters().kept_column(*leaf).is_some()
                || group.iter().any(|candidate| of_leaf(candidate).is_some())
        };
        let mut leaves = Vec::new();
        let filter_of = |column: usize, test: &ValueTest| self.can_be_looked_up(column, test).filter(has_filter);
        positive::deciding(&test, &filter_of, &mut leaves);
        // By address, to be found again.
        leaves.sort_unstable_by_key(|((_, test), _)| std::ptr::from_ref(*test));
        let (tests, lookups): (Vec<&ValueTest>, Vec<Lookup>) =
            leaves.into_iter().filter_map(|(leaf, filter)| Some((leaf.1, self.lookup(leaf, filter)?))).unzip();
        if lookups.is_empty() {
            self.left.extend_from_slice(group);
            return Ok(());
        }
        let row_groups: Vec<usize> = group.iter().map(|candidate| candidate.row_group).collect();
        let answers = bloom::probe(self.file, &lookups, &row_groups, self.pruning.filter_memory.as_ref())?;
        let of_leaf = |leaf: &ValueTest| {
            let found = tests.binary_search_by_key(&std::ptr::from_ref(leaf), |test| std::ptr::from_ref(*test));
            answers.get(found.ok()?)
        };
        // Most tests are of one key, of which thousands of filters are asked.
        let alone = match (&*test, answers.as_slice()) {
            (Test::Values { .. }, [answers]) => Some(answers),
            _ => None,
        };
        for (number, &candidate) in group.iter().enumerate() {
            let is_ruled_out = match alone {
                Some(answers) => answers.is_absent(number),
                None => positive::fails(&test, &|leaf| of_leaf(leaf).is_some_and(|answers| answers.is_absent(number))),
            };
            if is_ruled_out {
                self.report.bloom.add_row_group(self.row_count(candidate));
                continue;
            }
            let is_narrower = |answers: &Answers| answers.is_absent(number) || answers.narrowed(number).is_some();
            let narrower = answers
                .iter()
                .any(is_narrower)
                .then(|| positive::narrowed(&test, &|column, leaf| narrow(column, leaf, of_leaf(leaf)?, number)));
            self.leave(candidate, narrower);
        }
        Ok(())
    }

    /// Of a test's keys in the filters of the Parquet leaf `filter`.
    fn lookup(&self, (column, test): Leaf<'_>, filter: usize) -> Option<Lookup> {
        Some(Lookup { leaf: filter, keys: Keys::new(self.columns.get(column)?.keys?, test)? })
    }

    /// The leaf whose filters answer a test.
    fn can_be_looked_up(&self, column: usize, test: &ValueTest) -> Option<usize> {
        self.columns.get(column)?.leaf_of_keys(test)
    }

    /// Tests the values of dictionaries.
    pub(super) fn dictionary(&mut self) -> Result<()> {
        if !self.pruning.dictionary {
            return Ok(());
        }
        let left = std::mem::take(&mut self.left);
        for batch in left.chunks(ROW_GROUPS_AT_ONCE) {
            self.test_dictionaries(batch)?;
        }
        Ok(())
    }

    fn test_dictionaries(&mut self, batch: &[Candidate]) -> Result<()> {
        let tests: Vec<Arc<Test>> = batch.iter().map(|candidate| Arc::clone(&self.tests[candidate.test])).collect();
        let (mut ranges, mut wanted) = (Vec::new(), Vec::new());
        for (number, candidate) in batch.iter().enumerate() {
            let place = |column: usize, test: &ValueTest| self.dictionary_of(candidate.row_group, column, test);
            let mut leaves = Vec::new();
            positive::deciding(&tests[number], &place, &mut leaves);
            for ((column, test), range) in leaves {
                ranges.push(range);
                wanted.push((number, column, test));
            }
        }
        if ranges.is_empty() {
            self.left.extend_from_slice(batch);
            return Ok(());
        }
        let pages = self.file.read_many(&ranges)?;
        let mut said: Vec<Said<'_>> = batch.iter().map(|_| Said::default()).collect();
        for ((number, column, test), page) in wanted.into_iter().zip(pages) {
            let (row_group, Some(prepared)) = (batch[number].row_group, self.columns.get(column)) else { continue };
            if let Some(values) = DictionaryValues::decode(self.file, row_group, prepared, page) {
                let outcomes = values.outcomes(test, self.may_have_nulls(row_group, prepared));
                said[number].leaves.push((test, outcomes));
            }
        }
        for ((&candidate, said), test) in batch.iter().zip(said).zip(&tests) {
            if outcomes(test, &said).can_be_true() {
                self.leave(candidate, settle(test, &said));
            } else {
                self.report.dictionary.add_row_group(self.row_count(candidate));
            }
        }
        Ok(())
    }

    /// Where the dictionary page is that answers a test, unless a filter has.
    fn dictionary_of(&self, row_group: usize, column: usize, test: &ValueTest) -> Option<Range<u64>> {
        let prepared = self.columns.get(column).filter(|prepared| prepared.is_about_values(test))?;
        let chunk = self.chunk(row_group, prepared.column.leaf?)?;
        let has_answered =
            self.pruning.bloom && chunk.bloom_filter().is_some() && self.can_be_looked_up(column, test).is_some();
        if has_answered || matches!(test, ValueTest::IsNull | ValueTest::Always(_)) {
            return None;
        }
        dictionary::locate(chunk, self.pruning).filter(|range| range.end <= self.file.source().len())
    }

    fn may_have_nulls(&self, row_group: usize, column: &PreparedColumn<'_>) -> bool {
        let is_required = column.descriptor.is_some_and(|descriptor| descriptor.max_def_level() == 0);
        let statistics = column.column.leaf.and_then(|leaf| self.chunk(row_group, leaf)?.statistics());
        !is_required && statistics.and_then(|statistics| statistics.null_count) != Some(0)
    }

    /// Passes over pages, and adds what is left.
    pub(super) fn page_index(&mut self, surviving: &mut Vec<Surviving>) -> Result<()> {
        let left = std::mem::take(&mut self.left);
        surviving.reserve(left.len());
        for batch in left.chunks(ROW_GROUPS_AT_ONCE) {
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
                self.collect(&self.tests[candidate.test], &mut columns);
                chunks.extend(columns.iter().map(|&(column, leaf)| (candidate.row_group, column, leaf)));
            }
        }
        let indexes = page_index::read(self.file, &chunks)?;
        let mut indexes = indexes.as_slice();
        for &candidate in batch {
            let of_row_group = indexes.iter().take_while(|index| index.row_group == candidate.row_group).count();
            let (own, rest) = indexes.split_at(of_row_group);
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

    /// Adds the columns, with their leaves, whose indexes can say something about `test`.
    fn collect(&self, test: &Test, columns: &mut Vec<(usize, usize)>) {
        match test {
            Test::All(tests) | Test::Any(tests) => tests.iter().for_each(|test| self.collect(test, columns)),
            Test::Not(test) | Test::Is(test, _) => self.collect(test, columns),
            Test::Values { column, test } => {
                let prepared = self.columns.get(*column).filter(|prepared| prepared.is_about_values(test));
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

/// A leaf with what a filter leaves of it.
fn narrow(column: usize, test: &ValueTest, answers: &Answers, number: usize) -> Option<Test> {
    if answers.is_absent(number) {
        return Some(Test::Constant(Some(false)));
    }
    let (Some(keys), ValueTest::In(set)) = (answers.narrowed(number), test) else { return None };
    let values = keys.iter().filter_map(|&key| set.values().get(key as usize));
    Some(Test::Values { column, test: ValueTest::In(ValueSet::new(values.cloned().collect())) })
}

/// No evidence: what is settled is settled by itself.
struct Nothing;

impl Evidence for Nothing {
    fn values(&self, _: usize, _: &ValueTest) -> Outcomes {
        Outcomes::ANY
    }
}

/// What is known of some leaves of a test, told apart by their address.
#[derive(Default)]
struct Said<'t> {
    leaves: Vec<(&'t ValueTest, Outcomes)>,
}

impl Evidence for Said<'_> {
    fn values(&self, _: usize, test: &ValueTest) -> Outcomes {
        let leaf = self.leaves.iter().find(|(leaf, _)| std::ptr::eq(*leaf, test));
        leaf.map_or(Outcomes::ANY, |(_, outcomes)| *outcomes)
    }
}
