//! Snapshots: read-only views of the store at one commit.

use std::sync::Arc;

use crate::engine::Engine;
use crate::error::Result;
use crate::readers::Pin;
use crate::root::Root;
use crate::tree::Tree;

/// A read-only view of the store at one commit. It does not change while this lives.
///
/// Taking a snapshot takes the same time for any size of the store, and neither blocks other threads nor waits for
/// them. Any number of threads can read from it. Until it is dropped, space that only its commit needs is not reused.
#[derive(Debug)]
pub struct Snapshot {
    pub(crate) root: Root,
    // Dropped before the store, so that the store never closes while there are pins.
    pin: Arc<Pin>,
    engine: Arc<Engine>,
}

impl Snapshot {
    #[inline]
    pub(crate) fn new(engine: Arc<Engine>, pin: Arc<Pin>, root: Root) -> Self {
        Self { root, pin, engine }
    }

    /// Returns the tree with this name, if it exists.
    ///
    /// # Errors
    /// [`Error::Corrupt`](crate::Error::Corrupt).
    pub fn tree(&self, name: &str) -> Result<Option<Tree<'_>>> {
        let root = self.root.tree(&self.engine.arena, name)?;
        Ok(root.map(|root| Tree::new(&self.engine.arena, root)))
    }

    /// Returns the names of all trees, in ascending order.
    ///
    /// # Errors
    /// The same as [`tree`](Self::tree).
    pub fn tree_names(&self) -> Result<Vec<String>> {
        Ok(self.root.trees(&self.engine.arena)?.into_iter().map(|(name, _)| name).collect())
    }

    /// Returns the names of the named snapshots that existed when this commit was made, in ascending order.
    ///
    /// # Errors
    /// The same as [`tree`](Self::tree).
    pub fn snapshot_names(&self) -> Result<Vec<String>> {
        Ok(self.root.named(&self.engine.arena)?.into_iter().map(|(name, _)| name).collect())
    }

    /// Returns the named snapshot with this name, if it existed when this commit was made.
    ///
    /// # Errors
    /// The same as [`tree`](Self::tree).
    pub fn snapshot(&self, name: &str) -> Result<Option<Self>> {
        let named = self.root.named(&self.engine.arena)?;
        let root = named.into_iter().find(|(other, _)| other == name);
        // The pin of this commit keeps its named snapshots, too.
        Ok(root.map(|(_, root)| Self::new(Arc::clone(&self.engine), Arc::clone(&self.pin), root)))
    }

    /// Returns the number of the commit. Commits are counted from 1; 0 is the store as it was created.
    pub fn sequence(&self) -> u64 {
        self.root.sequence
    }
}
