//! Cursors and iterators of an optimistic transaction, which record what they read.

use std::ops::RangeBounds;

use super::merge::MergedCursor;
use super::tree::OptimisticTree;
use crate::error::Result;
use crate::tree::{Entry, half_open, prefix_range, successor};

impl<'t> OptimisticTree<'t> {
    /// Returns a cursor before the first key.
    pub fn cursor(&self) -> OptimisticCursor<'t> {
        OptimisticCursor::new(*self)
    }

    /// Iterates over all keys and their values. The iterator is double-ended.
    pub fn iter(&self) -> OptimisticRange<'t> {
        self.range::<&[u8]>(..)
    }

    /// Iterates over the keys in a range and their values. The iterator is double-ended.
    pub fn range<K: AsRef<[u8]>>(&self, range: impl RangeBounds<K>) -> OptimisticRange<'t> {
        OptimisticRange::new(*self, range)
    }

    /// Iterates over the keys that begin with `prefix` and their values. The iterator is double-ended.
    pub fn prefix(&self, prefix: &[u8]) -> OptimisticRange<'t> {
        self.range(prefix_range(prefix))
    }
}

/// Records the range that a cursor reads, while it grows.
#[derive(Debug)]
struct ReadRecorder<'t> {
    tree: OptimisticTree<'t>,
    range: usize,
}

impl<'t> ReadRecorder<'t> {
    fn new(tree: OptimisticTree<'t>) -> Self {
        Self { tree, range: tree.reads.borrow_mut().open(tree.index) }
    }

    /// Records the keys from `low` to `last`, or to the end.
    fn extend(&self, low: &[u8], last: Option<&[u8]>) {
        let high = last.map(successor);
        self.extend_to(low, high.as_deref());
    }

    fn extend_to(&self, low: &[u8], high: Option<&[u8]>) {
        self.tree.reads.borrow_mut().extend(self.range, low, high);
    }
}

impl Drop for ReadRecorder<'_> {
    fn drop(&mut self) {
        self.tree.reads.borrow_mut().close(self.range);
    }
}

/// A position in a tree of an [`OptimisticTransaction`](crate::OptimisticTransaction): at a key, before the first or after the last. It
/// sees the transaction's own changes. The keys that it passes, and the gaps between them, count as read.
///
/// ```
/// # fn main() -> lath_store::Result<()> {
/// # let store = lath_store::Options::new().open_in_memory()?;
/// let mut transaction = store.begin_optimistic()?;
/// let mut numbers = transaction.tree("numbers")?;
/// numbers.put(b"one", b"1")?;
/// numbers.put(b"two", b"2")?;
/// let mut cursor = numbers.as_tree()?.cursor();
/// assert!(cursor.lower_bound(b"p")?);
/// assert_eq!((cursor.key(), cursor.value()?), (Some(&b"two"[..]), Some(&b"2"[..])));
/// assert!(cursor.prev()?);
/// assert_eq!(cursor.key(), Some(&b"one"[..]));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct OptimisticCursor<'t> {
    cursor: MergedCursor<'t>,
    recorder: ReadRecorder<'t>,
}

impl<'t> OptimisticCursor<'t> {
    pub(super) fn new(tree: OptimisticTree<'t>) -> Self {
        Self { cursor: MergedCursor::new(tree.base, tree.changes), recorder: ReadRecorder::new(tree) }
    }

    /// Moves to the next key, and returns whether there is one. From before the first key it moves to the first.
    ///
    /// # Errors
    /// [`Error::Corrupt`](crate::Error::Corrupt), as for all methods that move.
    #[expect(
        clippy::should_implement_trait,
        reason = "a cursor lends its key until the next call, which an iterator cannot do"
    )]
    pub fn next(&mut self) -> Result<bool> {
        if self.cursor.is_after_last() {
            return Ok(false);
        }
        let from = self.cursor.key().map(<[u8]>::to_vec);
        let has_key = self.cursor.next()?;
        self.recorder.extend(from.as_deref().unwrap_or_default(), self.cursor.key());
        Ok(has_key)
    }

    /// Moves to the previous key, and returns whether there is one. From after the last key it moves to the last.
    ///
    /// # Errors
    /// The same as [`next`](Self::next).
    pub fn prev(&mut self) -> Result<bool> {
        if self.cursor.is_before_first() {
            return Ok(false);
        }
        let from = self.cursor.key().map(<[u8]>::to_vec);
        let has_key = self.cursor.prev()?;
        self.recorder.extend(self.cursor.key().unwrap_or_default(), from.as_deref());
        Ok(has_key)
    }

    /// Moves to the first key that is not less than `key`, and returns whether there is one.
    ///
    /// # Errors
    /// The same as [`next`](Self::next).
    pub fn lower_bound(&mut self, key: &[u8]) -> Result<bool> {
        let has_key = self.cursor.lower_bound(key)?;
        self.recorder.extend(key, self.cursor.key());
        Ok(has_key)
    }

    /// Moves to the first key that is greater than `key`, and returns whether there is one.
    ///
    /// # Errors
    /// The same as [`next`](Self::next).
    pub fn upper_bound(&mut self, key: &[u8]) -> Result<bool> {
        self.lower_bound(&successor(key))
    }

    /// Moves before the first key.
    pub fn seek_to_start(&mut self) {
        self.cursor.seek_to_start();
    }

    /// Moves after the last key.
    pub fn seek_to_end(&mut self) {
        self.cursor.seek_to_end();
    }

    /// Returns the key at this position; `None` before the first key and after the last.
    pub fn key(&self) -> Option<&[u8]> {
        self.cursor.key()
    }

    /// Returns the value at this position; `None` before the first key and after the last.
    ///
    /// # Errors
    /// The same as [`next`](Self::next).
    pub fn value(&self) -> Result<Option<&'t [u8]>> {
        self.cursor.value()
    }
}

