//! The names and numbers of the tables of a database.

use std::path::{Path, PathBuf};

use lath_store::Snapshot;

use crate::error::{Error, Result};
use crate::records::{DATABASE, DatabaseState, STATE_KEY, TABLES, TableEntry};

/// The names of tables that are being made to replace others begin with this. They are not listed, and dropped when the database is opened.
pub(super) const UNFINISHED: &str = "__lath_new_";

/// The name of the folder with the files of a table.
pub(crate) fn folder_name(number: u64) -> String {
    format!("table-{number:06}")
}

/// The number of the table whose files are in a folder with this name.
pub(super) fn folder_number(name: &str) -> Option<u64> {
    name.strip_prefix("table-")?.parse().ok().filter(|&number| folder_name(number) == name)
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
pub(super) fn list_tables(snapshot: &Snapshot) -> Result<Vec<(String, u64)>> {
    let Some(tables) = snapshot.tree(TABLES)? else { return Ok(Vec::new()) };
    let parse = |entry: lath_store::Result<lath_store::Entry<'_>>| {
        let (name, entry) = entry?;
        let name = String::from_utf8(name).map_err(|_| Error::corrupt("the name of a table is not UTF-8"))?;
        Ok((name, TableEntry::from_bytes(entry)?.number))
    };
    tables.iter().map(parse).collect()
}

/// The name of the table with this number, to which a foreign key refers.
pub(super) fn table_name(tables: Vec<(String, u64)>, number: u64) -> Result<String> {
    let found = tables.into_iter().find(|(_, other)| *other == number);
    found.map(|(name, _)| name).ok_or_else(|| Error::corrupt("a foreign key refers to a table that is not there"))
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
