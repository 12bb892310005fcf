//! Removes a range of keys, by whole subtrees where the range covers them.

use super::cursor::Cursor;
use super::descend::End;
use super::walk::walk;
use super::writer::{Writer, external};
use crate::error::{Error, Result};
use crate::node::{Inner, Leaf, Word};

impl Writer {
    /// Removes the keys from `low` up to but not including `high`, if given, and returns their number.
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

    /// Removes `key`, which exists, and the keys of the range after it in the same leaf or in sibling subtrees.
    fn remove_from(&mut self, root: &mut Word, key: &[u8], high: Option<&[u8]>) -> Result<u64> {
        self.discard_path();
        let End::Leaf { reference, depth } = self.descend(root, key)? else { return Err(lost()) };
        let leaf = Leaf::parse(self.arena.node(reference)?)?;
        let (first, true) = leaf.lower_bound(key, depth)? else { return Err(lost()) };
        let end = match high {
            None => leaf.count(),
            Some(high) if high.starts_with(&key[..depth]) => leaf.lower_bound(high, depth)?.0,
            // The range extends beyond the leaf: its end is greater than `key` and differs from it before the leaf's
            // part.
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
            self.close_path(root)?;
            for value in values {
                self.retire(value)?;
            }
            return Ok(count);
        }
        self.remove_subtrees(root, reference, high)
    }

    /// Removes the leaf at the end of the path, all of whose keys are in the range, or the largest subtree in the range
    /// whose first leaf it is, and its sibling subtrees that are completely in the range.
    fn remove_subtrees(&mut self, root: &mut Word, leaf: u64, high: Option<&[u8]>) -> Result<u64> {
        // Goes up as long as the path leads through first children and the subtree ends before the range does.
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
        self.close_path(root)?;
        Ok(removed)
    }

    /// Returns whether the last key below a node is before the end of the range. The path to the node has `depth`
    /// bytes, and is the current one or a part of it.
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

    /// Retires all nodes of a subtree, and returns its number of keys.
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
    Ok(Kind::from_head(arena.node(reference)?.head) == Some(Kind::Leaf))
}

#[cold]
fn lost() -> Error {
    Error::corrupt("a key that a search has found is missing")
}
