//! Transactions of clients.
//!
//! | state | a query | a change | commit or rollback |
//! | --- | --- | --- | --- |
//! | not begun | reads the last commit from now on: reading | takes the database's writer: changing | ended |
//! | reading | reads the same commit | changing, if there was no commit since; an error otherwise | ended |
//! | changing | reads the commit with its changes | adds to its changes | ended, with or without its changes |
//!
//! So a client that only reads, as many do in transactions that they never asked for, delays no other.

use std::fmt;

use lath_sql::{Session, Stop};
use tokio::sync::Mutex;
use tonic::Status;

use crate::run::StatementRun;
use crate::status::status;

/// A transaction, which has its own session.
pub(crate) struct ClientTransaction {
    session: Session,
    /// The number of its connection.
    client: usize,
    has_begun: Mutex<bool>,
}

impl ClientTransaction {
    pub(crate) fn new(session: Session, client: usize) -> Self {
        Self { session, client, has_begun: Mutex::new(false) }
    }

    pub(crate) fn client(&self) -> usize {
        self.client
    }

    pub(crate) fn session(&self) -> &Session {
        &self.session
    }

    /// The session for a statement.
    pub(crate) async fn begun(&self) -> Result<Session, Status> {
        let mut has_begun = self.has_begun.lock().await;
        if !*has_begun {
            self.session.begin_deferred().await.map_err(|error| status(&error))?;
            *has_begun = true;
        }
        Ok(self.session.clone())
    }

    /// Undoes its changes, because its client is gone.
    pub(crate) fn undo(&self) {
        self.session.rollback();
    }

    /// Ends it.
    pub(crate) async fn end(&self, keeps_changes: bool) -> Result<(), Status> {
        if !*self.has_begun.lock().await {
            return Ok(());
        }
        match keeps_changes {
            true => run(&self.session, "COMMIT", &Stop::new()).await.map_err(|error| status(&error)),
            false => {
                self.session.rollback();
                Ok(())
            }
        }
    }
}

/// Runs statements on a session as one transaction.
pub(crate) async fn in_transaction<T>(
    session: &Session,
    statement: &StatementRun,
    work: impl Future<Output = Result<T, Status>>,
) -> Result<T, Status> {
    let begun = run(session, "BEGIN", statement.stop()).await;
    begun.map_err(|error| statement.status(&error))?;
    match work.await {
        Ok(done) => {
            let committed = run(session, "COMMIT", statement.stop()).await;
            if committed.is_err() {
                session.rollback();
            }
            committed.map(|()| done).map_err(|error| statement.status(&error))
        }
        Err(error) => {
            session.rollback();
            Err(error)
        }
    }
}

async fn run(session: &Session, statement: &str, stop: &Stop) -> lath_sql::Result<()> {
    session.plan_text(statement, stop).await.map(drop)
}

impl fmt::Debug for ClientTransaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientTransaction").field("client", &self.client).finish_non_exhaustive()
    }
}
