//! Snapshots: the store as one commit left it.

use std::sync::Arc;

use crate::engine::Engine;
use crate::error::Result;
use crate::readers::Pin;
use crate::root::Root;
use crate::tree::Tree;

/// The store as one commit left it, for as long as this is there.
///
/// Taking one costs the same whatever the size of the store, blocks nobody and is blocked by nobody; any number of threads
/// can read from it. Space that the commit took and later ones no longer need stays taken until it is dropped.
#[derive(Debug)]
pub struct Snapshot {
    pub(crate) root: Root,
    // Before the store itself, so that the store never closes under a pin.
    pin: Arc<Pin>,
    engine: Arc<Engine>,
}

impl Snapshot {
    pub(crate) fn new(engine: Arc<Engine>, pin: Arc<Pin>, root: Root) -> Self {
        Self { root, pin, engine }
    }

    /// The tree with this name, if there is one.
    ///
    /// # Errors
    /// [`Error::Corrupt`](crate::Error::Corrupt).
    pub fn tree(&self, name: &str) -> Result<Option<Tree<'_>>> {
        let root = self.root.tree(&self.engine.arena, name)?;
        Ok(root.map(|root| Tree::new(&self.engine.arena, root)))
    }

    /// The names of all trees, in order.
    ///
    /// # Errors
    /// As [`tree`](Self::tree).
    pub fn trees(&self) -> Result<Vec<String>> {
        Ok(self.root.trees(&self.engine.arena)?.into_iter().map(|(name, _)| name).collect())
    }

    /// The names of the snapshots that had been kept by name.
    ///
    /// # Errors
    /// As [`tree`](Self::tree).
    pub fn snapshots(&self) -> Result<Vec<String>> {
        Ok(self.root.named(&self.engine.arena)?.into_iter().map(|(name, _)| name).collect())
    }

    /// The commit that was kept under a name, if there is one.
    ///
    /// # Errors
    /// As [`tree`](Self::tree).
    pub fn snapshot(&self, name: &str) -> Result<Option<Self>> {
        let named = self.root.named(&self.engine.arena)?;
        let root = named.into_iter().find(|(other, _)| other == name);
        // What holds this commit holds the snapshots that it names.
        Ok(root.map(|(_, root)| Self::new(Arc::clone(&self.engine), Arc::clone(&self.pin), root)))
    }

    /// The number of the commit, counted from 1 when the store was made; 0 if there was none.
    pub fn sequence(&self) -> u64 {
        self.root.sequence
    }
}
