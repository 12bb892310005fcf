//! Wakes the thread that makes checkpoints and visits removed subtrees.

use std::sync::{Condvar, Mutex, PoisonError};

#[derive(Debug, Default)]
struct Requests {
    checkpoint: bool,
    visit: bool,
    end: bool,
}

/// The work for which the thread was woken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DueWork {
    /// A checkpoint, which visits removed subtrees too.
    Checkpoint,
    /// Visits of removed subtrees.
    Visits,
}

/// A signal that the thread waits for.
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

    /// Signals that subtrees were removed.
    pub(crate) fn raise_visits(&self) {
        self.change(|requests| requests.visit = true);
    }

    /// Ends the thread.
    pub(crate) fn end(&self) {
        self.change(|requests| requests.end = true);
    }

    fn change(&self, change: impl FnOnce(&mut Requests)) {
        change(&mut self.requests.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_one();
    }

    /// Waits until there is work. Returns `None` when the thread should end.
    pub(crate) fn wait(&self) -> Option<DueWork> {
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        while !requests.checkpoint && !requests.visit && !requests.end {
            requests = self.changed.wait(requests).unwrap_or_else(PoisonError::into_inner);
        }
        if requests.end {
            return None;
        }
        requests.visit = false;
        let is_checkpoint = std::mem::take(&mut requests.checkpoint);
        Some(if is_checkpoint { DueWork::Checkpoint } else { DueWork::Visits })
    }

    /// Returns whether the thread has something else to do than to visit removed subtrees.
    pub(crate) fn interrupts_visits(&self) -> bool {
        let requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        requests.checkpoint || requests.end
    }
}
