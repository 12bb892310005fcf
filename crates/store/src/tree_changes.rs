//! The differences between two states of a tree.

use std::cmp::Ordering;
use std::ops::Bound;

use crate::error::{Error, Result};
use crate::tree::{Cursor, Item, Tree};
use crate::trie::changed;

/// A key with its value or nested tree before and now.
type ItemChange<'a> = (Vec<u8>, Option<Item<'a>>, Option<Item<'a>>);

/// The differences between two states of a tree in a range of keys, in ascending order. Two nested trees at one key differ if
/// their roots do.
///
/// Nodes that both states have are not read: neither has been freed, because the earlier state is held, and no commit changes a node of
/// an earlier one. Compaction may have moved a node to another part of the file: then its keys are compared.
#[derive(Debug)]
pub(crate) struct ItemChanges<'a> {
    old: Option<Cursor<'a>>,
    new: Cursor<'a>,
    has_old: bool,
    has_new: bool,
    high: Option<Vec<u8>>,
}

impl<'a> ItemChanges<'a> {
    /// The differences between whole trees. Without an earlier state, everything is new.
    pub(crate) fn new(old: Option<Tree<'a>>, new: Tree<'a>) -> Result<Self> {
        let (old, new) = (old.map(|old| old.cursor()), new.cursor());
        let mut changes = Self { old, new, has_old: false, has_new: false, high: None };
        changes.seek(&Bound::Unbounded, None)?;
        Ok(changes)
    }

    /// Continues with the keys from `low` on and before `high`.
    fn seek(&mut self, low: &Bound<Vec<u8>>, high: Option<Vec<u8>>) -> Result<()> {
        self.has_old = self.old.as_mut().map_or(Ok(false), |old| old.move_to(low))?;
        self.has_new = self.new.move_to(low)?;
        self.high = high;
        Ok(())
    }

    /// The next difference.
    pub(crate) fn next(&mut self) -> Result<Option<ItemChange<'a>>> {
        loop {
            let is_within = |key: &&[u8]| self.high.as_ref().is_none_or(|high| *key < &high[..]);
            let old = self.old.as_ref().filter(|_| self.has_old);
            let before = old.and_then(Cursor::key).filter(is_within);
            let now = Some(&self.new).filter(|_| self.has_new).and_then(Cursor::key).filter(is_within);
            let order = match (before, now) {
                (None, None) => return Ok(None),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(before), Some(now)) => before.cmp(now),
            };
            if order.is_eq()
                && let Some(old) = &mut self.old
                && let Some(moved) = old.skip_shared(&mut self.new)?
            {
                (self.has_old, self.has_new) = moved;
                continue;
            }
            let old = self.old.as_ref().filter(|_| self.has_old);
            let was = if order.is_le() { old.map_or(Ok(None), Cursor::item)? } else { None };
            let is = if order.is_ge() { self.new.item()? } else { None };
            let key = match old.filter(|_| order.is_le()) {
                _ if is_same(was, is) => None,
                Some(old) => old.key().map(<[u8]>::to_vec),
                None => self.new.key().map(<[u8]>::to_vec),
            };
            if let Some(old) = self.old.as_mut().filter(|_| order.is_le()) {
                self.has_old = old.next()?;
            }
            if order.is_ge() {
                self.has_new = self.new.next()?;
            }
            if let Some(key) = key {
                return Ok(Some((key, was, is)));
            }
        }
    }
}

/// The range of all keys.
const ALL: (&[u8], Option<&[u8]>) = (b"", None);

fn is_same(a: Option<Item<'_>>, b: Option<Item<'_>>) -> bool {
    match (a, b) {
        // Bytes at one place of the store are not compared.
        (Some(Item::Value(a)), Some(Item::Value(b))) => std::ptr::eq(a, b) || a == b,
        (Some(Item::Tree(a)), Some(Item::Tree(b))) => a.has_same_root(&b),
        _ => false,
    }
}

