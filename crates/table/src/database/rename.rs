//! Other names of tables.

use lath_store::Durability;

use super::table_list::UNFINISHED;
use super::{Database, DatabaseTransaction};
use crate::error::Result;
use crate::records::{DroppedTable, TABLES_DROPPED, file_key};
use crate::view::Engine;

impl Database {
    /// The name for a table that will [replace](Self::replace_table) the one with this name. A table with such a name is not listed, and dropped
    /// when the database is next opened for writing.
    pub fn replacement_name(name: &str) -> String {
        format!("{UNFINISHED}{name}")
    }

    /// Gives a table another name, in one commit. Handles and snapshots of the table stay as they are.
    ///
    /// # Errors
    /// [`Error::NoSuchTable`](crate::Error::NoSuchTable), [`Error::TableName`](crate::Error::TableName), [`Error::TableExists`](crate::Error::TableExists) if a table or view has the new name, [`Error::Store`](crate::Error::Store).
    pub fn rename_table(&self, name: &str, new_name: &str) -> Result<()> {
        self.define(|transaction| transaction.rename_table(name, new_name))
    }

    /// Drops a table, as [`drop_table`](Self::drop_table) does, and gives its name to another table, in one commit.
    ///
    /// # Errors
    /// [`Error::NoSuchTable`](crate::Error::NoSuchTable) if one of them does not exist, [`Error::Schema`](crate::Error::Schema) if a foreign key of another table refers to the dropped one,
    /// [`Error::Store`](crate::Error::Store).
    pub fn replace_table(&self, name: &str, by: &str) -> Result<()> {
        self.define(|transaction| transaction.replace_table(name, by))
    }

    /// One durable commit of definitions.
    pub(super) fn define<T>(&self, define: impl FnOnce(&mut DatabaseTransaction) -> Result<T>) -> Result<T> {
        let mut transaction = self.begin()?;
        let defined = define(&mut transaction)?;
        transaction.commit_with(Durability::Sync)?;
        Ok(defined)
    }
}

/// Drops the trees of a table. If a commit has the table, its files stay until no snapshot needs them: `committed` is its number, and the stamp
/// of the commit that drops it.
pub(super) fn drop_trees(
    transaction: &mut lath_store::Transaction,
    engine: &Engine,
    committed: Option<(u64, u64)>,
) -> Result<()> {
    let prefix = engine.trees.prefix();
    for tree in transaction.tree_names()?.iter().filter(|tree| tree.starts_with(prefix)) {
        transaction.drop_tree(tree)?;
    }
    if let Some((number, stamp)) = committed {
        let dropped = DroppedTable { stamp, dropped: stamp };
        transaction.tree(TABLES_DROPPED)?.put(&file_key(number), &dropped.to_bytes())?;
    }
    Ok(())
}
