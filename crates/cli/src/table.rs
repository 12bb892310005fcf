//! The input files as one table.

use lath_catalog::Catalog;
use lath_parquet::{Dataset, Error, ParquetFile, PartitionColumn, Predicate, Scan};

use crate::args::{PruningArgs, RowGroupList, TableArgs};
use crate::failure::{Failure, Result};
use crate::inputs::Inputs;
use crate::scan::Scan as Options;

/// Files that are read as one table.
pub(crate) struct Table {
    dataset: Dataset,
    /// What the files were chosen by.
    catalog: Option<Catalog>,
}

impl Table {
    /// Opens all inputs as one table.
    pub(crate) fn open(inputs: &mut Inputs, args: TableArgs) -> Result<Self> {
        let all = 0..inputs.len();
        Ok(Self { dataset: inputs.dataset(all, args)?.map_err(scan_failure)?, catalog: None })
    }

    /// Opens one input as a table of its own columns.
    pub(crate) fn open_one(inputs: &mut Inputs, index: usize, args: TableArgs) -> Result<Self> {
        let args = TableArgs { no_partitions: true, ..args };
        Ok(Self { dataset: inputs.dataset(index..index + 1, args)?.map_err(scan_failure)?, catalog: None })
    }

    /// Files that `catalog` gave.
    pub(crate) fn of_catalog(dataset: Dataset, catalog: Catalog) -> Self {
        Self { dataset, catalog: Some(catalog) }
    }

    /// Closes the files; what of a catalog proved stale is read anew.
    pub(crate) fn close(self) {
        drop(self.dataset);
        if let Some(catalog) = self.catalog.filter(|catalog| catalog.stale_file_count() > 0) {
            // The search has its answer, also where the catalog cannot be written.
            let _ = catalog.update_stale();
        }
    }

    /// The files as a dataset.
    pub(crate) fn dataset(&self) -> &Dataset {
        &self.dataset
    }

    /// Reports a mistake in a predicate before any file is read.
    pub(crate) fn check(&self, predicate: &Predicate) -> Result<()> {
        predicate.filter(self.dataset.schema()).map(|_| ()).map_err(Failure::filtering)
    }

    /// Number of files.
    pub(crate) fn len(&self) -> usize {
        self.dataset.files().len()
    }

    /// The name of the file at `index`, for messages.
    pub(crate) fn name(&self, index: usize) -> &str {
        self.dataset.files()[index].location()
    }

    /// Opens the file at `index`.
    pub(crate) fn file(&self, index: usize) -> Result<ParquetFile> {
        self.dataset.files()[index].open().map_err(scan_failure)
    }

    /// Opens all files.
    pub(crate) fn files(&self) -> Result<Vec<ParquetFile>> {
        (0..self.len()).map(|index| self.file(index)).collect()
    }

    /// The columns that come from the names of directories.
    pub(crate) fn partitions(&self) -> &[PartitionColumn] {
        self.dataset.partitions()
    }

    /// Whether `columns` (all if `None`) has a partition column.
    pub(crate) fn adds_partitions(&self, columns: Option<&[String]>) -> bool {
        let is_chosen = |partition: &PartitionColumn| {
            columns.is_none_or(|columns| columns.iter().any(|column| column == partition.field().name()))
        };
        self.partitions().iter().any(is_chosen)
    }

    /// A scan of all rows.
    pub(crate) fn read(&self, options: &Options) -> Result<Scan> {
        Ok(self.scan(options)?.threads(options.threads).by_column(true))
    }

    /// A scan of the rows that satisfy `predicate`.
    pub(crate) fn find(&self, predicate: &Predicate, options: &Options) -> Result<Scan> {
        self.check(predicate)?;
        // Threads that wait for an object store may outnumber the cores.
        let threads = options.threads.max(self.dataset.concurrency());
        Ok(self.scan(options)?.predicate(predicate.clone()).threads(threads))
    }

    /// As [`find`](Self::find), with the kinds of pruning chosen.
    pub(crate) fn search(&self, predicate: &Predicate, options: &Options, pruning: &PruningArgs) -> Result<Scan> {
        Ok(self.find(predicate, options)?.pruning(pruning.pruning()))
    }

    fn scan(&self, options: &Options) -> Result<Scan> {
        let mut scan =
            self.dataset.scan().batch_size(options.batch_size).verify_crc(options.verify_crc).strings(options.strings);
        if let Some(columns) = &options.columns {
            scan = scan.select(columns);
        }
        if let Some(list) = &options.row_groups {
            scan = scan.row_groups(self.row_groups(list)?);
        }
        Ok(scan)
    }

    /// The chosen row groups, over all files.
    fn row_groups(&self, list: &RowGroupList) -> Result<Vec<usize>> {
        if self.len() == 0 {
            return Ok(Vec::new());
        }
        let count = self.file(0)?.metadata().row_group_count();
        list.resolve(count).map_err(|index| {
            let name = self.name(0);
            Failure::Usage(format!("{name}: there is no row group {index}; the file has {count}, counted from 0"))
        })
    }
}

/// The error of a scan, which names the file.
pub(crate) fn scan_failure(error: Error) -> Failure {
    let Some(name) = error.location().and_then(|at| at.file.clone()) else {
        return match error {
            Error::Invalid { what } => Failure::Usage(what),
            other => Failure::reading("the files", other),
        };
    };
    Failure::reading(&name, error)
}
