//! The tables of an open database.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use lath_store::{Snapshot, Store};

use crate::error::{Error, Result};
use crate::maintenance::vacuum;
use crate::records::{
    DATABASE, DatabaseState, STATE_KEY, TABLES, TableEntry, TableOptions, TreeNames, file_place, store_file,
};
use crate::sequence::Sequences;
use crate::table::Table;
use crate::view::{Engine, database_path};

/// The names of tables that are being made to replace others begin with this. They are not listed, and dropped when the database is opened.
pub(super) const UNFINISHED: &str = "__lath_new_";

/// State that all handles, snapshots and transactions of an open database share.
#[derive(Debug)]
pub(crate) struct OpenTables {
    pub(crate) folder: PathBuf,
    pub(crate) store: Store,
    /// Handles of the open tables.
    pub(crate) options: TableOptions,
    pub(crate) read_only: bool,
    pub(crate) sequences: Sequences,
    /// The tables by their numbers: all of them, if the database is open for writing.
    tables: Mutex<HashMap<u64, Table>>,
}

impl OpenTables {
    pub(crate) fn open(folder: PathBuf, store: Store, options: TableOptions, read_only: bool) -> Result<Self> {
        let snapshot = store.snapshot()?;
        if read_state(&snapshot)?.is_none() {
            return Err(Error::NoDatabase { folder });
        }
        let sequences = Sequences::new(&folder, read_only);
        let database = Self { folder, store, options, read_only, sequences, tables: Mutex::default() };
        if !read_only {
            // Now, as no thread writes files yet.
            for (_, number) in list_tables(&snapshot)? {
                let engine = database.engine(number)?;
                vacuum::remove_local_orphans(&engine)?;
                database.lock().insert(number, Table::start(engine, true)?);
            }
        }
        Ok(database)
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, HashMap<u64, Table>> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A table of the database, or one that was dropped and that a snapshot has.
    pub(crate) fn engine(&self, number: u64) -> Result<Engine> {
        // The newest commit says where the files are: in a backup they are elsewhere than its named snapshots say.
        self.engine_at(number, file_place(&self.store.snapshot()?, Some(number))?)
    }

    /// A table that is about to be created, with its files in a folder below the URL `cold`.
    pub(crate) fn new_engine(&self, number: u64, cold: Option<&str>) -> Result<Engine> {
        let name = folder_name(number);
        let below = |url: &str| format!("{}/{name}", url.trim_end_matches('/'));
        self.engine_at(number, cold.map(below))
    }

    fn engine_at(&self, number: u64, place: Option<String>) -> Result<Engine> {
        let (folder, trees) = (table_folder(&self.folder, number), TreeNames::database_table(number));
        Engine::new(folder, self.store.clone(), trees, self.options.clone(), place.as_deref())
    }

    /// The table that a commit has under this name.
    pub(crate) fn open_table(&self, snapshot: &Snapshot, name: &str) -> Result<Table> {
        let number = find_number(snapshot, name)?.ok_or_else(|| Error::NoSuchTable { name: name.to_owned() })?;
        let mut tables = self.lock();
        if let Some(table) = tables.get(&number) {
            return Ok(table.clone());
        }
        // A database that is open for writing lacks dropped tables alone; snapshots still have their rows.
        let table = Table::start(self.engine(number)?, false)?;
        if self.read_only {
            tables.insert(number, table.clone());
        }
        Ok(table)
    }
}

pub(crate) fn open_store(folder: &Path, options: &TableOptions, read_only: bool, create: bool) -> Result<Store> {
    store_file::open_store(&database_path(folder), options, read_only, create)
}

/// The name of the folder with the files of a table.
pub(crate) fn folder_name(number: u64) -> String {
    format!("table-{number:06}")
}

/// The folder with the files of a table.
pub(crate) fn table_folder(database: &Path, number: u64) -> PathBuf {
    database.join(folder_name(number))
}

pub(crate) fn read_state(snapshot: &Snapshot) -> Result<Option<DatabaseState>> {
    let Some(meta) = snapshot.tree(DATABASE)? else { return Ok(None) };
    meta.get(STATE_KEY)?.map(DatabaseState::from_bytes).transpose()
}

pub(crate) fn find_number(snapshot: &Snapshot, name: &str) -> Result<Option<u64>> {
    let Some(tables) = snapshot.tree(TABLES)? else { return Ok(None) };
    let Some(entry) = tables.get(name.as_bytes())? else { return Ok(None) };
    Ok(Some(TableEntry::from_bytes(entry)?.number))
}

/// The names and numbers of the tables of a commit.
fn list_tables(snapshot: &Snapshot) -> Result<Vec<(String, u64)>> {
    let Some(tables) = snapshot.tree(TABLES)? else { return Ok(Vec::new()) };
    let parse = |entry: lath_store::Result<lath_store::Entry<'_>>| {
        let (name, entry) = entry?;
        let name = String::from_utf8(name).map_err(|_| Error::corrupt("the name of a table is not UTF-8"))?;
        Ok((name, TableEntry::from_bytes(entry)?.number))
    };
    tables.iter().map(parse).collect()
}

/// The names of the tables of a commit.
pub(crate) fn list_names(snapshot: &Snapshot) -> Result<Vec<String>> {
    Ok(all_names(snapshot)?.into_iter().filter(|name| !name.starts_with(UNFINISHED)).collect())
}

/// The names of the tables that a process has left that was about to replace others by them.
pub(crate) fn list_unfinished(snapshot: &Snapshot) -> Result<Vec<String>> {
    Ok(all_names(snapshot)?.into_iter().filter(|name| name.starts_with(UNFINISHED)).collect())
}

fn all_names(snapshot: &Snapshot) -> Result<Vec<String>> {
    Ok(list_tables(snapshot)?.into_iter().map(|(name, _)| name).collect())
}
