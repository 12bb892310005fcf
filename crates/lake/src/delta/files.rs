//! Makes the files of a dataset of the files of a log.

use std::sync::Arc;

use lath_parquet::{
    ColumnBounds, DatasetFile, DatasetOptions, DeletedRows, FileEvidence, PartitionColumn, Result, TablePredicate,
};

use super::actions::FileAction;
use super::partition_values::PartitionValues;
use super::schema::PartitionField;
use super::statistics::{FileStatistics, StatisticsColumns, StatisticsReader};
use super::{deletion_vector, paths};
use crate::storage::Folder;

/// The files of a table, without those that a condition rules out. None of them is opened, and no deletion vector is read.
pub(super) struct TableFiles {
    folder: Arc<Folder>,
    options: Arc<DatasetOptions>,
    partitions: PartitionValues,
    statistics: StatisticsReader,
    filter: Option<Filter>,
    files: Vec<DatasetFile>,
}

/// A condition, and the statistics of its columns alone.
struct Filter {
    predicate: TablePredicate,
    statistics: StatisticsReader,
}

/// The values of a file, as its action describes them.
#[derive(Debug)]
struct ActionEvidence<'a> {
    statistics: Option<&'a FileStatistics>,
    partitions: &'a PartitionValues,
    rows: &'a [u32],
}

impl FileEvidence for ActionEvidence<'_> {
    fn bounds(&self, path: &[String]) -> ColumnBounds {
        let partition = self.partitions.bounds(path, self.rows);
        partition.unwrap_or_else(|| self.statistics.map(|statistics| statistics.bounds(path)).unwrap_or_default())
    }
}

impl TableFiles {
    pub(super) fn new(
        folder: &Folder,
        partitions: Vec<PartitionField>,
        statistics: StatisticsColumns,
        options: Arc<DatasetOptions>,
        filter: Option<TablePredicate>,
    ) -> Self {
        let filter = filter.map(|predicate| {
            let statistics = statistics.only(|path| predicate.paths().any(|own| own == path));
            Filter { predicate, statistics: StatisticsReader::new(statistics) }
        });
        Self {
            folder: Arc::new(folder.clone()),
            options,
            partitions: PartitionValues::new(partitions, filter.is_some()),
            statistics: StatisticsReader::new(statistics),
            filter,
            files: Vec::new(),
        }
    }

    /// Adds a file, unless the condition rules it out.
    pub(super) fn add(&mut self, action: FileAction<'_>) -> Result<()> {
        let rows = self.partitions.rows(action.partition_value)?;
        if let Some(filter) = &mut self.filter {
            let read = action.stats.and_then(|json| filter.statistics.read(json));
            let evidence = ActionEvidence { statistics: read.as_ref(), partitions: &self.partitions, rows: &rows };
            if !filter.predicate.may_have_rows(&evidence) {
                return Ok(());
            }
        }
        let location = paths::resolve(&self.folder, action.path)?;
        let mut file = DatasetFile::at(&location, action.size, rows, &self.options)?;
        if let Some(read) = action.stats.and_then(|json| self.statistics.read(json)) {
            file = file.with_evidence(Arc::new(read));
        }
        if let Some(vector) = action.deletion_vector {
            let folder = Arc::clone(&self.folder);
            let count = Some(vector.cardinality);
            file = file.with_deleted(DeletedRows::new(count, move || deletion_vector::read(&folder, &vector)));
        }
        self.files.push(file);
        Ok(())
    }

    /// The files in the order of their names, whatever the order of commits, and the partition columns.
    pub(super) fn finish(self) -> Result<(Vec<DatasetFile>, Vec<PartitionColumn>)> {
        let mut files = self.files;
        files.sort_unstable_by(|left, right| left.location().cmp(right.location()));
        Ok((files, self.partitions.finish()?))
    }
}
