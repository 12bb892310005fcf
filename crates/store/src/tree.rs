//! Reads one tree of a snapshot or a transaction.

use std::ops::{Bound, RangeBounds};

use crate::arena::Arena;
use crate::error::{Error, Result};
use crate::node::Word;
use crate::trie::find::StoredItem;
use crate::trie::{self, count, find, warm};

/// A key and its value.
pub type Entry<'a> = (Vec<u8>, &'a [u8]);

/// The value of a key, or its nested tree.
#[derive(Debug, Clone, Copy)]
pub enum Item<'a> {
    /// A value.
    Value(&'a [u8]),
    /// A nested tree.
    Tree(Tree<'a>),
}

impl<'a> Item<'a> {
    fn new(arena: &'a Arena, stored: StoredItem<'a>) -> Self {
        match stored {
            StoredItem::Value(value) => Self::Value(value),
            StoredItem::Tree(root) => Self::Tree(Tree::new(arena, root)),
        }
    }
}

/// An ordered map from keys to values. Both are arbitrary bytes. It does not change while this lives.
///
/// Keys are ordered byte by byte; a prefix of a key comes before it. Values are slices of the store itself, so reading
/// one copies nothing.
#[derive(Debug, Clone, Copy)]
pub struct Tree<'a> {
    arena: &'a Arena,
    root: Word,
}

impl<'a> Tree<'a> {
    pub(crate) fn new(arena: &'a Arena, root: Word) -> Self {
        Self { arena, root }
    }

    /// A tree without keys.
    pub(crate) fn empty(arena: &'a Arena) -> Self {
        Self { arena, root: Word::NONE }
    }

