//! Wakes and stops the background thread.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Signal to the background thread.
#[derive(Debug, Default)]
pub(crate) struct Signal {
    state: Mutex<SignalState>,
    changed: Condvar,
}

#[derive(Debug, Default, Clone, Copy)]
struct SignalState {
    is_due: bool,
    is_over: bool,
}

/// Reason for which waiting has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WakeReason {
    /// There may be something to do.
    Due,
    /// The timeout has passed.
    Timeout,
    /// The thread has to end.
    Over,
}

impl Signal {
    /// There may be something to do.
    pub(crate) fn notify(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).is_due = true;
        self.changed.notify_all();
    }

    /// The thread has to end, and may stop its current work.
    pub(crate) fn end(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).is_over = true;
        self.changed.notify_all();
    }

    pub(crate) fn is_over(&self) -> bool {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).is_over
    }

    /// Waits until there may be something to do, or until the time is over.
    pub(crate) fn wait(&self, timeout: Duration) -> WakeReason {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(state, timeout, |state| !state.is_due && !state.is_over);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let is_due = std::mem::take(&mut state.is_due);
        match (state.is_over, is_due) {
            (true, _) => WakeReason::Over,
            (false, true) => WakeReason::Due,
            (false, false) => WakeReason::Timeout,
        }
    }
}
