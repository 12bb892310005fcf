//! The writer lock, which processes pass to each other, and the words of the table that belong to it.
//!
//! | step of a process that wants the lock | step of the process that has it |
//! | --- | --- |
//! | locks the place of the next process | |
//! | `wanted` becomes 1, and then `requests` larger; wakes the threads that wait for `requests` | |
//! | tries to lock, and waits for `releases` | sees `wanted` after a transaction, or when it is woken; unlocks; makes `releases` larger |
//! | has the lock; `wanted` becomes 0; unlocks the place | waits for that place before it wants the lock again |
//!
//! A process in the place of the next one tries at least every five milliseconds, and counts its `attempts`. If they stay the same
//! for long, the process was stopped. Then `stopped` becomes 1 more than them, and from then on processes do not wait for that place
//! until there is another attempt.
//!
//! A process that is killed while it waits leaves `wanted` behind: the holder then releases the lock once for nothing, and
//! `wanted` becomes 0 when it takes it again.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::memory::Memory;
use super::protocol::Writers;
use crate::error::Result;
use crate::storage::SharedMemory;

/// The places of words that threads wait for, in the table.
const REQUESTS: usize = 16;
const RELEASES: usize = 17;

/// A waiting process looks for the end of the holder, which wakes no thread, at this interval.
const WAIT_INTERVAL: Duration = Duration::from_millis(5);

/// A process in the place of the next one that has not tried for this long was stopped. If it only had no processor time, others
/// get the lock before it.
const STOPPED_AFTER: Duration = Duration::from_millis(100);

/// The attempts of the process in the place of the next one, as another process sees them.
#[derive(Debug, Default)]
struct ObservedQueue {
    attempts: u64,
    since: Option<Instant>,
}

impl ObservedQueue {
    /// Returns whether the process in the place of the next one was stopped.
    fn is_stopped(&mut self, words: &Writers<AtomicU64>) -> bool {
        let attempts = words.attempts.load(Ordering::Relaxed);
        if words.stopped.load(Ordering::Relaxed) == attempts + 1 {
            return true;
        }
        match self.since.filter(|_| self.attempts == attempts) {
            Some(since) if since.elapsed() >= STOPPED_AFTER => {
                words.stopped.store(attempts + 1, Ordering::Relaxed);
                return true;
            }
            Some(_) => {}
            None => (self.attempts, self.since) = (attempts, Some(Instant::now())),
        }
        false
    }
}

/// The writer lock as one process sees it.
#[derive(Debug)]
pub(crate) struct LockWords {
    memory: Memory,
}

impl LockWords {
    /// # Errors
    ///
    /// [`Error::Invalid`] if another version of this program uses the memory.
    pub(crate) fn new(shared: Arc<dyn SharedMemory>) -> Result<Self> {
        let memory = Memory::new(shared)?;
        if memory.table().is_ours() { Ok(Self { memory }) } else { Err(super::other_version()) }
    }

    /// Takes the lock, and waits for at most `timeout` until other processes release it. `true` if this process has it.
    pub(crate) fn acquire(&self, timeout: Duration) -> Result<bool> {
        let until = Instant::now().checked_add(timeout);
        let shared = self.memory.shared();
        let (mut is_next, mut queue) = (false, ObservedQueue::default());
        let acquired = self.wait_until(until, || {
            is_next = is_next || shared.try_lock_next()?;
            if is_next {
                self.words().next.store(std::process::id().into(), Ordering::Relaxed);
                self.words().attempts.fetch_add(1, Ordering::Relaxed);
            } else if !queue.is_stopped(self.words()) {
                return Ok(false);
            }
            let acquired = shared.try_lock_writer()?;
            if !acquired && !timeout.is_zero() {
                // Again each time: the holder may have had a reason to keep the lock, which has passed, and a process that got the
                // lock before its turn has reset the mark.
                self.words().is_wanted.store(1, Ordering::SeqCst);
                self.request();
            }
            Ok(acquired)
        });
        if let Ok(true) = acquired {
            self.words().holder.store(std::process::id().into(), Ordering::Relaxed);
        }
        if is_next || matches!(acquired, Ok(true)) {
            self.words().is_wanted.store(0, Ordering::SeqCst);
        }
        let unlocked = if is_next { shared.unlock_next() } else { Ok(()) };
        shared.wake(RELEASES);
        acquired.and_then(|acquired| unlocked.map(|()| acquired))
    }

    fn wait_until(&self, until: Option<Instant>, mut attempt: impl FnMut() -> Result<bool>) -> Result<bool> {
        loop {
            let releases = self.words().releases.load(Ordering::SeqCst) as u32;
            if attempt()? {
                return Ok(true);
            }
            let left = until.map_or(WAIT_INTERVAL, |until| until.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return Ok(false);
            }
            self.memory.shared().wait(RELEASES, releases, left.min(WAIT_INTERVAL));
        }
    }

    /// Releases the lock, and wakes the process that waits for it.
    pub(crate) fn release(&self) -> Result<()> {
        self.words().holder.store(0, Ordering::Relaxed);
        let unlocked = self.memory.shared().unlock_writer();
        self.words().releases.fetch_add(1, Ordering::SeqCst);
        self.memory.shared().wake(RELEASES);
        unlocked
    }

    /// Wakes the threads of all processes that wait for a request.
    pub(crate) fn request(&self) {
        self.words().requests.fetch_add(1, Ordering::SeqCst);
        self.memory.shared().wake(REQUESTS);
    }

    /// The number of requests so far, for [`wait_for_request`](Self::wait_for_request).
    pub(crate) fn requests(&self) -> u32 {
        self.words().requests.load(Ordering::SeqCst) as u32
    }

    /// Waits until there are more requests than these, or for `timeout`. May return early.
    pub(crate) fn wait_for_request(&self, requests: u32, timeout: Duration) {
        self.memory.shared().wait(REQUESTS, requests, timeout);
    }

    /// Returns whether another process waits for the lock.
    #[inline]
    pub(crate) fn is_wanted(&self) -> bool {
        self.words().is_wanted.load(Ordering::Acquire) != 0
    }

    /// The number of times that the lock was taken by a process that may have changed the store.
    pub(crate) fn taken(&self) -> u64 {
        self.words().taken.load(Ordering::Acquire)
    }

    /// Counts that the lock was taken, before the process that has it changes anything. Returns the new number.
    pub(crate) fn take(&self) -> u64 {
        self.words().taken.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// The process that has the lock, or else the one that is to get it next; 0 if there is none.
    pub(crate) fn holder(&self) -> u32 {
        match self.words().holder.load(Ordering::Relaxed) as u32 {
            0 => self.words().next.load(Ordering::Relaxed) as u32,
            holder => holder,
        }
    }

    /// Checks that the files of the memory and of the data are still where they were.
    ///
    /// # Errors
    ///
    /// [`Error::Replaced`](crate::Error::Replaced).
    pub(crate) fn check_place(&self) -> Result<()> {
        self.memory.shared().check_place()
    }

    pub(crate) fn shared(&self) -> &dyn SharedMemory {
        self.memory.shared()
    }

    #[inline]
    fn words(&self) -> &Writers<AtomicU64> {
        self.memory.table().writers()
    }
}