    /// Returns the value of `key`.
    ///
    /// # Errors
    /// [`Error::KeyHoldsTree`](crate::Error::KeyHoldsTree) if the key has a nested tree: [`item`](Self::item) and
    /// [`tree_at`](Self::tree_at) return it. [`Error::Corrupt`](crate::Error::Corrupt). Both as for all methods that read values.
    #[inline]
    pub fn get(&self, key: &[u8]) -> Result<Option<&'a [u8]>> {
        find::get(self.arena, self.root, key)
    }

    /// Returns the value of `key` without verifying a long value by the checksum of its node, which reads all of it
    /// ([`Options::verify_nodes`](crate::Options::verify_nodes)): for callers that read a small part of a long value, and verify that part
    /// themselves. The nodes on the way to it are verified.
    ///
    /// # Errors
    /// The same as [`get`](Self::get).
    pub fn get_unverified(&self, key: &[u8]) -> Result<Option<&'a [u8]>> {
        find::get_unverified(self.arena, self.root, key)
    }

    /// Returns the values of many keys, in the order of `keys`. Their cache misses overlap, so this is faster than as
    /// many calls of [`get`](Self::get).
    ///
    /// ```
    /// # fn main() -> lath_store::Result<()> {
    /// # let store = lath_store::Options::new().open_in_memory()?;
    /// # let mut transaction = store.begin()?;
    /// # transaction.tree("words")?.put(b"one", b"1")?;
    /// # transaction.commit()?;
    /// let snapshot = store.snapshot()?;
    /// let Some(words) = snapshot.tree("words")? else { return Ok(()) };
    /// assert_eq!(words.get_many(&["one", "two"])?, [Some(&b"1"[..]), None]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The same as [`get`](Self::get).
    pub fn get_many<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Vec<Option<&'a [u8]>>> {
        let mut values = Vec::with_capacity(keys.len());
        for group in keys.chunks(warm::GROUP) {
            warm::warm(self.arena, self.root, group.iter().map(AsRef::as_ref));
            for key in group {
                values.push(self.get(key.as_ref())?);
            }
        }
        Ok(values)
    }

    /// Returns the value of `key`, or its nested tree.
    ///
    /// # Errors
    /// [`Error::Corrupt`](crate::Error::Corrupt).
    pub fn item(&self, key: &[u8]) -> Result<Option<Item<'a>>> {
        Ok(find::get_item(self.arena, self.root, key)?.map(|stored| Item::new(self.arena, stored)))
    }

    /// Returns the tree nested at `key`, if the key exists.
    ///
    /// # Errors
    /// [`Error::KeyHoldsValue`](crate::Error::KeyHoldsValue) if the key has a value; [`Error::Corrupt`](crate::Error::Corrupt).
    pub fn tree_at(&self, key: &[u8]) -> Result<Option<Self>> {
        match self.item(key)? {
            None => Ok(None),
            Some(Item::Tree(tree)) => Ok(Some(tree)),
            Some(Item::Value(_)) => Err(Error::KeyHoldsValue),
        }
    }

    /// Returns whether the tree has `key`, with a value or with a nested tree.
    pub fn contains_key(&self, key: &[u8]) -> Result<bool> {
        find::has_key(self.arena, self.root, key)
    }

    /// Returns the number of keys, in constant time. A nested tree counts as one key, and its own keys do not count.
    pub fn len(&self) -> Result<u64> {
        count::total(self.arena, self.root)
    }

    /// Returns whether the tree has no keys.
    pub fn is_empty(&self) -> bool {
        self.root.is_none()
    }

    /// Returns the number of keys less than `key`, in time proportional to the depth of the tree.
    pub fn rank(&self, key: &[u8]) -> Result<u64> {
        count::rank(self.arena, self.root, key)
    }

    /// Returns the number of keys in a range, in time proportional to the depth of the tree.
    pub fn count<K: AsRef<[u8]>>(&self, range: impl RangeBounds<K>) -> Result<u64> {
        let above = match range.end_bound() {
            Bound::Unbounded => self.len()?,
            Bound::Excluded(key) => self.rank(key.as_ref())?,
            Bound::Included(key) => self.rank(&successor(key.as_ref()))?,
        };
        let below = match range.start_bound() {
            Bound::Unbounded => 0,
            Bound::Included(key) => self.rank(key.as_ref())?,
            Bound::Excluded(key) => self.rank(&successor(key.as_ref()))?,
        };
        Ok(above.saturating_sub(below))
    }

    /// Returns the key with `rank` keys before it, and its value, in time proportional to the depth of the tree.
    pub fn nth(&self, rank: u64) -> Result<Option<Entry<'a>>> {
        let mut cursor = self.cursor();
        cursor.inner.seek_rank(rank)?;
        cursor.entry()
    }

    /// Returns the first key and its value.
    pub fn first(&self) -> Result<Option<Entry<'a>>> {
        let mut cursor = self.cursor();
        cursor.next()?;
        cursor.entry()
    }

    /// Returns the last key and its value.
    pub fn last(&self) -> Result<Option<Entry<'a>>> {
        let mut cursor = self.cursor();
        cursor.seek_to_end();
        cursor.prev()?;
        cursor.entry()
    }

    /// Returns the first key that is not less than `key`, and its value.
    pub fn lower_bound(&self, key: &[u8]) -> Result<Option<Entry<'a>>> {
        let mut cursor = self.cursor();
        cursor.lower_bound(key)?;
        cursor.entry()
    }

    /// Returns the first key that is greater than `key`, and its value.
    pub fn upper_bound(&self, key: &[u8]) -> Result<Option<Entry<'a>>> {
        let mut cursor = self.cursor();
        cursor.upper_bound(key)?;
        cursor.entry()
    }

    /// Returns a cursor before the first key.
    pub fn cursor(&self) -> Cursor<'a> {
        Cursor { inner: trie::Cursor::new(self.arena, self.root) }
    }

    /// Iterates over all keys and their values. The iterator is double-ended.
    pub fn iter(&self) -> Range<'a> {
        self.range::<&[u8]>(..)
    }

    /// Iterates over the keys in a range and their values. The iterator is double-ended.
    pub fn range<K: AsRef<[u8]>>(&self, range: impl RangeBounds<K>) -> Range<'a> {
        let (start, end) = half_open(range);
        Range { tree: *self, start, end, front: None, back: None, is_done: false }
    }

    /// Iterates over the keys that begin with `prefix` and their values. The iterator is double-ended.
    pub fn prefix(&self, prefix: &[u8]) -> Range<'a> {
        self.range(prefix_range(prefix))
    }

    pub(crate) fn arena(&self) -> &'a Arena {
        self.arena
    }

    pub(crate) fn root(&self) -> Word {
        self.root
    }

    /// Whether both are the same nodes.
    pub(crate) fn has_same_root(&self, other: &Tree<'_>) -> bool {
        self.root == other.root
    }
}

