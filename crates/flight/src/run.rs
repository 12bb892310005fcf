//! A statement that runs, and why it is ended early.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use lath_sql::{Error, Stop};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tonic::Status;

use crate::status::{status, stopping};

/// A statement that runs. It ends early when a client cancels it, when its time is over, and when the server stops.
#[derive(Debug)]
pub(crate) struct StatementRun {
    stop: Stop,
    reason: Arc<OnceLock<Status>>,
    /// The task that waits for the end of its time.
    watch: AbortHandle,
}

impl StatementRun {
    /// Starts a statement that may take this long.
    pub(crate) fn start(computing: &Handle, limit: Option<Duration>, mut stopped: watch::Receiver<bool>) -> Arc<Self> {
        let (stop, reason) = (Stop::new(), Arc::new(OnceLock::new()));
        let (stopping_run, given) = (stop.clone(), Arc::clone(&reason));
        let watch = computing.spawn(async move {
            let over = async {
                match limit {
                    Some(limit) => tokio::time::sleep(limit).await,
                    None => std::future::pending().await,
                }
            };
            let status = tokio::select! {
                () = over => late(limit.unwrap_or_default()),
                _ = stopped.wait_for(|stopped| *stopped) => stopping(),
            };
            end(&stopping_run, &given, status);
        });
        Arc::new(Self { stop, reason, watch: watch.abort_handle() })
    }

    /// The handle that stops it.
    pub(crate) fn stop(&self) -> &Stop {
        &self.stop
    }

    /// Ends it early for a reason, unless it is already making its changes.
    pub(crate) fn end(&self, reason: Status) {
        end(&self.stop, &self.reason, reason);
    }

    /// The status for an error of the statement: the reason for its end, if it was ended early.
    pub(crate) fn status(&self, error: &Error) -> Status {
        match (error, self.reason.get()) {
            // A part of the statement that was stopped may say so itself.
            (_, Some(reason)) if self.stop.is_stopped() => reason.clone(),
            _ => status(error),
        }
    }
}

impl Drop for StatementRun {
    fn drop(&mut self) {
        self.watch.abort();
    }
}

fn end(stop: &Stop, given: &OnceLock<Status>, reason: Status) {
    // The first reason stays.
    let _ = given.set(reason);
    stop.stop();
}

fn late(limit: Duration) -> Status {
    Status::deadline_exceeded(format!(
        "the statement took longer than {} s, which is the limit of the server; ask for less, or start the server with a higher one \
         (--statement-time)",
        limit.as_secs_f64()
    ))
}
