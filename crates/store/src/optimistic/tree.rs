//! Reads and changes one tree within an optimistic transaction.

use std::cell::RefCell;
use std::ops::{Bound, RangeBounds};

use super::OptimisticTransaction;
use super::changes::TreeChanges;
use super::reads::Reads;
use crate::error::Result;
use crate::tree::{Entry, Tree, half_open, prefix_range, successor};
use crate::trie;

/// A tree within an [`OptimisticTransaction`], for reading: the snapshot's, with the transaction's own changes. Its reads are
/// checked when the transaction commits.
#[derive(Debug, Clone, Copy)]
pub struct OptimisticTree<'t> {
    pub(super) base: Tree<'t>,
    pub(super) changes: Option<&'t TreeChanges>,
    pub(super) reads: &'t RefCell<Reads>,
    /// The tree's index in `reads`.
    pub(super) index: usize,
}

impl<'t> OptimisticTree<'t> {
    /// Returns the value of `key`.
    ///
    /// # Errors
    /// [`Error::Corrupt`](crate::Error::Corrupt), as for all methods that read.
    pub fn get(&self, key: &[u8]) -> Result<Option<&'t [u8]>> {
        if let Some(decided) = self.changes.and_then(|changes| changes.get(key)) {
            return Ok(decided);
        }
        self.reads.borrow_mut().key(self.index, key);
        self.base.get(key)
    }

    /// Returns whether the tree has `key`.
    ///
    /// # Errors
    /// The same as [`get`](Self::get).
    pub fn contains_key(&self, key: &[u8]) -> Result<bool> {
        Ok(self.get(key)?.is_some())
    }

    /// Returns whether the tree has no keys. Reads the first key.
    ///
    /// # Errors
    /// The same as [`get`](Self::get).
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.first()?.is_none())
    }

    /// Returns the number of keys, which reads the whole tree: any key that is new or removed is a conflict. Takes as long as looking up the keys
    /// that this transaction has changed.
    ///
    /// # Errors
    /// The same as [`get`](Self::get).
    pub fn len(&self) -> Result<u64> {
        self.count::<&[u8]>(..)
    }

    /// Returns the number of keys in a range, which reads the range. Takes as long as looking up the keys of the range that this transaction
    /// has changed.
    ///
    /// # Errors
    /// The same as [`get`](Self::get).
    pub fn count<K: AsRef<[u8]>>(&self, range: impl RangeBounds<K>) -> Result<u64> {
        let (start, end) = half_open(range);
        if end.as_ref().is_some_and(|end| *end <= start) {
            return Ok(0);
        }
        self.reads.borrow_mut().range(self.index, &start, end.as_deref());
        let bounds = (Bound::Included(&start[..]), end.as_deref().map_or(Bound::Unbounded, Bound::Excluded));
        let Some(changes) = self.changes else { return self.base.count::<&[u8]>(bounds) };
        let mut count = if changes.is_emptied { 0 } else { self.base.count::<&[u8]>(bounds)? };
        for (low, high) in changes.removed.iter().filter(|_| !changes.is_emptied) {
            let low = low.max(&start);
            let high = match (high, end.as_deref()) {
                (Some(high), Some(end)) => Some(high.min(end)),
                (high, end) => high.or(end),
            };
            if high.is_none_or(|high| low < high) {
                let removed = (Bound::Included(low), high.map_or(Bound::Unbounded, Bound::Excluded));
                count = count.saturating_sub(self.base.count::<&[u8]>(removed)?);
            }
        }
        for (key, value) in changes.entries.range::<[u8], _>(bounds) {
            let was_there = !changes.hides(key) && self.base.contains_key(key)?;
            count = count.saturating_add(u64::from(value.is_some())).saturating_sub(u64::from(was_there));
        }
        Ok(count)
    }

    /// Returns the first key and its value.
    ///
    /// # Errors
    /// The same as [`get`](Self::get).
    pub fn first(&self) -> Result<Option<Entry<'t>>> {
        self.iter().next().transpose()
    }

    /// Returns the last key and its value.
    ///
    /// # Errors
    /// The same as [`get`](Self::get).
    pub fn last(&self) -> Result<Option<Entry<'t>>> {
        self.iter().next_back().transpose()
    }

    /// Returns the first key that is not less than `key`, and its value.
    ///
    /// # Errors
    /// The same as [`get`](Self::get).
    pub fn lower_bound(&self, key: &[u8]) -> Result<Option<Entry<'t>>> {
        self.range(key..).next().transpose()
    }

    /// Returns the first key that is greater than `key`, and its value.
    ///
    /// # Errors
    /// The same as [`get`](Self::get).
    pub fn upper_bound(&self, key: &[u8]) -> Result<Option<Entry<'t>>> {
        self.range(successor(key)..).next().transpose()
    }
}

