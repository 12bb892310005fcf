//! From files to the row groups and rows of them that are to be looked at: any thread can plan any file.

mod planned;
mod plans;
mod ranges;

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use lath_predicate::{BindContext, BoundPredicate, Constant, Predicate, Test, value_at};

use self::planned::is_whole;
use self::plans::{PlannedSchema, Plans};
use super::cancel::Cancel;
use super::conjuncts;
use super::counters::{Counters, Planning};
use super::deletes::DeleteMask;
use super::dynamic::Narrowing;
use super::file_plan::FilePlan;
use super::selection::{self, RowGroupRows};
use super::target::{FileTarget, Target};
use super::thresholds::MAX_PLANS;
use crate::dataset::{Alignment, Dataset, DatasetFile, DatasetOptions};
use crate::error::{Error, Result};
use crate::file::ParquetFile;
use crate::filters::FilterMemory;
use crate::prune::{PruneReport, Pruning, prune};
use crate::schema::{ArrowLayout, Projection};
use lath_source::{ReadAhead, Version};

pub(super) use self::planned::Planned;
pub(super) use self::ranges::intersection;

/// What is to be found in the files of a dataset.
#[derive(Debug, Clone)]
pub(super) struct Planner {
    pub(super) dataset: Dataset,
    pub(super) predicate: Option<Predicate>,
    pub(super) pruning: Pruning,
    pub(super) row_groups: Option<Vec<usize>>,
    pub(super) row_ranges: Option<Vec<Range<u64>>>,
    /// By the number of the file: others are not opened.
    pub(super) file_rows: Option<BTreeMap<usize, Vec<Range<u64>>>>,
    /// By the number of the file: rows that are not there any more.
    pub(super) deleted: BTreeMap<usize, Arc<DeleteMask>>,
    pub(super) layout: ArrowLayout,
    /// In place of the columns of `target`, where that is of one file: numbers of leaves.
    pub(super) leaves: Option<Vec<usize>>,
    /// Rows that are enough.
    pub(super) limit: u64,
    pub(super) cancel: Cancel,
    pub(super) target: Arc<Target>,
    pub(super) plans: Arc<Plans>,
}

impl Planner {
    /// Number of files.
    pub(super) fn file_count(&self) -> usize {
        self.dataset.files().len()
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
        let rows = selection::split(row_counts, self.row_groups.as_deref(), self.row_ranges(file));
        let location = self.dataset.files()[file].location();
        rows.map_err(|error| match error {
            Error::Invalid { what } if !location.is_empty() => Error::invalid(format!("{location}: {what}")),
            other => other,
        })
    }

