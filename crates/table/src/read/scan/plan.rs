//! Plans of scans: the files, which any process can read, and the hot rows.

use arrow_array::ArrayRef;
use lath_parquet::{Runtime, ScanPlan};

use super::{TableBatches, TableScan};
use crate::error::Result;
use crate::file::ColdColumns;

/// A scan in parts that are read apart from each other. Every row is in one of them.
#[derive(Debug)]
pub struct TablePlan<'v> {
    /// The files, by the schemas in which they were written.
    pub files: Vec<FilesPlan>,
    /// The rows that no file has.
    pub hot: TableBatches<'v>,
    /// The runtime that reads files of the table.
    pub runtime: Runtime,
}

/// A plan of the files that were written in one schema.
#[derive(Debug)]
pub struct FilesPlan {
    /// The tasks.
    pub plan: ScanPlan,
    /// The requested columns, in their order.
    pub columns: Vec<PlannedColumn>,
}

/// A requested column of rows that were written in one schema.
#[derive(Debug, Clone)]
pub enum PlannedColumn {
    /// The column at this place of the plan. It has to be cast if its type is not the table's: a narrower one that the table had before, or
    /// another layout of the same values.
    Read(usize),
    /// All rows have the value of this array of one row: they are older than the column.
    Constant(ArrayRef),
}

impl<'v> TableScan<'v> {
    /// Plans the scan in parts, without a limit of rows; `None` if rows of some file have to be changed while they are read in ways that a
    /// plan does not say: the condition tests a column that has changed since, or a column has categories; and if a file has no checksums, by
    /// which statistics could be trusted.
    ///
    /// Files of the plan exist as long as the snapshot.
    ///
    /// # Errors
    /// As [`build`](Self::build).
    pub fn plan(self) -> Result<Option<TablePlan<'v>>> {
        // Keys do not travel with plans.
        if self.engine.store.encryption_key().is_some() {
            return Ok(None);
        }
        let runtime = self.engine.runtime.clone();
        let mut hot = self.prepare()?;
        let mut files = Vec::new();
        for scan in std::mem::take(&mut hot.waiting) {
            let Some((plan, columns)) = scan.plan()? else { return Ok(None) };
            let Some(columns) = columns.planned()? else { return Ok(None) };
            files.push(FilesPlan { plan, columns });
        }
        Ok(Some(TablePlan { files, hot, runtime }))
    }
}

impl ColdColumns {
    /// The columns as a plan has them; `None` if one has categories, which belong to the table.
    fn planned(&self) -> Result<Option<Vec<PlannedColumn>>> {
        let schema = self.upgrade().to();
        let column = |(&column, source): (&usize, &Option<usize>)| {
            if schema.has_categories(column) {
                return Ok(None);
            }
            Ok(Some(match source {
                Some(place) => PlannedColumn::Read(*place),
                None => PlannedColumn::Constant(self.upgrade().column(column, None, 1)?),
            }))
        };
        self.columns().iter().zip(self.sources()).map(column).collect()
    }
}
