//! Commits an optimistic transaction: validates it against the newest commit, and applies its changes.

use super::changes::{Existence, TreeChanges};
use super::{Isolation, OptimisticTransaction};
use crate::error::{Error, Result};
use crate::options::Durability;
use crate::root::Root;
use crate::transaction::Transaction;
use crate::tree::{Tree, successor};

/// A transaction that has read or changed at least this many ranges is validated before it takes the writer, so that then only the commits of
/// that time are left to compare.
const EARLY_RANGES: usize = 64;

impl OptimisticTransaction {
    /// Makes the changes visible to others, with the store's durability. Waits for the transaction that writes, but for none that reads. A
    /// transaction that has changed nothing always succeeds: it has read one commit.
    ///
    /// # Errors
    /// [`Error::Conflict`] if another transaction has changed what this one depends on ([`Isolation`]): nothing has happened, and it can be run
    /// again. Otherwise the same as [`Store::begin`](crate::Store::begin) and [`Transaction::commit`]; nothing has happened, either, unless the
    /// store is [poisoned](Error::Poisoned).
    pub fn commit(self) -> Result<()> {
        let durability = self.store.engine.options.durability;
        self.commit_with(durability)
    }

    /// Makes the changes visible to others, with this durability.
    ///
    /// # Errors
    /// The same as [`commit`](Self::commit).
    pub fn commit_with(mut self, durability: Durability) -> Result<()> {
        self.store.engine.check_writable()?;
        if !self.has_changes()? {
            return Ok(());
        }
        self.validate_early()?;
        let mut transaction = match self.writer.take() {
            Some(transaction) => transaction,
            None => self.store.begin()?,
        };
        self.validate(&transaction.last_commit()?)?;
        let Self { changes, snapshot, locked, .. } = self;
        // So that the commit can free what only the snapshot needed.
        drop(snapshot);
        for (name, tree) in changes.trees {
            apply(&mut transaction, &name, tree)?;
        }
        let published = transaction.publish(durability)?;
        // The next transaction on these trees reads this commit, and becomes durable no earlier.
        drop(locked);
        published.finish()
    }

    fn has_changes(&self) -> Result<bool> {
        for (name, tree) in &self.changes.trees {
            if !tree.has_no_entries() {
                return Ok(true);
            }
            if tree.existence == Existence::Created && self.snapshot.tree(name)?.is_none() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Validates a large transaction before it takes the writer, and makes the commit that it is valid at its snapshot.
    fn validate_early(&mut self) -> Result<()> {
        let read: usize = self.reads.get_mut().finish().iter().map(|tree| tree.ranges.len()).sum();
        let changed: usize = self.changes.trees.iter().map(|(_, tree)| tree.entries.len() + tree.removed.len()).sum();
        let count = if self.isolation == Isolation::Serializable { read } else { changed };
        if count < EARLY_RANGES || self.writer.is_some() {
            return Ok(());
        }
        let now = self.store.snapshot()?;
        self.validate(&now.root)?;
        self.snapshot = now;
        Ok(())
    }

    /// Checks that no commit between the snapshot and this one changed what the transaction depends on.
    fn validate(&mut self, newest: &Root) -> Result<()> {
        let then = self.snapshot.root;
        if *newest == then {
            return Ok(());
        }
        let Self { store, changes, reads, isolation, .. } = self;
        let pair = CommitPair { arena: &store.engine.arena, then, newest: *newest };
        let reads = reads.get_mut();
        if reads.names && *isolation == Isolation::Serializable {
            pair.names()?;
        }
        if *isolation == Isolation::Serializable {
            for tree in reads.finish() {
                let (before, now) = pair.trees(&tree.name)?;
                if tree.existence && before.is_some() != now.is_some() {
                    return Err(conflict(&tree.name, None));
                }
                for range in tree.ranges.iter() {
                    pair.range(&tree.name, (before, now), range)?;
                }
            }
            return Ok(());
        }
        changes.trees.iter().try_for_each(|(name, tree)| pair.writes(name, tree))
    }
}

/// The commit that a transaction has read, and the newest one.
struct CommitPair<'a> {
    arena: &'a crate::arena::Arena,
    then: Root,
    newest: Root,
}

impl<'a> CommitPair<'a> {
    /// The tree with this name in both commits.
    fn trees(&self, name: &str) -> Result<(Option<Tree<'a>>, Option<Tree<'a>>)> {
        let tree = |root: &Root| Ok(root.tree(self.arena, name)?.map(|root| Tree::new(self.arena, root)));
        Ok((tree(&self.then)?, tree(&self.newest)?))
    }

    fn names(&self) -> Result<()> {
        let names = |root: &Root| {
            let trees = root.trees(self.arena)?;
            Ok(trees.into_iter().map(|(name, _)| name).collect::<std::collections::BTreeSet<_>>())
        };
        let (then, now) = (names(&self.then)?, names(&self.newest)?);
        match then.symmetric_difference(&now).next() {
            Some(name) => Err(conflict(name, None)),
            None => Ok(()),
        }
    }

    fn range(
        &self,
        name: &str,
        (then, now): (Option<Tree<'a>>, Option<Tree<'a>>),
        range: (&[u8], Option<&[u8]>),
    ) -> Result<()> {
        let tree = |tree: Option<Tree<'a>>| tree.unwrap_or_else(|| Tree::empty(self.arena));
        match tree(now).first_change(tree(then), range)? {
            Some(key) => Err(conflict(name, Some(key))),
            None => Ok(()),
        }
    }

    /// Checks that no commit changed what this transaction changes, too.
    fn writes(&self, name: &str, tree: &TreeChanges) -> Result<()> {
        let (then, now) = self.trees(name)?;
        let is_changed = !tree.has_no_entries();
        if is_changed && then.is_some() && now.is_none() {
            return Err(conflict(name, None));
        }
        if tree.is_emptied {
            return self.range(name, (then, now), (b"", None));
        }
        for range in tree.removed.iter() {
            self.range(name, (then, now), range)?;
        }
        for key in tree.entries.keys() {
            self.range(name, (then, now), (key, Some(&successor(key))))?;
        }
        Ok(())
    }
}

fn conflict(tree: &str, key: Option<Vec<u8>>) -> Error {
    Error::Conflict { tree: tree.to_owned(), key }
}

fn apply(transaction: &mut Transaction, name: &str, changes: TreeChanges) -> Result<()> {
    if changes.is_emptied {
        transaction.drop_tree(name)?;
    }
    if changes.existence == Existence::Dropped
        || (changes.existence == Existence::Unchanged && changes.has_no_entries())
    {
        return Ok(());
    }
    let mut tree = transaction.tree(name)?;
    for (low, high) in changes.removed.iter() {
        tree.remove_range(low, high)?;
    }
    for (key, value) in &changes.entries {
        match value {
            Some(value) => tree.put(key, value)?,
            None => drop(tree.remove(key)?),
        }
    }
    Ok(())
}
