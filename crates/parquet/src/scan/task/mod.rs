//! Scans as values: tasks, one for each row group, that are run here or elsewhere.

mod form;
mod order;
mod plan;
mod select;

use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use arrow_schema::SchemaRef;
use lath_predicate::Test;
use lath_source::{ByteRanges, Version};

use super::planner::{PlannedRowGroup, Planner, intersection};
use crate::dataset::DatasetOptions;
use crate::error::{Error, Result};
use crate::file::ParquetFile;
use crate::prune::{PruneReport, Pruning, prune};
use crate::runtime::Runtime;
use crate::scan::columns::FileTarget;
use crate::scan::monitor::{Counters, Planning};

pub use plan::ScanPlan;

/// Rows of one row group to read: a step of a scan as a value.
///
/// [`Scan::plan`](super::Scan::plan) makes tasks. A task can be run alone ([`ScanTask::execute`]), with others on threads
/// ([`Scan::from_tasks`](super::Scan::from_tasks)), or in parts ([`ScanTask::within`]). With `serde` it can be serialized and run by
/// another process that reaches the file, with the same rows as the result. The page on tasks in `docs/` describes the serialized
/// form. A file that has changed since is an error.
///
/// ```no_run
/// # fn main() -> lath_parquet::Result<()> {
/// use lath_parquet::{Dataset, DatasetOptions, Runtime};
///
/// let orders = Dataset::open(["orders/"], DatasetOptions::new())?;
/// let plan = orders.scan().filter("total > 100")?.select(["id"]).plan()?;
/// for task in plan.tasks() {
///     println!("at most {} rows of {}", task.row_count(), task.location());
///     for batch in task.execute(&Runtime::global())? {
///         println!("{} rows", batch?.num_rows());
///     }
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ScanTask {
    planner: Arc<Planner>,
    how: How,
    /// Index of the file in the planner's dataset.
    file: usize,
    /// Expected version of the file.
    version: Option<Version>,
    row_group: usize,
    /// Rows of the row group, sorted and disjoint.
    rows: Vec<Range<u64>>,
    row_count: u64,
    byte_count: u64,
    /// Whether all of these rows pass.
    is_settled: bool,
    /// The open file and its plan, if the task was planned in this process.
    open: Option<Arc<(ParquetFile, PlannedRowGroup)>>,
}

/// Settings of the batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct How {
    pub(super) batch_size: usize,
    pub(super) verify_crc: bool,
}

impl ScanTask {
    /// The task for a row group that planning found in `file`.
    fn new(planned: PlannedRowGroup, file: ParquetFile, how: How) -> Self {
        let row_count = planned.kept_row_count();
        let mut task = Self {
            planner: Arc::clone(&planned.planner),
            how,
            file: planned.file_index,
            version: file.version().cloned(),
            row_group: planned.row_group,
            rows: planned.rows.clone(),
            row_count,
            byte_count: 0,
            is_settled: planned.predicate.is_none(),
            open: None,
        };
        task.byte_count = byte_count(&planned);
        task.open = Some(Arc::new((file, planned)));
        task
    }

    /// The tasks of the file at `index`, which is planned as `file` and read through `source`.
    pub(super) fn for_file(
        planner: &Arc<Planner>,
        index: usize,
        file: &ParquetFile,
        source: &Arc<dyn ByteRanges>,
        how: How,
        counters: &Counters,
    ) -> Result<Vec<Self>> {
        let mut planning = Planning::default();
        let planned = planner.plan_open(index, &file.counted(&counters.traffic), &mut planning)?;
        counters.add_planning(&planning);
        let file = file.over(Arc::clone(source));
        Ok(planned.into_iter().map(|planned| Self::new(planned, file.clone(), how)).collect())
    }

    /// The schema of the batches.
    pub fn schema(&self) -> &SchemaRef {
        &self.planner.target.schema
    }

    /// Path or URL of the file.
    pub fn location(&self) -> &str {
        self.planner.dataset.files()[self.file].location()
    }

    /// The path of a local file.
    pub fn path(&self) -> Option<&Path> {
        self.planner.dataset.files()[self.file].path()
    }

