//! Turns the options of a scan into its work.

use std::sync::Arc;

use super::{Scan, Source};
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::runtime::Runtime;
use crate::scan::columns::{Target, VirtualColumns};
use crate::scan::monitor::Counters;
use crate::scan::plan_all::plan_all;
use crate::scan::planner::{Planner, Query};
use crate::scan::rows::RowSelection;
use crate::scan::run::{Job, ScanBatches, ScanStream, Work};
use crate::scan::steps::ScanPlanner;
use crate::scan::task::{How, ScanPlan, ScanTask};
use crate::schema::Projection;

impl Scan {
    /// Plans the scan. No page is read before the first batch is requested.
    ///
    /// # Errors
    /// [`Error::Invalid`] for columns, files, row groups or ranges that do not exist, for a predicate that does not fit their
    /// columns, and for a batch size or number of threads of 0; [`Error::Unsupported`] for a schema that cannot be read.
    pub fn build(self) -> Result<ScanBatches> {
        let threads = self.threads;
        Ok(ScanBatches::new(self.job()?, threads))
    }

    /// Plans all files on the scan's threads, and returns tasks for the remaining row groups. Reads footers, and evidence that
    /// rules out row groups and pages, but no data page. With a limit, it stops once the planned files certainly have enough
    /// rows. Dynamic filter, threads and order of batches are set when the tasks are run.
    ///
    /// # Errors
    /// As [`Scan::build`], and errors of reading footers and indexes.
    pub fn plan(self) -> Result<ScanPlan> {
        let threads = self.threads;
        plan_all(self.job()?, threads)
    }

    /// As [`Scan::plan`], with a planner that does no I/O: it returns the ranges that it needs.
    ///
    /// # Errors
    /// As [`Scan::build`], and [`Error::Invalid`] for a scan of tasks.
    pub fn into_planner(self) -> Result<ScanPlanner> {
        ScanPlanner::new(self.job()?)
    }

    /// As [`Scan::build`], as a stream. Threads of the scan's own (at least one) open files and decode rows.
    ///
    /// # Errors
    /// As [`Scan::build`].
    pub fn into_stream(self) -> Result<ScanStream> {
        self.build().map(ScanStream::new)
    }

    /// The number of rows that the scan finds, up to its limit, without building batches. Row groups whose rows all pass are not
    /// read; from others only the columns of the predicate are read.
    ///
    /// # Errors
    /// As [`Scan::build`], and errors of reading.
    pub fn count(mut self) -> Result<u64> {
        if !matches!(self.source, Source::Tasks(_)) {
            (self.paths, self.columns, self.query.leaves) = (Some(Vec::new()), None, None);
            self.virtual_columns = VirtualColumns::default();
        }
        self.build()?.count_rows()
    }

    fn job(self) -> Result<Job> {
        if self.settings.batch_size == 0 {
            return Err(Error::invalid("the batch size must be at least 1 row"));
        }
        let (work, target, files) = match self.source {
            Source::File(ref file) => self.dataset_work(Dataset::of([file.clone()])?)?,
            Source::Dataset(ref dataset) => self.dataset_work(dataset.clone())?,
            Source::Tasks(ref tasks) => self.tasks_work(tasks)?,
            Source::Nothing(ref schema) => {
                let target =
                    Target::new(Arc::clone(schema), None, &VirtualColumns::default(), self.query.layout.strings)?;
                (Work::Tasks(Vec::new()), Arc::new(target), 0)
            }
        };
        Ok(Job {
            work,
            settings: self.settings,
            runtime: self.runtime.unwrap_or_else(Runtime::global),
            target,
            counters: Arc::new(Counters::new(files)),
        })
    }

    /// The work of scanning a dataset, its target, and the number of files.
    fn dataset_work(&self, dataset: Dataset) -> Result<(Work, Arc<Target>, usize)> {
        let file_count = dataset.files().len();
        let last_with_rows = self.query.rows.as_ref().and_then(RowSelection::last_file);
        let last_with_deletes = self.query.deleted.last_key_value().map(|(&last, _)| last);
        if let Some(last) = last_with_rows.max(last_with_deletes).filter(|&last| last >= file_count) {
            return Err(Error::invalid(format!(
                "there is no file {last}; the dataset has {file_count}, counted from 0"
            )));
        }
        if self.query.leaves.is_some() && !matches!(self.source, Source::File(_)) {
            return Err(Error::invalid("leaves are numbered within one file; scan that, or select columns by name"));
        }
        let chosen = self.columns.as_ref().map(|columns| column_names(&dataset, columns)).transpose()?;
        let paths = chosen.as_deref().or(self.paths.as_deref()).filter(|_| self.query.leaves.is_none());
        let of_files = match (&self.source, &self.query.leaves) {
            (Source::File(file), Some(leaves)) => {
                let projection = Projection::from_leaves(leaves.iter().copied());
                file.build_schema(&file.schema_options().with_layout(&self.query.layout), Some(&projection))?.0
            }
            _ => {
                let paths = paths.map(|paths| self.virtual_columns.without(paths).cloned().collect::<Vec<_>>());
                dataset.project(paths.as_deref(), &self.query.layout)?
            }
        };
        let target = Arc::new(Target::new(of_files, paths, &self.virtual_columns, self.query.layout.strings)?);
        let planner = Planner {
            dataset,
            query: self.query.clone(),
            limit: self.settings.limit,
            cancel: self.settings.cancel.clone(),
            target: Arc::clone(&target),
            plans: Arc::default(),
        };
        planner.check()?;
        Ok((Work::Files(Arc::new(planner)), target, file_count))
    }

    /// The work of running tasks, their target, and the number of files.
    fn tasks_work(&self, tasks: &[ScanTask]) -> Result<(Work, Arc<Target>, usize)> {
        let Some(first) = tasks.first() else { return Err(Error::internal("no tasks")) };
        let Query { predicate, pruning: _, row_groups, rows, deleted, layout, leaves } = &self.query;
        let selects = predicate.is_some()
            || row_groups.is_some()
            || rows.is_some()
            || !deleted.is_empty()
            || leaves.is_some()
            || self.paths.is_some()
            || self.columns.is_some()
            || self.virtual_columns != VirtualColumns::default();
        let how = How { batch_size: self.settings.batch_size, verify_crc: self.settings.verify_crc };
        if selects || how != first.how() || *layout != first.planner().query.layout {
            return Err(Error::invalid(
                "the rows and columns of tasks were chosen when they were planned: choose before planning, or cut tasks by their rows",
            ));
        }
        let mut files: Vec<(usize, usize)> =
            tasks.iter().map(|task| (Arc::as_ptr(task.planner()).addr(), task.file_index())).collect();
        files.sort_unstable();
        files.dedup();
        Ok((Work::Tasks(tasks.to_vec()), Arc::clone(&first.planner().target), files.len()))
    }
}

/// The names of the columns with these indices.
fn column_names(dataset: &Dataset, columns: &[usize]) -> Result<Vec<String>> {
    let fields = dataset.schema().fields();
    let name = |&at: &usize| match fields.get(at) {
        Some(field) => Ok(field.name().clone()),
        None => Err(Error::invalid(format!("there is no column {at}; there are {}, counted from 0", fields.len()))),
    };
    columns.iter().map(name).collect()
}
