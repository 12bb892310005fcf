//! Commits that are kept by name.

use lath_store::{Durability, Snapshot, Store};

use super::history::{self, is_kept_name};
use super::layout::{DroppedFile, DroppedTable, TABLES_DROPPED, TreeName, all_trees, file_key, table_number};
use super::manifest::Manifest;
use crate::error::{Error, Result};

/// The snapshots that were kept by name when a commit was made.
pub(crate) fn named_snapshots(snapshot: &Snapshot) -> Result<Vec<Snapshot>> {
    let names = snapshot_names(snapshot)?;
    let named = names.iter().filter_map(|name| snapshot.snapshot(name).transpose());
    Ok(named.collect::<Result<_, _>>()?)
}

/// The names of the snapshots that were kept by name when a commit was made.
pub(crate) fn snapshot_names(snapshot: &Snapshot) -> Result<Vec<String>> {
    Ok(snapshot.snapshot_names()?.into_iter().filter(|name| !is_kept_name(name)).collect())
}

/// The snapshot that was kept under a name.
pub(crate) fn snapshot_named(snapshot: &Snapshot, name: &str) -> Result<Snapshot> {
    let named = if is_kept_name(name) { None } else { snapshot.snapshot(name)? };
    named.ok_or_else(|| Error::NoSuchSnapshot { name: name.to_owned() })
}

/// Keeps the newest commit under a name.
pub(crate) fn keep_snapshot(store: &Store, name: &str) -> Result<()> {
    if is_kept_name(name) {
        return Err(Error::SnapshotName { name: name.to_owned() });
    }
    let mut transaction = store.begin()?;
    transaction.keep_snapshot(name)?;
    history::put_name_time(&mut transaction, name)?;
    Ok(transaction.commit_with(Durability::Sync)?)
}

/// Drops the snapshot with this name. Readers of earlier commits may still use it, so the files and tables that only this snapshot has
/// count as dropped from now on.
pub(crate) fn drop_snapshot(store: &Store, name: &str) -> Result<()> {
    let mut transaction = store.begin()?;
    let snapshot = store.snapshot()?;
    let named = snapshot_named(&snapshot, name)?;
    let stamp = snapshot.sequence() + 1;
    transaction.drop_snapshot(name)?;
    history::remove_name_time(&mut transaction, name)?;
    for trees in all_trees(&named)? {
        let manifest = Manifest::read(named.tree(trees.get(TreeName::Files))?)?;
        let Some(mut dropped) = transaction.existing_tree(trees.get(TreeName::Dropped))? else { continue };
        for file in manifest.files() {
            let key = file_key(file.number);
            if let Some(file) = dropped.get(&key)?.map(DroppedFile::from_bytes).transpose()? {
                dropped.put(&key, &DroppedFile { stamp, ..file }.to_bytes())?;
            }
        }
    }
    drop_tables_again(&mut transaction, &named, stamp)?;
    Ok(transaction.commit_with(Durability::Sync)?)
}

fn drop_tables_again(transaction: &mut lath_store::Transaction, named: &Snapshot, stamp: u64) -> Result<()> {
    let Some(mut dropped) = transaction.existing_tree(TABLES_DROPPED)? else { return Ok(()) };
    for number in named.tree_names()?.iter().filter_map(|name| table_number(name)) {
        let key = file_key(number);
        if let Some(table) = dropped.get(&key)?.map(DroppedTable::from_bytes).transpose()? {
            dropped.put(&key, &DroppedTable { stamp, ..table }.to_bytes())?;
        }
    }
    Ok(())
}
