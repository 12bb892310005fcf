//! Ranks: how many keys are before one, and which is the n-th.

use super::find::{Branch, no_progress};
use crate::arena::Arena;
use crate::error::{Error, Result};
use crate::node::{Inner, Word};

/// How many keys are below `word`.
pub(crate) fn total(arena: &Arena, word: Word) -> Result<u64> {
    if word.is_none() {
        return Ok(0);
    }
    match word.count() {
        Some(count) => Ok(count),
        None => Ok(Branch::at(arena, word.reference())?.total()),
    }
}

fn total_of(arena: &Arena, inner: &Inner<'_>, children: std::ops::Range<usize>) -> Result<u64> {
    children.into_iter().try_fold(0_u64, |sum, index| Ok(sum.saturating_add(total(arena, inner.child(index))?)))
}

/// How many keys below `root` are less than `key`.
pub(crate) fn rank(arena: &Arena, root: Word, key: &[u8]) -> Result<u64> {
    if root.is_none() {
        return Ok(0);
    }
    let (mut reference, mut rest, mut before) = (root.reference(), key, 0_u64);
    let mut at_root = true;
    loop {
        match Branch::at(arena, reference)? {
            Branch::Leaf(leaf) => {
                return Ok(before.saturating_add(leaf.lower_bound(key, key.len() - rest.len())?.0 as u64));
            }
            Branch::Inner(inner) => {
                let prefix = inner.prefix();
                if prefix.is_empty() && !at_root {
                    return Err(no_progress(reference));
                }
                at_root = false;
                let Some(behind) = rest.strip_prefix(prefix) else {
                    return Ok(if rest < prefix { before } else { before.saturating_add(inner.total()) });
                };
                rest = behind;
                let index = inner.index_of(rest.first().copied());
                before = before.saturating_add(total_of(arena, &inner, 0..index)?);
                reference = inner.child(index).reference();
            }
        }
    }
}

/// Where a key that is known by its rank is.
pub(crate) struct Ranked {
    /// The child to take at every inner node on the way.
    pub(crate) indexes: Vec<usize>,
    /// The index within the leaf.
    pub(crate) position: usize,
}

/// The way to the key that has `rank` keys before it; `None` if there are not so many.
pub(crate) fn select(arena: &Arena, root: Word, rank: u64) -> Result<Option<Ranked>> {
    if root.is_none() {
        return Ok(None);
    }
    let (mut reference, mut rank, mut indexes) = (root.reference(), rank, Vec::new());
    loop {
        match Branch::at(arena, reference)? {
            Branch::Leaf(leaf) => {
                let position = usize::try_from(rank).ok().filter(|rank| *rank < leaf.count());
                return Ok(position.map(|position| Ranked { indexes, position }));
            }
            Branch::Inner(inner) => {
                if inner.prefix().is_empty() && !indexes.is_empty() {
                    return Err(no_progress(reference));
                }
                if rank >= inner.total() {
                    return Ok(None);
                }
                let mut index = 0;
                let word = loop {
                    if index == inner.count() {
                        return Err(Error::corrupt("an inner node counts more keys than its children have"));
                    }
                    let word = inner.child(index);
                    let count = total(arena, word)?;
                    if rank < count {
                        break word;
                    }
                    rank -= count;
                    index += 1;
                };
                indexes.push(index);
                if indexes.len() > super::MAX_KEY_LEN + 1 {
                    return Err(Error::corrupt("the way to a key is longer than any key"));
                }
                reference = word.reference();
            }
        }
    }
}
