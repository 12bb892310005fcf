//! Commits a transaction.

use std::sync::Arc;

use super::{Transaction, ended};
use crate::commits::{OpenTree, UnfinishedCommit};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::handover::WriterUse;
use crate::options::Durability;

/// No commit has a greater number, as the format says.
const SEQUENCE_MAX: u64 = 1 << 56;

/// The changes of a transaction that others see, and that may not be as durable as requested yet.
#[derive(Debug)]
pub(crate) struct PublishedTransaction {
    engine: Arc<Engine>,
    unfinished: Option<UnfinishedCommit>,
    _use: WriterUse,
}

impl PublishedTransaction {
    /// Waits until the commit is durable.
    pub(crate) fn finish(self) -> Result<()> {
        self.unfinished.map_or(Ok(()), |unfinished| self.engine.finish_commit(unfinished))
    }
}

impl Transaction {
    /// Makes the changes visible to others, with the store's durability.
    ///
    /// # Errors
    /// After [`Error::Io`](crate::Error::Io) the changes are undone, unless a sync failed: then the store is poisoned, and the changes
    /// may or may not survive.
    pub fn commit(self) -> Result<()> {
        let durability = self.durability;
        self.commit_with(durability)
    }

    /// Makes the changes visible to others, with this durability.
    ///
    /// # Errors
    /// The same as [`commit`](Self::commit).
    pub fn commit_with(self, durability: Durability) -> Result<()> {
        self.publish(durability)?.finish()
    }

    /// Makes the changes visible to others, and lets the next transaction begin. The commit is durable after [`PublishedTransaction::finish`].
    pub(crate) fn publish(mut self, durability: Durability) -> Result<PublishedTransaction> {
        self.prepare_commit()?;
        let last = self.state()?.root;
        let has_changes = self.snapshots != last.snapshots || self.trees.iter().any(OpenTree::has_changed);
        // Without changes it may have created nodes all the same, and replaced them after a savepoint: undoing frees them.
        let unfinished = has_changes.then(|| self.make_newest(durability, last.sequence + 1)).transpose()?;
        let engine = Arc::clone(&self.engine);
        // The transaction ends before the process may give its lock away.
        let writer_use = std::mem::replace(&mut self.writer_use, WriterUse::PERMANENT);
        drop(self);
        Ok(PublishedTransaction { engine, unfinished, _use: writer_use })
    }

    /// Makes the changes visible to others as the commit with this number, which is greater than the last one's: for copies of a store whose
    /// commits have the numbers of the original. A commit without changes has the number, too. It is not logged: the next
    /// [checkpoint](crate::Store::checkpoint) makes it durable.
    ///
    /// ```
    /// # fn main() -> lath_store::Result<()> {
    /// let store = lath_store::Options::new().open_in_memory()?;
    /// let mut transaction = store.begin()?;
    /// transaction.tree("people")?.put(b"ada", b"1815")?;
    /// transaction.commit_numbered(17)?;
    /// assert_eq!(store.snapshot()?.sequence(), 17);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`] if there is a commit with this number or a greater one, otherwise the same as [`commit`](Self::commit).
    pub fn commit_numbered(self, sequence: u64) -> Result<()> {
        let last = self.state()?.root.sequence;
        if sequence <= last || sequence > SEQUENCE_MAX {
            return Err(Error::Invalid(format!("a commit cannot have number {sequence} after number {last}")));
        }
        self.commit_copied(sequence)
    }

    /// As [`commit_numbered`](Self::commit_numbered), with any number, in a store that nothing reads yet.
    pub(crate) fn commit_copied(mut self, sequence: u64) -> Result<()> {
        self.prepare_commit()?;
        let unfinished = self.make_newest(Durability::Off, sequence)?;
        self.engine.finish_commit(unfinished)
    }

    /// Applies deferred puts, and checks that the transaction can be committed.
    fn prepare_commit(&mut self) -> Result<()> {
        self.check()?;
        self.flush()?;
        if self.engine.is_poisoned() { Err(self.engine.poisoned()) } else { Ok(()) }
    }

    /// Makes the changes the newest commit, with this number.
    fn make_newest(&mut self, durability: Durability, number: u64) -> Result<UnfinishedCommit> {
        let Some(mut state) = self.state.take() else { return Err(ended()) };
        self.note_nested(&mut state);
        let (trees, snapshots, named, operations) = (&self.trees, self.snapshots, &self.named, &self.operations);
        match self.engine.commit(&mut state, trees, snapshots, named, operations, durability, number) {
            Ok(committed) => {
                self.engine.unlock_state(state);
                Ok(committed)
            }
            Err(error) => {
                self.state = Some(state);
                self.has_failed = true;
                Err(error)
            }
        }
    }
}