/// Returns the range of the keys that begin with `prefix`, for [`Tree::range`] and [`Tree::count`].
pub fn prefix_range(prefix: &[u8]) -> (Bound<Vec<u8>>, Bound<Vec<u8>>) {
    let mut end = prefix.to_vec();
    // The end of the range: increase the last byte that is not 255, and drop the bytes after it.
    while end.pop_if(|last| *last == u8::MAX).is_some() {}
    let end = match end.last_mut() {
        Some(last) => {
            *last += 1;
            Bound::Excluded(end)
        }
        None => Bound::Unbounded,
    };
    (Bound::Included(prefix.to_vec()), end)
}

/// A range as its first key and the key before which it ends, if any.
pub(crate) fn half_open<K: AsRef<[u8]>>(range: impl RangeBounds<K>) -> (Vec<u8>, Option<Vec<u8>>) {
    let start = match range.start_bound() {
        Bound::Unbounded => Vec::new(),
        Bound::Included(key) => key.as_ref().to_vec(),
        Bound::Excluded(key) => successor(key.as_ref()),
    };
    let end = match range.end_bound() {
        Bound::Unbounded => None,
        Bound::Excluded(key) => Some(key.as_ref().to_vec()),
        Bound::Included(key) => Some(successor(key.as_ref())),
    };
    (start, end)
}

/// The first key that is greater than `key`.
pub(crate) fn successor(key: &[u8]) -> Vec<u8> {
    let mut successor = Vec::with_capacity(key.len() + 1);
    successor.extend_from_slice(key);
    successor.push(0);
    successor
}

/// A position in a tree: at a key, before the first or after the last.
///
/// This is the fastest way to read many keys: it lends keys and allocates nothing.
///
/// ```
/// # fn main() -> lath_store::Result<()> {
/// # let store = lath_store::Options::new().open_in_memory()?;
/// # let mut transaction = store.begin()?;
/// # transaction.tree("numbers")?.put(b"one", b"1")?;
/// # transaction.commit()?;
/// let snapshot = store.snapshot()?;
/// let mut cursor = snapshot.tree("numbers")?.expect("the tree was made").cursor();
/// while cursor.next()? {
///     println!("{:?} = {:?}", cursor.key(), cursor.value()?);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Cursor<'a> {
    inner: trie::Cursor<'a>,
}

impl<'a> Cursor<'a> {
    /// Moves to the next key, and returns whether there is one. From before the first key it moves to the first.
    #[inline]
    #[expect(
        clippy::should_implement_trait,
        reason = "a cursor lends its key until the next call, which an iterator cannot do"
    )]
    pub fn next(&mut self) -> Result<bool> {
        self.inner.next()
    }

    /// Moves to the previous key, and returns whether there is one. From after the last key it moves to the last.
    #[inline]
    pub fn prev(&mut self) -> Result<bool> {
        self.inner.prev()
    }

    /// Moves to the first key that is not less than `key`, and returns whether there is one.
    pub fn lower_bound(&mut self, key: &[u8]) -> Result<bool> {
        self.inner.seek(key)
    }

    /// Moves to the first key that is greater than `key`, and returns whether there is one.
    pub fn upper_bound(&mut self, key: &[u8]) -> Result<bool> {
        self.inner.seek(key)?;
        if self.inner.key() == Some(key) { self.inner.next() } else { Ok(self.inner.key().is_some()) }
    }

    /// As [`skip_shared`](trie::Cursor::skip_shared) of the tree's nodes.
    pub(crate) fn skip_shared(&mut self, other: &mut Self) -> Result<Option<(bool, bool)>> {
        self.inner.skip_shared(&mut other.inner)
    }

    /// Moves to the first key of a range that begins with this bound, and returns whether there is one.
    pub(crate) fn move_to(&mut self, low: &Bound<Vec<u8>>) -> Result<bool> {
        match low {
            Bound::Included(key) => self.lower_bound(key),
            Bound::Excluded(key) => self.upper_bound(key),
            Bound::Unbounded => {
                self.seek_to_start();
                self.next()
            }
        }
    }

    /// Moves to the key with `rank` keys before it, and returns whether there is one.
    pub fn nth(&mut self, rank: u64) -> Result<bool> {
        self.inner.seek_rank(rank)
    }

    /// Moves before the first key.
    pub fn seek_to_start(&mut self) {
        self.inner.seek_before();
    }

    /// Moves after the last key.
    pub fn seek_to_end(&mut self) {
        self.inner.seek_after();
    }

    /// Returns the key at this position; `None` before the first key and after the last.
    #[inline]
    pub fn key(&self) -> Option<&[u8]> {
        self.inner.key()
    }

    /// Returns the value at this position; `None` before the first key and after the last.
    #[inline]
    pub fn value(&self) -> Result<Option<&'a [u8]>> {
        self.inner.value()
    }

    /// Returns the value or the nested tree at this position; `None` if the cursor is not at a key.
    ///
    /// # Errors
    /// [`Error::Corrupt`](crate::Error::Corrupt).
    pub fn item(&self) -> Result<Option<Item<'a>>> {
        Ok(self.inner.item()?.map(|stored| Item::new(self.inner.arena(), stored)))
    }

    fn entry(&self) -> Result<Option<Entry<'a>>> {
        match (self.key(), self.value()?) {
            (Some(key), Some(value)) => Ok(Some((key.to_vec(), value))),
            _ => Ok(None),
        }
    }
}

