//! Checks whether rows are in the order that another file declares.

use arrow_array::RecordBatch;
use arrow_row::OwnedRow;
use arrow_schema::Schema;
use lath_format::SortingColumn as SortingColumnMetaData;
use lath_parquet::Result;

use super::SortKeys;
use crate::SortingColumn;

/// Checks the rows of one row group after another.
#[derive(Debug)]
pub(crate) struct SortCheck {
    keys: SortKeys,
    columns: Vec<SortingColumnMetaData>,
    last: Option<OwnedRow>,
    is_sorted: bool,
}

impl SortCheck {
    /// A check of the first of `columns` that the schema has; `None` if it lacks the first, or if they cannot be compared.
    pub(crate) fn new(
        schema: &Schema,
        columns: &[SortingColumn],
        leaf_index: impl Fn(&str) -> Result<usize>,
    ) -> Option<Self> {
        let metadata = columns.iter().map_while(|column| {
            let column_idx = i32::try_from(leaf_index(&column.path).ok()?).ok()?;
            let (descending, nulls_first) = (column.descending, column.nulls_first);
            Some(SortingColumnMetaData { column_idx, descending, nulls_first })
        });
        let metadata: Vec<_> = metadata.collect();
        let keys = SortKeys::new(schema, &columns[..metadata.len()]).ok()?;
        Some(Self { keys, columns: metadata, last: None, is_sorted: true })
    }

    /// Checks the next rows of the row group.
    pub(crate) fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        if !self.is_sorted || batch.num_rows() == 0 {
            return Ok(());
        }
        let rows = self.keys.rows(batch)?;
        let follows = self.last.as_ref().is_none_or(|last| last.row() <= rows.row(0));
        self.is_sorted = follows && (1..rows.num_rows()).all(|row| rows.row(row - 1) <= rows.row(row));
        self.last = Some(rows.row(rows.num_rows() - 1).owned());
        Ok(())
    }

    /// The sorting columns, if the rows since the last call are in their order.
    pub(crate) fn end_row_group(&mut self) -> Option<Vec<SortingColumnMetaData>> {
        self.last = None;
        std::mem::replace(&mut self.is_sorted, true).then(|| self.columns.clone())
    }
}
