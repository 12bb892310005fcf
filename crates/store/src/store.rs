//! The handle to an open store.

use std::sync::{Arc, PoisonError};

use crate::background::Background;
use crate::checkpoint_policy::is_far_ahead;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::root::Root;
use crate::snapshot::Snapshot;
use crate::state::Published;
use crate::transaction::Transaction;

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
    pub(crate) engine: Arc<Engine>,
    /// Ends the thread with the last handle.
    _background: Option<Arc<Background>>,
}

impl Store {
    pub(crate) fn new(engine: Arc<Engine>) -> Self {
        let has_checkpoints = engine.options.background && !engine.options.read_only;
        let background = has_checkpoints.then(|| Arc::new(Background::start(&engine)));
        Self { engine, _background: background }
    }

    /// Begins a write transaction, once the one before it has ended and, where writers are far ahead of a checkpoint that is
    /// being made, that has as well.
    ///
    /// # Errors
    /// [`Error::ReadOnly`], [`Error::Poisoned`].
    pub fn begin(&self) -> Result<Transaction> {
        self.engine.check_writable()?;
        let mut state = self.engine.take()?;
        if is_far_ahead(&state) {
            self.engine.put_back(state);
            drop(self.engine.checkpoints.lock().unwrap_or_else(PoisonError::into_inner));
            state = self.engine.take()?;
        }
        Ok(Transaction::new(Arc::clone(&self.engine), state, self.engine.options.durability))
    }

    /// Begins a write transaction if there is no other.
    ///
    /// # Errors
    /// [`Error::Busy`] if there is one; otherwise as [`begin`](Self::begin).
    pub fn try_begin(&self) -> Result<Transaction> {
        self.engine.check_writable()?;
        let state = self.engine.take_now().ok_or(Error::Busy)?;
        Ok(Transaction::new(Arc::clone(&self.engine), state, self.engine.options.durability))
    }

    /// The store as the last commit left it.
    ///
    /// # Errors
    /// [`Error::Limit`] if there are too many snapshots already, [`Error::Corrupt`].
    pub fn snapshot(&self) -> Result<Snapshot> {
        let pin = self.engine.readers.pin()?;
        self.engine.see_length();
        let root = Root::read(self.engine.arena.node(Published::reference(pin.value()))?)?;
        Ok(Snapshot::new(Arc::clone(&self.engine), Arc::new(pin), root))
    }

    /// Makes durable all that was committed, whatever its durability.
    ///
    /// # Errors
    /// [`Error::Io`], after which the store is poisoned.
    pub fn sync(&self) -> Result<()> {
        self.engine.check_writable()?;
        self.engine.sync()
    }

    /// Writes a checkpoint: all that was committed is then in the data file, and the log can begin anew.
    ///
    /// Must not be called by a thread that has a transaction open, for which it would wait.
    ///
    /// # Errors
    /// [`Error::Io`], after which the store is poisoned.
    pub fn checkpoint(&self) -> Result<()> {
        self.engine.check_writable()?;
        self.engine.checkpoint()
    }
}