/// A tree within an [`OptimisticTransaction`], for reading and writing.
///
/// The methods that change it read nothing, except for [`insert`](Self::insert).
#[derive(Debug)]
pub struct OptimisticTreeMut<'t> {
    pub(super) transaction: &'t mut OptimisticTransaction,
    /// The tree's index in the changes.
    pub(super) index: usize,
}

impl<'t> OptimisticTreeMut<'t> {
    /// Returns the tree with all changes so far, for reading.
    ///
    /// # Errors
    /// [`Error::Corrupt`](crate::Error::Corrupt).
    pub fn as_tree(&self) -> Result<OptimisticTree<'_>> {
        self.transaction.open_tree(&self.transaction.changes.trees[self.index].0)
    }

    /// Like [`as_tree`](Self::as_tree), for as long as the transaction is borrowed.
    ///
    /// # Errors
    /// The same as [`as_tree`](Self::as_tree).
    pub fn into_tree(self) -> Result<OptimisticTree<'t>> {
        let Self { transaction, index } = self;
        let transaction: &'t OptimisticTransaction = transaction;
        transaction.open_tree(&transaction.changes.trees[index].0)
    }

    /// Returns the value of `key`.
    ///
    /// # Errors
    /// The same as [`as_tree`](Self::as_tree).
    pub fn get(&self, key: &[u8]) -> Result<Option<&[u8]>> {
        self.as_tree()?.get(key)
    }

    /// Puts `value` at `key`, replacing any old value.
    ///
    /// # Errors
    /// [`Error::Limit`](crate::Error::Limit) for a key of more than 32 KiB or a value of more than 4 GiB.
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        trie::check_lengths(key, value)?;
        self.transaction.changes.set(self.index, key, Some(value));
        Ok(())
    }

    /// Puts `value` at `key` if the key is new, and returns whether it is. Reads the key.
    ///
    /// # Errors
    /// The same as [`put`](Self::put) and [`get`](Self::get).
    pub fn insert(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        trie::check_lengths(key, value)?;
        let is_new = !self.as_tree()?.contains_key(key)?;
        if is_new {
            self.transaction.changes.set(self.index, key, Some(value));
        }
        Ok(is_new)
    }

    /// Removes `key`, if it exists.
    pub fn remove(&mut self, key: &[u8]) {
        self.transaction.changes.set(self.index, key, None);
    }

    /// Removes all keys from `low` up to but not including `high`, if given: the ones that the tree has when the transaction commits.
    pub fn remove_range(&mut self, low: &[u8], high: Option<&[u8]>) {
        if high.is_none_or(|high| low < high) {
            self.transaction.changes.remove_range(self.index, low, high);
        }
    }

    /// Removes all keys that begin with `prefix`, as [`remove_range`](Self::remove_range) does. An empty prefix removes all keys.
    pub fn remove_prefix(&mut self, prefix: &[u8]) {
        let (start, end) = half_open(prefix_range(prefix));
        self.remove_range(&start, end.as_deref());
    }
}
