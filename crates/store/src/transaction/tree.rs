//! Changes to one tree within a transaction.

use std::ops::Bound;

use super::Transaction;
use crate::error::{Error, Result};
use crate::node::Word;
use crate::pending::Place;
use crate::tree::{Tree, prefix_range};
use crate::trie::{self, Mode, Purpose};

/// Longer values are put at once: copying them takes longer than finding the key.
const MAX_DEFERRED_VALUE_LEN: usize = 4096;

/// A tree within a transaction, for reading and writing.
#[derive(Debug)]
pub struct TreeMut<'t> {
    pub(super) transaction: &'t mut Transaction,
    pub(super) place: Place,
}

impl<'t> TreeMut<'t> {
    /// Like [`as_tree`](Self::as_tree), for as long as the transaction is borrowed.
    ///
    /// # Errors
    /// The same as [`as_tree`](Self::as_tree).
    pub fn into_tree(self) -> Result<Tree<'t>> {
        let Self { transaction, place } = self;
        transaction.flush()?;
        let transaction: &'t Transaction = transaction;
        let state = transaction.state()?;
        Ok(Tree::new(state.writer.shared(), transaction.root(place)))
    }

    /// Returns the tree with all changes so far, for reading.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the transaction has ended.
    pub fn as_tree(&mut self) -> Result<Tree<'_>> {
        self.transaction.flush()?;
        let state = self.transaction.state()?;
        Ok(Tree::new(state.writer.shared(), self.root()))
    }

    /// Returns the value of `key`.
    ///
    /// # Errors
    /// [`Error::Corrupt`].
    pub fn get(&mut self, key: &[u8]) -> Result<Option<&[u8]>> {
        self.as_tree()?.get(key)
    }

    /// Returns the number of keys.
    ///
    /// # Errors
    /// The same as [`get`](Self::get).
    pub fn len(&mut self) -> Result<u64> {
        self.as_tree()?.len()
    }

    /// Returns whether the tree has no keys.
    pub fn is_empty(&self) -> bool {
        let pending = &self.transaction.pending;
        self.root().is_none() && (pending.is_empty() || pending.place != self.place)
    }

    /// Puts `value` at `key`, replacing any old value or nested tree.
    ///
    /// This is the fast way to write. It does not report whether the key is new, so the transaction may apply it later,
    /// together with other puts and in key order, but always before it reads or ends. For random keys, that is several
    /// times as fast as [`upsert`](Self::upsert).
    ///
    /// # Errors
    /// The same as [`upsert`](Self::upsert).
    #[inline]
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        trie::check_lengths(key, value)?;
        let transaction = &mut *self.transaction;
        if value.len() > MAX_DEFERRED_VALUE_LEN {
            return self.upsert(key, value).map(drop);
        }
        transaction.check()?;
        if transaction.pending.place != self.place {
            // Only the puts of one tree at a time are deferred.
            transaction.flush()?;
            transaction.pending.place = self.place;
        }
        transaction.pending.push(key, value);
        let label = transaction.chain.label(&transaction.trees, self.place);
        transaction.operations.put(label, key, value);
        if transaction.pending.is_full() { transaction.flush_pending() } else { Ok(()) }
    }

    /// Puts `value` at `key`, replacing any old value, and returns whether the key is new.
    ///
    /// # Errors
    /// [`Error::Limit`] for a key of more than 32 KiB or a value of more than 4 GiB, which leaves everything unchanged.
    /// After any other error the transaction can only be undone.
    #[inline]
    pub fn upsert(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        self.put_mode(key, value, Mode::Replace)
    }

    /// Puts `value` at `key` if the key is new, and returns whether it is.
    ///
    /// # Errors
    /// The same as [`upsert`](Self::upsert).
    pub fn insert(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        self.put_mode(key, value, Mode::Keep)
    }

    fn put_mode(&mut self, key: &[u8], value: &[u8], mode: Mode) -> Result<bool> {
        trie::check_lengths(key, value)?;
        self.transaction.flush()?;
        let mut root = self.transaction.root_to_change(self.place)?;
        let is_new = self.transaction.change(Purpose::Other, |state| state.writer.put(&mut root, key, value, mode))?;
        self.set_root(root, Purpose::Other)?;
        if is_new || mode == Mode::Replace {
            let Transaction { operations, chain, trees, .. } = &mut *self.transaction;
            operations.put(chain.label(trees, self.place), key, value);
        }
        Ok(is_new)
    }

    /// Removes `key` with its value or its nested tree, and returns whether it existed. A nested tree takes no longer than a
    /// value, as in [`remove_range`](Self::remove_range).
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Io`]. After an error the transaction can only be undone.
    pub fn remove(&mut self, key: &[u8]) -> Result<bool> {
        self.transaction.flush()?;
        let mut root = self.transaction.root_to_change(self.place)?;
        let was_there = self.transaction.change(Purpose::Removal, |state| state.writer.remove(&mut root, key))?;
        self.set_root(root, Purpose::Removal)?;
        if was_there {
            let Transaction { operations, chain, trees, .. } = &mut *self.transaction;
            operations.remove(chain.label(trees, self.place), key);
        }
        Ok(was_there)
    }

    /// Removes all keys from `low` up to but not including `high`, if given, and returns their number.
    ///
    /// Takes as long as a few lookups, for any number of keys: whole subtrees are removed at once. Their space becomes free
    /// in steps, during later commits and checkpoints and between them.
    ///
    /// # Errors
    /// The same as [`remove`](Self::remove).
    pub fn remove_range(&mut self, low: &[u8], high: Option<&[u8]>) -> Result<u64> {
        if high.is_some_and(|high| high <= low) {
            return Ok(0);
        }
        self.transaction.flush()?;
        let mut root = self.transaction.root_to_change(self.place)?;
        let removed =
            self.transaction.change(Purpose::Removal, |state| state.writer.remove_range(&mut root, low, high))?;
        self.set_root(root, Purpose::Removal)?;
        if removed > 0 {
            let Transaction { operations, chain, trees, .. } = &mut *self.transaction;
            operations.remove_range(chain.label(trees, self.place), low, high);
        }
        Ok(removed)
    }

    /// Removes all keys that begin with `prefix`, and returns their number. An empty prefix removes all keys. Takes as long
    /// as [`remove_range`](Self::remove_range).
    ///
    /// # Errors
    /// The same as [`remove`](Self::remove).
    pub fn remove_prefix(&mut self, prefix: &[u8]) -> Result<u64> {
        let (_, end) = prefix_range(prefix);
        let high = match &end {
            Bound::Excluded(high) => Some(&high[..]),
            _ => None,
        };
        self.remove_range(prefix, high)
    }

    /// Puts entries in ascending order of keys after all keys of the tree, and returns their number.
    ///
    /// # Errors
    /// [`Error::Invalid`] if a key is not greater than the one before it; the entries before it are in the tree.
    /// Otherwise the same as [`upsert`](Self::upsert).
    pub fn append<K: AsRef<[u8]>, V: AsRef<[u8]>>(&mut self, entries: impl IntoIterator<Item = (K, V)>) -> Result<u64> {
        let mut end = self.as_tree()?.cursor();
        end.seek_to_end();
        end.prev()?;
        let mut last = end.key().map(<[u8]>::to_vec);
        let mut count = 0;
        for (key, value) in entries {
            let key = key.as_ref();
            if last.as_ref().is_some_and(|last| key <= &last[..]) {
                return Err(Error::Invalid("the keys to append are not in ascending order".to_owned()));
            }
            self.put(key, value.as_ref())?;
            last.get_or_insert_default().clear();
            last.get_or_insert_default().extend_from_slice(key);
            count += 1;
        }
        Ok(count)
    }

    fn root(&self) -> Word {
        self.transaction.root(self.place)
    }

    fn set_root(&mut self, root: Word, purpose: Purpose) -> Result<()> {
        self.transaction.set_root(self.place, root, purpose)
    }
}
