//! Snapshots: read-only views of the store at one commit, or within a transaction.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::engine::Engine;
use crate::error::Result;
use crate::node::Word;
use crate::readers::{OpenView, Pin};
use crate::root::Root;
use crate::storage::EncryptionKey;
use crate::tree::{Item, Tree};
use crate::tree_path::TreePath;

/// A read-only view of the store at one commit, or of the changes of a [transaction](crate::Transaction::snapshot) so far. It does not
/// change while this lives.
///
/// Taking a snapshot takes the same time for any size of the store, and neither blocks other threads nor waits for
/// them. Any number of threads can read from it. Until it is dropped, space that only its commit needs is not reused.
#[derive(Debug)]
pub struct Snapshot {
    pub(crate) root: Root,
    /// The view that holds the nodes of a transaction.
    view: Option<Arc<OpenView>>,
    /// Whether this reads the trees of the view.
    is_view: bool,
    // Dropped before the store, so that the store never closes while there are pins.
    pin: Arc<Pin>,
    engine: Arc<Engine>,
}

impl Snapshot {
    #[inline]
    pub(crate) fn new(engine: Arc<Engine>, pin: Arc<Pin>, root: Root) -> Self {
        Self { root, view: None, is_view: false, pin, engine }
    }

    /// The value of its commit in the table of readers.
    pub(crate) fn pin_value(&self) -> u64 {
        self.pin.value()
    }

    /// A snapshot of a transaction. The pin holds the commit before it.
    pub(crate) fn in_transaction(engine: Arc<Engine>, pin: Arc<Pin>, view: OpenView) -> Self {
        Self { root: view.roots.root, view: Some(Arc::new(view)), is_view: true, pin, engine }
    }

    /// The key of an encrypted store.
    pub(crate) fn encryption_key(&self) -> Option<&EncryptionKey> {
        self.engine.options.encryption_key.as_ref()
    }

    /// The trees of a transaction that are not as in the commit before it.
    fn changed_trees(&self) -> Option<&BTreeMap<String, Option<Word>>> {
        self.view.as_ref().filter(|_| self.is_view).map(|view| &view.roots.trees)
    }

