//! The way from a root down to where a key is or would be.

use super::find::{Branch, no_progress};
use super::writer::Writer;
use crate::error::Result;
use crate::node::{Inner, Kind, Word, edit_inner};

/// An inner node on the way, all of whose prefix the key has.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    pub(super) reference: u64,
    /// The child that the way goes on with.
    pub(super) index: usize,
    /// Bytes of the key before this node's prefix.
    pub(super) depth: usize,
}

/// The inner nodes on the way, the root first.
#[derive(Debug, Default)]
pub(crate) struct Path {
    pub(super) steps: Vec<Step>,
}

impl Path {
    /// A node is about to be free: no step may lead to it later.
    pub(super) fn forget(&mut self, _reference: u64) {}
}

/// Where the way ends.
#[derive(Debug, Clone, Copy)]
pub(super) enum End {
    /// The tree is empty.
    Empty,
    /// In this leaf; so many bytes of the key are before it.
    Leaf { reference: u64, depth: usize },
    /// At this inner node, of whose prefix the key has only the first `matched` bytes.
    Inner { reference: u64, depth: usize, matched: usize },
}

impl Writer {
    /// Finds the way to `key`, without changing anything.
    pub(super) fn descend(&mut self, root: Word, key: &[u8]) -> Result<End> {
        self.path.steps.clear();
        if root.is_none() {
            return Ok(End::Empty);
        }
        let mut reference = root.reference();
        let mut depth = 0;
        loop {
            let arena = self.arena.shared();
            match Branch::parse(arena.node(reference)?, reference)? {
                Branch::Leaf(_) => return Ok(End::Leaf { reference, depth }),
                Branch::Inner(inner) => {
                    let prefix = inner.prefix();
                    if prefix.is_empty() && !self.path.steps.is_empty() {
                        return Err(no_progress(reference));
                    }
                    let rest = &key[depth..];
                    if !rest.starts_with(prefix) {
                        let matched = rest.iter().zip(prefix).take_while(|(a, b)| a == b).count();
                        return Ok(End::Inner { reference, depth, matched });
                    }
                    let index = inner.index_of(rest.get(prefix.len()).copied());
                    self.path.steps.push(Step { reference, index, depth });
                    depth += prefix.len();
                    reference = inner.child(index).reference();
                    arena.prefetch(reference, 12);
                }
            }
        }
    }

    /// Makes all nodes on the way this writer's own. Who comes after must [`finish`](Self::finish).
    pub(super) fn own_path(&mut self) -> Result<()> {
        for at in 0..self.path.steps.len() {
            let old = self.path.steps[at].reference;
            if self.owns(old)? {
                continue;
            }
            let inner = Inner::parse(self.arena.node(old)?)?;
            let extent = self.allocate(crate::node::inner::body_len(inner.prefix().len(), inner.count() - 1))?;
            self.arena.fresh(extent, Kind::Inner, self.generation)?;
            let (node, body) = self.arena.pair(old, extent)?;
            let inner = Inner::parse(node)?;
            edit_inner::copy(&inner, body, &[inner.prefix(), &[]]);
            self.retire(old)?;
            self.path.steps[at].reference = extent.start;
        }
        Ok(())
    }

    /// Has the lowest step lead to `child`, unless its children are right already, and counts `delta` keys more all the way
    /// up.
    pub(super) fn finish(&mut self, root: &mut Word, child: Option<Word>, delta: i64) -> Result<()> {
        let mut below = child;
        for at in (0..self.path.steps.len()).rev() {
            let step = self.path.steps[at];
            let total = Inner::parse(self.arena.node(step.reference)?)?.total().wrapping_add_signed(delta);
            let body = self.arena.own(step.reference, self.generation)?;
            if let Some(word) = below {
                edit_inner::set_child(body, step.index, word);
            }
            edit_inner::set_total(body, total);
            below = Some(Word::new(step.reference, total));
        }
        if let Some(word) = below {
            *root = word;
        }
        Ok(())
    }
}
