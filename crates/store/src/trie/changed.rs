//! Finds where two states of a tree may differ, without visiting what both of them have.
//!
//! A node that is not newer than a commit is as it was in that commit, and so is everything below it. Between such nodes, keys may have been
//! put and removed. A tree that was moved has nodes that were in another tree then, so a node must also be at the same place
//! of the tree as it was. Compaction may have moved it to another part of the file: then its keys are compared.

use std::ops::Bound;

use super::Cursor;
use super::count::{rank, total};
use super::find::{Branch, no_progress};
use crate::arena::Arena;
use crate::error::{Error, Result};
use crate::extent::Generation;
use crate::node::{Inner, Word};

/// A range of keys in which a tree may differ from an earlier state.
#[derive(Debug)]
pub(crate) struct Gap {
    pub(crate) low: Bound<Vec<u8>>,
    /// Excluded; `None` is the end of the tree.
    pub(crate) high: Option<Vec<u8>>,
}

/// The ranges of keys, in ascending order, in which a part of a tree may differ from its state at an earlier commit.
pub(crate) struct Gaps<'a> {
    arena: &'a Arena,
    root: Word,
    unchanged: UnchangedRanks<'a>,
    /// The beginning of the next gap; `None` after the last one.
    low: Option<Bound<Vec<u8>>>,
    high: Option<Vec<u8>>,
}

impl<'a> Gaps<'a> {
    /// The gaps from `low` up to but not including `high`, since the commit of generation `since`, in which the tree was `earlier`.
    pub(crate) fn new(
        arena: &'a Arena,
        root: Word,
        (earlier, since): (Word, Generation),
        low: &[u8],
        high: Option<&[u8]>,
    ) -> Result<Self> {
        let first = if low.is_empty() { 0 } else { rank(arena, root, low)? };
        let end = high.map_or_else(|| total(arena, root), |high| rank(arena, root, high))?;
        let unchanged = UnchangedRanks::new(arena, root, (Some(earlier), since), first, end);
        Ok(Self { arena, root, unchanged, low: Some(Bound::Included(low.to_vec())), high: high.map(<[u8]>::to_vec) })
    }

    /// The next gap.
    pub(crate) fn next(&mut self) -> Result<Option<Gap>> {
        let Some(low) = self.low.take() else { return Ok(None) };
        let Some((first_rank, end_rank)) = self.unchanged.next()? else {
            return Ok(Some(Gap { low, high: self.high.take() }));
        };
        let high = Some(key_at(self.arena, self.root, first_rank)?);
        self.low = Some(Bound::Excluded(key_at(self.arena, self.root, end_rank - 1)?));
        Ok(Some(Gap { low, high }))
    }
}

/// The ranges of ranks, in ascending order, of the keys that may be newer than the commit of generation `since`.
pub(crate) fn newer_ranks(arena: &Arena, root: Word, since: Generation) -> Result<Vec<(u64, u64)>> {
    let (mut newer, mut from) = (Vec::new(), 0);
    let count = total(arena, root)?;
    let mut unchanged = UnchangedRanks::new(arena, root, (None, since), 0, count);
    while let Some((first, end)) = unchanged.next()? {
        if from < first {
            newer.push((from, first));
        }
        from = end;
    }
    if from < count {
        newer.push((from, count));
    }
    Ok(newer)
}

struct Step<'a> {
    inner: Inner<'a>,
    index: usize,
}

/// The ranges of ranks of the largest subtrees that are not newer than a commit and at the same place as in it, as far as they are between
/// two ranks.
struct UnchangedRanks<'a> {
    arena: &'a Arena,
    since: Generation,
    /// The tree at the commit; `None` if the places do not matter.
    earlier: Option<Word>,
    first: u64,
    end: u64,
    /// The node to visit next, and its rank.
    word: Option<Word>,
    rank: u64,
    steps: Vec<Step<'a>>,
}

impl<'a> UnchangedRanks<'a> {
    fn new(arena: &'a Arena, root: Word, (earlier, since): (Option<Word>, Generation), first: u64, end: u64) -> Self {
        let word = Some(root).filter(|root| !root.is_none());
        Self { arena, since, earlier, first, end, word, rank: 0, steps: Vec::new() }
    }

    fn next(&mut self) -> Result<Option<(u64, u64)>> {
        while let Some(word) = self.word {
            if self.rank >= self.end {
                return Ok(None);
            }
            let count = total(self.arena, word)?;
            let (start, reference) = (self.rank, word.reference());
            let end = start.checked_add(count).filter(|_| count > 0);
            let end = end.ok_or_else(|| Error::corrupt("a node has no key below it"))?;
            let is_before = end <= self.first;
            if !is_before && !self.is_unchanged(word)? {
                match Branch::at(self.arena, reference)? {
                    Branch::Leaf(_) => {}
                    Branch::Inner(inner) if inner.prefix().is_empty() && !self.steps.is_empty() => {
                        return Err(no_progress(reference));
                    }
                    Branch::Inner(inner) => {
                        self.word = Some(inner.child(0));
                        self.steps.push(Step { inner, index: 0 });
                        continue;
                    }
                }
                self.pass(end);
            } else {
                self.pass(end);
                if !is_before {
                    return Ok(Some((start.max(self.first), end.min(self.end))));
                }
            }
        }
        Ok(None)
    }

    /// Whether the node to visit is as it was, and where it was.
    fn is_unchanged(&self, word: Word) -> Result<bool> {
        let is_old = self.arena.birth(word.reference())? <= self.since;
        Ok(is_old && self.earlier.map_or(Ok(true), |earlier| is_at(self.arena, earlier, &self.steps, word))?)
    }

    /// Goes on behind the node, whose last key is before the rank `end`.
    fn pass(&mut self, end: u64) {
        self.rank = end;
        while let Some(step) = self.steps.last_mut() {
            step.index += 1;
            if step.index < step.inner.count() {
                self.word = Some(step.inner.child(step.index));
                return;
            }
            self.steps.pop();
        }
        self.word = None;
    }
}

/// Whether the node that the steps lead to is at the same place of the tree below `earlier`.
fn is_at(arena: &Arena, earlier: Word, steps: &[Step<'_>], node: Word) -> Result<bool> {
    // The byte that chooses a child is the first of the child's prefix.
    let mut path = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        path.extend_from_slice(step.inner.prefix());
        if at + 1 == steps.len() {
            path.extend(step.index.checked_sub(1).and_then(|before| step.inner.dividers().get(before)));
        }
    }
    let (mut word, mut rest) = (earlier, &path[..]);
    loop {
        if word.reference() == node.reference() {
            return Ok(true);
        }
        if word.is_none() {
            return Ok(false);
        }
        let Branch::Inner(inner) = Branch::at(arena, word.reference())? else { return Ok(false) };
        let Some(behind) = rest.strip_prefix(inner.prefix()) else { return Ok(false) };
        if inner.prefix().is_empty() && word != earlier {
            return Err(no_progress(word.reference()));
        }
        rest = behind;
        word = inner.child(inner.child_index(rest.first().copied()));
    }
}

fn key_at(arena: &Arena, root: Word, rank: u64) -> Result<Vec<u8>> {
    let mut cursor = Cursor::new(arena, root);
    cursor.seek_rank(rank)?;
    cursor.key().map(<[u8]>::to_vec).ok_or_else(|| Error::corrupt("a tree has fewer keys than its nodes count"))
}
