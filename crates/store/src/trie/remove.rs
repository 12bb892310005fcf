//! Removes a key.

use super::build::Parts;
use super::descend::End;
use super::find::Branch;
use super::writer::{Target, Writer};
use super::{LEAF_MAX, LEAF_MIN};
use crate::error::{Error, Result};
use crate::node::edit_leaf::{self, Entries, entry_len};
use crate::node::{Inner, Kind, Leaf, Word, edit_inner, inner};

impl Writer {
    /// Removes `key`, and returns whether it existed.
    pub(crate) fn remove(&mut self, root: &mut Word, key: &[u8]) -> Result<bool> {
        let Some(target) = self.detach(root, key)? else { return Ok(false) };
        self.retire_target(target)?;
        Ok(true)
    }

    /// Removes `key`, but not the nodes of its value or of its nested tree. Returns what it referred to, or `None` if it did
    /// not exist.
    pub(crate) fn detach(&mut self, root: &mut Word, key: &[u8]) -> Result<Option<Option<Target>>> {
        self.discard_path();
        let End::Leaf { reference, depth } = self.descend(root, key)? else { return Ok(None) };
        let leaf = Leaf::parse(self.arena.node(reference)?)?;
        let (index, true) = leaf.lower_bound(key, depth)? else { return Ok(None) };
        let target = Target::from_slot(leaf.entry(index)?.value);
        self.own_path()?;
        self.remove_entries(root, reference, index..index + 1)?;
        self.close_path(root)?;
        Ok(Some(target))
    }

    /// Removes the keys in `range` from the leaf at the end of the path. This writer owns the nodes of the path.
    pub(super) fn remove_entries(
        &mut self,
        root: &mut Word,
        reference: u64,
        range: std::ops::Range<usize>,
    ) -> Result<()> {
        let leaf = Leaf::parse(self.arena.node(reference)?)?;
        let count = leaf.count();
        let delta = -(range.len() as i64);
        if range.len() == count {
            self.retire(reference)?;
            return self.remove_child(root, delta);
        }
        let mut gone = 0;
        for index in range.clone() {
            let entry = leaf.entry(index)?;
            gone += entry_len(entry.suffix.len(), entry.value);
        }
        let freed = leaf.dead_len() + gone + 3 * range.len();
        let used = leaf.used_len().checked_sub(freed);
        let used = used.ok_or_else(|| Error::corrupt("the entries of a leaf are longer than its heap"))?;
        if used < LEAF_MIN && self.join(root, reference, &range)? {
            return Ok(());
        }
        if range.len() == 1 && self.owns(reference)? {
            edit_leaf::remove(self.arena.own(reference, self.generation)?, range.start, gone);
            return self.record_change(root, Some(Word::new(reference, count as u64 - 1)), delta);
        }
        self.rebuild(root, reference, range, None, false)
    }

    /// Joins the remaining keys of a leaf, without the keys in `range`, with a neighbour that has room for them, and
    /// returns whether there is one.
    fn join(&mut self, root: &mut Word, reference: u64, range: &std::ops::Range<usize>) -> Result<bool> {
        let Some(step) = self.path.steps.last().copied() else { return Ok(false) };
        let parent = Inner::parse(self.arena.node(step.reference)?)?;
        let beside = [step.index.checked_sub(1), Some(step.index + 1).filter(|index| *index < parent.count())];
        for neighbour in beside.into_iter().flatten() {
            let other = parent.child(neighbour).reference();
            let Branch::Leaf(other_leaf) = Branch::at(self.arena.shared(), other)? else { continue };
            let leaf = Leaf::parse(self.arena.node(reference)?)?;
            // The bytes of both together, in case they have no prefix in common.
            let bytes = |leaf: &Leaf<'_>| leaf.used_len() + leaf.prefix().len() * leaf.count();
            if bytes(&leaf) + bytes(&other_leaf) > LEAF_MAX {
                continue;
            }
            let mut entries = Entries::default();
            if neighbour < step.index {
                entries.push_leaf(&other_leaf, 0..other_leaf.count(), &[])?;
            }
            entries.push_leaf(&leaf, 0..range.start, &[])?;
            entries.push_leaf(&leaf, range.end..leaf.count(), &[])?;
            if neighbour > step.index {
                entries.push_leaf(&other_leaf, 0..other_leaf.count(), &[])?;
            }
            let first = neighbour.min(step.index);
            self.retire(reference)?;
            self.retire(other)?;
            entries.check_order()?;
            let word = self.build(&entries, 0..entries.len(), 0, false)?;
            self.shrink_children(root, first..first + 2, Some(word), -(range.len() as i64))?;
            return Ok(true);
        }
        Ok(false)
    }

    /// Removes the child at the end of the path, which has been retired.
    fn remove_child(&mut self, root: &mut Word, delta: i64) -> Result<()> {
        match self.path.steps.last() {
            None => {
                *root = Word::NONE;
                Ok(())
            }
            Some(step) => {
                let index = step.index;
                self.shrink_children(root, index..index + 1, None, delta)
            }
        }
    }

    /// Replaces children of the lowest step by one or none. A node with one remaining child is replaced by it, and a
    /// node without children is removed.
    pub(super) fn shrink_children(
        &mut self,
        root: &mut Word,
        replaced: std::ops::Range<usize>,
        child: Option<Word>,
        delta: i64,
    ) -> Result<()> {
        let Some(step) = self.path.steps.last().copied() else { return Ok(()) };
        let parent = Inner::parse(self.arena.node(step.reference)?)?;
        let left = parent.count() - replaced.len() + usize::from(child.is_some());
        if left > 1 {
            let parts = Parts { dividers: Vec::new(), children: child.into_iter().collect() };
            return self.replace_children(root, replaced, parts, delta);
        }
        let prefix = parent.prefix().to_vec();
        let only = match child {
            Some(word) => Some(word),
            None if left == 1 => Some(parent.child(if replaced.start == 0 { replaced.end } else { 0 })),
            None => None,
        };
        self.retire(step.reference)?;
        self.path.steps.pop();
        match only {
            None => self.remove_child(root, delta),
            Some(word) => {
                let word = self.lengthen(word, &prefix)?;
                self.record_change(root, Some(word), delta)
            }
        }
    }

    /// Prepends `prefix` to all keys of the subtree at `word`.
    fn lengthen(&mut self, word: Word, prefix: &[u8]) -> Result<Word> {
        let reference = word.reference();
        match Branch::at(self.arena.shared(), reference)? {
            Branch::Inner(inner) => {
                let total = inner.total();
                let extent = self.allocate(inner::body_len(prefix.len() + inner.prefix().len(), inner.count() - 1))?;
                let (node, body) = self.arena.copy_to(reference, extent, Kind::Inner, self.generation)?;
                let inner = Inner::parse(node)?;
                edit_inner::copy(&inner, body, &[prefix, inner.prefix()]);
                self.retire(reference)?;
                Ok(Word::new(extent.start, total))
            }
            Branch::Leaf(leaf) => {
                let mut entries = Entries::default();
                entries.push_leaf(&leaf, 0..leaf.count(), prefix)?;
                self.retire(reference)?;
                entries.check_order()?;
                self.build(&entries, 0..entries.len(), 0, false)
            }
        }
    }
}
