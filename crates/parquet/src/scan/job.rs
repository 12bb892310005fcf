//! What a scan is to do, and the steps of it that any thread can take.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use lath_format::schema::SchemaDescPtr;
use lath_predicate::{BindContext, BoundPredicate, Constant, Predicate, Test, value_at};

use super::cancel::Cancel;
use super::conjuncts;
use super::counters::{Counters, Planning};
use super::file_plan::FilePlan;
use super::target::{FileTarget, Target};
use super::work::{Planned, is_whole};
use crate::dataset::{Dataset, DatasetFile};
use crate::error::{Error, Result};
use crate::file::ParquetFile;
use crate::options::Strings;
use crate::prune::{Pruning, prune};
use crate::read::{RowGroupRows, split_rows};
use lath_source::ReadAhead;

/// Everything that is settled before a scan starts.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) dataset: Dataset,
    pub(super) predicate: Option<Predicate>,
    pub(super) pruning: Pruning,
    pub(super) row_groups: Option<Vec<usize>>,
    pub(super) row_ranges: Option<Vec<Range<u64>>>,
    /// By the number of the file: others are not opened.
    pub(super) file_rows: Option<BTreeMap<usize, Vec<Range<u64>>>>,
    pub(super) strings: Strings,
    pub(super) batch_size: usize,
    pub(super) limit: u64,
    pub(super) verify_crc: bool,
    pub(super) unordered: bool,
    pub(super) by_column: bool,
    pub(super) memory_limit: usize,
    pub(super) cancel: Cancel,
    pub(super) target: Arc<Target>,
    pub(super) plans: Plans,
    /// Files were asked together in vain: from then on each is planned alone.
    pub(super) asks_singly: AtomicBool,
    pub(super) counters: Arc<Counters>,
}

/// The plans made so far, and which partitions are ruled out.
#[derive(Debug, Default)]
pub(super) struct Plans {
    of_schemas: Mutex<Vec<PlannedSchema>>,
    partitions: Mutex<HashMap<Box<[u32]>, bool>>,
}

/// The plan for files of one schema and partition.
#[derive(Debug)]
struct PlannedSchema {
    schema: arrow_schema::SchemaRef,
    columns: SchemaDescPtr,
    partition: Box<[u32]>,
    plan: Arc<FilePlan>,
}

impl PlannedSchema {
    fn is_of(&self, file: &ParquetFile, partition: &[u32]) -> bool {
        let is_same_schema = Arc::ptr_eq(&self.schema, file.schema()) || self.schema == *file.schema();
        is_same_schema && *self.partition == *partition && {
            let columns = file.metadata().schema_descr();
            Arc::ptr_eq(&self.columns, columns) || self.columns.root_schema() == columns.root_schema()
        }
    }
}

impl Plans {
    /// The plan made last, and the partition of its files.
    fn last(&self) -> Option<(Arc<FilePlan>, Box<[u32]>)> {
        let plans = self.of_schemas.lock().unwrap_or_else(PoisonError::into_inner);
        plans.last().map(|last| (Arc::clone(&last.plan), last.partition.clone()))
    }
}

impl Job {
    /// Number of files.
    pub(super) fn file_count(&self) -> usize {
        self.dataset.files().len()
    }

    /// Whether threads share the columns of a row group.
    pub(super) fn is_by_column(&self) -> bool {
        self.by_column && self.predicate.is_none() && !self.unordered
    }

    /// Whether rows of a file are wanted.
    pub(super) fn is_wanted(&self, file: usize) -> bool {
        self.file_rows.as_ref().is_none_or(|rows| rows.contains_key(&file))
    }

    /// The rows that are wanted of a file; `None` for all of them.
    pub(super) fn row_ranges(&self, file: usize) -> Option<&[Range<u64>]> {
        let of_file = self.file_rows.as_ref().and_then(|rows| rows.get(&file));
        of_file.or(self.row_ranges.as_ref()).map(Vec::as_slice)
    }

