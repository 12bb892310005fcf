//! A snapshot of a table at one commit.

use std::ops::RangeBounds;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::lookup::FoundRows;
use super::range::RangeScan;
use super::{get, reading};
use crate::error::{Error, Result};
use crate::read::scan::TableScan;
use crate::records::{snapshot_named, snapshot_names};
use crate::row::key::{Key, Keys, key_range};
use crate::view::{Commit, Engine, View};

/// A snapshot of a table at one commit. It never changes, and its files are kept while the snapshot exists.
///
/// Taking a snapshot neither waits for other operations nor blocks them. Clones are handles of the same snapshot, and any number of
/// threads can read from it.
#[derive(Debug, Clone)]
pub struct Snapshot {
    engine: Arc<Engine>,
    pinned: Arc<Commit>,
}

impl Snapshot {
    pub(crate) fn new(engine: Arc<Engine>, pinned: Arc<Commit>) -> Self {
        Self { engine, pinned }
    }

    pub(crate) fn newest(engine: &Arc<Engine>) -> Result<Self> {
        Ok(Self { engine: Arc::clone(engine), pinned: Commit::newest(engine)? })
    }

    /// The columns.
    pub fn schema(&self) -> &SchemaRef {
        View::schema(&self.pinned).arrow()
    }

    /// The places of the key columns among the [columns](Self::schema), the most significant first.
    pub fn key_columns(&self) -> &[usize] {
        View::schema(&self.pinned).key().columns()
    }

    /// The table's version: the number of its last commit.
    pub fn version(&self) -> u64 {
        self.pinned.state().stamp
    }

    /// The row with this key.
    ///
    /// # Errors
    /// [`Error::Key`] for a key that no row can have, and whatever goes wrong while reading.
    pub fn get(&self, key: impl Into<Key>) -> Result<Option<RecordBatch>> {
        get::get(&self.engine, &mut Arc::clone(&self.pinned), &key.into())
    }

    /// The rows with these keys, in one pass over the files.
    ///
    /// # Errors
    /// [`Error::Key`], [`Error::Batch`] or [`Error::Null`] for keys that no row can have, and whatever goes wrong while reading.
    pub fn get_many(&self, keys: impl Keys) -> Result<FoundRows> {
        reading::get_many(&self.engine, &mut Arc::clone(&self.pinned), &keys)
    }

    /// Starts a scan.
    pub fn scan(&self) -> TableScan<'static> {
        TableScan::new(Arc::clone(&self.engine), Ok(Box::new(Arc::clone(&self.pinned))))
    }

    /// Starts a read of a range of keys, in key order. A bound may have only the first key columns: the range has all keys that begin
    /// with an included bound, and no key that begins with an excluded one.
    ///
    /// # Errors
    /// [`Error::Key`] for bounds that do not fit the key columns.
    pub fn range<K: Clone + Into<Key>>(&self, bounds: impl RangeBounds<K>) -> Result<RangeScan<'static>> {
        let range = key_range(&bounds, View::schema(&self.pinned).key())?;
        Ok(RangeScan::new(Arc::clone(&self.engine), Ok(Box::new(Arc::clone(&self.pinned))), range))
    }

    /// The number of rows. It reads no row, or the column with the times by which rows expire; keys that became hot since the last count are looked up in files.
    ///
    /// # Errors
    /// Whatever goes wrong while looking for keys in files.
    pub fn count(&self) -> Result<u64> {
        self.scan().count()
    }

    /// The names of the snapshots that were kept by name when this commit was made.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub fn snapshot_names(&self) -> Result<Vec<String>> {
        snapshot_names(self.pinned.snapshot())
    }

    /// The snapshot that was kept under this name.
    ///
    /// # Errors
    /// [`Error::NoSuchSnapshot`], also if it was kept before the table was created in its database.
    pub fn snapshot_named(&self, name: &str) -> Result<Self> {
        let named = snapshot_named(self.pinned.snapshot(), name)?;
        let pinned = Commit::find_at(&self.engine, named, self.pinned.clock())?;
        let pinned = pinned.ok_or_else(|| Error::NoSuchSnapshot { name: name.to_owned() })?;
        Ok(Self { engine: Arc::clone(&self.engine), pinned })
    }

    pub(crate) fn parts(&self) -> (&Arc<Engine>, &Arc<Commit>) {
        (&self.engine, &self.pinned)
    }
}
