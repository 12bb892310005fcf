//! Creates, renames and drops tables and views within a transaction.

use std::sync::Arc;

use arrow_schema::Schema;

use super::dropped_tables;
use super::new_folder::NewFolder;
use super::rename::drop_trees;
use super::table_list::{find_number, read_state};
use super::transaction::{DatabaseTransaction, Part};
use super::view_text::view_text;
use super::{check_name, create_folder};
use crate::constraint::with_constraints;
use crate::error::{Error, Result};
use crate::records::{DATABASE, DatabaseState, STATE_KEY, TABLES, TableEntry, VIEWS};
use crate::row::{Constraint, TableSchema, cluster_ids};
use crate::write::{OpenWrite, Transaction};

impl Part {
    /// Keeps the folder of a new table, because a commit that returns an error may still have been made.
    pub(super) fn keep_folder(&mut self) {
        if let Some(folder) = &mut self.new_folder {
            folder.keep(!self.is_dropped);
        }
    }
}

impl DatabaseTransaction {
    /// Creates a table without rows, as [`Database::create_constrained_table`](crate::Database::create_constrained_table) does. It is a table of this
    /// transaction at once, and one for others when this is committed; otherwise nothing is left of it.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow_array::{ArrayRef, Int64Array, RecordBatch};
    /// # use lath_table::{Database, TableOptions};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let ids: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
    /// # let rows = RecordBatch::try_from_iter([("id", ids)])?;
    /// # let database = Database::create(folder.path().join("shop"), TableOptions::new())?;
    /// let mut transaction = database.begin()?;
    /// let by_key: [&str; 0] = [];
    /// transaction.create_table("orders", &rows.schema(), &["id"], &by_key, &[])?.insert(&rows)?;
    /// assert!(database.table_names()?.is_empty());
    /// transaction.commit()?;
    /// assert_eq!(database.table("orders")?.count()?, 2);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As there.
    pub fn create_table<S: AsRef<str>, C: AsRef<str>>(
        &mut self,
        name: &str,
        schema: &Schema,
        key_columns: &[S],
        cluster_columns: &[C],
        constraints: &[Constraint],
    ) -> Result<&mut Transaction> {
        let cold = self.tables.options.cold_files.clone();
        let number = self.create_table_at(name, schema, key_columns, cluster_columns, cold.as_deref(), constraints)?;
        self.numbered(number)
    }

    /// Creates a table, with its files below the URL `cold` if there is one, and returns its number.
    pub(super) fn create_table_at<S: AsRef<str>, C: AsRef<str>>(
        &mut self,
        name: &str,
        schema: &Schema,
        key_columns: &[S],
        cluster_columns: &[C],
        cold: Option<&str>,
        constraints: &[Constraint],
    ) -> Result<u64> {
        let schema = with_constraints(TableSchema::create(schema, key_columns)?, constraints)?;
        let cluster = cluster_ids(&schema, cluster_columns)?;
        check_name(name)?;
        self.check_is_free(name)?;
        let newest = self.with_store(|store| Ok(store.snapshot()?))?;
        let state = read_state(&newest)?.ok_or_else(|| Error::corrupt("the state of the database is missing"))?;
        let number = self.tables.new_number(&state);
        let engine = self.tables.new_engine(number, cold)?;
        create_folder(&self.tables.folder, &engine.folder)?;
        let new_folder = Some(NewFolder::new(&engine));
        let clock = self.clock;
        let changing = self.with_store(|store| {
            store.tree(DATABASE)?.put(STATE_KEY, &DatabaseState { next_table: number + 1 }.to_bytes())?;
            store.tree(TABLES)?.put(name.as_bytes(), &TableEntry { number }.to_bytes())?;
            OpenWrite::create_part(&engine, store, schema, cluster, clock)
        })?;
        let transaction = Transaction::new(changing);
        self.parts.insert(number, Part { engine, transaction, new_folder, is_dropped: false });
        self.has_defined = true;
        Ok(number)
    }

    /// Drops a table with all its rows. A savepoint before still has it.
    ///
    /// # Errors
    /// [`Error::NoSuchTable`], and [`Error::Schema`] if a foreign key of another table refers to it.
    pub fn drop_table(&mut self, name: &str) -> Result<()> {
        let number = self.require(name)?;
        let foreign_keys = Arc::clone(self.numbered(number)?.changing.foreign_keys());
        foreign_keys.check_droppable()?;
        for key in foreign_keys.own.iter().filter(|key| key.referred != number) {
            self.numbered(key.referred)?.changing.drop_foreign_key(key)?;
        }
        let stamp = self.tables.store.snapshot()?.sequence() + 1;
        self.with_store(|store| Ok(store.tree(TABLES)?.remove(name.as_bytes()).map(drop)?))?;
        if let Some(part) = self.parts.get_mut(&number) {
            part.is_dropped = true;
            let (engine, was_committed) = (Arc::clone(&part.engine), part.new_folder.is_none());
            self.with_store(|store| drop_trees(store, &engine, was_committed.then_some((number, stamp))))?;
        }
        self.has_defined = true;
        Ok(())
    }

