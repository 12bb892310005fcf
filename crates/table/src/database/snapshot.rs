//! A snapshot of all tables of a database at one commit.

use std::sync::Arc;

use super::open_tables::{OpenTables, list_names};
use crate::error::Result;
use crate::read::Snapshot;
use crate::records::snapshot_named;
use crate::view::Commit;

/// A snapshot of all tables of a [`Database`](crate::Database) at one commit.
#[derive(Debug, Clone)]
pub struct DatabaseSnapshot {
    tables: Arc<OpenTables>,
    snapshot: Arc<lath_store::Snapshot>,
}

impl DatabaseSnapshot {
    pub(crate) fn new(tables: Arc<OpenTables>, snapshot: lath_store::Snapshot) -> Self {
        Self { tables, snapshot: Arc::new(snapshot) }
    }

    /// The names of the tables, in ascending order.
    ///
    /// # Errors
    /// [`Error::Store`](crate::Error::Store), [`Error::Corrupt`](crate::Error::Corrupt).
    pub fn table_names(&self) -> Result<Vec<String>> {
        list_names(&self.snapshot)
    }

    /// A table, even if it was dropped since.
    ///
    /// # Errors
    /// [`Error::NoSuchTable`](crate::Error::NoSuchTable).
    pub fn table(&self, name: &str) -> Result<Snapshot> {
        let table = self.tables.open_table(&self.snapshot, name)?;
        let engine = Arc::clone(table.engine());
        let pinned = Commit::of(&engine, Arc::clone(&self.snapshot))?;
        Ok(Snapshot::new(engine, pinned))
    }

    /// The names of the snapshots that were kept by name when this commit was made.
    ///
    /// # Errors
    /// [`Error::Store`](crate::Error::Store).
    pub fn snapshot_names(&self) -> Result<Vec<String>> {
        Ok(self.snapshot.snapshot_names()?)
    }

    /// The snapshot that was kept under this name.
    ///
    /// # Errors
    /// [`Error::NoSuchSnapshot`](crate::Error::NoSuchSnapshot).
    pub fn snapshot_named(&self, name: &str) -> Result<Self> {
        Ok(Self::new(Arc::clone(&self.tables), snapshot_named(&self.snapshot, name)?))
    }
}
