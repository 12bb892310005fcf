//! Sizes of the parts of a table.

use std::sync::Arc;

use super::snapshot::Snapshot;
use crate::error::Result;
use crate::records::{FileEntry, TreeName};
use crate::row::{RowOrder, TimeToLive};
use crate::view::View;

/// Counts of [`Snapshot::statistics`].
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableStatistics {
    /// The number of the last commit.
    pub version: u64,
    /// Number of rows.
    pub rows: u64,
    /// Number of rows in the store.
    pub hot_rows: u64,
    /// Number of deleted keys in the store, which files may still have.
    pub deleted_keys: u64,
    /// About how many bytes the rows and deleted keys in the store take.
    pub hot_bytes: u64,
    /// The names of the columns by which new files are sorted before the key; none if they are in the order of keys.
    pub cluster_columns: Vec<String>,
    /// The rule by which rows expire.
    pub ttl: Option<TimeToLive>,
    /// The files, from the oldest to the newest.
    pub files: Vec<FileStatistics>,
    /// Number of kept changes, and the sequence after which [`Snapshot::changes`] has them; `None` without a change feed.
    pub changes: Option<(u64, u64)>,
}

/// One Parquet file of a table.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileStatistics {
    /// Its name in the table's folder.
    pub name: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// Number of rows.
    pub rows: u64,
    /// Number of rows that were replaced or deleted: the size of its mask.
    pub masked_rows: u64,
    /// Whether its rows are in the order in which new files are written.
    pub is_in_order: bool,
}

impl Snapshot {
    /// Bytes of all files. Nothing is read.
    pub fn file_bytes(&self) -> u64 {
        let (_, commit) = self.parts();
        commit.manifest().files().iter().map(|file| file.bytes).sum()
    }

    /// Counts rows, files and bytes. Like [`count`](Self::count), it reads no row, unless rows of the table expire.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow_array::{ArrayRef, Int64Array, RecordBatch};
    /// # use lath_table::{Table, TableOptions};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let ids: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
    /// # let rows = RecordBatch::try_from_iter([("id", ids)])?;
    /// # let table = Table::create(folder.path().join("jobs"), &rows.schema(), &["id"], TableOptions::new())?;
    /// table.upsert(&rows)?;
    /// table.flush()?;
    /// table.delete([2])?;
    /// let statistics = table.snapshot()?.statistics()?;
    /// assert_eq!((statistics.rows, statistics.hot_rows, statistics.files[0].rows), (2, 0, 3));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As for [`count`](Self::count).
    pub fn statistics(&self) -> Result<TableStatistics> {
        let (_, pinned) = self.parts();
        let (state, schema) = (pinned.state(), View::schema(pinned));
        let order = RowOrder::from_ids(&state.cluster, schema)?;
        let order = order.as_ref().map(RowOrder::ids).unwrap_or_default();
        let file = |file: &Arc<FileEntry>| FileStatistics {
            name: file.name.clone(),
            bytes: file.bytes,
            rows: file.rows,
            masked_rows: file.masked,
            is_in_order: file.order == order,
        };
        let changes = match &state.feed {
            Some(feed) => Some((pinned.tree_len(TreeName::Changes)?, feed.from - 1)),
            None => None,
        };
        Ok(TableStatistics {
            version: self.version(),
            rows: self.count()?,
            hot_rows: pinned.tree_len(TreeName::Hot)?,
            deleted_keys: pinned.tree_len(TreeName::Tombstones)?,
            hot_bytes: state.hot_bytes,
            cluster_columns: self
                .cluster_columns()
                .into_iter()
                .map(|column| schema.arrow().field(column).name().clone())
                .collect(),
            ttl: self.ttl(),
            files: pinned.manifest().files().iter().map(file).collect(),
            changes,
        })
    }
}
