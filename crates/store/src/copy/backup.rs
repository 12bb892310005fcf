//! Copies a store to another place while it is written to.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::Path;

use super::copy_target::{CopyCounter, CopyProgress, CopyTarget};
use crate::error::{Error, Result};
use crate::snapshot::Snapshot;
use crate::storage::EncryptionKey;
use crate::store::Store;
use crate::transaction::Transaction;
use crate::tree::{Item, Tree};
use crate::tree_changes::ItemChanges;
use crate::tree_path::TreePath;

/// A transaction of the copy ends once its keys and values have this many bytes.
const BATCH_BYTES: usize = 8 << 20;

impl Snapshot {
    /// Copies this snapshot, with all its trees and named snapshots, into a new store at `path`, while others read and
    /// write.
    ///
    /// The copy of an encrypted store is encrypted with the same key. It is written in key order, so it takes no more space than it needs. It appears at `path` once it is
    /// complete, and is durable when this returns. After an error nothing remains of it.
    ///
    /// # Errors
    /// [`Error::Exists`](crate::Error::Exists) if there is a file at `path`; [`Error::Corrupt`](crate::Error::Corrupt),
    /// [`Error::Io`](crate::Error::Io).
    pub fn backup(&self, path: impl AsRef<Path>) -> Result<()> {
        self.backup_with(path, |_| ControlFlow::Continue(()))
    }

    /// Like [`backup`](Self::backup), but calls `progress` between transactions, which may stop the copy.
    ///
    /// # Errors
    /// The same as [`backup`](Self::backup), and [`Error::Cancelled`](crate::Error::Cancelled) if `progress` stops the copy.
    pub fn backup_with(
        &self,
        path: impl AsRef<Path>,
        progress: impl FnMut(&CopyProgress) -> ControlFlow<()>,
    ) -> Result<()> {
        let key = self.encryption_key().cloned();
        self.backup_with_key(path, key.as_ref(), progress)
    }

    /// Like [`backup_with`](Self::backup_with), but encrypts the copy with this key, or does not encrypt it, whatever this store is.
    ///
    /// # Errors
    /// The same as [`backup_with`](Self::backup_with).
    pub fn backup_with_key(
        &self,
        path: impl AsRef<Path>,
        key: Option<&EncryptionKey>,
        mut progress: impl FnMut(&CopyProgress) -> ControlFlow<()>,
    ) -> Result<()> {
        let target = CopyTarget::new(path.as_ref(), key)?;
        self.copy_into(&Copy { target: target.store()?, is_numbered: false }, &mut CopyCounter::new(&mut progress))?;
        target.finish()
    }

    /// Like [`backup`](Self::backup), and the commit and the named snapshots have the numbers that they have here. So the copy can go on with
    /// the commits that follow: see [`Transaction::commit_numbered`](crate::Transaction::commit_numbered).
    ///
    /// # Errors
    /// The same as [`backup`](Self::backup).
    pub fn replicate(&self, path: impl AsRef<Path>) -> Result<()> {
        let target = CopyTarget::new(path.as_ref(), self.encryption_key())?;
        let mut unlimited = |_: &CopyProgress| ControlFlow::Continue(());
        self.copy_into(&Copy { target: target.store()?, is_numbered: true }, &mut CopyCounter::new(&mut unlimited))?;
        target.finish()
    }

    /// Copies this snapshot into an empty store.
    fn copy_into(&self, copy: &Copy<'_>, counter: &mut CopyCounter<'_>) -> Result<()> {
        let mut versions = Vec::new();
        for name in self.snapshot_names()? {
            versions.extend(self.snapshot(&name)?.map(|snapshot| (name, snapshot)));
        }
        versions.sort_by_key(|(_, snapshot)| snapshot.sequence());
        let mut before = None;
        for (name, now) in &versions {
            copy.changes(before, now, counter)?;
            let mut transaction = copy.target.begin()?;
            transaction.keep_snapshot(name)?;
            copy.commit(transaction, now)?;
            before = Some(now);
        }
        copy.changes(before, self, counter)?;
        copy.target.checkpoint()
    }
}

/// A new store that is being filled.
struct Copy<'t> {
    target: &'t Store,
    /// Whether commits have the numbers of the copied ones.
    is_numbered: bool,
}