    /// Plans the first file, so that a mistake is reported even if no row is ever read.
    pub(super) fn check(&self) -> Result<()> {
        match self.dataset.files().first() {
            Some(first) => {
                let file = first.open()?;
                self.plan_of(first, &file)?;
                let is_whole = self.row_groups.is_none() && self.row_ranges(0).is_none();
                if !is_whole && self.is_wanted(0) {
                    self.rows_of(0, file.row_group_row_counts())?;
                }
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// What there is to do in each of some files.
    pub(super) fn plan_files(self: &Arc<Self>, files: Range<usize>, counters: &Counters) -> Vec<Result<Vec<Planned>>> {
        let mut planning = Planning::default();
        let ruled_out = self.rule_out(files.clone(), &mut planning);
        let plan = |(file, is_ruled_out)| match is_ruled_out {
            true => Ok(Vec::new()),
            false => self.plan_file(file, counters, &mut planning),
        };
        let planned = files.zip(ruled_out).map(plan).collect();
        counters.add_planning(&planning);
        planned
    }

    /// Which of some files a key is in no filter of, as far as the filters are in memory: asked together, that takes less than
    /// planning them one by one.
    fn rule_out(&self, files: Range<usize>, planning: &mut Planning) -> Vec<bool> {
        let nothing = vec![false; files.len()];
        let is_whole = self.row_groups.is_none() && self.row_ranges.is_none() && self.file_rows.is_none();
        let asks_singly = files.len() < 2 || self.plans.asks_singly.load(Ordering::Relaxed);
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
            self.plans.asks_singly.store(true, Ordering::Relaxed);
        }
        ruled_out
    }

    /// What there is to do in a file.
    pub(super) fn plan_one(self: &Arc<Self>, index: usize, counters: &Counters) -> Result<Vec<Planned>> {
        let mut planning = Planning::default();
        let planned = self.plan_file(index, counters, &mut planning);
        counters.add_planning(&planning);
        planned
    }

    fn plan_file(self: &Arc<Self>, index: usize, counters: &Counters, planning: &mut Planning) -> Result<Vec<Planned>> {
        match self.open(index, planning)? {
            Some(file) => self.plan_open(index, &file.counted(&counters.traffic), planning),
            None => Ok(Vec::new()),
        }
    }

    /// A file, opened if rows of it may be wanted.
    pub(super) fn open(&self, index: usize, planning: &mut Planning) -> Result<Option<ParquetFile>> {
        self.cancel.check()?;
        if !self.may_have_rows(index, planning)? {
            return Ok(None);
        }
        let start = Instant::now();
        let opened = self.dataset.files()[index].open();
        planning.open += start.elapsed();
        opened.map(Some)
    }

    /// Whether rows of a file are wanted, as far as that is known before it is open.
    pub(super) fn may_have_rows(&self, index: usize, planning: &mut Planning) -> Result<bool> {
        if !self.is_wanted(index) {
            return Ok(false);
        }
        let may_have = self.may_be_in_partition(self.dataset.files()[index].partition())?;
        if !may_have {
            planning.add_pruned_file();
        }
        Ok(may_have)
    }

    /// What there is to do in a file that is open as `file`.
    pub(super) fn plan_open(
        self: &Arc<Self>,
        index: usize,
        file: &ParquetFile,
        planning: &mut Planning,
    ) -> Result<Vec<Planned>> {
        let planned = self.plan_row_groups(index, file, planning).map_err(|error| file.locate(error))?;
        planning.add_file(planned.len(), planned.iter().map(Planned::row_count).sum());
        Ok(planned)
    }

    fn plan_row_groups(
        self: &Arc<Self>,
        index: usize,
        file: &ParquetFile,
        planning: &mut Planning,
    ) -> Result<Vec<Planned>> {
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
        let file = &self.read_ahead(file, &plan, &rows);
        let made_filters = self.made_filters(file);
        let planned = rows.into_iter().map(|(row_group, rows, predicate)| Planned {
            planner: Arc::clone(self),
            file_index: index,
            file: file.clone(),
            plan: Arc::clone(&plan),
            target: Arc::clone(&target),
            row_group,
            first_row: starts[row_group],
            rows,
            deleted: self.deleted.get(&index).cloned(),
            predicate,
            narrowing: 0,
            uses_page_index: self.pruning.page_index,
            made_filters: made_filters.clone(),
        });
        Ok(planned.collect())
    }

    /// What is left of a row group by a condition that has become known since it was planned; `None` if nothing is.
    pub(super) fn narrow(
        &self,
        planned: Planned,
        narrowing: &Arc<Narrowing>,
        counters: &Counters,
    ) -> Result<Option<Planned>> {
        let start = Instant::now();
        let entry = &self.dataset.files()[planned.file_index];
        let plan = self.narrowed_plan_of(entry, &planned.file, narrowing)?;
        let (Some(added), Some(both)) = (&plan.added, &plan.predicate) else {
            return Err(Error::internal("a plan without the condition that it is for"));
        };
        let mut report = PruneReport::default();
        let left = prune(&planned.file, added, &[planned.row_group], &self.pruning, &mut report)?;
        counters.add_narrowing(report, start.elapsed());
        let Some(left) = left.into_iter().next() else { return Ok(None) };
        let rows = intersection(&planned.rows, &left.rows);
        if rows.is_empty() {
            return Ok(None);
        }
        let planned = Planned { rows, narrowing: narrowing.version, ..planned };
        if matches!(*left.test, Test::Constant(Some(true))) {
            return Ok(Some(planned));
        }
        let predicate = match &self.predicate {
            Some(_) => Arc::clone(both),
            None => Arc::new(added.with_test((*left.test).clone())),
        };
        Ok(Some(Planned { plan, predicate: Some(predicate), ..planned }))
    }

    /// The file, its bytes read ahead where that saves requests for what is left of its row groups.
    pub(super) fn read_ahead(&self, file: &ParquetFile, plan: &FilePlan, rows: &[RowsLeft]) -> ParquetFile {
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
        file.over(ReadAhead::within(Arc::clone(file.source()), extents))
    }

    /// Where filters may be kept that are made of what is read of `file`.
    pub(super) fn made_filters(&self, file: &ParquetFile) -> Option<Arc<FilterMemory>> {
        let pruning = &self.pruning;
        let kept_in = pruning.filter_memory.as_ref().or_else(|| file.filters().memory());
        kept_in.filter(|_| pruning.bloom && pruning.makes_filters).cloned()
    }

    /// The same, with the files that `versions` names by their places and states opened with `options`.
    pub(super) fn open_with(&self, options: &DatasetOptions, versions: &[(usize, Option<Version>)]) -> Result<Self> {
        let mut files = self.dataset.files().to_vec();
        let mut opened = vec![false; files.len()];
        for (at, version) in versions {
            if std::mem::replace(&mut opened[*at], true) {
                continue;
            }
            let file = &files[*at];
            let (Some(version), false) = (version, file.is_given_open()) else {
                let location = file.location();
                return Err(Error::invalid(format!("{location:?}: a file that was given open cannot be opened again")));
            };
            let open = options.open().clone().with_schema_of(file.options().open());
            let options = Arc::new(options.clone().open_options(open));
            let path = file.path().and_then(Path::to_str);
            files[*at] =
                DatasetFile::described(file.location(), path, version.clone(), file.partition().into(), &options)?;
        }
        Ok(Self { dataset: self.dataset.with_files(files), plans: Arc::default(), ..self.clone() })
    }

    /// The plan for files like `file`, made once for each schema and partition.
    pub(super) fn plan_of(&self, entry: &DatasetFile, file: &ParquetFile) -> Result<Arc<FilePlan>> {
        self.plan_with(entry, file, None, self.predicate.as_ref())
    }

    /// The plan for files like `file` where `narrowing` has been added to the predicate.
    pub(super) fn narrowed_plan_of(
        &self,
        entry: &DatasetFile,
        file: &ParquetFile,
        narrowing: &Arc<Narrowing>,
    ) -> Result<Arc<FilePlan>> {
        let both = self.predicate.clone().map(|predicate| predicate.and(narrowing.predicate.clone()));
        let predicate = both.as_ref().unwrap_or(&narrowing.predicate);
        self.plan_with(entry, file, Some(narrowing), Some(predicate))
    }

    fn plan_with(
        &self,
        entry: &DatasetFile,
        file: &ParquetFile,
        narrowing: Option<&Arc<Narrowing>>,
        predicate: Option<&Predicate>,
    ) -> Result<Arc<FilePlan>> {
        let mut plans = self.plans.of_schemas.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = plans.iter().rev().find(|planned| planned.is_of(file, entry.partition(), narrowing)) {
            return Ok(Arc::clone(&found.plan));
        }
        let (alignment, projection) = match &self.leaves {
            Some(leaves) => {
                let projection = Projection::from_leaves(leaves.iter().copied());
                (Alignment::identity(&self.target.of_files), Some(projection))
            }
            None => {
                let alignment = self.dataset.align(&self.target.of_files, entry, file)?;
                let projection = alignment.paths().map(|paths| Projection::from_paths(paths.iter().cloned()));
                (alignment, projection)
            }
        };
        let constants = self.constants(entry.partition(), Some(file));
        let added = narrowing.map(|narrowing| &narrowing.predicate);
        let columns = (alignment, projection.as_ref());
        let plan = FilePlan::new(file, columns, &self.layout, predicate, added, &constants)
            .map_err(|error| file.locate(error))?;
        let plan = Arc::new(plan);
        // What was added before is not asked for again.
        let is_same =
            |planned: &PlannedSchema| planned.narrowing.as_ref().map(Arc::as_ptr) == narrowing.map(Arc::as_ptr);
        plans.retain(|planned| planned.narrowing.is_none() || is_same(planned));
        if plans.len() == MAX_PLANS {
            plans.remove(0);
        }
        plans.push(PlannedSchema {
            schema: Arc::clone(file.schema()),
            columns: Arc::clone(file.metadata().schema_descr()),
            partition: entry.partition().into(),
            narrowing: narrowing.cloned(),
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
    pub(super) fn constants(&self, partition: &[u32], file: Option<&ParquetFile>) -> Vec<Constant> {
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
pub(super) type RowsLeft = (usize, Vec<Range<u64>>, Option<Arc<BoundPredicate>>);
