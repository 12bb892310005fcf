//! Commits a transaction.

use std::sync::Arc;

use super::{Transaction, ended};
use crate::commits::{OpenTree, UnfinishedCommit};
use crate::engine::Engine;
use crate::error::Result;
use crate::handover::WriterUse;
use crate::options::Durability;

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
        let unfinished = self.make_newest(durability)?;
        let engine = Arc::clone(&self.engine);
        // The transaction ends before the process may give its lock away.
        let writer_use = std::mem::replace(&mut self.writer_use, WriterUse::PERMANENT);
        drop(self);
        Ok(PublishedTransaction { engine, unfinished, _use: writer_use })
    }

    /// Makes the changes the newest commit, if there are any.
    fn make_newest(&mut self, durability: Durability) -> Result<Option<UnfinishedCommit>> {
        self.check()?;
        self.flush()?;
        if self.engine.is_poisoned() {
            return Err(self.engine.poisoned());
        }
        if self.snapshots == self.state()?.root.snapshots && !self.trees.iter().any(OpenTree::has_changed) {
            // It may have created nodes all the same, and replaced them after a savepoint: undoing frees them.
            return Ok(None);
        }
        let Some(mut state) = self.state.take() else { return Err(ended()) };
        self.note_nested(&mut state);
        match self.engine.commit(&mut state, &self.trees, self.snapshots, &self.named, &self.operations, durability) {
            Ok(committed) => {
                self.engine.unlock_state(state);
                Ok(Some(committed))
            }
            Err(error) => {
                self.state = Some(state);
                self.has_failed = true;
                Err(error)
            }
        }
    }
}