impl<'a> Tree<'a> {
    /// Calls `each` with every entry that was put after the commit of this [generation](crate::Snapshot::generation) of the same store, in
    /// ascending order of keys, and with some older ones next to them. Removed keys are not there. Other than for
    /// [`Snapshot::for_each_change`](crate::Snapshot::for_each_change), no snapshot of the commit has to live.
    ///
    /// Entries of a tree that was [moved](crate::Transaction::move_tree) count as put when they were put, not when the tree was
    /// moved.
    ///
    /// # Errors
    /// [`Error::KeyHoldsTree`] at a nested tree, which has its own entries; [`Error::Corrupt`]; and errors of `each`, after which it is
    /// not called again.
    pub fn for_each_newer<E: From<Error>>(
        &self,
        generation: u64,
        mut each: impl FnMut(&[u8], &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut cursor = self.cursor();
        for (first, end) in changed::newer_ranks(self.arena(), self.root(), generation)? {
            let mut has_entry = cursor.nth(first)?;
            for _ in first..end {
                let (true, Some(key), Some(value)) = (has_entry, cursor.key(), cursor.value()?) else { break };
                each(key, value)?;
                has_entry = cursor.next()?;
            }
        }
        Ok(())
    }

    /// Calls `each` as [`Snapshot::for_each_change`](crate::Snapshot::for_each_change) does. `earlier` is the tree as it was.
    pub(crate) fn for_each_change<E: From<Error>>(
        &self,
        earlier: Tree<'a>,
        mut each: impl FnMut(&[u8], Option<&[u8]>, Option<&[u8]>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.for_each_item_change(earlier, ALL, |key, before, now| {
            each(key, before.map(as_value).transpose()?, now.map(as_value).transpose()?)
        })
    }

    /// Like [`for_each_change`](Self::for_each_change), for values and nested trees with keys from `low` up to but not including `high`.
    fn for_each_item_change<E: From<Error>>(
        self,
        earlier: Tree<'a>,
        (low, high): (&[u8], Option<&[u8]>),
        mut each: impl FnMut(&[u8], Option<Item<'a>>, Option<Item<'a>>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut changes = ItemChanges::new(Some(earlier), self)?;
        if !low.is_empty() || high.is_some() {
            changes.seek(&Bound::Included(low.to_vec()), high.map(<[u8]>::to_vec))?;
        }
        while let Some((key, before, now)) = changes.next()? {
            each(&key, before, now)?;
        }
        Ok(())
    }

    /// Returns the first key from `low` up to but not including `high` whose value or nested tree is not as in `earlier`, the tree as it was before.
    pub(crate) fn first_change(
        &self,
        earlier: Tree<'a>,
        (low, high): (&[u8], Option<&[u8]>),
    ) -> Result<Option<Vec<u8>>> {
        /// Ends the search.
        enum Stop {
            Change(Vec<u8>),
            Error(Error),
        }

        impl From<Error> for Stop {
            fn from(error: Error) -> Self {
                Self::Error(error)
            }
        }

        if self.has_same_root(&earlier) {
            return Ok(None);
        }
        if high.and_then(<[u8]>::split_last) == Some((&0, low)) {
            // A single key.
            let (before, now) = (earlier.item(low)?, self.item(low)?);
            let is_same = before.is_none() && now.is_none() || is_same(before, now);
            return Ok((!is_same).then(|| low.to_vec()));
        }
        match self.for_each_item_change(earlier, (low, high), |key, _, _| Err(Stop::Change(key.to_vec()))) {
            Ok(()) => Ok(None),
            Err(Stop::Change(key)) => Ok(Some(key)),
            Err(Stop::Error(error)) => Err(error),
        }
    }

    /// Calls `each` as [`Snapshot::for_each_nested_change`](crate::Snapshot::for_each_nested_change) does.
    pub(crate) fn for_each_nested_change<E: From<Error>>(
        &self,
        earlier: Tree<'a>,
        mut each: impl FnMut(&[Vec<u8>], &[u8], Option<Item<'_>>, Option<Item<'_>>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut pending = vec![(Vec::new(), earlier, *self)];
        while let Some((path, earlier, now)) = pending.pop() {
            let first = pending.len();
            now.for_each_item_change(earlier, ALL, |key, before, now| match (before, now) {
                (Some(Item::Tree(before)), Some(Item::Tree(now))) => {
                    let mut path = path.clone();
                    path.push(key.to_vec());
                    pending.push((path, before, now));
                    Ok(())
                }
                (before, now) => each(&path, key, before, now),
            })?;
            pending[first..].reverse();
        }
        Ok(())
    }
}

fn as_value(item: Item<'_>) -> Result<&[u8]> {
    match item {
        Item::Value(value) => Ok(value),
        Item::Tree(_) => Err(Error::KeyHoldsTree),
    }
}
