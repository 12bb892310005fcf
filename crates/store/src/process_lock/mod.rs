//! The part of a process in the writer lock.

mod watcher;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

pub(crate) use self::watcher::Watcher;
use crate::readers::LockWords;

/// The writer lock of a process that shares it with others.
#[derive(Debug)]
pub(crate) struct ProcessLock {
    pub(crate) words: Arc<LockWords>,
    /// The time that this process waits for others.
    pub(crate) timeout: Duration,
    holding: Mutex<Holding>,
    /// The last use has ended.
    pub(crate) is_idle: Condvar,
    /// The same as in `holding`, for readers.
    is_held: AtomicBool,
}

/// The use that this process makes of the lock.
#[derive(Debug)]
pub(crate) struct Holding {
    pub(crate) is_held: bool,
    /// The number of transactions, checkpoints and the like that run.
    pub(crate) users: usize,
    /// The number of threads that wait for `is_idle`.
    pub(crate) sleepers: usize,
    /// The number of times that the lock was taken when this process took it last; 0 if its state is of no use any more.
    pub(crate) taken: u64,
    /// Whether the lock could not be given away when another process wanted it.
    pub(crate) is_kept: bool,
    /// No handle of the store is left, so that the lock is given away after the last use, even if no process wants it yet.
    pub(crate) is_ending: bool,
    /// When the files of the store were last compared with their names.
    pub(crate) checked: Instant,
}

/// A process that took its turn this short a time ago does not compare the files with their names again: that takes some
/// microseconds, and processes may take their turns tens of thousands of times a second.
const CHECK_INTERVAL: Duration = Duration::from_millis(1);

/// The interval of [`ProcessLock::holding_within`].
const HOLDING_INTERVAL: Duration = Duration::from_millis(1);

impl Holding {
    /// Whether it is time to compare the files with their names.
    pub(crate) fn is_check_due(&self) -> bool {
        self.checked.elapsed() >= CHECK_INTERVAL
    }
}

impl ProcessLock {
    /// The lock of a process that has taken it for the time `taken`.
    pub(crate) fn new(words: Arc<LockWords>, timeout: Duration, taken: u64) -> Self {
        let holding = Holding {
            is_held: true,
            users: 0,
            sleepers: 0,
            taken,
            is_kept: false,
            is_ending: false,
            checked: Instant::now(),
        };
        Self { words, timeout, holding: Mutex::new(holding), is_idle: Condvar::new(), is_held: AtomicBool::new(true) }
    }

    pub(crate) fn words(&self) -> Arc<LockWords> {
        Arc::clone(&self.words)
    }

    /// Locked while this process takes the lock or gives it away.
    pub(crate) fn holding(&self) -> MutexGuard<'_, Holding> {
        self.holding.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Like [`holding`](Self::holding), unless another thread has it locked.
    pub(crate) fn try_holding(&self) -> Option<MutexGuard<'_, Holding>> {
        self.holding.try_lock().ok()
    }

    /// Like [`holding`](Self::holding), but waits at most about this long.
    pub(crate) fn holding_within(&self, wait: Duration) -> Option<MutexGuard<'_, Holding>> {
        let started = Instant::now();
        loop {
            let holding = self.try_holding();
            if holding.is_some() || started.elapsed() >= wait {
                return holding;
            }
            thread::sleep(HOLDING_INTERVAL);
        }
    }

    pub(crate) fn set_held(&self, holding: &mut Holding, is_held: bool) {
        holding.is_held = is_held;
        self.is_held.store(is_held, Ordering::Release);
    }

    /// Called when this process has taken the lock, before it gets the newest state: from here on, the length of the area is the one that
    /// this process has set, and not the one that was published.
    pub(crate) fn begin_take(&self) {
        self.is_held.store(true, Ordering::Release);
    }

    /// Returns whether this process has the lock. The answer may be old.
    pub(crate) fn is_held(&self) -> bool {
        self.is_held.load(Ordering::Acquire)
    }
}
