//! What all handles, snapshots and transactions of one store share.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use crate::arena::Arena;
use crate::error::{Error, Result};
use crate::log::Log;
use crate::options::Options;
use crate::readers::Readers;
use crate::signal::Signal;
use crate::state::State;
use crate::turn::Turn;

/// A store that is open, without what is done with it: other modules add that.
#[derive(Debug)]
pub(crate) struct Engine {
    pub(crate) arena: Arc<Arena>,
    pub(crate) readers: Readers,
    pub(crate) log: Log,
    pub(crate) options: Options,
    pub(crate) identity: u64,
    /// Whether another process publishes commits, or did: this one has no part in writing.
    pub(crate) is_follower: bool,
    turn: Turn,
    is_poisoned: AtomicBool,
    /// Held while a checkpoint is made: the number of the last one.
    pub(crate) checkpoints: Mutex<u64>,
    /// Held while the store is compacted.
    pub(crate) compaction: Mutex<()>,
    pub(crate) is_due: Arc<Signal>,
}

impl Engine {
    pub(crate) fn new(
        arena: Arc<Arena>,
        readers: Readers,
        log: Log,
        options: Options,
        identity: u64,
        checkpoint: u64,
    ) -> Self {
        Self {
            arena,
            readers,
            log,
            options,
            identity,
            is_follower: false,
            turn: Turn::default(),
            is_poisoned: AtomicBool::new(false),
            checkpoints: Mutex::new(checkpoint),
            compaction: Mutex::default(),
            is_due: Arc::default(),
        }
    }

    /// What the writer has, once no transaction has it.
    pub(crate) fn take(&self) -> Result<Box<State>> {
        if self.is_follower { Err(Error::ReadOnly) } else { Ok(self.turn.take()) }
    }

    /// The same, before all others who wait.
    pub(crate) fn take_first(&self) -> Result<Box<State>> {
        if self.is_follower { Err(Error::ReadOnly) } else { Ok(self.turn.take_first()) }
    }

    /// What the writer has, if it is not with a transaction.
    pub(crate) fn take_now(&self) -> Option<Box<State>> {
        self.turn.take_now()
    }

    pub(crate) fn put_back(&self, state: Box<State>) {
        self.turn.put_back(state);
    }

    pub(crate) fn poison(&self) {
        self.is_poisoned.store(true, Ordering::Release);
    }

    pub(crate) fn is_poisoned(&self) -> bool {
        self.is_poisoned.load(Ordering::Acquire)
    }

    pub(crate) fn check_writable(&self) -> Result<()> {
        if self.options.read_only {
            return Err(Error::ReadOnly);
        }
        if self.is_poisoned() {
            return Err(Error::Poisoned);
        }
        Ok(())
    }

    /// Takes notice of the data that another process has added, and of what it has cut off.
    pub(crate) fn see_length(&self) {
        if self.is_follower {
            let len = self.readers.data_len();
            if len != self.arena.len() {
                self.arena.set_len(len);
            }
        }
    }
}
