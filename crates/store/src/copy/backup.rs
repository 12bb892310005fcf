//! Copies a store to another place while it is written to.

use std::cmp::Ordering;
use std::ops::ControlFlow;
use std::path::Path;

use super::copy_target::{CopyCounter, CopyProgress, CopyTarget};
use crate::error::Result;
use crate::snapshot::Snapshot;
use crate::storage::EncryptionKey;
use crate::store::Store;
use crate::tree::{Range, Tree};

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
    for name in &names {
        let old = before.map(|before| before.tree(name)).transpose()?.flatten();
        if let Some(new) = now.tree(name)? {
            copy_tree(target, name, old, &new, counter)?;
        }
    }
    Ok(())
}

type Entries<'a> = std::iter::Peekable<Range<'a>>;

fn copy_tree(
    target: &Store,
    name: &str,
    old: Option<Tree<'_>>,
    new: &Tree<'_>,
    counter: &mut CopyCounter<'_>,
) -> Result<()> {
    let mut old = old.map(|tree| tree.iter().peekable());
    let mut new = new.iter().peekable();
    while new.peek().is_some() || old.as_mut().is_some_and(|old| old.peek().is_some()) {
        let mut transaction = target.begin()?;
        let mut tree = transaction.tree(name)?;
        let mut bytes = 0;
        while bytes < BATCH_BYTES {
            match next_change(old.as_mut(), &mut new)? {
                Change::None => break,
                Change::Same => {}
                Change::Remove(key) => {
                    bytes += key.len();
                    tree.remove(&key)?;
                }
                Change::Put(key, value) => {
                    bytes += key.len() + value.len();
                    tree.put(&key, value)?;
                }
            }
        }
        transaction.commit()?;
        counter.add(bytes)?;
    }
    Ok(())
}

enum Change<'a> {
    None,
    Same,
    Remove(Vec<u8>),
    Put(Vec<u8>, &'a [u8]),
}

/// Takes the smallest remaining key from `old`, `new` or both, and returns its change.
fn next_change<'a>(old: Option<&mut Entries<'_>>, new: &mut Entries<'a>) -> Result<Change<'a>> {
    let Some(old) = old else {
        let entry = new.next().transpose()?;
        return Ok(entry.map_or(Change::None, |(key, value)| Change::Put(key, value)));
    };
    let order = match (old.peek(), new.peek()) {
        (None, None) => return Ok(Change::None),
        (Some(Ok((old, _))), Some(Ok((new, _)))) => old.cmp(new),
        (Some(_), None) | (Some(Err(_)), _) => Ordering::Less,
        (None, Some(_)) | (_, Some(Err(_))) => Ordering::Greater,
    };
    let was = if order == Ordering::Greater { None } else { old.next().transpose()? };
    let is = if order == Ordering::Less { None } else { new.next().transpose()? };
    Ok(match (was, is) {
        (Some((_, was)), Some((_, is))) if was == is => Change::Same,
        (_, Some((key, value))) => Change::Put(key, value),
        (Some((key, _)), None) => Change::Remove(key),
        (None, None) => Change::None,
    })
}
