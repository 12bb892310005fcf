//! Reading one tree, as a commit left it or as a transaction has it.

use std::ops::{Bound, RangeBounds};

use crate::arena::Arena;
use crate::error::Result;
use crate::node::Word;
use crate::trie::{self, count, find, warm};

/// A key and its value.
pub type Entry<'a> = (Vec<u8>, &'a [u8]);

/// An ordered map from keys to values, both any bytes, that does not change while this is there.
///
/// Keys are ordered byte by byte, a key before those that it is the start of. Values are slices of the store itself: getting
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

    /// The value of `key`.
    ///
    /// # Errors
    /// [`Error::Corrupt`](crate::Error::Corrupt), as for all that reads.
    #[inline]
    pub fn get(&self, key: &[u8]) -> Result<Option<&'a [u8]>> {
        find::get(self.arena, self.root, key)
    }

    /// The values of many keys, one for each of `keys` and in their order. The loads that they take overlap, so that this is
    /// quicker than as many calls of [`get`](Self::get).
    ///
    /// ```
    /// # fn main() -> lath_store::Result<()> {
    /// # let store = lath_store::Options::new().open_in_memory()?;
    /// # let mut transaction = store.begin()?;
    /// # transaction.tree("words")?.set(b"one", b"1")?;
    /// # transaction.commit()?;
    /// let snapshot = store.snapshot()?;
    /// let Some(words) = snapshot.tree("words")? else { return Ok(()) };
    /// assert_eq!(words.get_many(&["one", "two"])?, [Some(&b"1"[..]), None]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`get`](Self::get).
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

    /// Whether `key` is there.
    pub fn contains_key(&self, key: &[u8]) -> Result<bool> {
        Ok(self.get(key)?.is_some())
    }

    /// How many keys there are. Takes the same time whatever their number.
    pub fn len(&self) -> Result<u64> {
        count::total(self.arena, self.root)
    }

    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.root.is_none()
    }

    /// How many keys are less than `key`, in time that grows with the depth of the tree only.
    pub fn rank(&self, key: &[u8]) -> Result<u64> {
        count::rank(self.arena, self.root, key)
    }

    /// How many keys are in a range, in time that grows with the depth of the tree only.
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

    /// The key that has `rank` keys before it, and its value, in time that grows with the depth of the tree only.
    pub fn nth(&self, rank: u64) -> Result<Option<Entry<'a>>> {
        let mut cursor = self.cursor();
        cursor.inner.seek_rank(rank)?;
        cursor.entry()
    }

    /// The first key and its value.
    pub fn first(&self) -> Result<Option<Entry<'a>>> {
        let mut cursor = self.cursor();
        cursor.next()?;
        cursor.entry()
    }

    /// The last key and its value.
    pub fn last(&self) -> Result<Option<Entry<'a>>> {
        let mut cursor = self.cursor();
        cursor.seek_to_end();
        cursor.prev()?;
        cursor.entry()
    }

    /// The first key that is not less than `key`, and its value.
    pub fn lower_bound(&self, key: &[u8]) -> Result<Option<Entry<'a>>> {
        let mut cursor = self.cursor();
        cursor.lower_bound(key)?;
        cursor.entry()
    }

    /// The first key that is greater than `key`, and its value.
    pub fn upper_bound(&self, key: &[u8]) -> Result<Option<Entry<'a>>> {
        let mut cursor = self.cursor();
        cursor.upper_bound(key)?;
        cursor.entry()
    }

    /// A cursor before the first key.
    pub fn cursor(&self) -> Cursor<'a> {
        Cursor { inner: trie::Cursor::new(self.arena, self.root) }
    }

    /// All keys and their values, in order from either end.
    pub fn iter(&self) -> Range<'a> {
        self.range::<&[u8]>(..)
    }

    /// The keys in a range and their values, in order from either end.
    pub fn range<K: AsRef<[u8]>>(&self, range: impl RangeBounds<K>) -> Range<'a> {
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
        Range { tree: *self, start, end, front: None, back: None, is_done: false }
    }

    /// The keys that begin with `prefix` and their values, in order from either end.
    pub fn prefix(&self, prefix: &[u8]) -> Range<'a> {
        self.range(prefix_range(prefix))
    }
}

/// The range of the keys that begin with `prefix`, for [`Tree::range`] and [`Tree::count`].
pub fn prefix_range(prefix: &[u8]) -> (Bound<Vec<u8>>, Bound<Vec<u8>>) {
    let mut end = prefix.to_vec();
    // The first key behind all that begin so: the last byte that can be is one more, and those behind it are gone.
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

/// The first key that is greater than `key`.
fn successor(key: &[u8]) -> Vec<u8> {
    let mut successor = Vec::with_capacity(key.len() + 1);
    successor.extend_from_slice(key);
    successor.push(0);
    successor
}

/// A place among the keys of a tree: at one, before the first or after the last.
///
/// The fastest way over many keys: the key is lent, and nothing is allocated.
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
    /// Goes to the next key, from before the first one to that; whether there is one.
    #[inline]
    #[expect(
        clippy::should_implement_trait,
        reason = "the key is lent until the next call, which an iterator cannot do"
    )]
    pub fn next(&mut self) -> Result<bool> {
        self.inner.next()
    }

    /// Goes to the key before, from after the last one to that; whether there is one.
    #[inline]
    pub fn prev(&mut self) -> Result<bool> {
        self.inner.prev()
    }

    /// Goes to the first key that is not less than `key`; whether there is one.
    pub fn lower_bound(&mut self, key: &[u8]) -> Result<bool> {
        self.inner.seek(key)
    }

    /// Goes to the first key that is greater than `key`; whether there is one.
    pub fn upper_bound(&mut self, key: &[u8]) -> Result<bool> {
        self.inner.seek(key)?;
        if self.inner.key() == Some(key) { self.inner.next() } else { Ok(self.inner.key().is_some()) }
    }

    /// Goes to the key that has `rank` keys before it; whether there are so many.
    pub fn nth(&mut self, rank: u64) -> Result<bool> {
        self.inner.seek_rank(rank)
    }

    /// Goes before the first key.
    pub fn seek_to_start(&mut self) {
        self.inner.seek_before();
    }

    /// Goes after the last key.
    pub fn seek_to_end(&mut self) {
        self.inner.seek_after();
    }

    /// The key here; `None` before the first one and after the last.
    #[inline]
    pub fn key(&self) -> Option<&[u8]> {
        self.inner.key()
    }

    /// The value here; `None` before the first key and after the last.
    #[inline]
    pub fn value(&self) -> Result<Option<&'a [u8]>> {
        self.inner.value()
    }

    fn entry(&self) -> Result<Option<Entry<'a>>> {
        match (self.key(), self.value()?) {
            (Some(key), Some(value)) => Ok(Some((key.to_vec(), value))),
            _ => Ok(None),
        }
    }
}

/// Keys and values in order, from either end.
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
                    // The first key that is not in the range, or the end; one back from there.
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
        self.is_done = !matches!(entry, Some(Ok(_)));
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
