//! Removes the files of dropped tables of a database.

use std::fs;
use std::path::Path;

use lath_store::Snapshot;

use super::open_tables::OpenTables;
use super::table_list::folder_number;
use crate::error::{Error, Result};
use crate::file::entries;
use crate::publish::remove_objects;
use crate::records::history::History;
use crate::records::{
    DatabaseState, DroppedTable, FILE_PLACES, TABLES_DROPPED, TreeName, TreeNames, file_key, file_number,
    named_snapshots,
};

/// Removes the folders of dropped tables that no snapshot needs, in this or another process, and returns how many files were in them.
pub(crate) fn remove(tables: &OpenTables) -> Result<usize> {
    let store = &tables.store;
    let stats = store.stats()?;
    let unneeded = {
        let snapshot = store.snapshot()?;
        let named = named_snapshots(&snapshot)?;
        let history = History::new(&snapshot)?;
        let mut unneeded = Vec::new();
        for (number, dropped) in dropped_tables(&snapshot)? {
            // A snapshot of commit `stamp` or a later one does not have the table. Those taken since `stats` are later.
            let is_passed =
                dropped.stamp <= stats.sequence && stats.oldest_reader.is_none_or(|reader| dropped.stamp <= reader);
            let is_in_history = || match history.last_before(dropped.dropped)? {
                Some(kept) => is_in_any(number, &[history.open(kept)?]),
                None => Ok(false),
            };
            if is_passed && !is_in_any(number, &named)? && !is_in_history()? {
                unneeded.push(number);
            }
        }
        unneeded
    };
    if unneeded.is_empty() {
        return Ok(0);
    }
    store.sync()?;
    let mut removed = 0;
    for &number in &unneeded {
        let engine = tables.engine(number)?;
        removed += remove_objects(&engine)?;
        removed += remove_folder(&engine.folder)?;
    }
    let mut transaction = store.begin()?;
    for &number in &unneeded {
        transaction.tree(TABLES_DROPPED)?.remove(&file_key(number))?;
        if let Some(mut places) = transaction.existing_tree(FILE_PLACES)? {
            places.remove(&file_key(number))?;
        }
    }
    transaction.commit_with(tables.options.durability)?;
    Ok(removed)
}

/// Removes the folders of tables that a killed process has begun to create, and that no commit has.
pub(super) fn remove_uncommitted(database: &Path, state: &DatabaseState) -> Result<()> {
    let Some(entries) = entries(database)? else { return Ok(()) };
    for entry in entries {
        let entry = entry?;
        let number = entry.file_name().to_str().and_then(folder_number);
        if number.is_some_and(|number| number >= state.next_table) {
            remove_folder(&entry.path())?;
        }
    }
    Ok(())
}

fn dropped_tables(snapshot: &Snapshot) -> Result<Vec<(u64, DroppedTable)>> {
    let Some(tree) = snapshot.tree(TABLES_DROPPED)? else { return Ok(Vec::new()) };
    let parse = |entry: lath_store::Result<lath_store::Entry<'_>>| {
        let (key, value) = entry?;
        Ok((file_number(&key)?, DroppedTable::from_bytes(value)?))
    };
    tree.iter().map(parse).collect()
}

fn is_in_any(number: u64, snapshots: &[Snapshot]) -> Result<bool> {
    let trees = TreeNames::database_table(number);
    for snapshot in snapshots {
        if snapshot.tree(trees.get(TreeName::Meta))?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Number of files with rows in a folder, and in folders in it; `None` if it is not there.
fn count_files(folder: &Path) -> Result<Option<usize>> {
    let Some(entries) = entries(folder)? else { return Ok(None) };
    let mut files = 0;
    for entry in entries {
        let entry = entry?;
        let is_folder = entry.file_type().map_err(Error::io("list", folder))?.is_dir();
        let has_rows =
            || entry.file_name().to_str().is_some_and(|name| name.contains(".pq") || name.contains(".parquet"));
        files += if is_folder { count_files(&entry.path())?.unwrap_or(0) } else { usize::from(has_rows()) };
    }
    Ok(Some(files))
}

/// Removes a folder if it is there, and returns how many files were in it.
pub(super) fn remove_folder(folder: &Path) -> Result<usize> {
    let Some(files) = count_files(folder)? else { return Ok(0) };
    fs::remove_dir_all(folder).map_err(Error::io("remove", folder))?;
    Ok(files)
}
