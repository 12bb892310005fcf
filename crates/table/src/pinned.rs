//! A commit that stays readable.

use std::sync::Arc;

use lath_store::{Snapshot, Tree};

use crate::engine::{Engine, read_state};
use crate::error::{Error, Result};
use crate::layout::{State, TreeName};
use crate::manifest::Manifest;
use crate::schema::TableSchema;
use crate::view::View;

/// A commit, with what is known of it.
#[derive(Debug)]
pub(crate) struct Pinned {
    snapshot: Snapshot,
    state: State,
    schema: Arc<TableSchema>,
    manifest: Arc<Manifest>,
}

impl Pinned {
    /// The newest commit.
    pub(crate) fn newest(engine: &Engine) -> Result<Arc<Self>> {
        Self::of(engine, engine.store.snapshot()?)
    }

    pub(crate) fn of(engine: &Engine, snapshot: Snapshot) -> Result<Arc<Self>> {
        let state = read_state(snapshot.tree(TreeName::Meta.as_str())?)?;
        let state = state.ok_or_else(|| Error::corrupt("the store has no table"))?;
        let catalog = engine.catalog(&state, |name| Ok(snapshot.tree(name.as_str())?))?;
        let (schema, manifest) = (catalog.schema, catalog.manifest);
        Ok(Arc::new(Self { snapshot, state, schema, manifest }))
    }

    /// The number of keys of a tree.
    pub(crate) fn len_of(&self, name: TreeName) -> Result<u64> {
        match self.shared_tree(name)? {
            Some(tree) => Ok(tree.len()?),
            None => Ok(0),
        }
    }

    pub(crate) fn stamp(&self) -> u64 {
        self.state.stamp
    }

    pub(crate) fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// A tree, which lives as long as this.
    pub(crate) fn shared_tree(&self, name: TreeName) -> Result<Option<Tree<'_>>> {
        Ok(self.snapshot.tree(name.as_str())?)
    }
}

impl View for Arc<Pinned> {
    fn tree(&mut self, name: TreeName) -> Result<Option<Tree<'_>>> {
        self.shared_tree(name)
    }

    fn state(&self) -> &State {
        &self.state
    }

    fn committed_stamp(&self) -> u64 {
        self.state.stamp
    }

    fn schema(&self) -> &Arc<TableSchema> {
        &self.schema
    }

    fn manifest(&self) -> &Arc<Manifest> {
        &self.manifest
    }
}