/// A double-ended iterator over keys in ascending order and their values.
///
/// At a key with a nested tree it yields [`Error::KeyHoldsTree`] and goes on; after other errors it ends.
#[derive(Debug)]
pub struct Range<'a> {
    tree: Tree<'a>,
    start: Vec<u8>,
    end: Option<Vec<u8>>,
    front: Option<Cursor<'a>>,
    back: Option<Cursor<'a>>,
    is_done: bool,
}

impl<'a> Range<'a> {
    fn step_forward(&mut self) -> Result<Option<Entry<'a>>> {
        let cursor = match &mut self.front {
            Some(cursor) => {
                cursor.next()?;
                cursor
            }
            None => {
                let mut cursor = self.tree.cursor();
                cursor.lower_bound(&self.start)?;
                self.front.insert(cursor)
            }
        };
        let Some(key) = cursor.key() else { return Ok(None) };
        let is_past_end = self.end.as_ref().is_some_and(|end| key >= &end[..]);
        let has_met = self.back.as_ref().is_some_and(|back| back.key().is_none_or(|back| key >= back));
        if is_past_end || has_met { Ok(None) } else { cursor.entry() }
    }

    fn step_back(&mut self) -> Result<Option<Entry<'a>>> {
        let cursor = match &mut self.back {
            Some(cursor) => {
                cursor.prev()?;
                cursor
            }
            None => {
                let mut cursor = self.tree.cursor();
                match &self.end {
                    // The last key in the range is the one before the first key after it.
                    Some(end) => {
                        cursor.lower_bound(end)?;
                    }
                    None => cursor.seek_to_end(),
                }
                cursor.prev()?;
                self.back.insert(cursor)
            }
        };
        let Some(key) = cursor.key() else { return Ok(None) };
        let is_before_start = key < &self.start[..];
        let has_met = self.front.as_ref().is_some_and(|front| front.key().is_none_or(|front| key <= front));
        if is_before_start || has_met { Ok(None) } else { cursor.entry() }
    }

    fn yield_once(&mut self, step: fn(&mut Self) -> Result<Option<Entry<'a>>>) -> Option<Result<Entry<'a>>> {
        if self.is_done {
            return None;
        }
        let entry = step(self).transpose();
        self.is_done = !matches!(entry, Some(Ok(_) | Err(Error::KeyHoldsTree)));
        entry
    }
}

impl<'a> Iterator for Range<'a> {
    type Item = Result<Entry<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.yield_once(Self::step_forward)
    }
}

impl DoubleEndedIterator for Range<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.yield_once(Self::step_back)
    }
}

impl std::iter::FusedIterator for Range<'_> {}
