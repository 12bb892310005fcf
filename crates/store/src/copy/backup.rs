//! Copies a store to another place while it is written to.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::Path;

use super::copy_target::{CopyCounter, CopyProgress, CopyTarget};
use crate::error::{Error, Result};
use crate::snapshot::Snapshot;
use crate::storage::EncryptionKey;
use crate::store::Store;
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
        self.copy_into(target.store()?, &mut CopyCounter::new(&mut progress))?;
        target.finish()
    }

    /// Copies this snapshot into an empty store.
    fn copy_into(&self, target: &Store, counter: &mut CopyCounter<'_>) -> Result<()> {
        let mut versions = Vec::new();
        for name in self.snapshot_names()? {
            versions.extend(self.snapshot(&name)?.map(|snapshot| (name, snapshot)));
        }
        versions.sort_by_key(|(_, snapshot)| snapshot.sequence());
        let mut before = None;
        for (name, now) in &versions {
            copy_changes(target, before, now, counter)?;
            let mut transaction = target.begin()?;
            transaction.keep_snapshot(name)?;
            transaction.commit()?;
            before = Some(now);
        }
        copy_changes(target, before, self, counter)?;
        target.checkpoint()
    }
}

/// Applies the differences between `before` and `now` to `target`, which has the contents of `before`.
fn copy_changes(
    target: &Store,
    before: Option<&Snapshot>,
    now: &Snapshot,
    counter: &mut CopyCounter<'_>,
) -> Result<()> {
    let names = now.tree_names()?;
    let mut transaction = target.begin()?;
    for name in before.map(Snapshot::tree_names).transpose()?.unwrap_or_default() {
        if !names.contains(&name) {
            transaction.drop_tree(&name)?;
        }
    }
    for name in &names {
        transaction.tree(name)?;
    }
    transaction.commit()?;
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
            share_tree(target, first, &place)?;
            continue;
        }
        copied.insert(root.reference(), place.clone());
        copy_tree(target, &place, old, new, counter, &mut pending)?;
    }
    Ok(())
}

/// Makes the tree at `place` a copy of the tree at `first`, which has the same nodes, and is complete.
pub(crate) fn share_tree(target: &Store, first: &TreePath, place: &TreePath) -> Result<()> {
    if place.is_within(first) {
        return Err(Error::corrupt(format!("the tree {first} contains itself")));
    }
    let mut transaction = target.begin()?;
    match place.parent() {
        None => drop(transaction.drop_tree(place.name())?),
        Some((around, key)) => drop(transaction.tree_at(&around)?.remove(key)?),
    }
    transaction.copy_tree(first, place)?;
    transaction.commit()
}

/// A tree that is to be copied: its place, its earlier state if the target has it, and its state.
type PendingTree<'a> = (TreePath, Option<Tree<'a>>, Tree<'a>);

/// Copies the changes of a tree. Adds its nested trees to `pending`.
fn copy_tree<'a>(
    target: &Store,
    place: &TreePath,
    old: Option<Tree<'a>>,
    new: Tree<'a>,
    counter: &mut CopyCounter<'_>,
    pending: &mut Vec<PendingTree<'a>>,
) -> Result<()> {
    let mut changes = ItemChanges::new(old, new)?;
    let mut is_done = false;
    while !is_done {
        let mut transaction = target.begin()?;
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
        transaction.commit()?;
        counter.add(bytes)?;
    }
    Ok(())
}
