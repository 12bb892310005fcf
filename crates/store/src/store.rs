//! The handle to an open store.

use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use crate::commits::Background;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::process_lock::Watcher;
use crate::readers::LockWords;
use crate::root::Root;
use crate::snapshot::Snapshot;
use crate::storage::EncryptionKey;
use crate::transaction::Transaction;
use crate::writer::PublishedCommit;

/// A wait for a commit looks for one at this interval, in case the writer was killed before it woke the waiting threads.
const WAIT_MAX: Duration = Duration::from_secs(1);

/// An ordered key-value store in a file: named trees, transactions over all of them, and snapshots.
///
/// Handles are cheap to clone. The store is closed when the last handle, snapshot and transaction are dropped.
///
/// ```
/// # fn main() -> lath_store::Result<()> {
/// # let folder = std::env::temp_dir().join(format!("lath-store-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder).expect("makes a folder");
/// # let path = folder.join("words");
/// use lath_store::Store;
///
/// let store = Store::open(&path)?;
/// let mut transaction = store.begin()?;
/// transaction.tree("colours")?.put(b"sky", b"blue")?;
/// transaction.commit()?;
///
/// let snapshot = store.snapshot()?;
/// let colours = snapshot.tree("colours")?.expect("it was made above");
/// assert_eq!(colours.get(b"sky")?, Some(&b"blue"[..]));
/// # drop((snapshot, store));
/// # std::fs::remove_dir_all(&folder).expect("removes it");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Store {
    pub(crate) engine: Arc<Engine>,
    /// The checkpoint thread, which ends with the last handle.
    _background: Option<Arc<Background>>,
    /// Ends with the last handle, too, and after `engine`: if its thread is the last one to use the engine, the store is closed when the
    /// handle is dropped.
    _watcher: Option<Arc<Watcher>>,
}

impl Store {
    /// The key of an encrypted store.
    pub fn encryption_key(&self) -> Option<&EncryptionKey> {
        self.engine.options.encryption_key.as_ref()
    }

    pub(crate) fn new(engine: Arc<Engine>) -> Self {
        let watcher = engine.process_lock.as_ref().and_then(|lock| {
            let weak = Arc::downgrade(&engine);
            let give = move |is_ending| Some(weak.upgrade()?.give_if_idle(is_ending));
            // Without the thread, the lock is given away at the end of a transaction only.
            let watcher = Watcher::start(lock.words(), give).ok()?;
            if let Some(thread) = watcher.thread() {
                engine.watching.get_or_init(|| thread.clone());
            }
            Some(Arc::new(watcher))
        });
        let has_checkpoints = engine.options.background_checkpoints && !engine.options.read_only;
        let background = has_checkpoints.then(|| Arc::new(Background::start(&engine)));
        Self { engine, _background: background, _watcher: watcher }
    }

    /// Whether new snapshots have what other processes commit. `false` for a store that was opened read-only while no process wrote to it: it
    /// stays as it was then.
    pub fn follows_writers(&self) -> bool {
        self.engine.idle_view.get().is_none()
    }

    /// A random number that the store was given when it was made. A [backup](Snapshot::backup) has another one.
    pub fn identity(&self) -> u64 {
        self.engine.identity
    }

    /// Whether the store is encrypted.
    pub fn is_encrypted(&self) -> bool {
        self.engine.options.encryption_key.is_some()
    }

    /// Counts how often a process has begun to write, in a store that was opened read-only while others may write; `None` in other stores. If this
    /// number has changed, the last commits before may have been lost with a process that was killed, so that a snapshot is not the
    /// successor of an earlier one.
    pub fn writer_turns(&self) -> Option<u64> {
        self.engine.lock_words.as_ref().map(LockWords::taken)
    }

    /// Begins a write transaction. Waits for the previous transaction to end and, if writers are far ahead of a running
    /// checkpoint, for that checkpoint. Threads that wait get their turns in the order in which they asked; only a thread that asks while no
    /// transaction is open may go before others, as long as these have waited for less than half a millisecond.
    /// Waits for other processes, if they may write ([`Options::busy_timeout`](crate::Options::busy_timeout)).
    ///
    /// # Errors
    /// [`Error::ReadOnly`], [`Error::Poisoned`], [`Error::BusyTimeout`].
    pub fn begin(&self) -> Result<Transaction> {
        self.engine.check_writable()?;
        let writer_use = self.engine.use_writer()?;
        let mut state = self.engine.lock_state()?;
        if self.engine.is_far_ahead(&state) {
            self.engine.unlock_state(state);
            drop(self.engine.checkpoints.lock().unwrap_or_else(PoisonError::into_inner));
            state = self.engine.lock_state()?;
        }
        Ok(Transaction::new(Arc::clone(&self.engine), state, self.engine.options.durability).with_use(writer_use))
    }

