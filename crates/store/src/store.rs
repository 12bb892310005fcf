//! A store, and what all its handles share.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::arena::Arena;
use crate::background::Background;
use crate::error::{Error, Result};
use crate::extent::UNIT;
use crate::log::{Log, Position};
use crate::node::Word;
use crate::options::{Durability, Options};
use crate::readers::Readers;
use crate::record::Operations;
use crate::root::Root;
use crate::snapshot::Snapshot;
use crate::state::{Named, Published, State, write_record};
use crate::transaction::{OpenTree, Transaction};
use crate::trie::Mode;
use crate::turn::Turn;

/// A checkpoint is due when the last one keeps more bytes from being used again than this, and than a quarter of the data.
const PARKED_MIN_BYTES: u64 = 64 << 20;

/// While a checkpoint is made, transactions begin only at its end if it and the one before keep more bytes from being used again
/// than this, and than half of what else is used. So a file of 20 million keys, written anew as fast as possible, gets 1.7 times as
/// long as what is in it.
const AHEAD_MIN_BYTES: u64 = 2 * PARKED_MIN_BYTES;

/// An ordered key-value store in a file: named trees, transactions over all of them, snapshots.
///
/// Handles are cheap to clone; the store closes with the last of them and the last snapshot and transaction.
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
    pub(crate) inner: Arc<Inner>,
    /// Ends the thread with the last handle.
    _background: Option<Arc<Background>>,
}

/// What all handles, snapshots and transactions share.
#[derive(Debug)]
pub(crate) struct Inner {
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
    pub(crate) is_due: Arc<crate::background::Signal>,
}

/// A commit that others see and whose durability has yet to be seen to.
#[derive(Debug)]
pub(crate) struct Committed {
    sync: Option<Position>,
    /// A checkpoint of at least this commit has to be made first.
    gap: Option<u64>,
}

impl Store {
    /// Opens the store at `path` with the default options, and makes it if it is not there.
    ///
    /// # Errors
    /// As [`Options::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Options::new().open(path)
    }

    pub(crate) fn new(inner: Arc<Inner>) -> Self {
        let has_checkpoints = inner.options.background && !inner.options.read_only;
        let background = has_checkpoints.then(|| Arc::new(Background::start(&inner)));
        Self { inner, _background: background }
    }

    /// Begins a write transaction, once the one before it has ended and, where writers are far ahead of a checkpoint that is
    /// being made, that has as well.
    ///
    /// # Errors
    /// [`Error::ReadOnly`], [`Error::Poisoned`].
    pub fn begin(&self) -> Result<Transaction> {
        self.inner.check_writable()?;
        let mut state = self.inner.take()?;
        if is_far_ahead(&state) {
            self.inner.put_back(state);
            drop(self.inner.checkpoints.lock().unwrap_or_else(PoisonError::into_inner));
            state = self.inner.take()?;
        }
        Ok(Transaction::new(Arc::clone(&self.inner), state, self.inner.options.durability))
    }

    /// Begins a write transaction if there is no other.
    ///
    /// # Errors
    /// [`Error::Busy`] if there is one; otherwise as [`begin`](Self::begin).
    pub fn try_begin(&self) -> Result<Transaction> {
        self.inner.check_writable()?;
        let state = self.inner.turn.take_now().ok_or(Error::Busy)?;
        Ok(Transaction::new(Arc::clone(&self.inner), state, self.inner.options.durability))
    }

    /// The store as the last commit left it.
    ///
    /// # Errors
    /// [`Error::Limit`] if there are too many snapshots already, [`Error::Corrupt`].
    pub fn snapshot(&self) -> Result<Snapshot> {
        let pin = self.inner.readers.pin()?;
        self.inner.see_length();
        let root = Root::read(self.inner.arena.node(Published::reference(pin.value()))?)?;
        Ok(Snapshot::new(Arc::clone(&self.inner), Arc::new(pin), root))
    }

    /// Makes durable all that was committed, whatever its durability.
    ///
    /// # Errors
    /// [`Error::Io`], after which the store is poisoned.
    pub fn sync(&self) -> Result<()> {
        self.inner.check_writable()?;
        let state = self.inner.take()?;
        let (root, durable, gap) = (state.root, state.durable, state.gap);
        let log = self.inner.log.last_position();
        self.inner.put_back(state);
        if root == durable {
            return Ok(());
        }
        self.inner.finish_commit(Committed { sync: log, gap })
    }

    /// Writes a checkpoint: all that was committed is then in the data file, and the log can begin anew.
    ///
    /// Must not be called by a thread that has a transaction open, for which it would wait.
    ///
    /// # Errors
    /// [`Error::Io`], after which the store is poisoned.
    pub fn checkpoint(&self) -> Result<()> {
        self.inner.check_writable()?;
        self.inner.checkpoint()
    }
}

impl Inner {
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
    fn see_length(&self) {
        if self.is_follower {
            let len = self.readers.data_len();
            if len != self.arena.len() {
                self.arena.set_len(len);
            }
        }
    }

