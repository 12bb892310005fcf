//! Entry points of scans: files, datasets, tasks and plans.

use std::sync::Arc;

use arrow_schema::SchemaRef;

use super::{Scan, Source};
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::file::ParquetFile;
use crate::runtime::Runtime;
use crate::scan::run::ScanBatches;
use crate::scan::task::{How, ScanPlan, ScanTask};

impl Scan {
    fn from_file(file: ParquetFile) -> Self {
        Self::new(Source::File(file))
    }

    fn from_dataset(dataset: Dataset) -> Self {
        Self::new(Source::Dataset(dataset))
    }

    /// A scan that runs tasks, one after another or on threads. Its columns, predicate and batch size were fixed when the tasks
    /// were planned: [`Scan::build`] refuses others.
    ///
    /// # Errors
    /// [`Error::Invalid`] without tasks, and if tasks have different columns.
    pub fn from_tasks(tasks: impl IntoIterator<Item = ScanTask>) -> Result<Self> {
        let tasks: Vec<ScanTask> = tasks.into_iter().collect();
        let Some(first) = tasks.first() else { return Err(Error::invalid("there are no tasks")) };
        if let Some(other) = tasks.iter().find(|task| task.schema() != first.schema() || task.how() != first.how()) {
            return Err(Error::invalid(format!(
                "tasks of {} and {} have different columns or batch sizes; run them one by one",
                first.location(),
                other.location()
            )));
        }
        let How { batch_size, verify_crc } = first.how();
        let layout = first.planner().query.layout.clone();
        let mut scan = Self::new(Source::Tasks(tasks));
        scan.query.layout = layout;
        (scan.settings.batch_size, scan.settings.verify_crc) = (batch_size, verify_crc);
        Ok(scan)
    }

    /// A scan without rows.
    fn empty(schema: &SchemaRef) -> Self {
        Self::new(Source::Nothing(Arc::clone(schema)))
    }
}

impl ScanTask {
    /// Reads the rows on the calling thread. A task that was deserialized opens its file with the caches and connections of
    /// `runtime`.
    ///
    /// # Errors
    /// As [`Scan::build`](super::Scan::build).
    pub fn execute(&self, runtime: &Runtime) -> Result<ScanBatches> {
        let task = if self.is_open() { self.clone() } else { self.open_by(runtime)? };
        Scan::from_tasks([task])?.runtime(runtime).threads(1).build()
    }
}

impl ScanPlan {
    /// A scan that runs all tasks.
    ///
    /// # Errors
    /// As [`Scan::from_tasks`].
    pub fn scan(&self) -> Result<Scan> {
        if self.tasks().is_empty() {
            return Ok(Scan::empty(self.schema()));
        }
        Ok(Scan::from_tasks(self.tasks().iter().cloned())?.limit(self.limit().unwrap_or(u64::MAX)))
    }
}

impl ParquetFile {
    /// A scan of the file.
    pub fn scan(&self) -> Scan {
        Scan::from_file(self.clone())
    }
}

impl Dataset {
    /// A scan of all files.
    pub fn scan(&self) -> Scan {
        Scan::from_dataset(self.clone())
    }
}