    /// The rows that are wanted of each row group of a file, in the order that was asked for.
    pub(super) fn rows_of(&self, file: usize, row_counts: &[u64]) -> Result<Vec<RowGroupRows>> {
        let rows = split_rows(row_counts, self.row_groups.as_deref(), self.row_ranges(file));
        rows.map_err(|error| match error {
            Error::Invalid { what } => Error::invalid(format!("{}: {what}", self.dataset.files()[file].location())),
            other => other,
        })
    }

    /// Plans the first file, so that a mistake is reported even if no row is ever read.
    pub(super) fn check(&self) -> Result<()> {
        match self.dataset.files().first() {
            Some(first) => self.plan_of(first, &first.open()?).map(|_| ()),
            None => Ok(()),
        }
    }

    /// What there is to do in each of some files.
    pub(super) fn plan_files(&self, files: Range<usize>) -> Vec<Result<Vec<Planned>>> {
        let mut planning = Planning::default();
        let ruled_out = self.rule_out(files.clone(), &mut planning);
        let plan =
            |(file, is_ruled_out)| if is_ruled_out { Ok(Vec::new()) } else { self.plan_file(file, &mut planning) };
        let planned = files.zip(ruled_out).map(plan).collect();
        self.counters.add_planning(&planning);
        planned
    }

    /// Which of some files a key is in no filter of, as far as the filters are in memory: asked together, that takes less than
    /// planning them one by one.
    fn rule_out(&self, files: Range<usize>, planning: &mut Planning) -> Vec<bool> {
        let nothing = vec![false; files.len()];
        let is_whole = self.row_groups.is_none() && self.row_ranges.is_none() && self.file_rows.is_none();
        let asks_singly = files.len() < 2 || self.asks_singly.load(Ordering::Relaxed);
        if asks_singly || !is_whole || !self.pruning.bloom || self.cancel.is_cancelled() {
            return nothing;
        }
        let Some((plan, partition)) = self.plans.last() else { return nothing };
        let Some(key) = &plan.one_key else { return nothing };
        let start = Instant::now();
        let mut prune = Duration::ZERO;
        let files = &self.dataset.files()[files];
        let reports = DatasetFile::judge_cached(files, |opened| {
            let start = Instant::now();
            // Those that the plan is for.
            let of_partition =
                files.iter().zip(opened).map(|(file, opened)| opened.filter(|_| *file.partition() == *partition));
            let reports = key.rule_out(&of_partition.collect::<Vec<_>>());
            prune = start.elapsed();
            reports
        });
        for report in reports.iter().flatten() {
            planning.pruned += *report;
            planning.add_file(0, 0);
        }
        planning.prune += prune;
        planning.open += start.elapsed().saturating_sub(prune);
        let ruled_out: Vec<bool> = reports.iter().map(Option::is_some).collect();
        if !ruled_out.contains(&true) {
            self.asks_singly.store(true, Ordering::Relaxed);
        }
        ruled_out
    }

    /// What there is to do in a file.
    pub(super) fn plan_one(&self, index: usize) -> Result<Vec<Planned>> {
        let mut planning = Planning::default();
        let planned = self.plan_file(index, &mut planning);
        self.counters.add_planning(&planning);
        planned
    }

    fn plan_file(&self, index: usize, planning: &mut Planning) -> Result<Vec<Planned>> {
        self.cancel.check()?;
        if !self.is_wanted(index) {
            return Ok(Vec::new());
        }
        let entry = &self.dataset.files()[index];
        if !self.may_be_in_partition(entry.partition())? {
            planning.add_pruned_file();
            return Ok(Vec::new());
        }
        let start = Instant::now();
        let opened = entry.open();
        planning.open += start.elapsed();
        let file = opened?.counted(&self.counters.traffic);
        let planned = self.plan_open(index, &file, planning).map_err(|error| file.locate(error))?;
        planning.add_file(planned.len(), planned.iter().map(Planned::row_count).sum());
        Ok(planned)
    }

