//! The numbers of rows that are inserted into a table without a primary key.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use datafusion::common::{Result, exec_datafusion_err};

/// Gives numbers to rows, in their order.
#[derive(Clone)]
pub(in super::super) struct RowNumbers {
    pub(in super::super) next: i64,
    /// The columns of the table, the numbers first.
    pub(in super::super) schema: SchemaRef,
}

impl RowNumbers {
    /// Adds the column of numbers to rows that lack it, or replaces it.
    pub(in super::super) fn add(&mut self, rows: &RecordBatch) -> Result<RecordBatch> {
        let row_count = rows.num_rows();
        let end = i64::try_from(row_count).ok().and_then(|count| self.next.checked_add(count));
        let end =
            end.ok_or_else(|| exec_datafusion_err!("the table has had as many rows as there are numbers for them"))?;
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(self.next..end));
        self.next = end;
        let has_numbers = usize::from(rows.num_columns() == self.schema.fields().len());
        let columns = std::iter::once(numbers).chain(rows.columns().iter().skip(has_numbers).cloned()).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(row_count));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?)
    }
}
