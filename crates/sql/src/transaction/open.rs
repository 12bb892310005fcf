//! The open transaction of a session.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use datafusion::common::{Result, exec_err, plan_err};
use lath_table::{
    Database, DatabaseSavepoint, DatabaseSnapshot, DatabaseTransaction, SequenceChanges, SequenceOptions, Transaction,
};

use crate::error::{conflict, table_error};

/// The numbers of views are unique in the process.
static NEXT_VIEW: AtomicU64 = AtomicU64::new(1);

/// The transaction of a session, if one is open. Plans hold this, so that they use the transaction that is open when they are executed.
#[derive(Debug, Default)]
pub(crate) struct CurrentTransaction {
    open: Mutex<Option<Arc<OpenTransaction>>>,
}

/// A transaction that `BEGIN` has opened.
#[derive(Debug)]
pub(crate) struct OpenTransaction {
    /// `None` if the transaction is read-only. Locked while a statement changes rows.
    changes: Option<Mutex<Changes>>,
    view: Mutex<View>,
    /// The time of `now()` in all of its statements.
    begun: SystemTime,
    at_end: Mutex<AtEnd>,
    /// The sequences that it has created and dropped. Statements use them while they change rows.
    sequences: SequenceChanges,
    /// Whether it reads until its first change, which makes it a transaction that changes rows.
    is_deferred: bool,
}

/// Work that follows the end of a transaction, whether it was committed or not.
#[derive(Default)]
struct AtEnd(Vec<Box<dyn FnOnce() + Send>>);

impl fmt::Debug for AtEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AtEnd")
    }
}

/// The state that the statements of a transaction read: the commit at its beginning, with its own changes.
#[derive(Debug, Clone)]
pub(crate) struct View {
    pub(crate) number: u64,
    pub(crate) snapshot: DatabaseSnapshot,
}

#[derive(Debug)]
struct Changes {
    /// `None` after an error that could not be undone alone.
    transaction: Option<DatabaseTransaction>,
    /// The savepoints by name, the newest last.
    savepoints: Vec<(String, DatabaseSavepoint)>,
}

/// The changes of one statement. Dropped without [`finish`](Self::finish), it has changed nothing.
pub(crate) struct StatementChanges<'t> {
    view: &'t Mutex<View>,
    changes: MutexGuard<'t, Changes>,
    /// The state before the statement.
    before: Option<DatabaseSavepoint>,
}

impl View {
    fn new(snapshot: DatabaseSnapshot) -> Self {
        Self { number: NEXT_VIEW.fetch_add(1, Ordering::Relaxed), snapshot }
    }
}

impl CurrentTransaction {
    fn lock(&self) -> MutexGuard<'_, Option<Arc<OpenTransaction>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The transaction, if one is open.
    pub(crate) fn open(&self) -> Option<Arc<OpenTransaction>> {
        self.lock().clone()
    }

    /// The view that statements read now, if a transaction is open.
    pub(crate) fn view(&self) -> Option<View> {
        self.open().map(|open| lock(&open.view).clone())
    }

    /// The sequences of the session's database, with the changes of the open transaction.
    pub(crate) fn sequences(&self, database: &Database) -> Result<BTreeMap<String, SequenceOptions>> {
        let sequences = database.sequences().map_err(table_error)?;
        Ok(match self.open() {
            Some(open) => open.sequences.apply_to(sequences),
            None => sequences,
        })
    }

    /// Opens a transaction, unless the statement was stopped meanwhile. Waits this long for another transaction of the database to end.
    pub(super) fn begin(
        &self,
        database: &Database,
        is_read_only: bool,
        wait: Duration,
        is_wanted: impl FnOnce() -> bool,
    ) -> Result<()> {
        if self.open().is_some() {
            return already_open();
        }
        let begun = SystemTime::now();
        let (view, changes, sequences) = if is_read_only {
            (database.snapshot().map_err(table_error)?, None, SequenceChanges::default())
        } else {
            let mut transaction = database.begin_within(wait).map_err(table_error)?;
            let view = transaction.snapshot().map_err(table_error)?;
            let sequences = transaction.sequence_changes();
            (view, Some(Mutex::new(Changes { transaction: Some(transaction), savepoints: Vec::new() })), sequences)
        };
        let mut open = self.lock();
        if open.is_some() {
            return already_open();
        }
        if is_wanted() {
            let (view, at_end) = (Mutex::new(View::new(view)), Mutex::default());
            *open = Some(Arc::new(OpenTransaction { changes, view, begun, at_end, sequences, is_deferred: false }));
        }
        Ok(())
    }

