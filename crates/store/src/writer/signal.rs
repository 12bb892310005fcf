//! Wakes the thread that makes checkpoints and visits removed subtrees.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The time between a commit and the check that the files of the store are still where they were.
const FILE_CHECK_AFTER: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
struct Requests {
    checkpoint: bool,
    visit: bool,
    file_check: bool,
    end: bool,
}

/// The work for which the thread was woken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DueWork {
    /// A checkpoint, which visits removed subtrees too.
    Checkpoint,
    /// Visits of removed subtrees.
    Visits,
    /// A check that the files of the store are still where they were.
    FileCheck,
}

/// A signal that the thread waits for.
#[derive(Debug, Default)]
pub(crate) struct Signal {
    requests: Mutex<Requests>,
    changed: Condvar,
    /// Whether a check of the files is requested, for committers.
    has_file_check: AtomicBool,
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

    /// Signals that there was a commit. Costs a load, except for the first commit after a check.
    #[inline]
    pub(crate) fn raise_file_check(&self) {
        if !self.has_file_check.load(Ordering::Relaxed) {
            self.request_file_check();
        }
    }

    #[cold]
    fn request_file_check(&self) {
        self.has_file_check.store(true, Ordering::SeqCst);
        self.change(|requests| requests.file_check = true);
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
        let mut check_at = None;
        while !requests.checkpoint && !requests.visit && !requests.end {
            if !requests.file_check {
                requests = self.changed.wait(requests).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let now = Instant::now();
            let left = check_at.get_or_insert(now + FILE_CHECK_AFTER).saturating_duration_since(now);
            if left.is_zero() {
                requests.file_check = false;
                self.has_file_check.store(false, Ordering::SeqCst);
                return Some(DueWork::FileCheck);
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
