//! Finds what differs between two states of a tree.

use std::cmp::Ordering;

use super::Tree;
use crate::error::Result;
use crate::extent::Generation;
use crate::trie::changed::{self, Gap, Gaps};

impl Tree<'_> {
    /// Calls `each` with every entry that was put after the commit of this [generation](crate::Snapshot::generation) of the same store, in
    /// ascending order of keys, and with some older ones next to them. Removed keys are not there. Other than for
    /// [`Snapshot::for_each_change`](crate::Snapshot::for_each_change), no snapshot of the commit has to live.
    ///
    /// # Errors
    /// [`Error::Corrupt`](crate::Error::Corrupt), and errors of `each`, after which it is not called again.
    pub fn for_each_newer<E: From<crate::Error>>(
        &self,
        generation: u64,
        mut each: impl FnMut(&[u8], &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut cursor = self.cursor();
        for (first, end) in changed::newer_ranks(self.arena, self.root, generation)? {
            let mut has_entry = cursor.nth(first)?;
            for _ in first..end {
                let (true, Some(key), Some(value)) = (has_entry, cursor.key(), cursor.value()?) else { break };
                each(key, value)?;
                has_entry = cursor.next()?;
            }
        }
        Ok(())
    }

    /// Calls `each` as [`Snapshot::for_each_change`](crate::Snapshot::for_each_change) does, for the keys from `low` up to but not including
    /// `high`. `earlier` is the tree as it was at the commit of the generation `since`.
    pub(crate) fn for_each_change<E: From<crate::Error>>(
        &self,
        earlier: Tree<'_>,
        since: Generation,
        (low, high): (&[u8], Option<&[u8]>),
        mut each: impl FnMut(&[u8], Option<&[u8]>, Option<&[u8]>) -> Result<(), E>,
    ) -> Result<(), E> {
        let (mut old, mut new) = (earlier.cursor(), self.cursor());
        let mut gaps = Gaps::new(self.arena, self.root, since, low, high)?;
        while let Some(Gap { low, high }) = gaps.next()? {
            let (mut has_old, mut has_new) = (old.move_to(&low)?, new.move_to(&low)?);
            let is_within = |key: &[u8]| high.as_ref().is_none_or(|high| key < &high[..]);
            loop {
                let before = old.key().filter(|key| has_old && is_within(key));
                let now = new.key().filter(|key| has_new && is_within(key));
                let order = match (before, now) {
                    (None, None) => break,
                    (Some(_), None) => Ordering::Less,
                    (None, Some(_)) => Ordering::Greater,
                    (Some(before), Some(now)) => before.cmp(now),
                };
                let (value_before, value_now) = (old.value()?, new.value()?);
                match (order, before, now) {
                    (Ordering::Less, Some(key), _) => each(key, value_before, None)?,
                    (Ordering::Greater, _, Some(key)) => each(key, None, value_now)?,
                    (_, Some(key), _) if value_before != value_now => each(key, value_before, value_now)?,
                    _ => {}
                }
                if order.is_le() {
                    has_old = old.next()?;
                }
                if order.is_ge() {
                    has_new = new.next()?;
                }
            }
        }
        Ok(())
    }

    /// Returns the first key from `low` up to but not including `high` whose value is not as in `earlier`, the tree as it was at the commit of
    /// the generation `since`.
    pub(crate) fn first_change(
        &self,
        earlier: Tree<'_>,
        since: Generation,
        (low, high): (&[u8], Option<&[u8]>),
    ) -> Result<Option<Vec<u8>>> {
        /// Ends the search.
        enum Stop {
            Change(Vec<u8>),
            Error(crate::Error),
        }

        impl From<crate::Error> for Stop {
            fn from(error: crate::Error) -> Self {
                Self::Error(error)
            }
        }

        if self.root == earlier.root {
            return Ok(None);
        }
        if high.and_then(<[u8]>::split_last) == Some((&0, low)) {
            // A single key.
            let is_same = same_value(earlier.get(low)?, self.get(low)?);
            return Ok((!is_same).then(|| low.to_vec()));
        }
        match self.for_each_change(earlier, since, (low, high), |key, _, _| Err(Stop::Change(key.to_vec()))) {
            Ok(()) => Ok(None),
            Err(Stop::Change(key)) => Ok(Some(key)),
            Err(Stop::Error(error)) => Err(error),
        }
    }
}

/// Whether two values are equal. Bytes at one place of the store are not compared.
fn same_value(a: Option<&[u8]>, b: Option<&[u8]>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => std::ptr::eq(a, b) || a == b,
        (a, b) => a.is_none() && b.is_none(),
    }
}
