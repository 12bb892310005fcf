//! Ranks: counts the keys before a key, and finds the n-th key.

use std::ops::Range;

use super::find::{Branch, no_progress, prefetch_way};
use crate::arena::Arena;
use crate::error::{Error, Result};
use crate::node::{Inner, Word};

/// The number of keys below `word`.
pub(crate) fn total(arena: &Arena, word: Word) -> Result<u64> {
    if word.is_none() {
        return Ok(0);
    }
    match word.count() {
        Some(count) => Ok(count),
        None => Ok(Branch::at(arena, word.reference())?.total()),
    }
}

fn sum_counts(arena: &Arena, inner: &Inner<'_>, children: Range<usize>) -> Result<u64> {
    // Counts in words are short enough for the sum over a node to fit.
    let (mut sum, mut are_all) = (0, true);
    for count in inner.counts(children.clone()) {
        sum += count.unwrap_or(0);
        are_all &= count.is_some();
    }
    if are_all {
        return Ok(sum);
    }
    children.into_iter().try_fold(0_u64, |sum, index| Ok(sum.saturating_add(total(arena, inner.child(index))?)))
}

/// The number of keys below the children before the one at `index`, summed on the side with fewer children.
fn total_before(arena: &Arena, inner: &Inner<'_>, index: usize) -> Result<u64> {
    if index <= inner.count() / 2 {
        return sum_counts(arena, inner, 0..index);
    }
    Ok(inner.total().saturating_sub(sum_counts(arena, inner, index..inner.count())?))
}

/// The number of keys below `root` that are less than `key`.
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
                let index = inner.child_index(rest.first().copied());
                let child = inner.child(index);
                prefetch_way(arena, child, rest);
                before = before.saturating_add(total_before(arena, &inner, index)?);
                reference = child.reference();
            }
        }
    }
}

/// The path to a key that was found by its rank.
pub(crate) struct RankPath {
    /// The index of the child at every inner node on the path.
    pub(crate) indexes: Vec<usize>,
    /// The index within the leaf.
    pub(crate) position: usize,
}

/// Finds the key with `rank` keys before it; `None` if there are fewer keys.
pub(crate) fn select(arena: &Arena, root: Word, rank: u64) -> Result<Option<RankPath>> {
    if root.is_none() {
        return Ok(None);
    }
    let (mut reference, mut rank, mut indexes) = (root.reference(), rank, Vec::new());
    loop {
        match Branch::at(arena, reference)? {
            Branch::Leaf(leaf) => {
                let position = usize::try_from(rank).ok().filter(|rank| *rank < leaf.count());
                return Ok(position.map(|position| RankPath { indexes, position }));
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
                    return Err(Error::corrupt("the path to a key is longer than the maximum length of a key"));
                }
                reference = word.reference();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::{FIRST_UNIT, WriteArena};
    use crate::extent::Extent;
    use crate::node::{Kind, edit_inner};

    #[test]
    fn children_with_more_keys_than_their_word_holds_are_counted() {
        let many = (1 << 24) - 1;
        for totals in [[1, 2, 3, 4, 5], [7, many, 1, 2, 9], [many + 1, 5, 3, 2 * many, 1], [many - 1, 1, 1, 1, 1 << 40]]
        {
            let mut arena = WriteArena::in_memory(1 << 20, 1 << 16);
            let mut node = |unit: u64, total, prefix, dividers, children: &[Word]| {
                let extent = Extent { start: FIRST_UNIT + 2 * unit, units: 2 };
                edit_inner::write(arena.fresh(extent, Kind::Inner, 1).unwrap(), total, prefix, dividers, children);
                Word::new(extent.start, total)
            };
            let children: Vec<Word> =
                (1..).zip(totals).map(|(unit, total)| node(unit, total, b"p", b"", &[Word::NONE])).collect();
            let root = node(0, totals.iter().sum(), b"", b"bcde", &children);
            for (index, key) in [b"a", b"b", b"c", b"d", b"e"].into_iter().enumerate() {
                let before: u64 = totals[..index].iter().sum();
                assert_eq!(rank(arena.shared(), root, key).unwrap(), before, "{totals:?}");
            }
            assert_eq!(rank(arena.shared(), root, b"z").unwrap(), totals.iter().sum::<u64>(), "{totals:?}");
        }
    }
}
