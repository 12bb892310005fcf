//! Taking a range of keys out of a tree: whole subtrees where it covers them.

use super::cursor::Cursor;
use super::path::End;
use super::walk::walk;
use super::writer::{Writer, external};
use crate::error::{Error, Result};
use crate::node::{Inner, Leaf, Word};

impl Writer {
    /// Removes the keys from `low` on and, if there is a `high`, before that; how many there were.
    pub(crate) fn remove_range(&mut self, root: &mut Word, low: &[u8], high: Option<&[u8]>) -> Result<u64> {
        let mut removed = 0;
        loop {
            let mut cursor = Cursor::new(self.arena.shared(), *root);
            if !cursor.seek(low)? {
                return Ok(removed);
            }
            let Some(key) = cursor.key().filter(|key| high.is_none_or(|high| *key < high)) else { return Ok(removed) };
            let key = key.to_vec();
            removed += self.remove_from(root, &key, high)?;
        }
    }

    /// Removes `key`, which is there, and what of the range behind it lies with it in a leaf or in subtrees beside it.
    fn remove_from(&mut self, root: &mut Word, key: &[u8], high: Option<&[u8]>) -> Result<u64> {
        self.forget_path();
        let End::Leaf { reference, depth } = self.descend(root, key)? else { return Err(lost()) };
        let leaf = Leaf::parse(self.arena.node(reference)?)?;
        let (first, true) = leaf.lower_bound(key, depth)? else { return Err(lost()) };
        let end = match high {
            None => leaf.count(),
            Some(high) if high.starts_with(&key[..depth]) => leaf.lower_bound(high, depth)?.0,
            // The range reaches beyond the leaf: its end is greater than `key` and differs from it before the leaf's part.
            Some(_) => leaf.count(),
        };
        if first > 0 || end < leaf.count() {
            let count = (end - first) as u64;
            let mut values = Vec::new();
            for index in first..end {
                values.extend(external(leaf.entry(index)?.value));
            }
            self.own_path()?;
            self.remove_entries(root, reference, first..end)?;
            self.settle(root)?;
            for value in values {
                self.retire(value)?;
            }
            return Ok(count);
        }
        self.remove_subtrees(root, reference, high)
    }

    /// Removes the leaf at the end of the way, all of which is in the range, or the largest subtrees of which it is the
    /// first leaf, and those beside them that are wholly in the range.
    fn remove_subtrees(&mut self, root: &mut Word, leaf: u64, high: Option<&[u8]>) -> Result<u64> {
        // Up as long as the way leads through first children and the subtree ends before the range does.
        let mut top = leaf;
        while let Some(step) = self.path.steps.last().copied() {
            if step.index > 0 || !self.ends_before(step.reference, step.depth, high)? {
                break;
            }
            top = step.reference;
            self.path.steps.pop();
        }
        let Some(step) = self.path.steps.last().copied() else {
            let removed = self.drop_subtree(Word::new(top, 0))?;
            *root = Word::NONE;
            return Ok(removed);
        };
        let parent = Inner::parse(self.arena.node(step.reference)?)?;
        let mut end = step.index + 1;
        while end < parent.count() && self.ends_before(parent.child(end).reference(), step.depth, high)? {
            end += 1;
        }
        self.own_path()?;
        let step = self.path.steps[self.path.steps.len() - 1];
        let mut removed = 0;
        for index in step.index..end {
            let child = Inner::parse(self.arena.node(step.reference)?)?.child(index);
            removed += self.drop_subtree(child)?;
        }
        if step.index == 0 && end == Inner::parse(self.arena.node(step.reference)?)?.count() {
            return Err(lost());
        }
        self.shrink_children(root, step.index..end, None, -(removed as i64))?;
        self.settle(root)?;
        Ok(removed)
    }

    /// Whether the last key below a node, to which the way is one of `depth` bytes as long as the present one's, is before
    /// the end of the range.
    fn ends_before(&self, reference: u64, depth: usize, high: Option<&[u8]>) -> Result<bool> {
        let Some(high) = high else { return Ok(true) };
        let arena = self.arena.shared();
        let mut path = Vec::new();
        for step in &self.path.steps {
            if step.reference == reference || step.depth > depth {
                break;
            }
            path.extend_from_slice(Inner::parse(arena.node(step.reference)?)?.prefix());
        }
        let mut cursor = Cursor::new(arena, Word::new(reference, 0));
        cursor.seek_after();
        if !cursor.prev()? {
            return Err(lost());
        }
        path.extend_from_slice(cursor.key().unwrap_or_default());
        Ok(path.as_slice() < high)
    }

    /// Retires all nodes of a subtree; how many keys it had.
    pub(crate) fn drop_subtree(&mut self, word: Word) -> Result<u64> {
        let arena = std::sync::Arc::clone(self.arena.shared());
        let mut nodes = Vec::new();
        let mut keys = 0;
        walk(&arena, word, 0, &mut |reference, is_branch| {
            nodes.push(reference);
            if is_branch
                && let Ok(leaf) = Leaf::parse(arena.node(reference)?)
                && is_leaf(&arena, reference)?
            {
                keys += leaf.count() as u64;
            }
            Ok(true)
        })?;
        for reference in nodes {
            self.retire(reference)?;
        }
        Ok(keys)
    }
}

fn is_leaf(arena: &crate::arena::Arena, reference: u64) -> Result<bool> {
    use crate::node::Kind;
    Ok(Kind::of(arena.node(reference)?.head) == Some(Kind::Leaf))
}

#[cold]
fn lost() -> Error {
    Error::corrupt("a key that was found a moment ago is not there")
}