    /// Begins a write transaction without waiting.
    ///
    /// # Errors
    /// [`Error::Busy`] if another transaction is open, or another process writes; otherwise the same as [`begin`](Self::begin).
    pub fn try_begin(&self) -> Result<Transaction> {
        self.engine.check_writable()?;
        let writer_use = self.engine.try_use_writer()?;
        let state = self.engine.try_lock_state().ok_or(Error::Busy)?;
        Ok(Transaction::new(Arc::clone(&self.engine), state, self.engine.options.durability).with_use(writer_use))
    }

    /// Begins a write transaction, and waits at most this long for other transactions, of this process and of others.
    ///
    /// # Errors
    /// [`Error::Busy`] after this time; otherwise the same as [`begin`](Self::begin).
    pub fn begin_within(&self, wait: Duration) -> Result<Transaction> {
        self.engine.check_writable()?;
        let Some(until) = Instant::now().checked_add(wait) else { return self.begin() };
        let writer_use = self.engine.use_writer_within(wait)?;
        let state = self.engine.lock_state_until(until)?.ok_or(Error::Busy)?;
        Ok(Transaction::new(Arc::clone(&self.engine), state, self.engine.options.durability).with_use(writer_use))
    }

    /// Waits until the last commit is later than the one numbered `after`, at most this long, and returns its snapshot if it is. The
    /// commits of other processes count, except for a store that was opened read-only while no process had it open for writing.
    ///
    /// ```
    /// # fn main() -> lath_store::Result<()> {
    /// # use std::time::Duration;
    /// let store = lath_store::Options::new().open_in_memory()?;
    /// assert!(store.wait_for_commit(0, Duration::from_millis(1))?.is_none());
    /// let mut transaction = store.begin()?;
    /// transaction.tree("people")?.put(b"ada", b"1815")?;
    /// transaction.commit()?;
    /// assert!(store.wait_for_commit(0, Duration::from_secs(1))?.is_some());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The same as [`snapshot`](Self::snapshot).
    pub fn wait_for_commit(&self, after: u64, wait: Duration) -> Result<Option<Snapshot>> {
        let started = Instant::now();
        loop {
            let snapshot = self.snapshot()?;
            if snapshot.sequence() > after {
                return Ok(Some(snapshot));
            }
            let value = snapshot.pin_value();
            // It must not hold its nodes for that long.
            drop(snapshot);
            let left = wait.saturating_sub(started.elapsed());
            if left.is_zero() {
                return Ok(None);
            }
            if self.engine.options.read_only && !self.engine.is_follower {
                // This view stays as it is.
                std::thread::sleep(left);
                continue;
            }
            self.engine.readers.wait_for_other(value, left.min(WAIT_MAX));
        }
    }

    /// Takes a snapshot of the last commit.
    ///
    /// # Errors
    /// [`Error::Limit`] if 4,096 snapshots exist already, [`Error::Corrupt`].
    pub fn snapshot(&self) -> Result<Snapshot> {
        let pin = self.engine.readers.pin()?;
        self.engine.see_length();
        let root = Root::read(self.engine.arena.node(PublishedCommit::reference(pin.value()))?)?;
        Ok(Snapshot::new(Arc::clone(&self.engine), Arc::new(pin), root))
    }

    /// Makes all commits so far durable, whatever their durability.
    ///
    /// A thread with an open transaction must not call this: it would wait for itself.
    ///
    /// # Errors
    /// [`Error::Io`], after which the store is poisoned.
    pub fn sync(&self) -> Result<()> {
        self.engine.check_writable()?;
        let _use = self.engine.use_writer()?;
        self.engine.sync()
    }

    /// Visits the nodes of all [removed subtrees](crate::Stats::removed_subtrees), while others read and write, so that
    /// [`stats`](Self::stats) knows their space. A thread of the store does the same, but may not have ended yet.
    ///
    /// A thread with an open transaction must not call this: it would wait for itself.
    ///
    /// # Errors
    /// [`Error::ReadOnly`], [`Error::Poisoned`].
    pub fn visit_removed_subtrees(&self) -> Result<()> {
        self.engine.check_writable()?;
        let _use = self.engine.use_writer()?;
        self.engine.visit_removed_subtrees(|| false)
    }

    /// Makes a checkpoint: writes all commits so far to the data file, so that the log starts again.
    ///
    /// A thread with an open transaction must not call this: it would wait for itself.
    ///
    /// # Errors
    /// [`Error::Io`], after which the store is poisoned.
    pub fn checkpoint(&self) -> Result<()> {
        self.engine.check_writable()?;
        let _use = self.engine.use_writer()?;
        self.engine.checkpoint()
    }
}
