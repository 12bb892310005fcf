//! The rows of one file for which a predicate holds.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use lath_parquet::{ParquetFile, Predicate};

use crate::failure::{Failure, Result};
use crate::interrupt;
use crate::progress::Progress;
use crate::scan::Scan;

/// What is read of a file to find rows in it.
pub(crate) struct Search<'a> {
    name: &'a str,
    scan: lath_parquet::Scan,
    /// The paths of the result's columns, in the order that was asked for.
    selected: Vec<String>,
    row_count: u64,
}

impl<'a> Search<'a> {
    /// Prepares to find rows of `file`, with all of their columns.
    pub(crate) fn new(file: &ParquetFile, name: &'a str, predicate: &Predicate, options: &Scan) -> Result<Self> {
        // A mistake in the expression is reported even if no row is ever read.
        predicate.filter(file.schema()).map_err(Failure::filtering)?;
        let rows = options.row_ranges_of(file, name)?;
        let mut scan = file
            .scan()
            .predicate(predicate.clone())
            .threads(options.threads)
            .batch_size(options.batch_size)
            .verify_crc(options.verify_crc)
            .strings(options.strings)
            .cancel(&interrupt::cancel());
        if let Some(row_groups) = options.row_groups_of(file, name)? {
            scan = scan.row_groups(row_groups);
        }
        let selected = file.schema().fields().iter().map(|field| field.name().clone()).collect();
        Ok(Self { name, scan, selected, row_count: rows.iter().map(|range| range.end - range.start).sum() })
    }

    /// Chooses the columns of the result.
    pub(crate) fn select(mut self, columns: Option<&[String]>) -> Self {
        if let Some(columns) = columns {
            self.selected = columns.to_vec();
            self.scan = self.scan.select(columns);
        }
        self
    }

    /// The paths of the result's columns.
    pub(crate) fn selected(&self) -> &[String] {
        &self.selected
    }

    /// The schema of the rows that [`run`](Self::run) hands over.
    pub(crate) fn schema(&self) -> Result<SchemaRef> {
        let batches = self.scan.clone().threads(1).build();
        Ok(batches.map_err(|error| Failure::reading(self.name, error))?.schema())
    }

    /// Hands the rows that are found, at most `limit`, to `take`, in file order. Returns how many there were.
    pub(crate) fn run(
        self,
        limit: u64,
        progress: &mut Progress,
        mut take: impl FnMut(&RecordBatch) -> Result<()>,
    ) -> Result<u64> {
        progress.grow(self.row_count);
        let failed = |error| Failure::reading(self.name, error);
        let mut batches = self.scan.limit(limit).build().map_err(failed)?;
        let (mut found, mut looked_at) = (0, 0);
        while let Some(batch) = batches.next() {
            let batch = batch.map_err(failed)?;
            take(&batch)?;
            found += batch.num_rows() as u64;
            let now = batches.report().rows_tested;
            progress.advance(now - looked_at);
            looked_at = now;
        }
        progress.advance(self.row_count - looked_at.min(self.row_count));
        Ok(found)
    }
}