    /// Opens a transaction that reads the last commit until its first change.
    pub(crate) fn begin_deferred(&self, database: &Database) -> Result<()> {
        let snapshot = database.snapshot().map_err(table_error)?;
        let mut open = self.lock();
        if open.is_some() {
            return already_open();
        }
        *open = Some(Arc::new(OpenTransaction {
            changes: None,
            view: Mutex::new(View::new(snapshot)),
            begun: SystemTime::now(),
            at_end: Mutex::default(),
            sequences: SequenceChanges::default(),
            is_deferred: true,
        }));
        Ok(())
    }

    /// Makes a deferred transaction one that changes rows. Returns an error if there were commits since it began to read: what it has read
    /// may not hold any more. Other transactions stay as they are.
    pub(crate) fn begin_changes(
        &self,
        database: &Database,
        wait: Duration,
        is_wanted: impl FnOnce() -> bool,
    ) -> Result<()> {
        let Some(reading) = self.open().filter(|open| open.is_deferred) else { return Ok(()) };
        let mut transaction = database.begin_within(wait).map_err(table_error)?;
        // While the transaction is open, this stays the newest commit.
        let newest = database.snapshot().map_err(table_error)?;
        if newest.sequence() != lock(&reading.view).snapshot.sequence() {
            return Err(conflict());
        }
        let view = View::new(transaction.snapshot().map_err(table_error)?);
        let sequences = transaction.sequence_changes();
        let changes = Mutex::new(Changes { transaction: Some(transaction), savepoints: Vec::new() });
        let mut open = self.lock();
        let is_same = open.as_ref().is_some_and(|open| Arc::ptr_eq(open, &reading));
        if is_same && is_wanted() {
            *open = Some(Arc::new(OpenTransaction {
                changes: Some(changes),
                view: Mutex::new(view),
                begun: reading.begun,
                at_end: Mutex::default(),
                sequences,
                is_deferred: false,
            }));
        }
        Ok(())
    }

    /// Ends the transaction and keeps its changes.
    pub(super) fn commit(&self) -> Result<()> {
        let Some(ended) = self.lock().take() else {
            return plan_err!("there is no transaction to commit; BEGIN opens one");
        };
        let Some(changes) = &ended.changes else { return Ok(()) };
        let (transaction, at_end) = (lock(changes).transaction.take(), std::mem::take(&mut *lock(&ended.at_end)));
        // Its view needs files of tables that it has dropped.
        drop(ended);
        let committed = match transaction {
            Some(transaction) => transaction.commit().map_err(table_error),
            None => undone(),
        };
        at_end.0.into_iter().for_each(|work| work());
        committed
    }

    /// Ends the transaction and undoes its changes. Returns whether there was one.
    pub(crate) fn rollback(&self) -> bool {
        let Some(ended) = self.lock().take() else { return false };
        if let Some(changes) = &ended.changes {
            drop(lock(changes).transaction.take());
        }
        let at_end = std::mem::take(&mut *lock(&ended.at_end));
        at_end.0.into_iter().for_each(|work| work());
        true
    }

    fn require(&self, statement: &str) -> Result<Arc<OpenTransaction>> {
        match self.open() {
            Some(open) => Ok(open),
            None => plan_err!("{statement} needs an open transaction; BEGIN opens one"),
        }
    }

    pub(super) fn savepoint(&self, name: &str) -> Result<()> {
        let open = self.require("SAVEPOINT")?;
        // Without changes there is nothing to undo, and no name to find.
        let Some(changes) = &open.changes else {
            return plan_err!("the transaction is read-only, so it needs no savepoint");
        };
        let mut changes = lock(changes);
        let savepoint = changes.get()?.savepoint().map_err(table_error)?;
        changes.savepoints.push((name.to_owned(), savepoint));
        Ok(())
    }

    pub(super) fn rollback_to(&self, name: &str) -> Result<()> {
        let open = self.require("ROLLBACK TO")?;
        let mut changes = open.changes(name)?;
        let at = changes.find(name)?;
        let Changes { transaction: Some(transaction), savepoints } = &mut *changes else { return undone() };
        transaction.rollback(&savepoints[at].1).map_err(table_error)?;
        savepoints.truncate(at + 1);
        let snapshot = transaction.snapshot().map_err(table_error)?;
        *lock(&open.view) = View::new(snapshot);
        Ok(())
    }

    pub(super) fn release(&self, name: &str) -> Result<()> {
        let open = self.require("RELEASE")?;
        let mut changes = open.changes(name)?;
        let at = changes.find(name)?;
        let Changes { transaction: Some(transaction), savepoints } = &mut *changes else { return undone() };
        transaction.release(&savepoints[at].1).map_err(table_error)?;
        savepoints.truncate(at);
        Ok(())
    }
}

impl OpenTransaction {
    pub(crate) fn is_read_only(&self) -> bool {
        self.changes.is_none()
    }

    /// Whether its first change makes it a transaction that changes rows.
    pub(crate) fn is_deferred(&self) -> bool {
        self.is_deferred
    }

