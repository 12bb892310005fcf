//! A connection of a client, and its session.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use lath_sql::Session;
use tonic::{Request, Status};

use crate::state::ServerState;
use crate::status::{fault, status};

/// Counts the connections of a server.
#[derive(Debug, Clone, Default)]
pub(crate) struct Clients {
    open: Arc<AtomicUsize>,
    opened: Arc<AtomicUsize>,
}

/// A connection. Its session and its transactions end with it.
pub(crate) struct Client {
    number: usize,
    clients: Clients,
    /// The number of connections when it was opened, with itself.
    open_then: usize,
    state: Weak<ServerState>,
    session: Mutex<Option<Session>>,
}

impl Clients {
    /// Counts a connection.
    pub(crate) fn open(&self, state: &Arc<ServerState>) -> Arc<Client> {
        Arc::new(Client {
            number: self.opened.fetch_add(1, Ordering::Relaxed),
            clients: self.clone(),
            open_then: self.open.fetch_add(1, Ordering::SeqCst) + 1,
            state: Arc::downgrade(state),
            session: Mutex::default(),
        })
    }
}

impl Client {
    /// The connection of a request.
    pub(crate) fn from_request<T>(request: &Request<T>) -> Result<Arc<Self>, Status> {
        request.extensions().get::<Arc<Self>>().cloned().ok_or_else(|| fault("a request without a connection"))
    }

    pub(crate) fn number(&self) -> usize {
        self.number
    }

    /// Whether there were more connections than this when it was opened.
    pub(crate) fn is_beyond(&self, max: usize) -> bool {
        self.open_then > max
    }

    /// The session of the connection, which is created by its first statement.
    pub(crate) fn session(&self) -> Result<Session, Status> {
        let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(session) = &*session {
            return Ok(session.clone());
        }
        let state = self.state.upgrade().ok_or_else(crate::status::stopping)?;
        let created = state.session().sibling().map_err(|error| status(&error.into()))?;
        Ok(session.insert(created).clone())
    }

    /// Ends the session; the next statement gets another one.
    pub(crate) fn end_session(&self) {
        let session = self.session.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(session) = session {
            session.rollback();
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.clients.open.fetch_sub(1, Ordering::SeqCst);
        let session = self.session.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        let Some(state) = self.state.upgrade() else { return };
        let ended = state.handles().remove_transactions(self.number);
        if session.is_none() && ended.is_empty() {
            return;
        }
        // Undoing changes may take a while, and this thread serves connections. Running statements hold sessions, too.
        let computing = state.computing().clone();
        drop(state);
        computing.spawn_blocking(move || {
            if let Some(session) = session {
                session.rollback();
            }
            ended.iter().for_each(|transaction| transaction.undo());
        });
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("number", &self.number).finish_non_exhaustive()
    }
}
