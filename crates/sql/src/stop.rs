use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::common::exec_err;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::error::DataFusionError;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::unnest::UnnestExec;
use tokio::sync::Notify;

use crate::error::{Error, Result};

/// Stops a statement that runs on another thread.
///
/// ```
/// use lath_sql::{BlockingSession, Error, Session, Stop};
///
/// let session = BlockingSession::new(Session::new())?;
/// let stop = Stop::new();
/// let mut answer = session.run_in("SELECT * FROM generate_series(1, 100)", 0..37, Some(&stop))?;
/// stop.stop();
/// assert!(matches!(answer.next(), Some(Err(Error::Stopped))));
/// # Ok::<(), lath_sql::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Stop {
    state: Arc<StopState>,
}

#[derive(Debug, Default)]
struct StopState {
    is_stopped: AtomicBool,
    notify: Notify,
    outcome: Mutex<Outcome>,
}

/// Whether a statement that is stopped has changed something.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Outcome {
    #[default]
    Open,
    /// It has ended without effect.
    Stopped,
    /// It makes its changes, or has made them, and goes on to its end.
    Committed,
}

tokio::task_local! {
    /// The statement that runs, if it can be stopped.
    static CURRENT: Stop;
}

impl Stop {
    /// Creates a handle for one statement.
    pub fn new() -> Self {
        Self::default()
    }

    /// Stops the statement. It ends with [`Error::Stopped`], unless it is already making its changes: then it goes on to its end.
    pub fn stop(&self) {
        self.state.is_stopped.store(true, Ordering::SeqCst);
        self.state.notify.notify_waiters();
    }

    /// Whether [`stop`](Self::stop) was called.
    pub fn is_stopped(&self) -> bool {
        self.state.is_stopped.load(Ordering::SeqCst)
    }

    /// Returns the output of `work`, or [`Error::Stopped`] as soon as this is stopped.
    ///
    /// # Errors
    /// If this is stopped first.
    pub async fn run<T>(&self, work: impl Future<Output = T>) -> Result<T> {
        let stopped = self.state.notify.notified();
        tokio::pin!(stopped);
        // From here on, no call of `stop` is missed.
        stopped.as_mut().enable();
        if self.has_ended() {
            return Err(Error::Stopped);
        }
        let work = CURRENT.scope(self.clone(), work);
        tokio::pin!(work);
        tokio::select! {
            biased;
            () = stopped => {}
            output = &mut work => return Ok(output),
        }
        if self.has_ended() { Err(Error::Stopped) } else { Ok(work.await) }
    }

    /// Whether the statement was stopped before it has begun to make its changes. Then it makes none.
    pub(crate) fn has_ended(&self) -> bool {
        self.is_stopped() && self.decide(Outcome::Stopped) == Outcome::Stopped
    }

    fn decide(&self, outcome: Outcome) -> Outcome {
        let mut decided = self.state.outcome.lock().unwrap_or_else(PoisonError::into_inner);
        if *decided == Outcome::Open {
            *decided = outcome;
        }
        *decided
    }
}

/// The moment from which a statement cannot be stopped any more, because it makes its changes.
#[derive(Debug, Clone)]
pub(crate) struct CommitPoint(Option<Stop>);

impl CommitPoint {
    /// The one of the statement that this task runs.
    pub(crate) fn current() -> Self {
        Self(CURRENT.try_with(Clone::clone).ok())
    }

    /// Returns whether the statement may make its changes; `false` if it was stopped.
    pub(crate) fn pass(&self) -> bool {
        self.0.as_ref().is_none_or(|stop| stop.decide(Outcome::Committed) == Outcome::Committed)
    }
}

/// The error of a statement that was stopped before its commit point.
pub(crate) fn stopped<T>() -> Result<T, DataFusionError> {
    exec_err!("the statement was stopped, so nothing was changed")
}

/// Adds points at which a plan can be stopped to operators that may multiply rows.
///
/// DataFusion yields only where rows are read. Between two reads, a join may produce rows for longer than a lifetime.
pub(crate) fn with_pauses(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>, DataFusionError> {
    let paused = plan.transform_up(|node| {
        let multiplies = node.children().len() > 1 || node.is::<UnnestExec>();
        Ok(if multiplies { Transformed::yes(Arc::new(CooperativeExec::new(node)) as _) } else { Transformed::no(node) })
    });
    paused.map(|paused| paused.data)
}
