//! Builds subtrees from sorted keys.

use std::ops::Range;

use super::LEAF_MAX;
use super::writer::Writer;
use crate::error::Result;
use crate::node::edit_leaf::Entries;
use crate::node::{Kind, Word, edit_inner, inner};

/// Children, with a divider before each but the first.
#[derive(Debug, Default)]
pub(super) struct Parts {
    pub(super) dividers: Vec<u8>,
    pub(super) children: Vec<Word>,
}

/// The number of bytes that the keys in `range` have in common after their first `skip`.
pub(super) fn common_len(entries: &Entries, range: &Range<usize>, skip: usize) -> usize {
    let (first, last) = (entries.key(range.start), entries.key(range.end - 1));
    lath_kernels::bytes::common_prefix_len(&first[skip..], &last[skip..])
}

/// The prefix length and the body length of a leaf with these keys.
fn leaf_shape(entries: &Entries, range: &Range<usize>, skip: usize) -> (usize, usize) {
    // A single key gets no prefix: the next one would most likely not share it.
    let prefix_len = if range.len() > 1 { common_len(entries, range, skip) } else { 0 };
    (prefix_len, entries.leaf_len(range, skip, prefix_len))
}

impl Writer {
    /// Builds a subtree of the keys in `range`, whose first `skip` bytes are the path to it. If `appending`, larger
    /// keys are expected to follow.
    pub(super) fn build(
        &mut self,
        entries: &Entries,
        range: Range<usize>,
        skip: usize,
        appending: bool,
    ) -> Result<Word> {
        let (prefix_len, len) = leaf_shape(entries, &range, skip);
        if range.len() == 1 || len <= LEAF_MAX {
            return self.build_leaf(entries, range, skip, prefix_len, len);
        }
        let common = common_len(entries, &range, skip);
        let total = range.len() as u64;
        let prefix = entries.key(range.start)[skip..skip + common].to_vec();
        let parts = self.partition(entries, range, skip + common, appending)?;
        let extent = self.allocate(inner::body_len(prefix.len(), parts.dividers.len()))?;
        let body = self.arena.fresh(extent, Kind::Inner, self.generation)?;
        edit_inner::write(body, total, &prefix, &parts.dividers, &parts.children);
        Ok(Word::new(extent.start, total))
    }

    fn build_leaf(
        &mut self,
        entries: &Entries,
        range: Range<usize>,
        skip: usize,
        prefix_len: usize,
        len: usize,
    ) -> Result<Word> {
        let extent = self.allocate(len)?;
        let body = self.arena.fresh(extent, Kind::Leaf, self.generation)?;
        let count = range.len();
        entries.write_leaf(body, range, skip, prefix_len);
        Ok(Word::new(extent.start, count as u64))
    }

    /// Divides keys into children. The keys share their first `at` bytes and differ in the next.
    pub(super) fn partition(
        &mut self,
        entries: &Entries,
        range: Range<usize>,
        at: usize,
        appending: bool,
    ) -> Result<Parts> {
        let mut parts = Parts::default();
        let start = range.start;
        let mut pieces = vec![range];
        while let Some(piece) = pieces.pop() {
            let byte = |index: usize| entries.byte(index, at);
            let one_byte = byte(piece.start) == byte(piece.end - 1);
            if one_byte || leaf_shape(entries, &piece, at).1 <= LEAF_MAX {
                if piece.start != start {
                    parts.dividers.push(byte(piece.start).unwrap_or(0));
                }
                let child = self.build(entries, piece, at, appending)?;
                parts.children.push(child);
            } else {
                let cut = cut(entries, &piece, at, appending);
                pieces.push(cut..piece.end);
                pieces.push(piece.start..cut);
            }
        }
        Ok(parts)
    }
}

/// Chooses where to divide keys that differ in the byte at `at`: between two that differ there, so that both halves
/// have about the same number of bytes; after as many as possible if larger keys are expected to follow.
fn cut(entries: &Entries, piece: &Range<usize>, at: usize, appending: bool) -> usize {
    let start = entries.size_before(piece.start);
    let size_to = |index: usize| entries.size_before(index) - start - (index - piece.start) * at;
    let target = if appending { LEAF_MAX * 15 / 16 } else { size_to(piece.end) / 2 };
    let inside = piece.start + 1..piece.end;
    let middle = first_at(piece.clone(), |index| size_to(index) >= target);
    let differs = |index: &usize| entries.byte(*index, at) != entries.byte(*index - 1, at);
    let before = (inside.start..middle.min(inside.end)).rev().find(differs);
    let after = (middle.max(inside.start)..inside.end).find(differs);
    match (before, after) {
        (Some(before), Some(after)) if target - size_to(before) <= size_to(after) - target => before,
        (_, Some(after)) => after,
        (Some(before), None) => before,
        (None, None) => inside.start,
    }
}

/// The first index in `range` at which `is_there` holds, or the end. From that index on it holds everywhere.
fn first_at(range: Range<usize>, is_there: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (range.start, range.end);
    while low < high {
        let middle = low.midpoint(high);
        if is_there(middle) { high = middle } else { low = middle + 1 }
    }
    low
}
