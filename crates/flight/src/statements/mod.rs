//! Statements of clients.
//!
//! | module | purpose |
//! | --- | --- |
//! | `query` | Runs statements, and describes and returns their rows. |
//! | `prepared` | Keeps prepared statements and their values. |
//! | `change` | Runs statements for the number of changed rows, and puts rows into tables. |
//! | `actions` | Begins and ends transactions, cancels statements, ends sessions. |

mod actions;
mod change;
mod prepared;
mod query;

use std::sync::Arc;

use bytes::Bytes;
use lath_sql::Session;
use tonic::{Request, Status};

use crate::client::Client;
use crate::state::ServerState;
use crate::transaction::ClientTransaction;

/// Runs the statements of all clients.
#[derive(Debug, Clone)]
pub(crate) struct Statements {
    state: Arc<ServerState>,
}

/// The session of a statement. It is in use as long as this lives.
pub(crate) struct StatementSession {
    session: Session,
    /// The transaction that the statement belongs to.
    transaction: Option<Arc<ClientTransaction>>,
}

impl StatementSession {
    /// The session, once its transaction has begun.
    async fn begun(&self) -> Result<Session, Status> {
        match &self.transaction {
            Some(transaction) => transaction.begun().await,
            None => Ok(self.session.clone()),
        }
    }

    /// A session on which several statements are one transaction; `None` if they are part of one anyway.
    fn own(&self) -> Result<Option<Session>, Status> {
        if self.transaction.is_some() || self.session.is_in_transaction() {
            return Ok(None);
        }
        self.session.sibling().map(Some).map_err(|error| crate::status::status(&error.into()))
    }
}

impl Statements {
    pub(crate) fn new(state: Arc<ServerState>) -> Self {
        Self { state }
    }

    pub(crate) fn state(&self) -> &Arc<ServerState> {
        &self.state
    }

    /// The session for a request: of a transaction, or else of the connection.
    fn session<T>(&self, request: &Request<T>, transaction: Option<&Bytes>) -> Result<StatementSession, Status> {
        let transaction = transaction.filter(|handle| !handle.is_empty());
        match transaction.map(|handle| self.state.handles().transaction(handle)).transpose()? {
            Some(transaction) => {
                Ok(StatementSession { session: transaction.session().clone(), transaction: Some(transaction) })
            }
            None => Ok(StatementSession { session: Client::from_request(request)?.session()?, transaction: None }),
        }
    }
}
