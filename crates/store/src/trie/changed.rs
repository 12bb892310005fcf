//! Finds where two states of a tree may differ, without visiting what both of them have.
//!
//! A node that is not newer than a commit is as it was in that commit, and so is everything below it. Between such nodes, keys may have been
//! put and removed.

use super::Cursor;
use super::count::total;
use super::find::{Branch, no_progress};
use crate::arena::Arena;
use crate::error::{Error, Result};
use crate::extent::Generation;
use crate::node::{Inner, Word};

/// A range of keys, both ends excluded; `None` is the beginning or the end of the tree.
pub(crate) type Gap = (Option<Vec<u8>>, Option<Vec<u8>>);

struct Step<'a> {
    inner: Inner<'a>,
    index: usize,
}

/// The ranges of keys, in ascending order, in which a tree may differ from its state at the commit of generation `since`.
pub(crate) fn gaps(arena: &Arena, root: Word, since: Generation) -> Result<Vec<Gap>> {
    let mut gaps = Vec::new();
    // The last key that is as it was.
    let mut last = None;
    for (first_rank, end_rank) in unchanged_ranks(arena, root, since)? {
        gaps.push((last.take(), Some(key_at(arena, root, first_rank)?)));
        last = Some(key_at(arena, root, end_rank - 1)?);
    }
    gaps.push((last, None));
    Ok(gaps)
}

/// The ranges of ranks, in ascending order, of the keys that may be newer than the commit of generation `since`.
pub(crate) fn newer_ranks(arena: &Arena, root: Word, since: Generation) -> Result<Vec<(u64, u64)>> {
    let (mut newer, mut from) = (Vec::new(), 0);
    for (first, end) in unchanged_ranks(arena, root, since)? {
        if from < first {
            newer.push((from, first));
        }
        from = end;
    }
    let count = total(arena, root)?;
    if from < count {
        newer.push((from, count));
    }
    Ok(newer)
}

/// The ranges of ranks of the largest subtrees that are not newer than `since`.
fn unchanged_ranks(arena: &Arena, root: Word, since: Generation) -> Result<Vec<(u64, u64)>> {
    let (mut ranks, mut rank, mut steps): (_, u64, Vec<Step<'_>>) = (Vec::new(), 0, Vec::new());
    if root.is_none() {
        return Ok(ranks);
    }
    let mut word = root;
    loop {
        let count = total(arena, word)?;
        let reference = word.reference();
        let end = rank.checked_add(count).filter(|_| count > 0);
        let end = end.ok_or_else(|| Error::corrupt("a node has no key below it"))?;
        if arena.birth(reference)? <= since {
            ranks.push((rank, end));
            rank = end;
        } else {
            match Branch::at(arena, reference)? {
                Branch::Leaf(_) => rank = end,
                Branch::Inner(inner) if inner.prefix().is_empty() && !steps.is_empty() => {
                    return Err(no_progress(reference));
                }
                Branch::Inner(inner) => {
                    word = inner.child(0);
                    steps.push(Step { inner, index: 0 });
                    continue;
                }
            }
        }
        loop {
            let Some(step) = steps.last_mut() else { return Ok(ranks) };
            step.index += 1;
            if step.index < step.inner.count() {
                word = step.inner.child(step.index);
                break;
            }
            steps.pop();
        }
    }
}

fn key_at(arena: &Arena, root: Word, rank: u64) -> Result<Vec<u8>> {
    let mut cursor = Cursor::new(arena, root);
    cursor.seek_rank(rank)?;
    cursor.key().map(<[u8]>::to_vec).ok_or_else(|| Error::corrupt("a tree has fewer keys than its nodes count"))
}
