//! The state that all connections of a server share.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use lath_sql::Session;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tonic::Status;

use crate::handles::Handles;
use crate::run::StatementRun;
use crate::status::{fault, stopping};

/// The state of a server.
#[derive(Debug)]
pub(crate) struct ServerState {
    session: Session,
    handles: Handles,
    computing: Handle,
    limits: Limits,
    stopped: watch::Receiver<bool>,
}

/// The limits of statements.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) statement_time: Option<Duration>,
    pub(crate) idle_time: Duration,
    pub(crate) is_read_only: bool,
    pub(crate) connections: usize,
}

impl ServerState {
    pub(crate) fn new(
        session: Session,
        computing: Handle,
        limits: Limits,
        stopped: watch::Receiver<bool>,
    ) -> Arc<Self> {
        Arc::new(Self { session, handles: Handles::default(), computing, limits, stopped })
    }

    /// The session that holds the database open. Connections have siblings of it.
    pub(crate) fn session(&self) -> &Session {
        &self.session
    }

    pub(crate) fn handles(&self) -> &Handles {
        &self.handles
    }

    pub(crate) fn computing(&self) -> &Handle {
        &self.computing
    }

    pub(crate) fn limits(&self) -> Limits {
        self.limits
    }

    /// Starts a statement.
    pub(crate) fn start(&self) -> Arc<StatementRun> {
        StatementRun::start(&self.computing, self.limits.statement_time, self.stopped.clone())
    }

    /// Does work on the threads that compute. It ends when the returned future is dropped.
    pub(crate) async fn compute<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, Status>> + Send + 'static,
    ) -> Result<T, Status> {
        let mut task = JoinSet::new();
        task.spawn_on(work, &self.computing);
        match task.join_next().await {
            Some(Ok(result)) => result,
            Some(Err(error)) if error.is_panic() => Err(fault("the statement ended by a panic")),
            _ => Err(stopping()),
        }
    }
}
