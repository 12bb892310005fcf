//! Commits, which stay readable while they are pinned.

use std::sync::Arc;

use lath_store::{Snapshot, Tree};

use super::View;
use super::engine::{Catalog, Engine};
use super::expiry::Expiry;
use crate::error::{Error, Result};
use crate::records::{ForeignKeys, Index, Manifest, State, TreeName, TreeNames};
use crate::row::TableSchema;

/// A commit with its state, schema, files and indexes.
#[derive(Debug)]
pub(crate) struct Commit {
    snapshot: Arc<Snapshot>,
    trees: Arc<TreeNames>,
    state: State,
    schema: Arc<TableSchema>,
    manifest: Arc<Manifest>,
    indexes: Arc<Vec<Index>>,
    foreign_keys: Arc<ForeignKeys>,
    /// The stamp of the commit before an open transaction, or else the one of the state.
    committed_stamp: u64,
    /// The time by which rows expire, in microseconds since 1970: when this was opened.
    clock: i64,
    /// Rows that had expired then.
    expiry: Option<Expiry>,
}

impl Commit {
    /// The newest commit.
    pub(crate) fn newest(engine: &Engine) -> Result<Arc<Self>> {
        Self::of(engine, engine.store.snapshot()?)
    }

    /// A commit that has the table. If the table was dropped, an error.
    pub(crate) fn of(engine: &Engine, snapshot: impl Into<Arc<Snapshot>>) -> Result<Arc<Self>> {
        let pinned = Self::find(engine, snapshot)?;
        pinned.ok_or_else(|| Error::NoTable { folder: engine.folder.clone() })
    }

    /// A commit at this time; `None` if it does not have the table.
    pub(crate) fn find(engine: &Engine, snapshot: impl Into<Arc<Snapshot>>) -> Result<Option<Arc<Self>>> {
        Self::find_at(engine, snapshot, engine.options.clock.now_micros())
    }

    /// A commit, without the rows that have expired at `clock`; `None` if it does not have the table.
    pub(crate) fn find_at(
        engine: &Engine,
        snapshot: impl Into<Arc<Snapshot>>,
        clock: i64,
    ) -> Result<Option<Arc<Self>>> {
        let snapshot = snapshot.into();
        let Some(state) = engine.read_state(&snapshot)? else { return Ok(None) };
        let catalog = engine.catalog(&state, |name| engine.read_tree(&snapshot, name))?;
        let committed_stamp = state.stamp;
        Ok(Some(Self::with_catalog(engine, snapshot, state, catalog, committed_stamp, clock)))
    }

    /// The changes of an open transaction so far. Another commit may get its stamp, so nothing is cached by it.
    pub(crate) fn in_transaction(
        engine: &Engine,
        snapshot: &Arc<Snapshot>,
        state: State,
        catalog: Catalog,
        committed_stamp: u64,
        clock: i64,
    ) -> Arc<Self> {
        Self::with_catalog(engine, Arc::clone(snapshot), state, catalog, committed_stamp, clock)
    }

    fn with_catalog(
        engine: &Engine,
        snapshot: Arc<Snapshot>,
        state: State,
        catalog: Catalog,
        committed_stamp: u64,
        clock: i64,
    ) -> Arc<Self> {
        let Catalog { schema, manifest, indexes, foreign_keys } = catalog;
        let trees = Arc::clone(&engine.trees);
        let expiry = Expiry::new(&schema, clock);
        Arc::new(Self {
            snapshot,
            trees,
            state,
            schema,
            manifest,
            indexes,
            foreign_keys,
            committed_stamp,
            clock,
            expiry,
        })
    }

    pub(crate) fn foreign_keys(&self) -> &Arc<ForeignKeys> {
        &self.foreign_keys
    }

    /// This commit with its rows in a newer schema, without the ones that have expired at `clock`.
    pub(crate) fn in_schema(&self, schema: &Arc<TableSchema>, clock: i64) -> Arc<Self> {
        Arc::new(Self {
            snapshot: Arc::clone(&self.snapshot),
            trees: Arc::clone(&self.trees),
            state: self.state.clone(),
            schema: Arc::clone(schema),
            manifest: Arc::clone(&self.manifest),
            indexes: Arc::default(),
            foreign_keys: Arc::default(),
            committed_stamp: self.committed_stamp,
            clock,
            expiry: Expiry::new(schema, clock),
        })
    }

    /// The number of keys of a tree.
    pub(crate) fn tree_len(&self, name: TreeName) -> Result<u64> {
        match self.shared_tree(name)? {
            Some(tree) => Ok(tree.len()?),
            None => Ok(0),
        }
    }

    /// Number of hot rows and tombstones.
    pub(crate) fn hot_len(&self) -> Result<u64> {
        Ok(self.tree_len(TreeName::Hot)? + self.tree_len(TreeName::Tombstones)?)
    }

    /// Calls `each` with the keys of a tree whose values have changed between this commit and a later state of the tree, and with their values
    /// there.
    pub(crate) fn for_each_change(
        &self,
        name: TreeName,
        now: Tree<'_>,
        mut each: impl FnMut(&[u8], Option<&[u8]>) -> Result<()>,
    ) -> Result<()> {
        self.snapshot.for_each_change(self.trees.get(name), now, |key, _, now| each(key, now))
    }

    /// The time by which rows expire, in microseconds since 1970.
    pub(crate) fn clock(&self) -> i64 {
        self.clock
    }

    pub(crate) fn stamp(&self) -> u64 {
        self.state.stamp
    }

    pub(crate) fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// The snapshot, to read another table in it.
    pub(crate) fn shared_snapshot(&self) -> &Arc<Snapshot> {
        &self.snapshot
    }

    /// A tree, which lives as long as this.
    pub(crate) fn shared_tree(&self, name: TreeName) -> Result<Option<Tree<'_>>> {
        Ok(self.snapshot.tree(self.trees.get(name))?)
    }
}

impl View for Arc<Commit> {
    fn tree(&mut self, name: TreeName) -> Result<Option<Tree<'_>>> {
        self.shared_tree(name)
    }

    fn index_tree(&mut self, number: u64) -> Result<Option<Tree<'_>>> {
        Ok(self.snapshot.tree(&self.trees.index(number))?)
    }

    fn indexes(&self) -> &Arc<Vec<Index>> {
        &self.indexes
    }

    fn state(&self) -> &State {
        &self.state
    }

    fn committed_stamp(&self) -> u64 {
        self.committed_stamp
    }

    fn generation(&self) -> u64 {
        self.snapshot.generation()
    }

    fn schema(&self) -> &Arc<TableSchema> {
        &self.schema
    }

    fn manifest(&self) -> &Arc<Manifest> {
        &self.manifest
    }

    fn expiry(&self) -> Option<&Expiry> {
        self.expiry.as_ref()
    }
}
