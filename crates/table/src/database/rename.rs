//! Other names of tables.

use lath_store::Durability;

use super::foreign_keys::forget_foreign_keys;
use super::table_list::{UNFINISHED, find_number};
use super::view_text::view_text;
use super::{Database, check_name, dropped_tables};
use crate::error::{Error, Result};
use crate::records::{DroppedTable, TABLES, TABLES_DROPPED, TableEntry, file_key, history};
use crate::table::Table;

impl Database {
    /// The name for a table that will [replace](Self::replace_table) the one with this name. A table with such a name is not listed, and dropped
    /// when the database is next opened for writing.
    pub fn replacement_name(name: &str) -> String {
        format!("{UNFINISHED}{name}")
    }

    /// Gives a table another name, in one commit. Handles and snapshots of the table stay as they are.
    ///
    /// # Errors
    /// [`Error::NoSuchTable`], [`Error::TableName`], [`Error::TableExists`] if a table or view has the new name, [`Error::Store`].
    pub fn rename_table(&self, name: &str, new_name: &str) -> Result<()> {
        check_name(new_name)?;
        let mut transaction = self.store().begin()?;
        let newest = self.store().snapshot()?;
        let number = find_number(&newest, name)?.ok_or_else(|| Error::NoSuchTable { name: name.to_owned() })?;
        if name == new_name {
            return Ok(());
        }
        if find_number(&newest, new_name)?.is_some() || view_text(&newest, new_name)?.is_some() {
            return Err(Error::TableExists { name: new_name.to_owned() });
        }
        let mut tables = transaction.tree(TABLES)?;
        tables.remove(name.as_bytes())?;
        tables.put(new_name.as_bytes(), &TableEntry { number }.to_bytes())?;
        history::keep_commit_before(&mut transaction, &newest)?;
        Ok(transaction.commit_with(Durability::Sync)?)
    }

    /// Drops a table, as [`drop_table`](Self::drop_table) does, and gives its name to another table, in one commit.
    ///
    /// # Errors
    /// [`Error::NoSuchTable`] if one of them does not exist, [`Error::Schema`] if a foreign key of another table refers to the dropped one,
    /// [`Error::Store`].
    pub fn replace_table(&self, name: &str, by: &str) -> Result<()> {
        let old = self.table(name)?;
        // So that no file is being written.
        let maintenance = old.engine().lock_maintenance();
        let mut transaction = self.store().begin()?;
        let newest = self.store().snapshot()?;
        let find = |name: &str| find_number(&newest, name)?.ok_or_else(|| Error::NoSuchTable { name: name.to_owned() });
        let (number, new_number) = (find(name)?, find(by)?);
        if Some(number) != old.engine().trees.number() || number == new_number {
            return Err(Error::NoSuchTable { name: name.to_owned() });
        }
        transaction = forget_foreign_keys(self.tables().siblings(), transaction, old.engine())?;
        let mut tables = transaction.tree(TABLES)?;
        tables.remove(by.as_bytes())?;
        tables.put(name.as_bytes(), &TableEntry { number: new_number }.to_bytes())?;
        drop_trees(&mut transaction, &old, number, newest.sequence() + 1)?;
        history::keep_commit_before(&mut transaction, &newest)?;
        drop(newest);
        transaction.commit_with(Durability::Sync)?;
        self.tables().lock().remove(&number);
        drop(maintenance);
        drop(old);
        dropped_tables::remove(self.tables()).map(drop)
    }
}

/// Drops the trees of a table. Its files stay until no snapshot needs them.
pub(super) fn drop_trees(
    transaction: &mut lath_store::Transaction,
    table: &Table,
    number: u64,
    stamp: u64,
) -> Result<()> {
    let prefix = table.engine().trees.prefix();
    for tree in transaction.tree_names()?.iter().filter(|tree| tree.starts_with(prefix)) {
        transaction.drop_tree(tree)?;
    }
    transaction.tree(TABLES_DROPPED)?.put(&file_key(number), &DroppedTable { stamp, dropped: stamp }.to_bytes())?;
    Ok(())
}
