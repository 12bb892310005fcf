//! Transactions over several tables, whose changes become visible together.

use std::collections::BTreeMap;
use std::sync::Arc;

use lath_store::Durability;

use super::open_tables::OpenTables;
use super::snapshot::DatabaseSnapshot;
use crate::error::{Error, Result};
use crate::records::history;
use crate::view::Engine;
use crate::write::{OpenWrite, Transaction, WriteMark, WriteTables, check_table};

/// Changes to tables of a [`Database`](crate::Database) that become visible to others together, or not at all.
///
/// A database has one open transaction at a time, over one table or several. A transaction that is dropped without
/// [`commit`](Self::commit) changes nothing. A thread with an open transaction must not flush or compact tables of the database, nor
/// create or drop tables, because it would wait for itself.
#[derive(Debug)]
pub struct DatabaseTransaction {
    tables: Arc<OpenTables>,
    /// Here when no table has it.
    store: Option<lath_store::Transaction>,
    parts: BTreeMap<String, Part>,
    /// The time at which it began, in microseconds since 1970: rows expire by it.
    clock: i64,
    /// The table that has the store's transaction.
    current: Option<String>,
}

/// A state of a transaction that [`DatabaseTransaction::rollback`] returns to.
#[derive(Debug)]
pub struct DatabaseSavepoint {
    store: lath_store::Savepoint,
    /// Of the tables that the transaction had used.
    marks: BTreeMap<String, WriteMark>,
}

/// The changes of one table.
#[derive(Debug)]
struct Part {
    engine: Arc<Engine>,
    transaction: Transaction,
}

impl DatabaseTransaction {
    pub(crate) fn new(tables: Arc<OpenTables>, store: lath_store::Transaction) -> Self {
        let clock = tables.options.clock.now_micros();
        Self { tables, store: Some(store), parts: BTreeMap::new(), clock, current: None }
    }

    /// The part of this transaction that changes one table. It sees its own changes, and is committed with the other tables: its own
    /// [`Transaction::commit`] is an error.
    ///
    /// # Errors
    /// [`Error::NoSuchTable`].
    pub fn table(&mut self, name: &str) -> Result<&mut Transaction> {
        if !self.parts.contains_key(name) {
            let engine = Arc::clone(self.tables.open_table(&self.tables.store.snapshot()?, name)?.engine());
            let transaction = Transaction::part(&engine, self.clock)?;
            self.parts.insert(name.to_owned(), Part { engine, transaction });
        }
        if self.current.as_deref() != Some(name) {
            let store = self.take_store()?;
            self.part(name)?.transaction.changing.lend(store);
            self.current = Some(name.to_owned());
        }
        Ok(&mut self.part(name)?.transaction)
    }

    /// A snapshot of all tables with the changes so far, which stays as it is while the transaction goes on.
    ///
    /// Rows that become files at once are only in these files: if the transaction does not commit, they are removed, and reading them from
    /// the snapshot is an error.
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
    /// # database.create_table("orders", &rows.schema(), &["id"])?;
    /// let mut transaction = database.begin()?;
    /// transaction.table("orders")?.insert(&rows)?;
    /// let so_far = transaction.snapshot()?;
    /// transaction.table("orders")?.delete([1])?;
    /// assert_eq!(so_far.table("orders")?.count()?, 2);
    /// assert_eq!(database.table("orders")?.count()?, 0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Store`](crate::Error::Store).
    pub fn snapshot(&mut self) -> Result<DatabaseSnapshot> {
        self.write_pending()?;
        let mut store = self.take_store()?;
        let snapshot = store.snapshot();
        self.store = Some(store);
        let snapshot = Arc::new(snapshot?);
        let changed = self.parts.iter().filter_map(|(name, part)| {
            part.transaction.changing.commit_so_far(&snapshot).map(|commit| (name.clone(), commit))
        });
        let changed = changed.collect();
        Ok(DatabaseSnapshot::in_transaction(Arc::clone(&self.tables), Arc::clone(&snapshot), changed, self.clock))
    }

    /// Marks the changes so far, to return to.
    ///
    /// # Errors
    /// [`Error::Store`](crate::Error::Store).
    pub fn savepoint(&mut self) -> Result<DatabaseSavepoint> {
        let names: Vec<String> = self.parts.keys().cloned().collect();
        let mut marks = BTreeMap::new();
        for name in names {
            let mark = self.table(&name)?.changing.mark()?;
            marks.insert(name, mark);
        }
        let mut store = self.take_store()?;
        let savepoint = store.savepoint();
        self.store = Some(store);
        Ok(DatabaseSavepoint { store: savepoint?, marks })
    }

