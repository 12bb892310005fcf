//! Transactions over several tables, whose changes become visible together.

use std::collections::BTreeMap;
use std::sync::Arc;

use lath_store::Durability;

use super::new_folder::NewFolder;
use super::open_tables::OpenTables;
use super::snapshot::DatabaseSnapshot;
use super::table_list::{list_tables, table_name};
use crate::error::{Error, Result};
use crate::records::{DATABASE, SEQUENCE_CHANGE_KEY, history};
use crate::sequence::{CommittedChanges, Names, SequenceChanges, change_number};
use crate::table::Table;
use crate::view::Engine;
use crate::write::{OpenWrite, Transaction, WriteMark, WriteTables, check_table};

/// Changes to tables of a [`Database`](crate::Database) that become visible to others together, or not at all.
///
/// A database has one open transaction at a time, over one table or several. A transaction that is dropped without
/// [`commit`](Self::commit) changes nothing. A thread with an open transaction must not flush or compact tables of the database, because it would
/// wait for itself; for the same reason it creates, changes and drops tables by methods of the transaction.
#[derive(Debug)]
pub struct DatabaseTransaction {
    pub(super) tables: Arc<OpenTables>,
    /// Here when no table has it.
    store: Option<lath_store::Transaction>,
    /// The tables that it uses, by their numbers, which stay when a table is renamed.
    pub(super) parts: BTreeMap<u64, Part>,
    /// The time at which it began, in microseconds since 1970: rows expire by it.
    pub(super) clock: i64,
    /// The table that has the store's transaction.
    current: Option<u64>,
    /// Whether it has created, renamed or dropped tables, views or sequences.
    pub(super) has_defined: bool,
    pub(super) sequences: SequenceChanges,
}

/// A state of a transaction that [`DatabaseTransaction::rollback`] returns to.
#[derive(Debug)]
pub struct DatabaseSavepoint {
    store: lath_store::Savepoint,
    /// The state of each table that the transaction had used, and whether it was dropped.
    marks: BTreeMap<u64, (WriteMark, bool)>,
    has_defined: bool,
    sequences: Names,
}

/// The changes of one table.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) engine: Arc<Engine>,
    pub(super) transaction: Transaction,
    /// The folder of a table that was created in this transaction.
    pub(super) new_folder: Option<NewFolder>,
    /// Whether this transaction has dropped the table. Its changes stay here, as a rollback brings it back.
    pub(super) is_dropped: bool,
}

impl DatabaseTransaction {
    pub(crate) fn new(tables: Arc<OpenTables>, store: lath_store::Transaction) -> Self {
        let clock = tables.options.clock.now_micros();
        let (parts, sequences) = (BTreeMap::new(), SequenceChanges::default());
        Self { tables, store: Some(store), parts, clock, current: None, has_defined: false, sequences }
    }

    /// The part of this transaction that changes one table. It sees its own changes, and is committed with the other tables: its own
    /// [`Transaction::commit`] is an error.
    ///
    /// # Errors
    /// [`Error::NoSuchTable`].
    pub fn table(&mut self, name: &str) -> Result<&mut Transaction> {
        let number = self.require(name)?;
        self.numbered(number)
    }

    /// The part of the table with this number.
    pub(super) fn numbered(&mut self, number: u64) -> Result<&mut Transaction> {
        if !self.parts.contains_key(&number) {
            let open = self.tables.lock().get(&number).map(|table| Arc::clone(table.engine()));
            let engine = match open {
                Some(engine) => engine,
                None => self.tables.engine(number)?,
            };
            let transaction = Transaction::part(&engine, self.clock)?;
            self.parts.insert(number, Part { engine, transaction, new_folder: None, is_dropped: false });
        }
        if self.current != Some(number) {
            let store = self.take_store()?;
            self.part(number)?.transaction.changing.lend(store);
            self.current = Some(number);
        }
        Ok(&mut self.part(number)?.transaction)
    }

    /// Uses the store's transaction.
    pub(super) fn with_store<T>(&mut self, work: impl FnOnce(&mut lath_store::Transaction) -> Result<T>) -> Result<T> {
        let mut store = self.take_store()?;
        let done = work(&mut store);
        self.store = Some(store);
        done
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
        let snapshot = Arc::new(self.with_store(|store| Ok(store.snapshot()?))?);
        let changed = self.parts.iter().filter(|(_, part)| !part.is_dropped).filter_map(|(&number, part)| {
            part.transaction.changing.commit_so_far(&snapshot).map(|commit| (number, commit))
        });
        let changed = changed.collect();
        Ok(DatabaseSnapshot::in_transaction(Arc::clone(&self.tables), Arc::clone(&snapshot), changed, self.clock))
    }

    /// Marks the changes so far, to return to.
    ///
    /// # Errors
    /// [`Error::Store`](crate::Error::Store).
    pub fn savepoint(&mut self) -> Result<DatabaseSavepoint> {
        let mut marks = BTreeMap::new();
        for number in self.part_numbers() {
            let mark = match self.part(number)?.is_dropped {
                true => (self.part(number)?.transaction.changing.unread_mark(), true),
                false => (self.numbered(number)?.changing.mark()?, false),
            };
            marks.insert(number, mark);
        }
        let store = self.with_store(|store| Ok(store.savepoint()?))?;
        Ok(DatabaseSavepoint { store, marks, has_defined: self.has_defined, sequences: self.sequences.mark() })
    }

