//! Syncing for many committers at once.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::Position;
use crate::error::{Error, Result};
use crate::storage::LogFile;

/// Which records are durable, and who is making more of them so.
///
/// The first who needs a sync leads: it syncs for all records appended by then, while those who come meanwhile wait; one
/// of them leads next. So eight committers at once cost about two syncs a round, not eight.
#[derive(Debug, Default)]
pub(super) struct GroupSync {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The file that records are appended to; what the other one holds is older and must be durable first.
    current: usize,
    /// The last record of each file.
    appended: [u64; 2],
    /// The last record that is durable, here or in a checkpoint.
    synced: u64,
    is_syncing: bool,
    is_poisoned: bool,
}

impl GroupSync {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts anew with records that may or may not be durable.
    pub(super) fn reset(&self, current: usize, appended: [u64; 2], synced: u64) {
        let mut state = self.state();
        (state.current, state.appended, state.synced) = (current, appended, synced);
    }

    /// Says that records are appended to this file from now on.
    pub(super) fn switch(&self, current: usize) {
        let mut state = self.state();
        state.current = current;
        state.appended[current] = 0;
    }

    pub(super) fn appended(&self, sequence: u64) {
        let mut state = self.state();
        let current = state.current;
        state.appended[current] = sequence;
    }

    /// Says that all up to this record is durable in a checkpoint.
    pub(super) fn retire(&self, durable: u64) {
        let mut state = self.state();
        state.synced = state.synced.max(durable);
        drop(state);
        self.changed.notify_all();
    }

    /// Makes every later call an error.
    pub(super) fn poison(&self) {
        self.state().is_poisoned = true;
        self.changed.notify_all();
    }

    pub(super) fn check(&self) -> Result<()> {
        if self.state().is_poisoned { Err(Error::Poisoned) } else { Ok(()) }
    }

    pub(super) fn sync(&self, files: &[Arc<dyn LogFile>; 2], position: Position) -> Result<()> {
        let mut state = self.state();
        loop {
            if state.synced >= position.0 {
                return Ok(());
            }
            if state.is_poisoned {
                return Err(Error::Poisoned);
            }
            if !state.is_syncing {
                break;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.is_syncing = true;
        let (synced, appended, current) = (state.synced, state.appended, state.current);
        drop(state);

        let older_first = [1 - current, current];
        let result =
            older_first.into_iter().filter(|&file| appended[file] > synced).try_for_each(|file| files[file].sync());

        let mut state = self.state();
        state.is_syncing = false;
        match &result {
            Ok(()) => state.synced = state.synced.max(appended[0]).max(appended[1]),
            Err(_) => state.is_poisoned = true,
        }
        drop(state);
        self.changed.notify_all();
        result
    }
}
