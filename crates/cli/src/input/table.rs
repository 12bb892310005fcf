//! The input files as one table.

#[cfg(feature = "sql")]
use arrow_schema::SchemaRef;
use lath_catalog::{Catalog, Selection};
use lath_parquet::{Dataset, DeletedRows, ParquetFile, PartitionColumn, Predicate, Scan};
#[cfg(feature = "sql")]
use {lath_parquet::Runtime, lath_sql::LathTable};

use crate::args::{RowGroupList, TableArgs};
use crate::failure::{Failure, Result, scan_failure};
use crate::input::inputs::Inputs;
use crate::input::scan::Scan as Options;

/// Files that are read as one table.
pub(crate) struct Table {
    dataset: Dataset,
    /// The condition that every row of the table satisfies; other rows of the files are not in the table.
    condition: Predicate,
    /// The catalog that selected the files.
    catalog: Option<Catalog>,
}

impl Table {
    /// Opens all inputs as one table.
    pub(crate) fn open(inputs: &mut Inputs, args: TableArgs) -> Result<Self> {
        if let Some(lake) = inputs.lake()
            && args.no_partitions
        {
            return Err(Failure::Usage(format!(
                "--no-partitions applies to files, and {} is {}",
                lake.location(),
                lake.format()
            )));
        }
        let all = 0..inputs.len();
        Ok(Self::new(inputs.dataset(all, args)?.map_err(scan_failure)?))
    }

    /// Opens one input as a table with the input's columns.
    pub(crate) fn open_one(inputs: &mut Inputs, index: usize, args: TableArgs) -> Result<Self> {
        let args = TableArgs { no_partitions: true, ..args };
        Ok(Self::new(inputs.dataset(index..index + 1, args)?.map_err(scan_failure)?))
    }

    fn new(dataset: Dataset) -> Self {
        Self { dataset, condition: Predicate::TRUE, catalog: None }
    }

    /// The rows that `catalog` selected.
    pub(crate) fn selected(selection: Selection, catalog: Catalog) -> Self {
        let (dataset, condition) = selection.into_parts();
        Self { dataset, condition, catalog: Some(catalog) }
    }

    /// The rows for which `condition` is true too. Reports a mistake in it before any row is read.
    pub(crate) fn with_condition(mut self, condition: Predicate) -> Result<Self> {
        condition.filter(self.dataset.schema()).map_err(Failure::filtering)?;
        self.condition = self.condition.and(condition);
        Ok(self)
    }

    /// Closes the files, and updates the catalog for files that have changed.
    pub(crate) fn close(self) {
        drop(self.dataset);
        if let Some(catalog) = self.catalog.filter(|catalog| catalog.stale_file_count() > 0) {
            // The search has its answer even if the catalog cannot be written.
            let _ = catalog.update_stale();
        }
    }

    /// The columns.
    #[cfg(feature = "sql")]
    pub(crate) fn schema(&self) -> &SchemaRef {
        self.dataset.schema()
    }

    /// The rows as a table of the SQL engine.
    #[cfg(feature = "sql")]
    pub(crate) fn sql_table(&self, runtime: &Runtime) -> LathTable {
        LathTable::new(self.dataset.clone(), runtime).with_condition(self.condition.clone())
    }

    /// Number of files.
    pub(crate) fn len(&self) -> usize {
        self.dataset.files().len()
    }

    /// The name of the file at `index`, for messages.
    pub(crate) fn name(&self, index: usize) -> &str {
        self.dataset.files()[index].location()
    }

    /// The deleted rows of the file at `index`.
    pub(crate) fn deleted(&self, index: usize) -> Option<&DeletedRows> {
        self.dataset.files()[index].deleted()
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

    /// A scan of the rows.
    pub(crate) fn scan(&self, options: &Options) -> Result<Scan> {
        let finds_all = self.condition == Predicate::TRUE;
        // If most files are ruled out, threads mostly wait for the object store, so there may be more of them than cores.
        let threads = if finds_all { options.threads } else { options.threads.max(self.dataset.concurrency()) };
        let mut scan = self.dataset.scan().predicate(self.condition.clone()).threads(threads).by_column(finds_all);
        scan = scan.batch_size(options.batch_size).verify_crc(options.verify_crc).strings(options.strings);
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
