//! The state that all handles, snapshots and transactions of one store share.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::Thread;
use std::time::Instant;

use crate::arena::Arena;
use crate::error::{Error, Result};
use crate::idle_view::{IdleView, WritersExcluded};
use crate::log::Log;
use crate::options::Options;
use crate::process_lock::ProcessLock;
use crate::readers::{LockWords, Readers};
use crate::writer::{Signal, State, TreeLocks, WriterLock};

/// An open store. Other modules implement its operations.
#[derive(Debug)]
pub(crate) struct Engine {
    pub(crate) arena: Arc<Arena>,
    pub(crate) readers: Readers,
    pub(crate) log: Log,
    pub(crate) options: Options,
    pub(crate) identity: u64,
    /// Whether this process only reads the commits that another process publishes or has published.
    pub(crate) is_follower: bool,
    /// The words of the writer lock, in a process that only reads.
    pub(crate) lock_words: Option<LockWords>,
    /// Set for a store that was opened read-only while no process wrote: lets writers in.
    pub(crate) idle_view: OnceLock<IdleView>,
    /// Set if other processes may write while this one has the store open.
    pub(crate) process_lock: Option<ProcessLock>,
    /// The thread that gives the lock away while the process is idle. It is unparked when this process has taken the lock.
    pub(crate) watching: OnceLock<Thread>,
    writer_lock: WriterLock<Box<State>>,
    /// The trees that transactions have for themselves.
    pub(crate) tree_locks: Arc<TreeLocks>,
    is_poisoned: AtomicBool,
    /// Why nothing more is written, if not because a write failed.
    replaced: OnceLock<Error>,
    /// The number of the last checkpoint. Locked while a checkpoint is made.
    pub(crate) checkpoints: Mutex<u64>,
    /// Locked while the store is compacted.
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
            lock_words: None,
            idle_view: OnceLock::new(),
            process_lock: None,
            watching: OnceLock::new(),
            writer_lock: WriterLock::default(),
            tree_locks: Arc::default(),
            is_poisoned: AtomicBool::new(false),
            replaced: OnceLock::new(),
            checkpoints: Mutex::new(checkpoint),
            compaction: Mutex::default(),
            is_due: Arc::default(),
        }
    }

    /// Waits for the writer's state, which one transaction or checkpoint owns at a time.
    #[inline]
    pub(crate) fn lock_state(&self) -> Result<Box<State>> {
        if self.is_follower { Err(Error::ReadOnly) } else { Ok(self.writer_lock.acquire()) }
    }

    /// Like [`lock_state`](Self::lock_state), but waits at most until then, and returns `None` if it is not free by then.
    pub(crate) fn lock_state_until(&self, until: Instant) -> Result<Option<Box<State>>> {
        if self.is_follower { Err(Error::ReadOnly) } else { Ok(self.writer_lock.acquire_until(until)) }
    }

    /// Like [`lock_state`](Self::lock_state), but goes before all other waiting threads.
    pub(crate) fn lock_state_first(&self) -> Result<Box<State>> {
        if self.is_follower { Err(Error::ReadOnly) } else { Ok(self.writer_lock.acquire_first()) }
    }

    /// Takes the writer's state if no transaction or checkpoint owns it.
    #[inline]
    pub(crate) fn try_lock_state(&self) -> Option<Box<State>> {
        self.writer_lock.try_acquire()
    }

    #[inline]
    pub(crate) fn unlock_state(&self, state: Box<State>) {
        self.writer_lock.release(state);
    }

    /// Keeps other processes from writing. `None` if one does, or has since this process opened the store read-only.
    pub(crate) fn exclude_writers(&self) -> Result<Option<NoOtherWriter<'_>>> {
        match self.idle_view.get() {
            _ if self.is_follower => Ok(None),
            Some(view) => Ok(view.exclude_writers(&self.arena)?.map(NoOtherWriter::Excluded)),
            None => Ok(Some(NoOtherWriter::Locked)),
        }
    }

    pub(crate) fn poison(&self) {
        self.is_poisoned.store(true, Ordering::Release);
    }

    #[inline]
    pub(crate) fn is_poisoned(&self) -> bool {
        self.is_poisoned.load(Ordering::Acquire)
    }

    #[inline]
    pub(crate) fn check_writable(&self) -> Result<()> {
        if self.options.read_only {
            return Err(Error::ReadOnly);
        }
        if self.is_poisoned() {
            return Err(self.poisoned());
        }
        Ok(())
    }

    /// Why nothing more is written.
    #[cold]
    pub(crate) fn poisoned(&self) -> Error {
        self.replaced.get().cloned().unwrap_or(Error::Poisoned)
    }

    /// Checks that the data file and the lock file are still where they were, and poisons the store if not.
    pub(crate) fn check_place(&self) -> Result<()> {
        self.readers.check_place().inspect_err(|error| self.poison_by(error))
    }

    /// From here on, writes fail with this error.
    pub(crate) fn poison_by(&self, error: &Error) {
        self.replaced.get_or_init(|| error.clone());
        self.poison();
    }

    /// Updates the length of the area to the one that the writing process has published.
    #[inline]
    pub(crate) fn see_length(&self) {
        if self.is_follower || self.process_lock.as_ref().is_some_and(|lock| !lock.is_held()) {
            let len = self.readers.data_len();
            if len != self.arena.len() {
                self.arena.set_len(len);
            }
        }
    }
}

/// A guard: no other process writes while this lives.
#[derive(Debug)]
pub(crate) enum NoOtherWriter<'e> {
    /// This process has the writer lock, as long as the store is open or this is used.
    Locked,
    /// This guard keeps writers out.
    Excluded(#[expect(dead_code, reason = "ends when it is dropped")] WritersExcluded<'e>),
}
