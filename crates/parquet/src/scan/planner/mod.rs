//! Plans files: the row groups and rows to scan. Any thread can plan any file.

mod file_plans;
mod planned;
mod plans;
mod query;
mod ranges;
mod shared_probe;

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use lath_predicate::{BoundPredicate, Test};

use self::planned::is_whole;
use self::plans::Plans;
use super::dynamic::Narrowing;
use crate::dataset::{Dataset, DatasetFile, DatasetOptions};
use crate::deletes::DeleteMask;
use crate::error::{Error, Result};
use crate::file::ParquetFile;
use crate::filters::FilterMemory;
use crate::prune::{PruneReport, prune};
use crate::scan::columns::{FilePlan, FileTarget, Target, split_conjuncts};
use crate::scan::monitor::{Cancel, Counters, Planning};
use crate::scan::rows::{RowGroupRows, split_selection};
use lath_source::{ReadAhead, Version};

pub(super) use self::planned::PlannedRowGroup;
pub(super) use self::query::Query;
pub(super) use self::ranges::intersection;

/// The files, query and columns of a scan.
#[derive(Debug, Clone)]
pub(super) struct Planner {
    pub(super) dataset: Dataset,
    pub(super) query: Query,
    /// Maximum rows of the result.
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

    /// Whether rows of a file are selected.
    pub(super) fn is_wanted(&self, file: usize) -> bool {
        self.query.rows.as_ref().is_none_or(|rows| rows.includes(file))
    }

    /// The selected rows of a file; `None` for all rows.
    pub(super) fn row_ranges(&self, file: usize) -> Option<&[Range<u64>]> {
        self.query.rows.as_ref().map(|rows| rows.ranges(file))
    }

    /// The selected rows of each row group of a file, in the order of the selected row groups.
    pub(super) fn selected_rows(&self, file: usize, row_counts: &[u64]) -> Result<Vec<RowGroupRows>> {
        let rows = split_selection(row_counts, self.query.row_groups.as_deref(), self.row_ranges(file));
        let location = self.dataset.files()[file].location();
        rows.map_err(|error| match error {
            Error::Invalid { what } if !location.is_empty() => Error::invalid(format!("{location}: {what}")),
            other => other,
        })
    }

