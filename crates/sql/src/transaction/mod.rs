//! `BEGIN`, `COMMIT`, `ROLLBACK` and savepoints: several statements as one transaction over the tables of the session's database.
//!
//! A transaction holds the database's writer from `BEGIN` on, so that it is serializable: nothing that it has read changes before it
//! commits. Its statements read a view of the database with its own changes, which each change replaces. A statement that fails is undone
//! alone.

mod definition;
mod open;

use std::sync::Arc;

use datafusion::common::{Result, exec_err, plan_err};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{ObjectType, Statement as SqlStatement, TransactionAccessMode, TransactionMode};
use lath_table::{Database, TableOptions};
use tokio::sync::oneshot;

pub(crate) use self::definition::{ChangesInSteps, StatementTransaction, Step};
pub(crate) use self::open::{CurrentTransaction, OpenTransaction, StatementChanges, View};
use crate::dialect::normal;
use crate::error::blocking;
use crate::grammar::is_alter_sequence;
use crate::stop::CommitPoint;

/// Runs a statement about transactions. Returns whether the statement is one. Any other statement is an error if a transaction is open that
/// could not undo it.
pub(crate) async fn run_transaction_statement(
    statement: &Statement,
    database: Option<Database>,
    current: &Arc<CurrentTransaction>,
) -> Result<bool> {
    let current = Arc::clone(current);
    // Dropped if the statement is stopped.
    let (waiting, _waits) = oneshot::channel::<()>();
    let work: Box<dyn FnOnce() -> Result<()> + Send> = match statement {
        Statement::Statement(inner) => match inner.as_ref() {
            SqlStatement::StartTransaction { modes, .. } => {
                let Some(database) = database else {
                    return plan_err!(
                        "there is no database to change; open the session with one: lath sql --database FOLDER"
                    );
                };
                let is_read_only = is_read_only(modes, &database)?;
                let is_wanted = move || !waiting.is_closed();
                Box::new(move || current.begin(&database, is_read_only, TableOptions::DEFAULT_WAIT, is_wanted))
            }
            SqlStatement::Commit { .. } => Box::new(move || current.commit()),
            SqlStatement::Rollback { savepoint: None, .. } => Box::new(move || match current.rollback() {
                true => Ok(()),
                false => plan_err!("there is no transaction to undo; BEGIN opens one"),
            }),
            SqlStatement::Rollback { savepoint: Some(name), .. } => {
                let name = normal(name);
                Box::new(move || current.rollback_to(&name))
            }
            SqlStatement::Savepoint { name } => {
                let name = normal(name);
                Box::new(move || current.savepoint(&name))
            }
            SqlStatement::ReleaseSavepoint { name } => {
                let name = normal(name);
                Box::new(move || current.release(&name))
            }
            _ => return check(statement, &current),
        },
        _ => return check(statement, &current),
    };
    let begins = matches!(statement, Statement::Statement(inner) if matches!(inner.as_ref(), SqlStatement::StartTransaction { .. }));
    if !begins && !CommitPoint::current().pass() {
        return exec_err!("the statement was stopped, so the transaction is as it was");
    }
    blocking(work).await.map(|()| true)
}

/// Whether a transaction only reads, by its statement or because its database does.
fn is_read_only(modes: &[TransactionMode], database: &Database) -> Result<bool> {
    let mut is_read_only = None;
    for mode in modes {
        match mode {
            TransactionMode::AccessMode(TransactionAccessMode::ReadOnly) => is_read_only = Some(true),
            TransactionMode::AccessMode(TransactionAccessMode::ReadWrite) => is_read_only = Some(false),
            // A transaction is serializable, which is at least what any level asks for.
            TransactionMode::IsolationLevel(_) => {}
        }
    }
    match is_read_only {
        Some(false) if database.is_read_only() => {
            plan_err!("the database is open read-only; write BEGIN READ ONLY, or open it for writing")
        }
        Some(is_read_only) => Ok(is_read_only),
        None => Ok(database.is_read_only()),
    }
}

/// Returns an error for a definition while a transaction is open that nothing could undo.
fn check(statement: &Statement, current: &CurrentTransaction) -> Result<bool> {
    let definition = match statement {
        Statement::CreateExternalTable(_) => Some("CREATE EXTERNAL TABLE"),
        Statement::Statement(inner) => match inner.as_ref() {
            SqlStatement::AttachDuckDBDatabase { .. } => Some("ATTACH"),
            SqlStatement::DetachDuckDBDatabase { .. } => Some("DETACH"),
            SqlStatement::CreateSchema { .. } => Some("CREATE SCHEMA"),
            SqlStatement::CreateTable(create) if create.temporary => Some("CREATE TEMPORARY TABLE"),
            SqlStatement::CreateView(create) if create.temporary => Some("CREATE TEMPORARY VIEW"),
            SqlStatement::CreateFunction(_) => Some("CREATE FUNCTION"),
            SqlStatement::Drop {
                object_type: ObjectType::Table | ObjectType::View | ObjectType::Index | ObjectType::Sequence,
                ..
            } => None,
            SqlStatement::Drop { .. } => Some("DROP"),
            SqlStatement::DropFunction(_) => Some("DROP FUNCTION"),
            SqlStatement::Call(function) if is_alter_sequence(function) => Some("ALTER SEQUENCE"),
            SqlStatement::Call(_) => Some("CALL"),
            _ => None,
        },
        Statement::CopyTo(_) | Statement::Explain(_) | Statement::Reset(_) => None,
    };
    match definition {
        Some(words) if current.open().is_some() => not_undone(words),
        _ => Ok(false),
    }
}

/// The error for a statement in a transaction that could not undo it.
pub(crate) fn not_undone<T>(words: &str) -> Result<T> {
    plan_err!("{words} cannot be undone by ROLLBACK, so it does not run in a transaction; COMMIT or ROLLBACK first")
}