    fn plan_open(&self, index: usize, file: &ParquetFile, planning: &mut Planning) -> Result<Vec<Planned>> {
        let entry = &self.dataset.files()[index];
        let row_ranges = self.row_ranges(index);
        let plan = self.plan_of(entry, file)?;
        let row_counts = file.row_group_row_counts();
        let chosen = || self.rows_of(index, row_counts);
        let mut rows: Vec<RowsLeft> = Vec::new();
        match &plan.predicate {
            None => rows.extend(chosen()?.into_iter().map(|rows| (rows.row_group, rows.ranges, None))),
            Some(predicate) => {
                // Of most files nothing is left: what is chosen of all their rows is not spelled out.
                let is_whole = self.row_groups.is_none() && row_ranges.is_none();
                let chosen = if is_whole { Vec::new() } else { chosen()? };
                let row_groups: Vec<usize> = match is_whole {
                    true => (0..row_counts.len()).collect(),
                    false => chosen.iter().map(|rows| rows.row_group).collect(),
                };
                let start = Instant::now();
                let pruned = prune(file, predicate, &row_groups, &self.pruning, &mut planning.pruned);
                planning.prune += start.elapsed();
                let mut chosen = chosen.into_iter();
                for surviving in pruned? {
                    // They come in the order that was asked for.
                    let wanted = chosen.find(|wanted| wanted.row_group == surviving.row_group);
                    let rows_left = match (row_ranges, wanted) {
                        (Some(_), Some(wanted)) => intersection(&surviving.rows, &wanted.ranges),
                        (Some(_), None) => break,
                        (None, _) => surviving.rows,
                    };
                    let left = match &*surviving.test {
                        Test::Constant(Some(true)) => None,
                        test if *test == predicate.test => Some(Arc::clone(predicate)),
                        test => Some(Arc::new(predicate.with_test(test.clone()))),
                    };
                    if !rows_left.is_empty() {
                        rows.push((surviving.row_group, rows_left, left));
                    }
                }
            }
        }
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let target = Arc::new(FileTarget::new(&self.target, &plan, entry.location()));
        let mut starts = Vec::with_capacity(row_counts.len());
        row_counts.iter().fold(0u64, |start, count| {
            starts.push(start);
            start.saturating_add(*count)
        });
        let extents = || {
            let of_row_group = |(row_group, rows, predicate): &RowsLeft| {
                // With a limit, rows may be enough before the last.
                let is_all = self.limit == u64::MAX && is_whole(file, *row_group, rows);
                let conjuncts = if is_all { conjuncts::split(predicate.as_deref()) } else { None };
                let is_wanted = |leaf| conjuncts.as_ref().is_some_and(|conjuncts| plan.is_read_first(leaf, conjuncts));
                let leaves = plan.leaves.iter().enumerate();
                file.extents(*row_group, leaves.map(|(at, leaf)| (leaf.leaf.column, is_wanted(at))))
            };
            rows.iter().flat_map(of_row_group).collect()
        };
        let file = &file.over(ReadAhead::within(Arc::clone(file.source()), extents));
        let pruning = &self.pruning;
        let makes_filters = pruning.bloom && pruning.makes_filters;
        let kept_in = pruning.filter_memory.as_ref().or_else(|| file.filters().memory());
        let made_filters = kept_in.filter(|_| makes_filters).cloned();
        let planned = rows.into_iter().map(|(row_group, rows, predicate)| Planned {
            file: file.clone(),
            plan: Arc::clone(&plan),
            target: Arc::clone(&target),
            row_group,
            first_row: starts[row_group],
            rows,
            predicate,
            uses_page_index: pruning.page_index,
            made_filters: made_filters.clone(),
        });
        Ok(planned.collect())
    }