    /// Undoes the changes since a savepoint. The savepoint stays valid; those made after it do not.
    ///
    /// # Errors
    /// [`Error::Store`](crate::Error::Store), if the savepoint is no longer valid.
    pub fn rollback(&mut self, savepoint: &DatabaseSavepoint) -> Result<()> {
        let mut store = self.take_store()?;
        let undone = store.rollback(&savepoint.store);
        self.store = Some(store);
        undone?;
        self.parts.retain(|name, part| match savepoint.marks.get(name) {
            Some(mark) => {
                part.transaction.changing.restore(mark);
                true
            }
            None => false,
        });
        Ok(())
    }

    /// Forgets a savepoint and those made after it. Their changes stay part of the transaction.
    ///
    /// # Errors
    /// [`Error::Store`](crate::Error::Store), if the savepoint is no longer valid.
    pub fn release(&mut self, savepoint: &DatabaseSavepoint) -> Result<()> {
        let mut store = self.take_store()?;
        let released = store.release(&savepoint.store);
        self.store = Some(store);
        Ok(released?)
    }

    /// Writes the rows of all tables that are not written yet.
    fn write_pending(&mut self) -> Result<()> {
        let names: Vec<String> = self.parts.keys().cloned().collect();
        names.iter().try_for_each(|name| self.table(name)?.changing.view().map(drop))
    }

    fn part(&mut self, name: &str) -> Result<&mut Part> {
        self.parts.get_mut(name).ok_or_else(|| Error::internal("a table's part of a transaction is gone"))
    }

    /// The store's transaction, back from the table that has it. A part that a program has exchanged for another transaction is an error.
    fn take_store(&mut self) -> Result<lath_store::Transaction> {
        if let Some(current) = self.current.take() {
            let part = self.part(&current)?;
            let is_own = Arc::ptr_eq(part.transaction.changing.engine(), &part.engine);
            let store = if is_own { part.transaction.changing.give_back() } else { None };
            self.store = store;
        }
        self.store.take().ok_or(Error::PartOfTransaction)
    }

    /// Makes the changes to all tables visible to others, with the database's durability.
    ///
    /// # Errors
    /// As [`lath_store::Transaction::commit`].
    pub fn commit(self) -> Result<()> {
        let durability = self.tables.options.durability;
        self.commit_with(durability)
    }

    /// Makes the changes to all tables visible to others, with this durability.
    ///
    /// # Errors
    /// As [`lath_store::Transaction::commit`], and [`Error::NoReferredRow`] and [`Error::ReferredRow`] if rows violate a foreign key; then
    /// nothing is changed.
    pub fn commit_with(mut self, durability: Durability) -> Result<()> {
        let touched = self.parts.values().filter(|part| !part.transaction.changing.touched().is_empty());
        let numbers: Vec<u64> = touched.filter_map(|part| part.engine.trees.number()).collect();
        for number in numbers {
            check_table(&mut self, number)?;
        }
        let names: Vec<String> = self.parts.keys().cloned().collect();
        let mut has_changed = false;
        let mut due = Vec::new();
        for name in names {
            let changing = &mut self.table(&name)?.changing;
            if changing.write_state()? {
                due.push(Arc::clone(changing.engine()));
            }
            has_changed |= changing.has_changed();
        }
        let mut store = self.take_store()?;
        self.parts.values_mut().for_each(|part| part.transaction.changing.keep_files());
        if has_changed {
            history::keep_commit_before(&mut store, &self.tables.store.snapshot()?)?;
            store.commit_with(durability)?;
        }
        due.iter().for_each(|engine| engine.signal.notify());
        Ok(())
    }
}

impl WriteTables for DatabaseTransaction {
    fn with_table(&mut self, number: u64, work: &mut dyn FnMut(&mut OpenWrite) -> Result<()>) -> Result<()> {
        let name = self.parts.iter().find(|(_, part)| part.engine.trees.number() == Some(number));
        if let Some(name) = name.map(|(name, _)| name.clone()) {
            return work(&mut self.table(&name)?.changing);
        }
        let mut other = OpenWrite::part(&self.tables.siblings().engine(number)?, self.clock)?;
        other.lend(self.take_store()?);
        let done = work(&mut other);
        self.store = other.give_back();
        done
    }
}