    /// Undoes the changes since a savepoint. The savepoint stays valid; those made after it do not.
    ///
    /// # Errors
    /// [`Error::Store`](crate::Error::Store), if the savepoint is no longer valid.
    pub fn rollback(&mut self, savepoint: &DatabaseSavepoint) -> Result<()> {
        self.with_store(|store| Ok(store.rollback(&savepoint.store)?))?;
        self.parts.retain(|number, part| match savepoint.marks.get(number) {
            Some((mark, is_dropped)) => {
                part.transaction.changing.restore(mark);
                part.is_dropped = *is_dropped;
                true
            }
            None => false,
        });
        self.has_defined = savepoint.has_defined;
        self.sequences.restore(&savepoint.sequences);
        Ok(())
    }

    /// Forgets a savepoint and those made after it. Their changes stay part of the transaction.
    ///
    /// # Errors
    /// [`Error::Store`](crate::Error::Store), if the savepoint is no longer valid.
    pub fn release(&mut self, savepoint: &DatabaseSavepoint) -> Result<()> {
        self.with_store(|store| Ok(store.release(&savepoint.store)?))
    }

    /// Writes the rows of all tables that are not written yet.
    fn write_pending(&mut self) -> Result<()> {
        self.live_numbers().into_iter().try_for_each(|number| self.numbered(number)?.changing.view().map(drop))
    }

    fn part_numbers(&self) -> Vec<u64> {
        self.parts.keys().copied().collect()
    }

    /// The tables that it uses and has not dropped.
    fn live_numbers(&self) -> Vec<u64> {
        self.parts.iter().filter(|(_, part)| !part.is_dropped).map(|(&number, _)| number).collect()
    }

    fn part(&mut self, number: u64) -> Result<&mut Part> {
        self.parts.get_mut(&number).ok_or_else(|| Error::internal("a table's part of a transaction is gone"))
    }

    /// The store's transaction, back from the table that has it. A part that a program has exchanged for another transaction is an error.
    fn take_store(&mut self) -> Result<lath_store::Transaction> {
        if let Some(current) = self.current.take() {
            let part = self.part(current)?;
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

    /// Makes the changes to all tables visible to others, with this durability. Tables that are created, dropped or altered are durable in any
    /// case.
    ///
    /// # Errors
    /// As [`lath_store::Transaction::commit`], and [`Error::NoReferredRow`] and [`Error::ReferredRow`] if rows violate a foreign key; then
    /// nothing is changed.
    pub fn commit_with(mut self, durability: Durability) -> Result<()> {
        self.apply_actions()?;
        let touched = |part: &&Part| !part.is_dropped && !part.transaction.changing.touched().is_empty();
        let touched = self.parts.values().filter(touched).filter_map(|part| part.engine.trees.number());
        for number in touched.collect::<Vec<u64>>() {
            check_table(&mut self, number)?;
        }
        let mut has_changed = self.has_defined;
        let mut is_durable = self.has_defined;
        let mut due = Vec::new();
        for number in self.live_numbers() {
            let changing = &mut self.numbered(number)?.changing;
            if changing.write_state()? {
                due.push(Arc::clone(changing.engine()));
            }
            has_changed |= changing.has_changed();
            is_durable |= changing.has_new_schema();
        }
        let sequences = self.number_sequence_changes()?;
        let mut store = self.take_store()?;
        self.parts.values_mut().for_each(|part| part.transaction.changing.keep_files());
        if has_changed {
            // Files may be written in a new schema at once, and a version has to stay one schema.
            let durability = if is_durable { Durability::Sync } else { durability };
            history::keep_commit_before(&mut store, &self.tables.store.snapshot()?)?;
            // Locked while it is committed, so that new tables are open once they can be seen.
            let mut open = self.tables.lock();
            self.parts.values_mut().for_each(Part::keep_folder);
            match sequences {
                Some(changes) => self.tables.sequences.commit(&changes, || Ok(store.commit_with(durability)?))?,
                None => store.commit_with(durability)?,
            }
            for (&number, part) in &self.parts {
                if part.new_folder.is_some() && !part.is_dropped {
                    open.insert(number, Table::start(Arc::clone(&part.engine), true)?);
                }
            }
        }
        due.iter().for_each(|engine| engine.signal.notify());
        self.close_dropped()
    }
}

impl DatabaseTransaction {
    /// Gives the changes of sequences a number that the commit has, if there are some.
    fn number_sequence_changes(&mut self) -> Result<Option<CommittedChanges>> {
        if self.sequences.is_empty() {
            return Ok(None);
        }
        let number = self.with_store(|store| {
            let mut meta = store.tree(DATABASE)?;
            let number = change_number(meta.get(SEQUENCE_CHANGE_KEY)?) + 1;
            meta.put(SEQUENCE_CHANGE_KEY, &number.to_le_bytes())?;
            Ok(number)
        })?;
        Ok(self.sequences.committed(number))
    }
}

impl WriteTables for DatabaseTransaction {
    fn with_table(&mut self, number: u64, work: &mut dyn FnMut(&mut OpenWrite) -> Result<()>) -> Result<()> {
        work(&mut self.numbered(number)?.changing)
    }

    fn table_name(&mut self, number: u64) -> Result<String> {
        let snapshot = self.with_store(|store| Ok(store.snapshot()?))?;
        table_name(list_tables(&snapshot)?, number)
    }
}
