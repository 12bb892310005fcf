//! Wakes the checkpoint thread.

use std::sync::{Condvar, Mutex, PoisonError};

#[derive(Debug, Default)]
struct Requests {
    checkpoint: bool,
    end: bool,
}

/// A signal that the checkpoint thread waits for.
#[derive(Debug, Default)]
pub(crate) struct Signal {
    requests: Mutex<Requests>,
    changed: Condvar,
}

impl Signal {
    /// Signals that a checkpoint is due.
    pub(crate) fn raise(&self) {
        self.change(|requests| requests.checkpoint = true);
    }

    /// Ends the thread.
    pub(crate) fn end(&self) {
        self.change(|requests| requests.end = true);
    }

    fn change(&self, change: impl FnOnce(&mut Requests)) {
        change(&mut self.requests.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_one();
    }

    /// Waits until a checkpoint is due, or returns `false` when the thread should end.
    pub(crate) fn wait(&self) -> bool {
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        while !requests.checkpoint && !requests.end {
            requests = self.changed.wait(requests).unwrap_or_else(PoisonError::into_inner);
        }
        requests.checkpoint = false;
        !requests.end
    }
}