    /// Plans the first file, so that errors are reported even if no row is read.
    pub(super) fn check(&self) -> Result<()> {
        match self.dataset.files().first() {
            // The predicate has been bound to the table's columns then.
            Some(first) if first.evidence().is_some() && !self.may_be_in_file(first)? => Ok(()),
            Some(first) => {
                let file = first.open()?;
                self.plan_for(first, &file)?;
                let is_whole = self.query.row_groups.is_none() && self.row_ranges(0).is_none();
                if !is_whole && self.is_wanted(0) {
                    self.selected_rows(0, file.row_group_row_counts())?;
                }
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Plans several files.
    pub(super) fn plan_files(
        self: &Arc<Self>,
        files: Range<usize>,
        counters: &Counters,
    ) -> Vec<Result<Vec<PlannedRowGroup>>> {
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

    /// Plans one file.
    pub(super) fn plan_one(self: &Arc<Self>, index: usize, counters: &Counters) -> Result<Vec<PlannedRowGroup>> {
        let mut planning = Planning::default();
        let planned = self.plan_file(index, counters, &mut planning);
        counters.add_planning(&planning);
        planned
    }

    fn plan_file(
        self: &Arc<Self>,
        index: usize,
        counters: &Counters,
        planning: &mut Planning,
    ) -> Result<Vec<PlannedRowGroup>> {
        match self.open(index, planning)? {
            Some(file) => self.plan_open(index, &file.counted(&counters.traffic), planning),
            None => Ok(Vec::new()),
        }
    }

    /// Opens a file, unless none of its rows is selected or its partition is ruled out.
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

    /// Whether rows of a file may be in the result, as far as is known before opening it.
    pub(super) fn may_have_rows(&self, index: usize, planning: &mut Planning) -> Result<bool> {
        if !self.is_wanted(index) {
            return Ok(false);
        }
        let file = &self.dataset.files()[index];
        let may_have = self.may_be_in_partition(file.partition())? && self.may_be_in_file(file)?;
        if !may_have {
            planning.add_pruned_file();
        }
        Ok(may_have)
    }

    /// Plans `file`, which is open.
    pub(super) fn plan_open(
        self: &Arc<Self>,
        index: usize,
        file: &ParquetFile,
        planning: &mut Planning,
    ) -> Result<Vec<PlannedRowGroup>> {
        let planned = self.plan_row_groups(index, file, planning).map_err(|error| file.locate(error))?;
        planning.add_file(planned.len(), planned.iter().map(PlannedRowGroup::row_count).sum());
        Ok(planned)
    }

    fn plan_row_groups(
        self: &Arc<Self>,
        index: usize,
        file: &ParquetFile,
        planning: &mut Planning,
    ) -> Result<Vec<PlannedRowGroup>> {
        let entry = &self.dataset.files()[index];
        let row_ranges = self.row_ranges(index);
        let plan = self.plan_for(entry, file)?;
        let row_counts = file.row_group_row_counts();
        let chosen = || self.selected_rows(index, row_counts);
        let mut rows: Vec<RowsLeft> = Vec::new();
        match &plan.predicate {
            None => rows.extend(chosen()?.into_iter().map(|rows| (rows.row_group, rows.ranges, None))),
            Some(predicate) => {
                // Most files are ruled out: the selected rows are computed only if they are not all rows.
                let is_whole = self.query.row_groups.is_none() && row_ranges.is_none();
                let chosen = if is_whole { Vec::new() } else { chosen()? };
                let row_groups: Vec<usize> = match is_whole {
                    true => (0..row_counts.len()).collect(),
                    false => chosen.iter().map(|rows| rows.row_group).collect(),
                };
                let start = Instant::now();
                let pruned = prune(file, predicate, &row_groups, &self.query.pruning, &mut planning.pruned);
                planning.prune += start.elapsed();
                let mut chosen = chosen.into_iter();
                for surviving in pruned? {
                    // Pruning keeps the order.
                    let own = chosen.find(|own| own.row_group == surviving.row_group);
                    let rows_left = match (row_ranges, own) {
                        (Some(_), Some(own)) => intersection(&surviving.rows, &own.ranges),
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
        let deleted = self.deleted(index)?;
        let file = &self.read_ahead(file, &plan, &rows);
        let computed_filters = self.computed_filters(index, file);
        let planned = rows.into_iter().map(|(row_group, rows, predicate)| PlannedRowGroup {
            planner: Arc::clone(self),
            file_index: index,
            file: file.clone(),
            plan: Arc::clone(&plan),
            target: Arc::clone(&target),
            row_group,
            first_row: starts[row_group],
            rows,
            deleted: deleted.clone(),
            predicate,
            narrowing: 0,
            uses_page_index: self.query.pruning.page_index,
            computed_filters: computed_filters.clone(),
        });
        Ok(planned.collect())
    }

    /// The deleted rows of a file: the dataset's, and the scan's own. They are read here if they are not known yet.
    pub(super) fn deleted(&self, index: usize) -> Result<Option<Arc<DeleteMask>>> {
        let file = &self.dataset.files()[index];
        let own = self.query.deleted.get(&index);
        let Some(deleted) = file.deleted() else { return Ok(own.cloned()) };
        let located = |error: Error| match error {
            Error::Invalid { what } => Error::invalid(format!("{}: {what}", file.location())),
            error => error.locate(|at| at.file = at.file.take().or_else(|| Some(file.location().into()))),
        };
        let deleted = deleted.mask().map_err(located)?;
        Ok(match own {
            None => (!deleted.is_empty()).then(|| Arc::clone(deleted)),
            Some(own) => {
                let mut both = DeleteMask::clone(own);
                both |= deleted;
                Some(Arc::new(both))
            }
        })
    }

    /// Applies a dynamic filter to a row group that was planned before; `None` if no row remains.
    pub(super) fn narrow(
        &self,
        planned: PlannedRowGroup,
        narrowing: &Arc<Narrowing>,
        counters: &Counters,
    ) -> Result<Option<PlannedRowGroup>> {
        let start = Instant::now();
        let entry = &self.dataset.files()[planned.file_index];
        let plan = self.narrowed_plan_for(entry, &planned.file, narrowing)?;
        let (Some(added), Some(both)) = (&plan.added, &plan.predicate) else {
            return Err(Error::internal("a plan without the condition that it is for"));
        };
        let mut report = PruneReport::default();
        let left = prune(&planned.file, added, &[planned.row_group], &self.query.pruning, &mut report)?;
        counters.add_narrowing(report, start.elapsed());
        let Some(left) = left.into_iter().next() else { return Ok(None) };
        let rows = intersection(&planned.rows, &left.rows);
        if rows.is_empty() {
            return Ok(None);
        }
        let planned = PlannedRowGroup { rows, narrowing: narrowing.version, ..planned };
        if matches!(*left.test, Test::Constant(Some(true))) {
            return Ok(Some(planned));
        }
        let predicate = match &self.query.predicate {
            Some(_) => Arc::clone(both),
            None => Arc::new(added.with_test((*left.test).clone())),
        };
        Ok(Some(PlannedRowGroup { plan, predicate: Some(predicate), ..planned }))
    }

    /// The file with read-ahead of the planned row groups, if that saves requests.
    pub(super) fn read_ahead(&self, file: &ParquetFile, plan: &FilePlan, rows: &[RowsLeft]) -> ParquetFile {
        let extents = || {
            let of_row_group = |(row_group, rows, predicate): &RowsLeft| {
                // With a limit, the scan may end before the last row.
                let is_all = self.limit == u64::MAX && is_whole(file, *row_group, rows);
                let conjuncts = if is_all { split_conjuncts(predicate.as_deref()) } else { None };
                let is_wanted = |leaf| conjuncts.as_ref().is_some_and(|conjuncts| plan.is_read_first(leaf, conjuncts));
                let leaves = plan.leaves.iter().enumerate();
                file.extents(*row_group, leaves.map(|(at, leaf)| (leaf.leaf.column, is_wanted(at))))
            };
            rows.iter().flat_map(of_row_group).collect()
        };
        file.over(ReadAhead::within(Arc::clone(file.source()), extents))
    }

    /// Memory for computed filters of a file; `None` if filters are not computed.
    pub(super) fn computed_filters(&self, index: usize, file: &ParquetFile) -> Option<Arc<FilterMemory>> {
        let pruning = &self.query.pruning;
        let is_on =
            pruning.bloom && pruning.computed_filters && self.dataset.files()[index].options().computes_filters();
        let memory = pruning.filter_memory.as_ref().or_else(|| file.filters().memory());
        memory.filter(|_| is_on).cloned()
    }

    /// Returns a planner that opens the files in `versions` (their numbers and expected versions) with `options`.
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
            let open = options.open().clone().with_schema_options_from(file.options().open());
            let options = Arc::new(options.clone().open_options(open));
            let path = file.path().and_then(Path::to_str);
            let opened =
                DatasetFile::described(file.location(), path, version.clone(), file.partition().into(), &options)?;
            files[*at] = opened.with_rows_from(file);
        }
        Ok(Self { dataset: self.dataset.with_files(files), plans: Arc::default(), ..self.clone() })
    }
}

/// A row group, its remaining rows, and the predicate that they have to pass.
pub(super) type RowsLeft = (usize, Vec<Range<u64>>, Option<Arc<BoundPredicate>>);