    /// Gives a table another name.
    ///
    /// # Errors
    /// [`Error::NoSuchTable`], [`Error::TableName`], [`Error::TableExists`] if a table or view has the new name.
    pub fn rename_table(&mut self, name: &str, new_name: &str) -> Result<()> {
        check_name(new_name)?;
        let number = self.require(name)?;
        if name == new_name {
            return Ok(());
        }
        self.check_is_free(new_name)?;
        self.set_name(name, new_name, number)
    }

    /// Drops a table, and gives its name to another one.
    ///
    /// # Errors
    /// As [`drop_table`](Self::drop_table).
    pub fn replace_table(&mut self, name: &str, by: &str) -> Result<()> {
        let number = self.require(by)?;
        if self.require(name)? == number {
            return Err(Error::NoSuchTable { name: name.to_owned() });
        }
        self.drop_table(name)?;
        self.set_name(by, name, number)
    }

    fn set_name(&mut self, old: &str, new: &str, number: u64) -> Result<()> {
        self.has_defined = true;
        self.with_store(|store| {
            let mut tables = store.tree(TABLES)?;
            tables.remove(old.as_bytes())?;
            Ok(tables.put(new.as_bytes(), &TableEntry { number }.to_bytes())?)
        })
    }

    /// Stores the text of a view, as [`Database::put_view`](crate::Database::put_view) does.
    ///
    /// # Errors
    /// As there.
    pub fn put_view(&mut self, name: &str, text: &str) -> Result<()> {
        check_name(name)?;
        if self.number(name)?.is_some() {
            return Err(Error::TableExists { name: name.to_owned() });
        }
        self.has_defined = true;
        self.with_store(|store| Ok(store.tree(VIEWS)?.put(name.as_bytes(), text.as_bytes())?))
    }

    /// Drops the view with this name. Returns whether it existed.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub fn drop_view(&mut self, name: &str) -> Result<bool> {
        let was_there = self.with_store(|store| match store.existing_tree(VIEWS)? {
            Some(mut views) => Ok(views.remove(name.as_bytes())?),
            None => Ok(false),
        })?;
        self.has_defined |= was_there;
        Ok(was_there)
    }

    /// The number of the table with this name.
    fn number(&mut self, name: &str) -> Result<Option<u64>> {
        self.with_store(|store| match store.existing_tree(TABLES)? {
            Some(mut tables) => {
                tables.get(name.as_bytes())?.map(|entry| Ok(TableEntry::from_bytes(entry)?.number)).transpose()
            }
            None => Ok(None),
        })
    }

    /// The number of the table with this name, which has to exist.
    pub(super) fn require(&mut self, name: &str) -> Result<u64> {
        self.number(name)?.ok_or_else(|| Error::NoSuchTable { name: name.to_owned() })
    }

    /// Returns an error for a name that a table or view has.
    fn check_is_free(&mut self, name: &str) -> Result<()> {
        let newest = self.with_store(|store| Ok(store.snapshot()?))?;
        match find_number(&newest, name)?.is_some() || view_text(&newest, name)?.is_some() {
            true => Err(Error::TableExists { name: name.to_owned() }),
            false => Ok(()),
        }
    }

    /// Applies `change`, or nothing if it fails.
    pub(super) fn all_or_nothing<T>(&mut self, change: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let savepoint = self.savepoint()?;
        let changed = change(self);
        match changed {
            Ok(_) => self.release(&savepoint)?,
            Err(_) => self.rollback(&savepoint)?,
        }
        changed
    }

    /// Closes the tables that were dropped, and removes their files unless a snapshot needs them.
    pub(super) fn close_dropped(self) -> Result<()> {
        let Self { tables, parts, .. } = self;
        let mut closed = Vec::new();
        for (number, part) in parts.iter().filter(|(_, part)| part.is_dropped) {
            // A file that is being written is not committed any more.
            drop(part.engine.lock_maintenance());
            closed.extend(tables.lock().remove(number));
        }
        let has_dropped = parts.values().any(|part| part.is_dropped);
        drop((closed, parts));
        if has_dropped {
            dropped_tables::remove(&tables)?;
        }
        Ok(())
    }
}
