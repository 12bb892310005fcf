//! Sets the columns by which the rows of files are sorted.

use crate::error::Result;
use crate::read::Snapshot;
use crate::row::cluster_ids;
use crate::table::Table;
use crate::view::View;
use crate::write::Transaction;

impl Table {
    /// Sorts new files by these columns, then by the key. Without columns, they are sorted by the key alone. Scans with a condition on the
    /// first of the columns then read only the row groups and pages that can have matching rows, whatever their keys: Parquet's statistics
    /// rule out the others.
    ///
    /// Rows are still found by their keys: in a file that is not in key order, Bloom filters rule out row groups, and the key columns of
    /// the others are read. [`range`](Snapshot::range) reads such a file several times to return rows in key order. Existing files keep
    /// their order until compaction merges them. Large numbers of rows are sorted in parts of
    /// [`flush_bytes`](crate::TableOptions::flush_bytes), each of which becomes a file; compaction merges these files.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow_array::{ArrayRef, Int64Array, RecordBatch};
    /// use lath_table::{Table, TableOptions};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let column = |values: Vec<i64>| Arc::new(Int64Array::from(values)) as ArrayRef;
    /// # let events = RecordBatch::try_from_iter([("id", column(vec![7, 3, 5])), ("ts", column(vec![20, 30, 10]))])?;
    /// let table = Table::create(folder.path().join("events"), &events.schema(), &["id"], TableOptions::new())?;
    /// table.cluster_by(&["ts"])?;
    /// table.upsert(&events)?;
    /// table.flush()?;
    /// assert_eq!(table.snapshot()?.cluster_columns(), [1]);
    /// assert_eq!(table.scan()?.filter("ts >= 20")?.count()?, 2);
    /// assert!(table.get(5)?.is_some());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Schema`](crate::Error::Schema) for columns that the table does not have, one that is named twice, and one whose values are
    /// nested or have no order; [`Error::Store`](crate::Error::Store).
    pub fn cluster_by<S: AsRef<str>>(&self, columns: &[S]) -> Result<()> {
        self.define(|transaction| transaction.cluster_by(columns))
    }
}

impl Transaction {
    /// [`Table::cluster_by`] as part of this transaction.
    ///
    /// # Errors
    /// As there.
    pub fn cluster_by<S: AsRef<str>>(&mut self, columns: &[S]) -> Result<()> {
        self.write_buffered()?;
        let ids = cluster_ids(self.changing.schema(), columns)?;
        if ids != self.changing.state().cluster {
            self.changing.set_cluster(ids);
        }
        Ok(())
    }
}

impl Snapshot {
    /// The columns by which new files are sorted before the key, as positions in the [schema](Self::schema), the most significant first;
    /// empty if files are in key order.
    pub fn cluster_columns(&self) -> Vec<usize> {
        let (_, pinned) = self.parts();
        let schema = View::schema(pinned);
        // No column of these is dropped.
        pinned.state().cluster.iter().filter_map(|&id| schema.place_of_id(id)).collect()
    }
}
