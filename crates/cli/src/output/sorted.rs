//! Rows that are put in order before they are written.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use lath_parquet::{SortOptions, Sorter, SortingColumn, WriteSummary};

use super::Rows;
use crate::failure::{Failure, Result};

/// Rows that wait until all are there.
pub(super) struct SortedRows {
    sorter: Sorter,
    rows: Box<dyn Rows>,
}

impl SortedRows {
    /// Sorts by `columns` what goes to `rows`.
    pub(super) fn new(
        rows: Box<dyn Rows>,
        schema: &SchemaRef,
        columns: &[SortingColumn],
        options: SortOptions,
    ) -> Result<Self> {
        Ok(Self { sorter: Sorter::new(schema, columns, options).map_err(Failure::sorting)?, rows })
    }
}

impl Rows for SortedRows {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.sorter.push(batch.clone()).map_err(Failure::sorting)
    }

    fn finish(self: Box<Self>) -> Result<Option<WriteSummary>> {
        let Self { sorter, mut rows } = *self;
        for batch in sorter.finish().map_err(Failure::sorting)? {
            rows.write(&batch.map_err(Failure::sorting)?)?;
        }
        rows.finish()
    }
}
