//! Removes the files of dropped tables of a database.

use lath_store::Snapshot;

use super::open_tables::OpenTables;
use super::table_folders::remove_folder;
use crate::error::Result;
use crate::publish::remove_objects;
use crate::records::history::History;
use crate::records::{
    DroppedTable, FILE_PLACES, TABLES_DROPPED, TreeName, TreeNames, file_key, file_number, named_snapshots,
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
