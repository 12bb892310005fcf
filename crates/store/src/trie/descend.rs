//! Descends from a root to the position of a key.
//!
//! If keys come in order, the path is kept from one key to the next, because neighbours share most of it. Changes below
//! a node on the path are written into it once, when the path leaves it.

use lath_kernels::bytes::common_prefix_len;

use super::find::{Branch, no_progress, prefetch_way};
use super::path::Step;
use super::writer::Writer;
use crate::error::Result;
use crate::extent::Extent;
use crate::node::leaf::behind;
use crate::node::{Inner, Kind, Word, edit_inner, generation};
use crate::space::reclaim::RetiredNode;

/// The end of a path.
#[derive(Debug, Clone, Copy)]
pub(super) enum End {
    /// The tree is empty.
    Empty,
    /// In this leaf, after the first `depth` bytes of the key.
    Leaf { reference: u64, depth: usize },
    /// At this inner node: the key matches only the first `matched` bytes of its prefix.
    Inner { reference: u64, depth: usize, matched: usize },
}

impl Writer {
    /// Finds the path to `key`, from the root or from where it leaves the previous key's path.
    pub(super) fn descend(&mut self, root: &mut Word, key: &[u8]) -> Result<End> {
        let shared = if self.path.steps.is_empty() { 0 } else { common_prefix_len(&self.path.key, key) };
        while self.path.steps.last().is_some_and(|step| step.end > shared) {
            self.pop_step(root)?;
        }
        self.path.key.truncate(shared);
        self.path.key.extend_from_slice(&key[shared..]);
        let (mut reference, mut depth) = match self.path.steps.last() {
            None if root.is_none() => return Ok(End::Empty),
            None => (root.reference(), 0),
            Some(_) => self.redirect(key)?,
        };
        loop {
            let arena = self.arena.shared();
            match Branch::at(arena, reference)? {
                Branch::Leaf(_) => return Ok(End::Leaf { reference, depth }),
                Branch::Inner(inner) => {
                    let prefix = inner.prefix();
                    if prefix.is_empty() && !self.path.steps.is_empty() {
                        return Err(no_progress(reference));
                    }
                    if behind(&key[depth..], prefix).is_none() {
                        let matched = common_prefix_len(&key[depth..], prefix);
                        return Ok(End::Inner { reference, depth, matched });
                    }
                    let end = depth + prefix.len();
                    let index = inner.child_index(key.get(end).copied());
                    let child = inner.child(index);
                    prefetch_way(arena, child, &key[end..]);
                    self.path.steps.push(Step { reference, index, depth, end, is_owned: false, child: None, delta: 0 });
                    (reference, depth) = (child.reference(), end);
                }
            }
        }
    }

    /// Makes the lowest step lead to the child for `key`. Returns the child and the number of bytes of the key before
    /// it.
    fn redirect(&mut self, key: &[u8]) -> Result<(u64, usize)> {
        self.write_child()?;
        let Some(step) = self.path.steps.last_mut() else { return Ok((0, 0)) };
        let inner = Inner::parse(self.arena.node(step.reference)?)?;
        step.index = inner.child_index(key.get(step.end).copied());
        Ok((inner.child(step.index).reference(), step.end))
    }

    /// Writes the changed child of the lowest step into its node.
    fn write_child(&mut self) -> Result<()> {
        let generation = self.generation;
        if let Some(step) = self.path.steps.last_mut()
            && let Some(child) = step.child.take()
        {
            edit_inner::set_child(self.arena.own(step.reference, generation)?, step.index, child);
        }
        Ok(())
    }

    /// Removes the lowest step from the path, and writes the changes below it into its node.
    fn pop_step(&mut self, root: &mut Word) -> Result<()> {
        let Some(step) = self.path.steps.pop() else { return Ok(()) };
        if !step.is_owned {
            return Ok(());
        }
        let body = self.arena.own(step.reference, self.generation)?;
        if let Some(child) = step.child {
            edit_inner::set_child(body, step.index, child);
        }
        let total = edit_inner::add_to_total(body, step.delta);
        let word = Word::new(step.reference, total);
        match self.path.steps.last_mut() {
            Some(above) => {
                above.child = Some(word);
                above.delta += step.delta;
            }
            None => *root = word,
        }
        Ok(())
    }

    /// Ends the path, and writes all changes into its nodes and the root.
    pub(crate) fn close_path(&mut self, root: &mut Word) -> Result<()> {
        while !self.path.steps.is_empty() {
            self.pop_step(root)?;
        }
        Ok(())
    }

    /// Discards the path of an operation that failed.
    pub(crate) fn discard_path(&mut self) {
        self.path.steps.clear();
    }

    /// Copies the nodes on the path that this writer does not own.
    pub(super) fn own_path(&mut self) -> Result<()> {
        // All nodes above an owned node are owned.
        let owned = self.path.steps.iter().rposition(|step| step.is_owned).map_or(0, |at| at + 1);
        for at in owned..self.path.steps.len() {
            let old = self.path.steps[at].reference;
            let node = self.arena.node(old)?;
            let (birth, units) = (generation(node.head), node.units());
            if birth < self.generation {
                let extent = self.allocate_units(units)?;
                self.arena.copy_whole(Extent { start: old, units }, extent.start, Kind::Inner, self.generation)?;
                // From the root down: a copy of a shared node gives its children one more reference.
                if self.shares.is_empty() || self.remove_reference(old)? {
                    self.retired.push(RetiredNode { extent: Extent { start: old, units }, birth });
                }
                self.path.steps[at].reference = extent.start;
            }
            self.path.steps[at].is_owned = true;
        }
        Ok(())
    }

    /// Records that the lowest step's child is now `child`, if it has changed, and that there are `delta` more keys
    /// below.
    pub(super) fn record_change(&mut self, root: &mut Word, child: Option<Word>, delta: i64) -> Result<()> {
        match self.path.steps.last_mut() {
            Some(step) => {
                debug_assert!(step.is_owned, "a node on the path is changed without being owned");
                step.child = child;
                step.delta += delta;
            }
            None => {
                if let Some(word) = child {
                    *root = word;
                }
            }
        }
        Ok(())
    }
}
