//! Sorts rows before they are written.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use lath_parquet::SortingColumn;
use lath_writer::{SortOptions, Sorter, WriteSummary};

use super::RowSink;
use crate::failure::{Failure, Result};

/// Collects rows until the end, then writes them in order.
pub(super) struct SortingSink {
    sorter: Sorter,
    rows: Box<dyn RowSink>,
}

impl SortingSink {
    /// Sorts rows by `columns` before they go to `rows`.
    pub(super) fn new(
        rows: Box<dyn RowSink>,
        schema: &SchemaRef,
        columns: &[SortingColumn],
        options: SortOptions,
    ) -> Result<Self> {
        Ok(Self { sorter: Sorter::new(schema, columns, options).map_err(Failure::sorting)?, rows })
    }
}

impl RowSink for SortingSink {
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