    /// Makes a transaction's changes the newest commit.
    pub(crate) fn commit(
        &self,
        state: &mut State,
        trees: &[OpenTree],
        snapshots: Word,
        operations: &Operations,
        durability: Durability,
    ) -> Result<Committed> {
        let sequence = state.root.sequence + 1;
        let (root, record) = new_root(state, trees, snapshots, sequence)?;
        let append = |bytes| match durability {
            Durability::Sync => self.log.append_for_sync(sequence, &[bytes]).map(Some),
            Durability::Deferred => self.log.append(sequence, &[bytes]).map(Some),
            Durability::Off => Ok(None),
        };
        let position = operations.bytes().map_or(Ok(None), append).inspect_err(|_| {
            if self.log.check().is_err() {
                self.poison();
            }
        })?;
        if position.is_none() {
            state.gap = Some(sequence);
        }
        // From here on nothing fails: the commit is made.
        self.make_newest(state, root, record);
        if self.is_checkpoint_due(state) {
            self.is_due.raise();
        }
        let gap = if durability == Durability::Off { None } else { state.gap };
        Ok(Committed { sync: position.filter(|_| durability == Durability::Sync), gap })
    }

    /// Makes the changes that the log says were made, up to the commit numbered `sequence`, the newest commit.
    pub(crate) fn commit_replayed(
        &self,
        state: &mut State,
        trees: &[OpenTree],
        snapshots: Word,
        sequence: u64,
    ) -> Result<()> {
        let (root, record) = new_root(state, trees, snapshots, sequence)?;
        self.make_newest(state, root, record);
        Ok(())
    }

    pub(crate) fn make_newest(&self, state: &mut State, root: Root, record: u64) {
        let snapshots_differ = root.snapshots != state.root.snapshots;
        (state.root, state.record) = (root, record);
        let value = Published::value_of(record, root.sequence);
        state.published.push(Published { value, root });
        self.readers.publish(value, state.writer.space.end() * UNIT);
        let mut settled = Ok(());
        if snapshots_differ {
            settled = note_named(state);
        }
        // The commit stands. If what is damaged keeps space from being told free, no more is written.
        if settled.and_then(|()| state.reclaim(&self.readers)).is_err() {
            self.poison();
        }
    }

    pub(crate) fn is_checkpoint_due(&self, state: &State) -> bool {
        let parked = state.reclaimer.parked_units(state.durable.generation) * UNIT;
        let used = state.writer.space.used_units() * UNIT;
        self.log.size_bytes() > self.options.log_limit(used) || (parked > PARKED_MIN_BYTES && parked > used / 4)
    }

    /// Waits until a commit is as durable as was asked for.
    pub(crate) fn finish_commit(&self, committed: Committed) -> Result<()> {
        let mut result = Ok(());
        if let Some(gap) = committed.gap {
            result = self.checkpoint_from(gap);
        }
        if let Some(position) = committed.sync {
            result = result.and_then(|()| self.log.sync(position));
        }
        if result.is_err() {
            self.poison();
        }
        result
    }
}

/// Whether to wait for the checkpoint that is being made before anything else is written.
fn is_far_ahead(state: &State) -> bool {
    let Some(checkpointing) = state.checkpointing else { return false };
    let parked = |root: Root| state.reclaimer.parked_units(root.generation);
    let parked = parked(state.durable) + parked(checkpointing);
    let others = state.writer.space.used_units().saturating_sub(parked);
    parked * UNIT > AHEAD_MIN_BYTES && parked > others / 2
}

/// Writes the trees' roots into the catalog, and the record of the commit.
fn new_root(state: &mut State, trees: &[OpenTree], snapshots: Word, sequence: u64) -> Result<(Root, u64)> {
    let mut catalog = state.root.catalog;
    for tree in trees.iter().filter(|tree| tree.has_changed()) {
        let name = tree.name.as_bytes();
        if tree.exists {
            state.writer.put(&mut catalog, name, &tree.root.bits().to_le_bytes(), Mode::Replace)?;
        } else {
            state.writer.remove(&mut catalog, name)?;
        }
    }
    let root = Root { generation: state.writer.generation, sequence, catalog, snapshots };
    let record = write_record(&mut state.writer, &root)?;
    let old_record = state.record;
    state.writer.retiring_records(|writer| writer.retire(old_record))?;
    Ok((root, record))
}

/// Takes notice of the named snapshots that the newest commit added and dropped.
fn note_named(state: &mut State) -> Result<()> {
    let newest = state.root.generation;
    let named = state.root.named(state.writer.shared())?;
    let is_named = |generation| named.iter().any(|(_, root)| root.generation == generation);
    for old in &mut state.named {
        if old.dropped.is_none() && !is_named(old.root.generation) {
            old.dropped = Some(newest);
        }
    }
    for (_, root) in &named {
        let is_known = |old: &Named| old.dropped.is_none() && old.root.generation == root.generation;
        if !state.named.iter().any(is_known) {
            state.named.push(Named { root: *root, created: newest, dropped: None });
        }
    }
    Ok(())
}