    /// The time at which it began.
    pub(crate) fn begun(&self) -> SystemTime {
        self.begun
    }

    pub(crate) fn sequences(&self) -> &SequenceChanges {
        &self.sequences
    }

    /// Does some work once the transaction has ended, whether it was committed or not.
    pub(crate) fn at_end(&self, work: impl FnOnce() + Send + 'static) {
        lock(&self.at_end).0.push(Box::new(work));
    }

    /// Marks the changes so far.
    pub(super) fn mark(&self) -> Result<DatabaseSavepoint> {
        self.change()?.keep()
    }

    /// Forgets a mark, and keeps the changes since.
    pub(super) fn release(&self, savepoint: &DatabaseSavepoint) -> Result<()> {
        let Some(changes) = &self.changes else { return Ok(()) };
        lock(changes).get()?.release(savepoint).map_err(table_error)
    }

    /// Undoes the changes since a mark.
    pub(super) fn undo(&self, savepoint: &DatabaseSavepoint) {
        let Some(changes) = &self.changes else { return };
        let mut changes = lock(changes);
        let Some(transaction) = &mut changes.transaction else { return };
        let undone = transaction.rollback(savepoint).and_then(|()| transaction.release(savepoint));
        match undone.and_then(|()| transaction.snapshot()) {
            Ok(snapshot) => *lock(&self.view) = View::new(snapshot),
            Err(_) => changes.transaction = None,
        }
    }

    fn changes(&self, savepoint: &str) -> Result<MutexGuard<'_, Changes>> {
        match &self.changes {
            Some(changes) => Ok(lock(changes)),
            None => no_savepoint(savepoint),
        }
    }

    /// Begins the changes of a statement. Waits for another statement of this transaction.
    pub(crate) fn change(&self) -> Result<StatementChanges<'_>> {
        let Some(changes) = &self.changes else {
            return plan_err!(
                "the transaction is read-only; ROLLBACK ends it, and BEGIN opens one that can change rows"
            );
        };
        let mut changes = lock(changes);
        let before = changes.get()?.savepoint().map_err(table_error)?;
        Ok(StatementChanges { view: &self.view, changes, before: Some(before) })
    }
}

impl Changes {
    fn get(&mut self) -> Result<&mut DatabaseTransaction> {
        match &mut self.transaction {
            Some(transaction) => Ok(transaction),
            None => undone(),
        }
    }

    /// The place of the newest savepoint with this name.
    fn find(&self, name: &str) -> Result<usize> {
        match self.savepoints.iter().rposition(|(other, _)| other == name) {
            Some(at) => Ok(at),
            None => no_savepoint(name),
        }
    }
}

impl StatementChanges<'_> {
    /// The changes of one table.
    pub(crate) fn table(&mut self, name: &str) -> Result<&mut Transaction> {
        self.changes.get()?.table(name).map_err(table_error)
    }

    /// The changes of all tables.
    pub(super) fn all(&mut self) -> Result<&mut DatabaseTransaction> {
        self.changes.get()
    }

    /// Ends the changes, of which there are none, and returns the mark before them.
    fn keep(mut self) -> Result<DatabaseSavepoint> {
        self.before.take().map_or_else(undone, Ok)
    }

    /// The state that the statement reads.
    pub(crate) fn snapshot(&self) -> DatabaseSnapshot {
        lock(self.view).snapshot.clone()
    }

    /// Keeps the changes, so that the next statement sees them.
    pub(crate) fn finish(mut self) -> Result<()> {
        let transaction = self.changes.get()?;
        transaction.apply_actions().map_err(table_error)?;
        let snapshot = transaction.snapshot().map_err(table_error)?;
        // Replaced first: the space that only the view before this statement needs becomes free.
        *lock(self.view) = View::new(snapshot);
        match self.before.take() {
            Some(before) => self.changes.get()?.release(&before).map_err(table_error),
            None => Ok(()),
        }
    }
}

impl Drop for StatementChanges<'_> {
    fn drop(&mut self) {
        let Some(before) = self.before.take() else { return };
        if let Some(transaction) = &mut self.changes.transaction
            && transaction.rollback(&before).and_then(|()| transaction.release(&before)).is_err()
        {
            self.changes.transaction = None;
        }
    }
}

impl fmt::Debug for StatementChanges<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StatementChanges")
    }
}

fn already_open<T>() -> Result<T> {
    plan_err!("a transaction is open already; COMMIT or ROLLBACK ends it")
}

fn no_savepoint<T>(name: &str) -> Result<T> {
    plan_err!("there is no savepoint {name}; SAVEPOINT {name} makes one")
}

fn undone<T>() -> Result<T> {
    exec_err!("an error has undone all changes of this transaction; ROLLBACK ends it")
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