    /// The plan for files like `file`, made once for each schema and partition.
    pub(super) fn plan_of(&self, entry: &DatasetFile, file: &ParquetFile) -> Result<Arc<FilePlan>> {
        let mut plans = self.plans.of_schemas.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = plans.iter().rev().find(|planned| planned.is_of(file, entry.partition())) {
            return Ok(Arc::clone(&found.plan));
        }
        let alignment = self.dataset.align(&self.target.of_files, entry, file)?;
        let constants = self.constants(entry.partition(), Some(file));
        let plan = FilePlan::new(file, alignment, self.strings, self.predicate.as_ref(), &constants)
            .map_err(|error| file.locate(error))?;
        let plan = Arc::new(plan);
        if plans.len() == MOST_PLANS {
            plans.remove(0);
        }
        plans.push(PlannedSchema {
            schema: Arc::clone(file.schema()),
            columns: Arc::clone(file.metadata().schema_descr()),
            partition: entry.partition().into(),
            plan: Arc::clone(&plan),
        });
        Ok(plan)
    }

    /// Whether the predicate may be true of rows in files of a partition, as far as its values tell.
    fn may_be_in_partition(&self, partition: &[u32]) -> Result<bool> {
        let Some(predicate) = self.predicate.as_ref().filter(|_| !partition.is_empty()) else { return Ok(true) };
        let mut known = self.plans.partitions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&may_be) = known.get(partition) {
            return Ok(may_be);
        }
        let constants = self.constants(partition, None);
        let schema = self.dataset.schema();
        let bound = predicate.bind(&BindContext::new(schema).with_constants(&constants))?;
        let may_be = !matches!(bound.test, Test::Constant(Some(false) | None));
        known.insert(partition.into(), may_be);
        Ok(may_be)
    }

    /// The columns that have one value for all rows of a file: those of its partition, and those that it lacks.
    fn constants(&self, partition: &[u32], file: Option<&ParquetFile>) -> Vec<Constant> {
        let partitions = self.dataset.partitions();
        let mut constants: Vec<Constant> = partitions
            .iter()
            .zip(partition)
            .map(|(column, &row)| Constant {
                name: column.field().name().clone(),
                field: Arc::clone(column.field()),
                value: value_at(column.values(), row as usize),
            })
            .collect();
        let Some(file) = file else { return constants };
        for field in self.dataset.schema().fields() {
            let is_partition = partitions.iter().any(|column| column.field().name() == field.name());
            if !is_partition && file.schema().column_with_name(field.name()).is_none() {
                constants.push(Constant { name: field.name().clone(), field: Arc::clone(field), value: None });
            }
        }
        constants
    }
}

/// A row group, the rows of it that are left, and what is to be asked of them.
type RowsLeft = (usize, Vec<Range<u64>>, Option<Arc<BoundPredicate>>);

/// Most plans that are kept: files of one schema usually come together.
const MOST_PLANS: usize = 64;

/// The rows that are in both lists of sorted, disjoint ranges.
fn intersection(left: &[Range<u64>], right: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut both = Vec::new();
    let (mut i, mut j) = (0, 0);
    while let (Some(a), Some(b)) = (left.get(i), right.get(j)) {
        let range = a.start.max(b.start)..a.end.min(b.end);
        if !range.is_empty() {
            both.push(range);
        }
        if a.end < b.end { i += 1 } else { j += 1 }
    }
    both
}

/// What a worker says that panicked: a bug of ours, of which the caller must learn instead of waiting for ever.
pub(super) fn panicked() -> Error {
    Error::internal("a scanning thread panicked")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::single_range_in_vec_init, reason = "a list of one range is meant")]
    fn ranges_intersect() {
        assert_eq!(intersection(&[0..10, 20..30], &[5..25, 29..40]), [5..10, 20..25, 29..30]);
        assert_eq!(intersection(&[0..10], &[10..20]), []);
        assert_eq!(intersection(&[3..4], &[0..100]), [3..4]);
    }
}
