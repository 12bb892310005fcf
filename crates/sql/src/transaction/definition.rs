//! Definitions of tables: as part of the open transaction of a session, or each as one commit.

use std::fmt;
use std::sync::Arc;

use datafusion::common::Result;
use lath_table::{Database, DatabaseSavepoint, DatabaseTransaction, Durability, Table, TableOptions, Transaction};

use super::open::{CurrentTransaction, OpenTransaction};
use crate::error::{blocking, table_error};
use crate::stop::{CommitPoint, stopped};

/// A step of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Others follow, and the statement can still be stopped.
    First,
    Last,
}

impl CurrentTransaction {
    /// Changes the definition of a table, which is a table of the session's database if it `is_in_database`. If this is the statement's last step,
    /// it cannot be stopped from the end of `change` on.
    pub(crate) async fn change_table(
        self: &Arc<Self>,
        name: &str,
        table: &Table,
        is_in_database: bool,
        step: Step,
        change: impl FnOnce(&mut Transaction) -> lath_table::Result<()> + Send + 'static,
    ) -> Result<()> {
        let open = self.open().filter(|_| is_in_database);
        let (name, table, point) = (name.to_owned(), table.clone(), CommitPoint::current());
        blocking(move || match open {
            Some(open) => {
                let mut changes = open.change()?;
                change(changes.table(&name)?).map_err(table_error)?;
                if step == Step::Last && !point.pass() {
                    return stopped();
                }
                changes.finish()
            }
            None => {
                let mut transaction = table.begin().map_err(table_error)?;
                change(&mut transaction).map_err(table_error)?;
                if step == Step::Last && !point.pass() {
                    return stopped();
                }
                transaction.commit_with(Durability::Sync).map_err(table_error)
            }
        })
        .await
    }

    /// Changes the definitions of the session's database.
    pub(crate) async fn change_database<T: Send + 'static>(
        self: &Arc<Self>,
        database: Database,
        step: Step,
        change: impl FnOnce(&mut DatabaseTransaction) -> lath_table::Result<T> + Send + 'static,
    ) -> Result<T> {
        let (open, point) = (self.open(), CommitPoint::current());
        blocking(move || match open {
            Some(open) => {
                let mut changes = open.change()?;
                let changed = change(changes.all()?).map_err(table_error)?;
                if step == Step::Last && !point.pass() {
                    return stopped();
                }
                changes.finish().map(|()| changed)
            }
            None => {
                let mut transaction = database.begin().map_err(table_error)?;
                let changed = change(&mut transaction).map_err(table_error)?;
                if step == Step::Last && !point.pass() {
                    return stopped();
                }
                transaction.commit_with(Durability::Sync).map_err(table_error).map(|()| changed)
            }
        })
        .await
    }
}

/// A statement of several changes within a transaction. Dropped without [`finish`](Self::finish), all of them are undone.
pub(crate) struct ChangesInSteps {
    open: Arc<OpenTransaction>,
    before: Option<DatabaseSavepoint>,
}

impl ChangesInSteps {
    pub(crate) fn begin(open: Arc<OpenTransaction>) -> Result<Self> {
        let before = open.mark()?;
        Ok(Self { open, before: Some(before) })
    }

    /// Keeps the changes.
    pub(crate) fn finish(mut self) -> Result<()> {
        match self.before.take() {
            Some(before) => self.open.release(&before),
            None => Ok(()),
        }
    }
}

impl Drop for ChangesInSteps {
    fn drop(&mut self) {
        if let Some(before) = self.before.take() {
            self.open.undo(&before);
        }
    }
}

/// A transaction for the steps of one statement, unless one is open, of which it becomes a part. Dropped without [`commit`](Self::commit), it
/// changes nothing.
#[derive(Debug)]
pub(crate) struct StatementTransaction {
    current: Arc<CurrentTransaction>,
    is_own: bool,
    steps: Option<ChangesInSteps>,
}

impl StatementTransaction {
    pub(crate) async fn begin(current: &Arc<CurrentTransaction>, database: Database) -> Result<Self> {
        let current = Arc::clone(current);
        blocking(move || {
            if let Some(open) = current.open() {
                return Ok(Self { steps: Some(ChangesInSteps::begin(open)?), current, is_own: false });
            }
            current.begin(&database, false, TableOptions::DEFAULT_WAIT, || true)?;
            Ok(Self { current, is_own: true, steps: None })
        })
        .await
    }

    /// Keeps the changes.
    pub(crate) async fn commit(mut self) -> Result<()> {
        if let Some(steps) = self.steps.take() {
            return steps.finish();
        }
        if !CommitPoint::current().pass() {
            return stopped();
        }
        self.is_own = false;
        let current = Arc::clone(&self.current);
        blocking(move || current.commit()).await
    }
}

impl Drop for StatementTransaction {
    fn drop(&mut self) {
        if self.is_own {
            self.current.rollback();
        }
    }
}

impl fmt::Debug for ChangesInSteps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ChangesInSteps")
    }
}