    /// Index of the file in the planned dataset.
    pub fn file_index(&self) -> usize {
        self.file
    }

    /// The row group, counted from 0.
    pub fn row_group(&self) -> usize {
        self.row_group
    }

    /// The rows to test, counted from the row group's first.
    pub fn rows(&self) -> &[Range<u64>] {
        &self.rows
    }

    /// Number of rows that the task reads, without deleted ones: the maximum of rows that it returns.
    pub fn row_count(&self) -> u64 {
        self.row_count
    }

    /// Whether the task returns exactly [`ScanTask::row_count`] rows, because no condition is left to test.
    pub fn is_exact(&self) -> bool {
        self.is_settled
    }

    /// Estimate of the bytes to read from the file, compressed.
    pub fn byte_count(&self) -> u64 {
        self.byte_count
    }

    /// The part of the task within `rows`, counted from the row group's first; `None` if there is none.
    pub fn within(&self, rows: Range<u64>) -> Option<Self> {
        let rows = intersection(&self.rows, std::slice::from_ref(&rows));
        if rows.is_empty() {
            return None;
        }
        let len = |rows: &[Range<u64>]| rows.iter().map(|range| range.end - range.start).sum::<u64>();
        let (part, all) = (len(&rows), len(&self.rows));
        // Assumes the same share of deleted rows as in the whole, if it is not known.
        let row_count =
            self.open.as_deref().map(|(_, planned)| PlannedRowGroup { rows: rows.clone(), ..planned.clone() });
        let row_count = row_count.map_or(part, |planned| planned.kept_row_count());
        let byte_count = (u128::from(self.byte_count) * u128::from(part) / u128::from(all.max(1))) as u64;
        Some(Self { rows, row_count, byte_count, ..self.clone() })
    }

    /// Parts of at most `max_rows` rows each, in order; 0 is taken as 1.
    pub fn split(&self, max_rows: u64) -> Vec<Self> {
        let max_rows = max_rows.max(1);
        let (mut parts, mut start, mut len) = (Vec::new(), None, 0);
        for range in &self.rows {
            let mut from = range.start;
            while from < range.end {
                let end = range.end.min(from + (max_rows - len));
                let first = *start.get_or_insert(from);
                len += end - from;
                from = end;
                if len == max_rows {
                    parts.extend(self.within(first..end));
                    (start, len) = (None, 0);
                }
            }
        }
        if let Some(first) = start {
            parts.extend(self.within(first..u64::MAX));
        }
        parts
    }

    /// A copy of the task whose file is opened with `options` (keys, limits, caches, access to stores); a deserialized task has
    /// the defaults. Options that decide the schema of a file stay as planned.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the file was given open, and for a location that cannot be opened with these options.
    pub fn open_with(&self, options: &DatasetOptions) -> Result<Self> {
        let planner = Arc::new(self.planner.open_with(options, &[(self.file, self.version.clone())])?);
        Ok(Self { planner, open: None, ..self.clone() })
    }

    /// Whether it was planned in this process.
    pub(super) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// A copy of the task whose file is opened as before, with the resources of `runtime`.
    pub(super) fn open_by(&self, runtime: &Runtime) -> Result<Self> {
        let options = self.planner.dataset.files()[self.file].options().clone();
        self.open_with(&options.runtime(runtime))
    }

    pub(super) fn how(&self) -> How {
        self.how
    }

    pub(super) fn planner(&self) -> &Arc<Planner> {
        &self.planner
    }

    /// Opens the file.
    pub(super) fn start(&self, counters: &Counters) -> Result<PlannedRowGroup> {
        let mut planning = Planning::default();
        let started = match self.open.as_deref() {
            Some((file, planned)) => {
                let file = file.counted(&counters.traffic);
                let rows = (self.row_group, self.rows.clone(), planned.predicate.clone());
                let file = self.planner.read_ahead(&file, &planned.plan, &[rows]);
                Ok(PlannedRowGroup { file, rows: self.rows.clone(), ..planned.clone() })
            }
            None => self.start_elsewhere(counters, &mut planning),
        };
        planning.add_file(1, self.row_count);
        counters.add_planning(&planning);
        started
    }

