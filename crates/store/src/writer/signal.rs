//! Wakes the thread that makes checkpoints and visits removed subtrees.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The time between a commit and the look whether the files of the store are still where they were.
const LOOK_AFTER: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
struct Requests {
    checkpoint: bool,
    visit: bool,
    look: bool,
    end: bool,
}

/// The work for which the thread was woken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DueWork {
    /// A checkpoint, which visits removed subtrees too.
    Checkpoint,
    /// Visits of removed subtrees.
    Visits,
    /// A look whether the files of the store are still where they were.
    Look,
}

/// A signal that the thread waits for.
#[derive(Debug, Default)]
pub(crate) struct Signal {
    requests: Mutex<Requests>,
    changed: Condvar,
    /// Whether a look is requested, for committers.
    has_look: AtomicBool,
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

    /// Signals that there was a commit. Costs a load, except for the first commit after a look.
    #[inline]
    pub(crate) fn raise_look(&self) {
        if !self.has_look.load(Ordering::Relaxed) {
            self.request_look();
        }
    }

    #[cold]
    fn request_look(&self) {
        self.has_look.store(true, Ordering::SeqCst);
        self.change(|requests| requests.look = true);
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
        let mut look_at = None;
        while !requests.checkpoint && !requests.visit && !requests.end {
            if !requests.look {
                requests = self.changed.wait(requests).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let now = Instant::now();
            let left = look_at.get_or_insert(now + LOOK_AFTER).saturating_duration_since(now);
            if left.is_zero() {
                requests.look = false;
                self.has_look.store(false, Ordering::SeqCst);
                return Some(DueWork::Look);
            }
            requests = self.changed.wait_timeout(requests, left).unwrap_or_else(PoisonError::into_inner).0;
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
