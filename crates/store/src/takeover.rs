//! Takes the writer lock from another process, and gets the newest state.

use std::sync::{Arc, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::handover::{Image, WriterUse};
use crate::process_lock::{Holding, ProcessLock};
use crate::recovery;

/// The interval at which a process that has the writer lock looks whether readers that keep writers out have ended.
const READERS_INTERVAL: Duration = Duration::from_millis(5);

impl Engine {
    /// Waits for the writer lock. A thread that has a [`WriterUse`] must not call this: other processes are let in first.
    ///
    /// # Errors
    ///
    /// [`Error::BusyTimeout`], or why the newest state cannot be read.
    pub(crate) fn use_writer(self: &Arc<Self>) -> Result<WriterUse> {
        let Some(lock) = &self.process_lock else { return Ok(WriterUse::PERMANENT) };
        self.wait_for_use(lock, lock.timeout, None)
    }

    /// Like [`use_writer`](Self::use_writer), but waits at most this long, also for other threads.
    ///
    /// # Errors
    ///
    /// [`Error::Busy`] after this time.
    pub(crate) fn use_writer_within(self: &Arc<Self>, wait: Duration) -> Result<WriterUse> {
        let Some(lock) = &self.process_lock else { return Ok(WriterUse::PERMANENT) };
        self.wait_for_use(lock, wait, Some(wait)).map_err(|error| match error {
            Error::BusyTimeout { .. } => Error::Busy,
            error => error,
        })
    }

    /// Waits for other processes for `wait`, and for other threads of this process for `own_wait`, or without a limit.
    fn wait_for_use(
        self: &Arc<Self>,
        lock: &ProcessLock,
        wait: Duration,
        own_wait: Option<Duration>,
    ) -> Result<WriterUse> {
        let started = Instant::now();
        let mut holding = match own_wait {
            // Another thread may have it locked for as long as it waits for another process.
            Some(wait) => lock.holding_within(wait).ok_or(Error::Busy)?,
            None => lock.holding(),
        };
        while !self.begin_use(lock, &mut holding) {
            if holding.is_held {
                holding.sleepers += 1;
                let left = own_wait.map(|wait| wait.saturating_sub(started.elapsed()));
                holding = match left {
                    Some(left) => lock.is_idle.wait_timeout(holding, left).unwrap_or_else(PoisonError::into_inner).0,
                    None => lock.is_idle.wait(holding).unwrap_or_else(PoisonError::into_inner),
                };
                holding.sleepers -= 1;
                if left.is_some_and(|left| left.is_zero()) {
                    return Err(Error::Busy);
                }
            } else {
                let left = wait.saturating_sub(started.elapsed());
                self.take(lock, &mut holding, left).map_err(|error| match error {
                    Error::Busy => Error::busy(wait, lock.words.holder()),
                    error => error,
                })?;
                // The one who waits next gets the lock after this transaction.
                holding.users += 1;
                break;
            }
        }
        Ok(WriterUse::new(Arc::clone(self)))
    }

    /// Takes the writer lock without waiting.
    ///
    /// # Errors
    ///
    /// [`Error::Busy`] if another process has it, or another thread waits for it.
    pub(crate) fn try_use_writer(self: &Arc<Self>) -> Result<WriterUse> {
        let Some(lock) = &self.process_lock else { return Ok(WriterUse::PERMANENT) };
        let mut holding = lock.try_holding().ok_or(Error::Busy)?;
        if !self.begin_use(lock, &mut holding) {
            if holding.is_held {
                return Err(Error::Busy);
            }
            self.take(lock, &mut holding, Duration::ZERO)?;
            holding.users += 1;
        }
        Ok(WriterUse::new(Arc::clone(self)))
    }

    /// Waits for the writer lock to make a checkpoint that is due. If this process has the lock, other processes have to wait:
    /// between processes that write without a break there is no better time.
    pub(crate) fn use_writer_first(self: &Arc<Self>) -> Result<WriterUse> {
        let Some(lock) = &self.process_lock else { return Ok(WriterUse::PERMANENT) };
        let mut holding = lock.holding();
        if !holding.is_held {
            self.take(lock, &mut holding, lock.timeout)?;
        }
        holding.users += 1;
        Ok(WriterUse::new(Arc::clone(self)))
    }

    /// For work that can be left to another process: a guard if this process has the lock, and no other wants it.
    pub(crate) fn use_held_writer(self: &Arc<Self>) -> Option<WriterUse> {
        let Some(lock) = &self.process_lock else { return Some(WriterUse::PERMANENT) };
        let mut holding = lock.holding();
        self.begin_use(lock, &mut holding).then(|| WriterUse::new(Arc::clone(self)))
    }

    /// Takes the lock from another process, and gets the newest state.
    fn take(self: &Arc<Self>, lock: &ProcessLock, holding: &mut Holding, timeout: Duration) -> Result<()> {
        let is_check_due = holding.is_check_due();
        self.acquire(lock, timeout, is_check_due)?;
        let mut logs = Ok(());
        if is_check_due {
            logs = self.log.check_place();
            holding.checked = Instant::now();
        }
        let restored = self.restore(lock, holding).and_then(|is_restored| match (is_restored, logs) {
            (true, Ok(())) => Ok(()),
            (false, Ok(())) => {
                // The log that is about to be replayed must be the one of the killed process.
                lock.words.check_place().and_then(|()| self.log.check_place())?;
                recovery::recover_again(self)
            }
            // Later commits would be in logs that no process finds. The data file can have those so far.
            (true, Err(error)) => self.checkpoint().and(Err(error)),
            (false, Err(error)) => Err(error),
        });
        self.end_take(lock, holding, restored)
    }

    /// Takes the lock to close the store, if it is free and the newest state is at hand. Returns whether this process has it.
    pub(crate) fn take_to_close(&self) -> bool {
        let Some(lock) = &self.process_lock else { return true };
        let mut holding = lock.holding();
        if !holding.is_held && self.acquire(lock, Duration::ZERO, true).is_ok() {
            let restored = self.restore(lock, &mut holding);
            let restored = restored.and_then(|is_restored| is_restored.then_some(()).ok_or(Error::Busy));
            // Otherwise the next opening recovers the store.
            let _ = self.end_take(lock, &mut holding, restored);
        }
        holding.is_held
    }

    fn end_take(&self, lock: &ProcessLock, holding: &mut Holding, restored: Result<()>) -> Result<()> {
        if let Err(error) = restored {
            holding.taken = 0;
            drop(self.try_lock_state());
            // No process writes after an error that leaves the contents of the disk unknown, until the store is opened again.
            if !self.is_poisoned() {
                lock.set_held(holding, false);
                let _ = self.arena.data().unlock_contents().and_then(|()| lock.words.release());
                return Err(error);
            }
        }
        holding.is_kept = false;
        lock.set_held(holding, true);
        if let Some(thread) = self.watching.get() {
            thread.unpark();
        }
        if self.is_poisoned() { Err(self.poisoned()) } else { Ok(()) }
    }

    /// Locks out other writers, and then readers that keep writers out. Compares the files with their names if `checks_place`.
    fn acquire(&self, lock: &ProcessLock, timeout: Duration, checks_place: bool) -> Result<()> {
        let started = Instant::now();
        if !lock.words.acquire(timeout)? {
            return Err(Error::Busy);
        }
        let locked = loop {
            let locked = self.arena.data().try_lock_contents();
            if !matches!(locked, Ok(false)) || started.elapsed() >= timeout {
                break locked;
            }
            thread::sleep(READERS_INTERVAL);
        };
        match locked {
            Ok(true) => {}
            locked => {
                let released = lock.words.release();
                return locked.and(released).and(Err(Error::Busy));
            }
        }
        if checks_place && let Err(error) = lock.words.check_place() {
            let _ = self.arena.data().unlock_contents().and_then(|()| lock.words.release());
            return Err(error);
        }
        lock.begin_take();
        Ok(())
    }

    /// Gets the newest state, unless the store has to be recovered: then returns `false`. Counts that the lock was taken.
    fn restore(&self, lock: &ProcessLock, holding: &mut Holding) -> Result<bool> {
        let taken = lock.words.taken();
        let is_own = holding.taken == taken;
        let image = if is_own { None } else { self.read_image(lock, taken)? };
        holding.taken = lock.words.take();
        if is_own {
            let Some(mut state) = self.try_lock_state() else { return Ok(false) };
            state.add_held(&self.readers);
            self.unlock_state(state);
            return Ok(true);
        }
        // There is one state, and one right to write.
        drop(self.try_lock_state());
        // An image that cannot be read is as good as none.
        let Some((state, checkpoint)) = image.and_then(|image| self.restore_image(image).ok()) else {
            return Ok(false);
        };
        *self.checkpoints.lock().unwrap_or_else(PoisonError::into_inner) = checkpoint;
        self.unlock_state(state);
        Ok(true)
    }

    fn read_image(&self, lock: &ProcessLock, taken: u64) -> Result<Option<Image>> {
        Ok(Image::parse(lock.words.shared().read_state()?, taken, self.identity))
    }
}
