//! Changing one tree within a transaction.

use super::Transaction;
use crate::error::{Error, Result};
use crate::node::Word;
use crate::tree::Tree;
use crate::trie::{self, Mode, Purpose};

/// Values longer than this are put at once: it is not the way to the key that takes the time.
const PUT_OFF_MAX: usize = 4096;

/// A tree within a transaction: what [`Tree`] has, and changes.
#[derive(Debug)]
pub struct TreeMut<'t> {
    pub(super) transaction: &'t mut Transaction,
    pub(super) index: usize,
}

impl TreeMut<'_> {
    /// The tree as it is now, to read from.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the transaction has ended.
    pub fn as_tree(&mut self) -> Result<Tree<'_>> {
        self.transaction.settle()?;
        let state = self.transaction.state()?;
        Ok(Tree::new(state.writer.shared(), self.transaction.trees[self.index].root))
    }

    /// The value of `key`.
    ///
    /// # Errors
    /// [`Error::Corrupt`], as for all that reads.
    pub fn get(&mut self, key: &[u8]) -> Result<Option<&[u8]>> {
        self.as_tree()?.get(key)
    }

    /// How many keys there are.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn len(&mut self) -> Result<u64> {
        self.as_tree()?.len()
    }

    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        let pending = &self.transaction.pending;
        self.transaction.trees[self.index].root.is_none() && (pending.is_empty() || pending.tree != self.index)
    }

    /// Puts `value` at `key`, in the place of what was there.
    ///
    /// As it does not say whether something was, it may be carried out later, together with others and in the order of
    /// their keys, before the transaction reads or ends: several times as quick as [`put`](Self::put) where keys come in no
    /// order.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    #[inline]
    pub fn set(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        trie::check_lengths(key, value)?;
        let transaction = &mut *self.transaction;
        if value.len() > PUT_OFF_MAX {
            return self.put(key, value).map(drop);
        }
        transaction.check()?;
        if transaction.pending.tree != self.index {
            // What is put off is so for one tree at a time.
            transaction.settle()?;
            transaction.pending.tree = self.index;
        }
        transaction.pending.push(key, value);
        transaction.operations.put(&transaction.trees[self.index].name, key, value);
        if transaction.pending.is_full() { transaction.apply_pending() } else { Ok(()) }
    }

    /// Puts `value` at `key`, in the place of what was there; whether the key is new.
    ///
    /// # Errors
    /// [`Error::Limit`] for a key of more than 32 KiB or a value of more than 4 GiB, which leaves all as it was. After
    /// another error the transaction can only be undone.
    #[inline]
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        self.put_mode(key, value, Mode::Replace)
    }

    /// Puts `value` at `key` if nothing is there; whether nothing was.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    pub fn insert(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        self.put_mode(key, value, Mode::Keep)
    }

    fn put_mode(&mut self, key: &[u8], value: &[u8], mode: Mode) -> Result<bool> {
        trie::check_lengths(key, value)?;
        self.transaction.settle()?;
        let mut root = self.root();
        let is_new = self.transaction.change(Purpose::Other, |state| state.writer.put(&mut root, key, value, mode))?;
        self.set_root(root);
        if is_new || mode == Mode::Replace {
            self.transaction.operations.put(&self.transaction.trees[self.index].name, key, value);
        }
        Ok(is_new)
    }

    /// Removes `key`; whether it was there.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    pub fn remove(&mut self, key: &[u8]) -> Result<bool> {
        self.transaction.settle()?;
        let mut root = self.root();
        let was_there = self.transaction.change(Purpose::Removal, |state| state.writer.remove(&mut root, key))?;
        self.set_root(root);
        if was_there {
            self.transaction.operations.remove(&self.transaction.trees[self.index].name, key);
        }
        Ok(was_there)
    }

    /// Removes the keys from `low` on and, if there is a `high`, before that; how many there were. Whole subtrees go at
    /// once.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    pub fn remove_range(&mut self, low: &[u8], high: Option<&[u8]>) -> Result<u64> {
        if high.is_some_and(|high| high <= low) {
            return Ok(0);
        }
        self.transaction.settle()?;
        let mut root = self.root();
        let removed =
            self.transaction.change(Purpose::Removal, |state| state.writer.remove_range(&mut root, low, high))?;
        self.set_root(root);
        if removed > 0 {
            self.transaction.operations.remove_range(&self.transaction.trees[self.index].name, low, high);
        }
        Ok(removed)
    }

    /// Puts keys in ascending order behind all that are there; how many.
    ///
    /// # Errors
    /// [`Error::Invalid`] if a key is not greater than the one before it; those before it are in the tree. Otherwise as
    /// [`put`](Self::put).
    pub fn append<K: AsRef<[u8]>, V: AsRef<[u8]>>(&mut self, entries: impl IntoIterator<Item = (K, V)>) -> Result<u64> {
        let mut last = self.as_tree()?.last()?.map(|(key, _)| key);
        let mut count = 0;
        for (key, value) in entries {
            let key = key.as_ref();
            if last.as_ref().is_some_and(|last| key <= &last[..]) {
                return Err(Error::Invalid("keys to append are not in ascending order".to_owned()));
            }
            self.set(key, value.as_ref())?;
            last.get_or_insert_default().clear();
            last.get_or_insert_default().extend_from_slice(key);
            count += 1;
        }
        Ok(count)
    }

    fn root(&self) -> Word {
        self.transaction.trees[self.index].root
    }

    fn set_root(&mut self, root: Word) {
        self.transaction.trees[self.index].root = root;
    }
}
