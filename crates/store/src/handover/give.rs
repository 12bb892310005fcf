//! Uses the writer lock, and gives it away.

use std::sync::{Arc, PoisonError};

use crate::engine::Engine;
use crate::process_lock::{Holding, ProcessLock};

/// A guard: this process has the writer lock while this lives.
#[derive(Debug)]
pub(crate) struct WriterUse(Option<Arc<Engine>>);

impl WriterUse {
    /// The guard of a use that has begun.
    pub(crate) fn new(engine: Arc<Engine>) -> Self {
        Self(Some(engine))
    }

    /// The guard of a process that has the lock for as long as the store is open.
    pub(crate) const PERMANENT: Self = Self(None);
}

impl Drop for WriterUse {
    fn drop(&mut self) {
        if let Some(engine) = &self.0 {
            engine.end_use();
        }
    }
}

impl Engine {
    /// Begins a use of the lock that this process has. `false` if it does not have it, or lets another process in first.
    pub(crate) fn begin_use(&self, lock: &ProcessLock, holding: &mut Holding) -> bool {
        if holding.is_held && lock.words.is_wanted() && !holding.is_kept {
            if holding.users > 0 {
                return false;
            }
            self.give(lock, holding);
        }
        holding.users += usize::from(holding.is_held);
        holding.is_held
    }

    fn end_use(&self) {
        let Some(lock) = &self.process_lock else { return };
        let mut holding = lock.holding();
        holding.users -= 1;
        if holding.users == 0 {
            if lock.words.is_wanted() || holding.is_ending {
                self.give(lock, &mut holding);
            }
            if holding.sleepers > 0 {
                lock.is_idle.notify_all();
            }
        }
    }

    /// Gives the lock away if this process does not use it and another one wants it, or if no handle of the store is left (`is_ending`).
    /// Returns whether this process has it.
    pub(crate) fn give_if_idle(&self, is_ending: bool) -> bool {
        let Some(lock) = &self.process_lock else { return false };
        let mut holding = lock.holding();
        holding.is_ending |= is_ending;
        if holding.is_held && holding.users == 0 && (holding.is_ending || lock.words.is_wanted()) {
            self.give(lock, &mut holding);
        }
        holding.is_held
    }

    /// Gives the lock away, unless this process has to keep it.
    fn give(&self, lock: &ProcessLock, holding: &mut Holding) {
        holding.is_kept = true;
        if self.is_poisoned() {
            return;
        }
        let Some(mut state) = self.try_lock_state() else { return };
        if state.views.newest().is_some() {
            self.unlock_state(state);
            return;
        }
        let checkpoint = *self.checkpoints.lock().unwrap_or_else(PoisonError::into_inner);
        let reclaimed = state.reclaim(&self.readers);
        let image = reclaimed.and_then(|()| self.save_image(&mut state, checkpoint, holding.taken));
        self.unlock_state(state);
        let saved = image.and_then(|image| lock.words.shared().write_state(&image));
        if saved.is_err() {
            // A part of the image may be there, or even all of it.
            holding.taken = lock.words.take();
            // The next process goes on from a checkpoint, which also has the commits that are not in the log.
            if self.checkpoint().is_err() {
                return;
            }
        }
        let released = self.arena.data().unlock_contents().and_then(|()| lock.words.release());
        if released.is_ok() {
            lock.set_held(holding, false);
            holding.is_kept = false;
        } else {
            // The image is about to become old.
            holding.taken = lock.words.take();
        }
    }

    /// Releases the lock when the store is closed, and wakes the process that waits for it.
    pub(crate) fn end_lock(&self) {
        let Some(lock) = &self.process_lock else { return };
        if lock.is_held() {
            // If this fails, the locks end with the files.
            let _ = self.arena.data().unlock_contents().and_then(|()| lock.words.release());
        }
    }
}