    /// Starts a task that another process has planned.
    fn start_elsewhere(&self, counters: &Counters, planning: &mut Planning) -> Result<PlannedRowGroup> {
        let Self { planner, row_group, .. } = self;
        let entry = &planner.dataset.files()[self.file];
        let start = std::time::Instant::now();
        let opened = entry.open();
        planning.open += start.elapsed();
        let opened = opened?;
        if !self.version.as_ref().is_none_or(|version| opened.version().is_some_and(|now| is_same(version, now))) {
            let what = format!("{}: the file has changed since the task was planned; plan it again", entry.location());
            return Err(Error::invalid(what));
        }
        let file = opened.counted(&counters.traffic);
        let located = |error| file.locate(error);
        let Some(&row_count) = file.row_group_row_counts().get(*row_group) else {
            return Err(located(Error::invalid(format!(
                "a task refers to row group {row_group}, which the file does not have"
            ))));
        };
        if self.rows.last().is_some_and(|range| range.end > row_count) {
            return Err(located(Error::invalid("a task refers to rows that the file does not have".to_owned())));
        }
        let plan = planner.plan_for(entry, &file)?;
        let mut rows = self.rows.clone();
        let mut predicate = plan.predicate.clone().filter(|_| !self.is_settled);
        if let Some(whole) = &predicate {
            // Evidence from the footer, which planning used, gives the same result again.
            let mut pruning = Pruning::none();
            pruning.statistics = planner.query.pruning.statistics;
            let left = prune(&file, whole, &[*row_group], &pruning, &mut PruneReport::default());
            match left.map_err(located)?.first() {
                None => rows.clear(),
                Some(left) if matches!(*left.test, Test::Constant(Some(true))) => predicate = None,
                Some(left) => predicate = Some(Arc::new(whole.with_test((*left.test).clone()))),
            }
        }
        let target = Arc::new(FileTarget::new(&planner.target, &plan, entry.location()));
        let first_row = file.row_group_row_counts()[..*row_group].iter().sum();
        let file = planner.read_ahead(&file, &plan, &[(*row_group, rows.clone(), predicate.clone())]);
        Ok(PlannedRowGroup {
            planner: Arc::clone(planner),
            file_index: self.file,
            computed_filters: planner.computed_filters(self.file, &file),
            file,
            plan,
            target,
            row_group: *row_group,
            first_row,
            rows,
            deleted: planner.deleted(self.file)?,
            predicate,
            narrowing: 0,
            uses_page_index: planner.query.pruning.page_index,
        })
    }
}

/// Estimate of the bytes to read for the remaining rows.
fn byte_count(planned: &PlannedRowGroup) -> u64 {
    let metadata = planned.file.metadata();
    let size = |leaf: usize| metadata.chunk(planned.row_group, leaf).map_or(0, |chunk| chunk.compressed_size());
    let bytes: u64 = planned.plan.leaves.iter().map(|leaf| size(leaf.leaf.column)).sum();
    let all = metadata.row_counts().get(planned.row_group).copied().unwrap_or(0);
    (u128::from(bytes) * u128::from(planned.row_count()) / u128::from(all.max(1))) as u64
}

/// Whether a file is unchanged; the device number differs between machines.
fn is_same(planned: &Version, now: &Version) -> bool {
    match (planned, now) {
        (
            Version::Local { len, modified, identity, changed },
            Version::Local { len: len_now, modified: modified_now, identity: identity_now, changed: changed_now },
        ) => {
            let is_same_file = identity.1 == identity_now.1;
            (len, modified, changed) == (len_now, modified_now, changed_now) && is_same_file
        }
        #[cfg(feature = "object-store")]
        _ => planned == now,
    }
}

impl fmt::Debug for ScanTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScanTask")
            .field("location", &self.location())
            .field("row_group", &self.row_group)
            .field("rows", &self.rows)
            .field("is_settled", &self.is_settled)
            .finish_non_exhaustive()
    }
}