    /// Returns the tree with this name, if it exists.
    ///
    /// # Errors
    /// [`Error::Corrupt`](crate::Error::Corrupt).
    pub fn tree(&self, name: &str) -> Result<Option<Tree<'_>>> {
        let changed = self.changed_trees().and_then(|trees| trees.get(name));
        let root = changed.map_or_else(|| self.root.tree(&self.engine.arena, name), |root| Ok(*root))?;
        Ok(root.map(|root| Tree::new(&self.engine.arena, root)))
    }

    /// Returns the tree at a place, if it exists.
    ///
    /// # Errors
    /// [`Error::KeyHoldsValue`](crate::Error::KeyHoldsValue) if there is a value at one of the keys of the place;
    /// [`Error::Corrupt`](crate::Error::Corrupt).
    pub fn tree_at(&self, path: &TreePath) -> Result<Option<Tree<'_>>> {
        let mut tree = self.tree(path.name())?;
        for key in path.keys() {
            let Some(around) = tree else { return Ok(None) };
            tree = around.tree_at(key)?;
        }
        Ok(tree)
    }

    /// The generation of the commit, or of the commit before the transaction, for [`Tree::for_each_newer`]. Later commits have higher ones.
    pub fn generation(&self) -> u64 {
        self.root.generation
    }

    /// Calls `each` with every key whose value differs between the tree with this name in this snapshot and a later state of it, in ascending
    /// order: with the key, and its value before and now, `None` if it was or is not there. `now` is the tree with this name in a later snapshot, or
    /// in a transaction, of the same store.
    ///
    /// This takes as long as what has changed since, not as long as the tree: subtrees that both states have are skipped. Entries that were
    /// moved or put again with the same value are compared, and are no change.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let store = lath_store::Options::new().create(true).open(folder.path().join("store"))?;
    /// let mut transaction = store.begin()?;
    /// transaction.tree("data")?.put(b"a", b"1")?;
    /// transaction.commit()?;
    /// let before = store.snapshot()?;
    /// let mut transaction = store.begin()?;
    /// transaction.tree("data")?.put(b"b", b"2")?;
    /// transaction.tree("data")?.remove(b"a")?;
    /// transaction.commit()?;
    /// let now = store.snapshot()?;
    /// let mut changes = Vec::new();
    /// let tree = now.tree("data")?.ok_or("no tree")?;
    /// before.for_each_change("data", tree, |key, before, now| {
    ///     changes.push((key.to_vec(), before.is_some(), now.is_some()));
    ///     Ok::<_, lath_store::Error>(())
    /// })?;
    /// assert_eq!(changes, [(b"a".to_vec(), true, false), (b"b".to_vec(), false, true)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::KeyHoldsTree`](crate::Error::KeyHoldsTree) at a nested tree that has changed, which
    /// [`for_each_nested_change`](Self::for_each_nested_change) takes; [`Error::Corrupt`](crate::Error::Corrupt); and errors of `each`, after
    /// which it is not called again.
    pub fn for_each_change<E: From<crate::Error>>(
        &self,
        name: &str,
        now: Tree<'_>,
        each: impl FnMut(&[u8], Option<&[u8]>, Option<&[u8]>) -> Result<(), E>,
    ) -> Result<(), E> {
        let earlier = self.tree(name)?.unwrap_or_else(|| Tree::empty(&self.engine.arena));
        now.for_each_change(earlier, each)
    }

    /// Like [`for_each_change`](Self::for_each_change), also for trees that are nested at any depth: calls `each` with the keys that lead
    /// from the tree to the nested one, the key there, and what it had before and has now. Changes of a tree come in ascending order of
    /// keys, and before the changes of trees nested in it.
    ///
    /// A nested tree that was made, removed, or moved to or from its place is one change, whose [`Item::Tree`](crate::Item::Tree) has its
    /// contents. If the key had a nested tree before and has one now, the entries of the two are compared.
    ///
    /// ```
    /// # fn main() -> lath_store::Result<()> {
    /// # let store = lath_store::Options::new().open_in_memory()?;
    /// let mut transaction = store.begin()?;
    /// transaction.tree("users")?.tree_at(b"ada")?.put(b"born", b"1815")?;
    /// transaction.commit()?;
    /// let before = store.snapshot()?;
    /// let mut transaction = store.begin()?;
    /// transaction.tree("users")?.tree_at(b"ada")?.put(b"died", b"1852")?;
    /// transaction.commit()?;
    /// let now = store.snapshot()?;
    /// let mut changes = Vec::new();
    /// let users = now.tree("users")?.expect("it was made above");
    /// before.for_each_nested_change("users", users, |path, key, _, now| {
    ///     changes.push((path.to_vec(), key.to_vec(), now.is_some()));
    ///     Ok::<_, lath_store::Error>(())
    /// })?;
    /// assert_eq!(changes, [(vec![b"ada".to_vec()], b"died".to_vec(), true)]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Corrupt`](crate::Error::Corrupt), and errors of `each`, after which it is not called again.
    pub fn for_each_nested_change<E: From<crate::Error>>(
        &self,
        name: &str,
        now: Tree<'_>,
        each: impl FnMut(&[Vec<u8>], &[u8], Option<Item<'_>>, Option<Item<'_>>) -> Result<(), E>,
    ) -> Result<(), E> {
        let earlier = self.tree(name)?.unwrap_or_else(|| Tree::new(&self.engine.arena, Word::NONE));
        now.for_each_nested_change(earlier, each)
    }

    /// Returns the names of all trees, in ascending order.
    ///
    /// # Errors
    /// The same as [`tree`](Self::tree).
    pub fn tree_names(&self) -> Result<Vec<String>> {
        let mut names: BTreeSet<String> =
            self.root.trees(&self.engine.arena)?.into_iter().map(|(name, _)| name).collect();
        for (name, root) in self.changed_trees().into_iter().flatten() {
            match root {
                Some(_) => names.insert(name.clone()),
                None => names.remove(name),
            };
        }
        Ok(names.into_iter().collect())
    }

    /// Returns the names of the named snapshots that existed when this commit was made, in ascending order.
    ///
    /// # Errors
    /// The same as [`tree`](Self::tree).
    pub fn snapshot_names(&self) -> Result<Vec<String>> {
        Ok(self.root.named(&self.engine.arena)?.into_iter().map(|(name, _)| name).collect())
    }

    /// Returns the names of the named snapshots that existed when this commit was made, in ascending order, each with the number of its
    /// commit.
    ///
    /// # Errors
    /// The same as [`tree`](Self::tree).
    pub fn named_commits(&self) -> Result<Vec<(String, u64)>> {
        Ok(self.root.named(&self.engine.arena)?.into_iter().map(|(name, root)| (name, root.sequence)).collect())
    }

    /// Returns the named snapshot with this name, if it existed when this commit was made.
    ///
    /// # Errors
    /// The same as [`tree`](Self::tree).
    pub fn snapshot(&self, name: &str) -> Result<Option<Self>> {
        let root = self.root.named_root(&self.engine.arena, name)?;
        // The pin of this commit keeps its named snapshots, too.
        Ok(root.map(|root| {
            let (engine, pin) = (Arc::clone(&self.engine), Arc::clone(&self.pin));
            Self { view: self.view.clone(), ..Self::new(engine, pin, root) }
        }))
    }

    /// Returns the commit before the transaction whose changes this has; a snapshot of a commit returns itself.
    #[must_use]
    pub fn committed(&self) -> Self {
        let (engine, pin) = (Arc::clone(&self.engine), Arc::clone(&self.pin));
        Self { view: self.view.clone(), ..Self::new(engine, pin, self.root) }
    }

    /// Returns the number of the commit, or of the commit before the transaction. Commits are counted from 1; 0 is the store as it was
    /// created.
    pub fn sequence(&self) -> u64 {
        self.root.sequence
    }
}
