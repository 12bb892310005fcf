//! What a scan is to do, and the steps of it that any thread can take.

use std::ops::Range;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use super::cancel::Cancel;
use super::counters::Counters;
use super::file_plan::FilePlan;
use super::target::{FileTarget, Target};
use super::work::Planned;
use crate::error::{Error, Result};
use crate::file::ParquetFile;
use crate::options::Strings;
use crate::predicate::{Predicate, Test};

/// Everything that is settled before a scan starts.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) files: Vec<ParquetFile>,
    pub(super) predicate: Option<Predicate>,
    /// The columns of files that are read; `None` for all.
    pub(super) paths: Option<Vec<String>>,
    pub(super) row_groups: Option<Vec<usize>>,
    pub(super) row_ranges: Option<Vec<Range<u64>>>,
    pub(super) strings: Strings,
    pub(super) batch_size: usize,
    pub(super) limit: u64,
    pub(super) verify_crc: bool,
    pub(super) unordered: bool,
    pub(super) memory_limit: usize,
    pub(super) cancel: Cancel,
    pub(super) target: Arc<Target>,
    /// What all files have in common.
    pub(super) common: arrow_schema::SchemaRef,
    pub(super) plans: Mutex<Vec<Arc<PlannedSchema>>>,
    pub(super) counters: Counters,
}

/// The plan for files of one schema.
#[derive(Debug)]
pub(super) struct PlannedSchema {
    schema: arrow_schema::SchemaRef,
    columns: parquet::schema::types::SchemaDescPtr,
    pub(super) plan: Arc<FilePlan>,
}

impl PlannedSchema {
    /// Plans for files like `file`.
    pub(super) fn new(file: &ParquetFile, plan: FilePlan) -> Self {
        let columns = file.metadata().file_metadata().schema_descr_ptr();
        Self { schema: Arc::clone(file.schema()), columns, plan: Arc::new(plan) }
    }

    fn is_of(&self, file: &ParquetFile) -> bool {
        let is_same_schema = Arc::ptr_eq(&self.schema, file.schema()) || self.schema == *file.schema();
        is_same_schema && {
            let columns = file.metadata().file_metadata().schema_descr();
            std::ptr::eq(&raw const *self.columns, columns) || self.columns.root_schema() == columns.root_schema()
        }
    }
}

impl Job {
    /// What there is to do in a file.
    pub(super) fn plan_file(&self, index: usize) -> Result<Vec<Planned>> {
        self.cancel.check()?;
        let file = &self.files[index];
        self.counters.files.fetch_add(1, Ordering::Relaxed);
        self.plan_open(file).map_err(|error| file.locate(error))
    }

    fn plan_open(&self, file: &ParquetFile) -> Result<Vec<Planned>> {
        let plan = self.plan_of(file)?;
        if plan.predicate.as_ref().is_some_and(|bound| matches!(bound.test, Test::Constant(Some(false) | None))) {
            return Ok(Vec::new());
        }
        let predicate = plan
            .predicate
            .as_ref()
            .filter(|bound| bound.test != Test::Constant(Some(true)))
            .map(|bound| Arc::new(bound.clone()));
        let name = file.name().unwrap_or_default().into();
        let target = Arc::new(FileTarget::new(&self.target, &self.common, &plan.schema, name)?);
        let row_counts = file.row_group_row_counts();
        let rows = crate::read::split_rows(row_counts, self.row_groups.as_deref(), self.row_ranges.as_deref())?;
        let starts: Vec<u64> = row_counts
            .iter()
            .scan(0u64, |start, count| Some(std::mem::replace(start, start.saturating_add(*count))))
            .collect();
        let planned = rows.into_iter().map(|rows| Planned {
            file: file.clone(),
            plan: Arc::clone(&plan),
            target: Arc::clone(&target),
            row_group: rows.row_group,
            first_row: starts[rows.row_group],
            rows: rows.ranges,
            predicate: predicate.clone(),
        });
        let planned: Vec<Planned> = planned.collect();
        self.counters.row_groups.fetch_add(planned.len() as u64, Ordering::Relaxed);
        self.counters.rows.fetch_add(planned.iter().map(Planned::row_count).sum(), Ordering::Relaxed);
        Ok(planned)
    }

    /// The plan for files like `file`, made once for each schema.
    fn plan_of(&self, file: &ParquetFile) -> Result<Arc<FilePlan>> {
        let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = plans.iter().find(|planned| planned.is_of(file)) {
            return Ok(Arc::clone(&found.plan));
        }
        let plan = FilePlan::new(file, self.paths.as_deref(), self.strings, self.predicate.as_ref(), &[])?;
        let planned = Arc::new(PlannedSchema::new(file, plan));
        let plan = Arc::clone(&planned.plan);
        plans.push(planned);
        Ok(plan)
    }
}

/// What a worker says that panicked: a bug of ours, of which the caller must learn instead of waiting for ever.
pub(super) fn panicked() -> Error {
    Error::corrupt("a scanning thread panicked")
}
