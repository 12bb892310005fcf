//! Removes a range of keys.
//!
//! Only nodes at the two ends of the range are changed. Subtrees in between are removed as a whole: their parents count
//! their keys, and later commits [visit their nodes](crate::writer::RemovedSubtrees). So a removal takes as long as a few
//! lookups, for any number of keys: 10 of 20 million keys are removed and committed in 0.4 ms (`just remove-range`).

use std::sync::Arc;

use super::cursor::Cursor;
use super::descend::End;
use super::find::Branch;
use super::writer::{Target, Writer, targets};
use crate::error::{Error, Result};
use crate::extent::UNIT;
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
            let mut targets = Vec::new();
            for index in first..end {
                targets.extend(Target::from_slot(leaf.entry(index)?.value));
            }
            self.own_path()?;
            self.remove_entries(root, reference, first..end)?;
            self.close_path(root)?;
            for target in targets {
                self.retire_target(Some(target))?;
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
        if self.path.steps.is_empty() {
            let removed = self.remove_subtree(top)?;
            *root = Word::NONE;
            return Ok(removed);
        }
        let end = self.end_of_children_before(high)?;
        self.own_path()?;
        let step = self.path.steps[self.path.steps.len() - 1];
        let parent = Inner::parse(self.arena.node(step.reference)?)?;
        if step.index == 0 && end == parent.count() {
            return Err(lost());
        }
        let children: Vec<u64> = (step.index..end).map(|index| parent.child(index).reference()).collect();
        children.iter().for_each(|child| self.arena.shared().prefetch::<1>(*child));
        let mut removed = 0;
        for child in children {
            removed += self.remove_subtree(child)?;
        }
        self.shrink_children(root, step.index..end, None, -(removed as i64))?;
        self.close_path(root)?;
        Ok(removed)
    }

    /// The end of the children of the lowest step that are completely before the end of the range. The child on the path
    /// is one of them.
    fn end_of_children_before(&self, high: Option<&[u8]>) -> Result<usize> {
        let Some(step) = self.path.steps.last() else { return Err(lost()) };
        let parent = Inner::parse(self.arena.node(step.reference)?)?;
        let Some(high) = high else { return Ok(parent.count()) };
        let path = &self.path.key[..step.end];
        let mut end = step.index + 1;
        while end < parent.count() {
            // The keys below a child are less than the path followed by the divider after the child.
            let is_before = parent.dividers().get(end).is_some_and(|divider| match high.strip_prefix(path) {
                Some(rest) => rest.first().is_some_and(|byte| byte >= divider),
                None => path < high,
            });
            if !is_before && !self.ends_before(parent.child(end).reference(), step.depth, Some(high))? {
                break;
            }
            end += 1;
        }
        Ok(end)
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

    /// Removes a subtree, with the trees nested in it, and returns its number of keys. Frees the nodes that only this transaction ever reached, which
    /// are the upper ones. Later commits visit the others.
    pub(crate) fn remove_subtree(&mut self, reference: u64) -> Result<u64> {
        let arena = Arc::clone(self.arena.shared());
        let keys = Branch::at(&arena, reference)?.total();
        // Each key takes more than a byte.
        if keys > arena.len() {
            let what = "a node counts more keys than there is room for";
            return Err(Error::corrupt_at(reference * UNIT, what));
        }
        let mut pending = vec![reference];
        // Nodes that this transaction owns have one reference. More of them than the file has units are reached over and over.
        let mut left = arena.len() / UNIT;
        while let Some(reference) = pending.pop() {
            if !self.owns(reference)? {
                self.removed_subtrees.push(reference);
                continue;
            }
            left = left.checked_sub(1).ok_or_else(|| Error::corrupt("a tree contains a cycle"))?;
            match Branch::at(&arena, reference)? {
                Branch::Inner(inner) => pending.extend((0..inner.count()).map(|index| inner.child(index).reference())),
                Branch::Leaf(leaf) => {
                    for target in targets(&leaf)? {
                        match target {
                            Target::Value(value) => self.retire(value)?,
                            Target::Tree(word) if word.is_none() => {}
                            Target::Tree(word) => pending.push(word.reference()),
                        }
                    }
                }
            }
            self.retire(reference)?;
        }
        Ok(keys)
    }
}

#[cold]
fn lost() -> Error {
    Error::corrupt("a key that a search has found is missing")
}