impl Copy<'_> {
    /// Commits changes on the way to a copied commit.
    fn commit(&self, transaction: Transaction, now: &Snapshot) -> Result<()> {
        if self.is_numbered { transaction.commit_copied(now.sequence()) } else { transaction.commit() }
    }

    /// Applies the differences between `before` and `now` to the store, which has the contents of `before`.
    fn changes(&self, before: Option<&Snapshot>, now: &Snapshot, counter: &mut CopyCounter<'_>) -> Result<()> {
        let names = now.tree_names()?;
        let mut transaction = self.target.begin()?;
        for name in before.map(Snapshot::tree_names).transpose()?.unwrap_or_default() {
            if !names.contains(&name) {
                transaction.drop_tree(&name)?;
            }
        }
        for name in &names {
            transaction.tree(name)?;
        }
        self.commit(transaction, now)?;
        let mut pending = Vec::new();
        for name in names.iter().rev() {
            let old = before.map(|before| before.tree(name)).transpose()?.flatten();
            pending.extend(now.tree(name)?.map(|new| (TreePath::new(name.as_str()), old, new)));
        }
        // Trees with the same nodes share them in the target, too.
        let mut copied: HashMap<u64, TreePath> = HashMap::new();
        while let Some((place, old, new)) = pending.pop() {
            let root = new.root();
            if let Some(first) = copied.get(&root.reference()).filter(|_| !root.is_none()) {
                let mut transaction = self.target.begin()?;
                share(&mut transaction, first, &place)?;
                self.commit(transaction, now)?;
                continue;
            }
            copied.insert(root.reference(), place.clone());
            self.tree(&place, (old, new), now, counter, &mut pending)?;
        }
        Ok(())
    }

    /// Copies the changes of a tree. Adds its nested trees to `pending`.
    fn tree<'a>(
        &self,
        place: &TreePath,
        (old, new): (Option<Tree<'a>>, Tree<'a>),
        of: &Snapshot,
        counter: &mut CopyCounter<'_>,
        pending: &mut Vec<PendingTree<'a>>,
    ) -> Result<()> {
        let mut changes = ItemChanges::new(old, new)?;
        let mut is_done = false;
        while !is_done {
            let mut transaction = self.target.begin()?;
            let mut tree = transaction.tree_at(place)?;
            let mut bytes = 0;
            while bytes < BATCH_BYTES {
                let Some((key, before, now)) = changes.next()? else {
                    is_done = true;
                    break;
                };
                bytes += key.len();
                match (before, now) {
                    (_, None) => drop(tree.remove(&key)?),
                    (_, Some(Item::Value(value))) => {
                        bytes += value.len();
                        tree.put(&key, value)?;
                    }
                    (before, Some(Item::Tree(nested))) => {
                        let old = match before {
                            Some(Item::Tree(old)) => Some(old),
                            Some(Item::Value(_)) => {
                                tree.remove(&key)?;
                                None
                            }
                            None => None,
                        };
                        tree.tree_at(&key)?;
                        pending.push((place.clone().child(key), old, nested));
                    }
                }
            }
            self.commit(transaction, of)?;
            counter.add(bytes)?;
        }
        Ok(())
    }
}

/// Makes the tree at `place` a copy of the tree at `first`, which has the same nodes, and is complete.
pub(crate) fn share_tree(target: &Store, first: &TreePath, place: &TreePath) -> Result<()> {
    let mut transaction = target.begin()?;
    share(&mut transaction, first, place)?;
    transaction.commit()
}

fn share(transaction: &mut Transaction, first: &TreePath, place: &TreePath) -> Result<()> {
    if place.is_within(first) {
        return Err(Error::corrupt(format!("the tree {first} contains itself")));
    }
    match place.parent() {
        None => drop(transaction.drop_tree(place.name())?),
        Some((around, key)) => drop(transaction.tree_at(&around)?.remove(key)?),
    }
    transaction.copy_tree(first, place)?;
    Ok(())
}

/// A tree that is to be copied: its place, its earlier state if the target has it, and its state.
type PendingTree<'a> = (TreePath, Option<Tree<'a>>, Tree<'a>);
