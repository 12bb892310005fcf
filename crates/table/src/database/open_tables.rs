//! The tables of an open database.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lath_store::{Snapshot, Store};

use super::sibling_tables::SiblingTables;
use super::table_folders::remove_uncommitted;
use super::table_list::{find_number, folder_name, list_tables, read_state};
use crate::error::{Error, Result};
use crate::maintenance::vacuum;
use crate::records::store_file::{self, FileTimes};
use crate::records::{DatabaseState, TableOptions};
use crate::sequence::Sequences;
use crate::table::Table;
use crate::view::{Engine, Siblings, database_path};

/// State that all handles, snapshots and transactions of an open database share.
#[derive(Debug)]
pub(crate) struct OpenTables {
    pub(crate) folder: PathBuf,
    pub(crate) store: Store,
    /// Handles of the open tables.
    pub(crate) options: TableOptions,
    pub(crate) read_only: bool,
    pub(crate) sequences: Sequences,
    siblings: Arc<SiblingTables>,
    /// No table that this process has created has this number or a higher one.
    next_table: AtomicU64,
    /// The store's files before it was opened.
    files: Option<FileTimes>,
    /// The tables by their numbers: all of them, if the database is open for writing.
    tables: Mutex<HashMap<u64, Table>>,
}

impl OpenTables {
    pub(crate) fn open(
        folder: PathBuf,
        store: Store,
        options: TableOptions,
        read_only: bool,
        files: Option<FileTimes>,
    ) -> Result<Self> {
        let snapshot = store.snapshot()?;
        let Some(state) = read_state(&snapshot)? else { return Err(Error::NoDatabase { folder }) };
        let sequences = Sequences::new(&folder, store.clone(), read_only);
        let siblings = SiblingTables::new(folder.clone(), store.clone(), options.clone());
        let next_table = AtomicU64::new(0);
        let database = Self {
            folder,
            store,
            options,
            read_only,
            sequences,
            siblings,
            next_table,
            files,
            tables: Mutex::default(),
        };
        if !read_only {
            // Now, as no thread writes files yet.
            remove_uncommitted(&database.folder, &state)?;
            for (_, number) in list_tables(&snapshot)? {
                let engine = database.engine(number)?;
                vacuum::remove_local_orphans(&engine)?;
                database.lock().insert(number, Table::start(engine, true)?);
            }
        }
        Ok(database)
    }

    /// Whether there may be later commits that snapshots do not have.
    pub(crate) fn is_outdated(&self) -> bool {
        !self.store.follows_writers()
            && self
                .files
                .as_ref()
                .is_none_or(|files| FileTimes::read(&database_path(&self.folder)).as_ref() != Some(files))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, HashMap<u64, Table>> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A table of the database, or one that was dropped and that a snapshot has.
    pub(crate) fn engine(&self, number: u64) -> Result<Arc<Engine>> {
        // The newest commit says where the files are: in a backup they are elsewhere than its named snapshots say.
        self.siblings.engine(number)
    }

    /// A number for a new table, which no table had that this process has created, even if its transaction was undone.
    pub(crate) fn new_number(&self, state: &DatabaseState) -> u64 {
        self.next_table.fetch_max(state.next_table, Ordering::Relaxed);
        self.next_table.fetch_add(1, Ordering::Relaxed)
    }

    /// A table that is about to be created, with its files in a folder below the URL `cold`.
    pub(crate) fn new_engine(&self, number: u64, cold: Option<&str>) -> Result<Arc<Engine>> {
        let name = folder_name(number);
        let place = cold.map(|url| format!("{}/{name}", url.trim_end_matches('/')));
        self.siblings.open(number, place.as_deref())
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