/// A double-ended iterator over keys of a tree of an [`OptimisticTransaction`](crate::OptimisticTransaction) and their values, in
/// ascending order. Only what it has passed counts as read.
#[derive(Debug)]
pub struct OptimisticRange<'t> {
    start: Vec<u8>,
    end: Option<Vec<u8>>,
    front: Side<'t>,
    back: Side<'t>,
    is_done: bool,
}

/// One of the two ends of a range, and the keys that were read from there.
#[derive(Debug)]
struct Side<'t> {
    cursor: MergedCursor<'t>,
    recorder: ReadRecorder<'t>,
    has_begun: bool,
}

impl<'t> Side<'t> {
    fn new(tree: OptimisticTree<'t>) -> Self {
        Self { cursor: MergedCursor::new(tree.base, tree.changes), recorder: ReadRecorder::new(tree), has_begun: false }
    }

    fn entry(&self) -> Result<Option<Entry<'t>>> {
        match (self.cursor.key(), self.cursor.value()?) {
            (Some(key), Some(value)) => Ok(Some((key.to_vec(), value))),
            _ => Ok(None),
        }
    }
}

impl<'t> OptimisticRange<'t> {
    pub(super) fn new<K: AsRef<[u8]>>(tree: OptimisticTree<'t>, range: impl RangeBounds<K>) -> Self {
        let (start, end) = half_open(range);
        Self { start, end, front: Side::new(tree), back: Side::new(tree), is_done: false }
    }

    fn step_forward(&mut self) -> Result<Option<Entry<'t>>> {
        let Side { cursor, recorder, has_begun } = &mut self.front;
        let from = cursor.key().map_or_else(|| self.start.clone(), <[u8]>::to_vec);
        if std::mem::replace(has_begun, true) {
            cursor.next()?
        } else {
            cursor.lower_bound(&self.start)?
        };
        let is_within = |key: &&[u8]| self.end.as_ref().is_none_or(|end| *key < &end[..]);
        let Some(key) = cursor.key().filter(is_within) else {
            recorder.extend_to(&from, self.end.as_deref());
            return Ok(None);
        };
        recorder.extend(&from, Some(key));
        let has_met = self.back.has_begun && self.back.cursor.key().is_none_or(|back| key >= back);
        if has_met { Ok(None) } else { self.front.entry() }
    }

    fn step_back(&mut self) -> Result<Option<Entry<'t>>> {
        let Side { cursor, recorder, has_begun } = &mut self.back;
        let from = cursor.key().map(successor).or_else(|| self.end.clone());
        if !std::mem::replace(has_begun, true) {
            match &self.end {
                // The last key in the range is the one before the first key after it.
                Some(end) => drop(cursor.lower_bound(end)?),
                None => cursor.seek_to_end(),
            }
        }
        cursor.prev()?;
        let Some(key) = cursor.key().filter(|key| *key >= &self.start[..]) else {
            recorder.extend_to(&self.start, from.as_deref());
            return Ok(None);
        };
        recorder.extend_to(key, from.as_deref());
        let has_met = self.front.has_begun && self.front.cursor.key().is_none_or(|front| key <= front);
        if has_met { Ok(None) } else { self.back.entry() }
    }

    fn yield_once(&mut self, step: fn(&mut Self) -> Result<Option<Entry<'t>>>) -> Option<Result<Entry<'t>>> {
        if self.is_done || self.end.as_ref().is_some_and(|end| *end <= self.start) {
            return None;
        }
        let entry = step(self).transpose();
        self.is_done = !matches!(entry, Some(Ok(_)));
        entry
    }
}

impl<'t> Iterator for OptimisticRange<'t> {
    type Item = Result<Entry<'t>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.yield_once(Self::step_forward)
    }
}

impl DoubleEndedIterator for OptimisticRange<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.yield_once(Self::step_back)
    }
}

impl std::iter::FusedIterator for OptimisticRange<'_> {}
