//! Finds the keys of a tree that may be newer than a commit, without visiting nodes that are older: so is everything below them.

use super::count::total;
use super::find::{Branch, no_progress};
use crate::arena::Arena;
use crate::error::{Error, Result};
use crate::extent::Generation;
use crate::node::{Inner, Word};

/// The ranges of ranks, in ascending order, of the keys that may be newer than the commit of generation `since`.
pub(crate) fn newer_ranks(arena: &Arena, root: Word, since: Generation) -> Result<Vec<(u64, u64)>> {
    let (mut newer, mut from) = (Vec::new(), 0);
    let count = total(arena, root)?;
    let mut unchanged = UnchangedRanks::new(arena, root, since);
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

/// The ranges of ranks of the largest subtrees that are not newer than a commit.
struct UnchangedRanks<'a> {
    arena: &'a Arena,
    since: Generation,
    /// The node to visit next, and its rank.
    word: Option<Word>,
    rank: u64,
    steps: Vec<Step<'a>>,
}

impl<'a> UnchangedRanks<'a> {
    fn new(arena: &'a Arena, root: Word, since: Generation) -> Self {
        Self { arena, since, word: Some(root).filter(|root| !root.is_none()), rank: 0, steps: Vec::new() }
    }

    fn next(&mut self) -> Result<Option<(u64, u64)>> {
        while let Some(word) = self.word {
            let count = total(self.arena, word)?;
            let (start, reference) = (self.rank, word.reference());
            let end = start.checked_add(count).filter(|_| count > 0);
            let end = end.ok_or_else(|| Error::corrupt("a node has no key below it"))?;
            if self.arena.birth(word.reference())? <= self.since {
                self.pass(end);
                return Ok(Some((start, end)));
            }
            match Branch::at(self.arena, reference)? {
                Branch::Leaf(_) => self.pass(end),
                Branch::Inner(inner) if inner.prefix().is_empty() && !self.steps.is_empty() => {
                    return Err(no_progress(reference));
                }
                Branch::Inner(inner) => {
                    self.word = Some(inner.child(0));
                    self.steps.push(Step { inner, index: 0 });
                }
            }
        }
        Ok(None)
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
