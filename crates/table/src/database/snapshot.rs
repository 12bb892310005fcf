//! A snapshot of all tables of a database at one commit, or within a transaction.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::open_tables::OpenTables;
use super::table_list::{list_names, list_tables, table_name};
use super::view_text::{view_names, view_text};
use crate::constraint::{ForeignKeyInfo, foreign_keys};
use crate::error::{Error, Result};
use crate::read::Snapshot;
use crate::records::{snapshot_named, snapshot_names};
use crate::table::Table;
use crate::view::{Commit, Engine};

/// A snapshot of all tables of a [`Database`](crate::Database) at one commit, or of the changes of a
/// [transaction](crate::DatabaseTransaction::snapshot) so far.
#[derive(Debug, Clone)]
pub struct DatabaseSnapshot {
    tables: Arc<OpenTables>,
    snapshot: Arc<lath_store::Snapshot>,
    /// The tables that a transaction has changed, by their numbers; none in a commit.
    changed: Arc<BTreeMap<u64, Arc<Commit>>>,
    /// The time at which it was taken, in microseconds since 1970: rows expire by it.
    clock: i64,
}

impl DatabaseSnapshot {
    pub(crate) fn new(tables: Arc<OpenTables>, snapshot: lath_store::Snapshot) -> Self {
        let clock = tables.options.clock.now_micros();
        Self { tables, snapshot: Arc::new(snapshot), changed: Arc::default(), clock }
    }

    /// A snapshot of a transaction, which has changed these tables.
    pub(super) fn in_transaction(
        tables: Arc<OpenTables>,
        snapshot: Arc<lath_store::Snapshot>,
        changed: BTreeMap<u64, Arc<Commit>>,
        clock: i64,
    ) -> Self {
        Self { tables, snapshot, changed: Arc::new(changed), clock }
    }

    pub(crate) fn store_snapshot(&self) -> &lath_store::Snapshot {
        &self.snapshot
    }

    /// An earlier commit, without the rows that have expired by now.
    pub(crate) fn at_commit(&self, snapshot: lath_store::Snapshot) -> Self {
        Self { clock: self.clock, ..Self::new(Arc::clone(&self.tables), snapshot) }
    }

    /// The number of the commit. Any later commit of the database has a greater one, also one that only moves rows to files.
    pub fn sequence(&self) -> u64 {
        self.snapshot.sequence()
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
        let pinned = self.newest(&engine)?;
        Ok(Snapshot::new(engine, pinned))
    }

    /// The foreign keys of a table, in the order of their names.
    ///
    /// # Errors
    /// [`Error::NoSuchTable`](crate::Error::NoSuchTable), [`Error::Store`](crate::Error::Store), [`Error::Corrupt`](crate::Error::Corrupt).
    pub fn foreign_keys(&self, name: &str) -> Result<Vec<ForeignKeyInfo>> {
        let pinned = self.newest(self.tables.open_table(&self.snapshot, name)?.engine())?;
        foreign_keys(&pinned, |number| {
            let name = table_name(list_tables(&self.snapshot)?, number)?;
            let commit = self.newest(self.tables.open_table(&self.snapshot, &name)?.engine())?;
            Ok((name, commit))
        })
    }

    /// The table's part of the commit, with the changes of an open transaction.
    fn newest(&self, engine: &Engine) -> Result<Arc<Commit>> {
        match engine.trees.number().and_then(|number| self.changed.get(&number)) {
            Some(changed) => Ok(Arc::clone(changed)),
            None => self.commit(engine),
        }
    }

    /// A table as this commit has it, whatever its name was then, without the changes of an open transaction.
    ///
    /// # Errors
    /// [`Error::NoTable`] if the table was created later.
    pub fn contents(&self, table: &Table) -> Result<Snapshot> {
        let engine = Arc::clone(table.engine());
        let pinned = self.commit(&engine)?;
        Ok(Snapshot::new(engine, pinned))
    }

    /// The table's part of the commit.
    fn commit(&self, engine: &Engine) -> Result<Arc<Commit>> {
        let pinned = Commit::find_at(engine, Arc::clone(&self.snapshot), self.clock)?;
        pinned.ok_or_else(|| Error::NoTable { folder: engine.folder.clone() })
    }

    /// The handle of a table that this has under a name. It reads and changes the table's newest commit; a table that was dropped since cannot
    /// be changed.
    ///
    /// # Errors
    /// [`Error::NoSuchTable`](crate::Error::NoSuchTable).
    pub fn handle(&self, name: &str) -> Result<Table> {
        self.tables.open_table(&self.snapshot, name)
    }

    /// The names of the views, in ascending order.
    ///
    /// # Errors
    /// [`Error::Store`](crate::Error::Store), [`Error::Corrupt`](crate::Error::Corrupt).
    pub fn view_names(&self) -> Result<Vec<String>> {
        view_names(&self.snapshot)
    }

    /// The SQL text of the view with this name; `None` if there is none.
    ///
    /// # Errors
    /// [`Error::Store`](crate::Error::Store), [`Error::Corrupt`](crate::Error::Corrupt).
    pub fn view(&self, name: &str) -> Result<Option<String>> {
        view_text(&self.snapshot, name)
    }

    /// The names of the snapshots that were kept by name when this commit was made.
    ///
    /// # Errors
    /// [`Error::Store`](crate::Error::Store).
    pub fn snapshot_names(&self) -> Result<Vec<String>> {
        snapshot_names(&self.snapshot)
    }

    /// The snapshot that was kept under this name.
    ///
    /// # Errors
    /// [`Error::NoSuchSnapshot`](crate::Error::NoSuchSnapshot).
    pub fn snapshot_named(&self, name: &str) -> Result<Self> {
        Ok(self.at_commit(snapshot_named(&self.snapshot, name)?))
    }
}
