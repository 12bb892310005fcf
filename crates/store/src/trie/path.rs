//! The way from a root down to where a key is or would be.
//!
//! The way is kept from one key to the next where keys come in order: neighbours share most of it. What changes below a node
//! on the way is written into it when the way leaves it, once for all keys.

use lath_kernels::bytes::common_prefix_len;

use super::find::{Branch, no_progress, prefetch_way};
use super::writer::Writer;
use crate::error::Result;
use crate::extent::Extent;
use crate::node::leaf::behind;
use crate::node::{Inner, Kind, Word, edit_inner, generation};
use crate::space::reclaim::Retired;

/// An inner node on the way, all of whose prefix the key has.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    pub(super) reference: u64,
    /// The child that the way goes on with.
    pub(super) index: usize,
    /// Bytes of the key before this node's prefix, and with it.
    pub(super) depth: usize,
    end: usize,
    /// Whether this writer may change the node.
    is_owned: bool,
    /// What that child has become. Only the lowest step has one.
    child: Option<Word>,
    /// How many more keys there are below than the node says.
    delta: i64,
}

/// The inner nodes on the way, the root first.
#[derive(Debug, Default)]
pub(crate) struct Path {
    pub(super) steps: Vec<Step>,
    /// The key that the way leads to.
    key: Vec<u8>,
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
    /// Finds the way to `key`, from the root or from where it leaves the way to the key before.
    pub(super) fn descend(&mut self, root: &mut Word, key: &[u8]) -> Result<End> {
        let shared = if self.path.steps.is_empty() { 0 } else { common_prefix_len(&self.path.key, key) };
        while self.path.steps.last().is_some_and(|step| step.end > shared) {
            self.leave_step(root)?;
        }
        self.path.key.truncate(shared);
        self.path.key.extend_from_slice(&key[shared..]);
        let (mut reference, mut depth) = match self.path.steps.last() {
            None if root.is_none() => return Ok(End::Empty),
            None => (root.reference(), 0),
            Some(_) => self.turn(key)?,
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
                    let index = inner.index_of(key.get(end).copied());
                    let child = inner.child(index);
                    prefetch_way(arena, child, &key[end..]);
                    self.path.steps.push(Step { reference, index, depth, end, is_owned: false, child: None, delta: 0 });
                    (reference, depth) = (child.reference(), end);
                }
            }
        }
    }

    /// Has the lowest step lead to where `key` goes on; the child there, and the bytes of the key before it.
    fn turn(&mut self, key: &[u8]) -> Result<(u64, usize)> {
        self.write_child()?;
        let Some(step) = self.path.steps.last_mut() else { return Ok((0, 0)) };
        let inner = Inner::parse(self.arena.node(step.reference)?)?;
        step.index = inner.index_of(key.get(step.end).copied());
        Ok((inner.child(step.index).reference(), step.end))
    }

    /// Writes into the lowest step's node what its child has become.
    fn write_child(&mut self) -> Result<()> {
        let generation = self.generation;
        if let Some(step) = self.path.steps.last_mut()
            && let Some(child) = step.child.take()
        {
            edit_inner::set_child(self.arena.own(step.reference, generation)?, step.index, child);
        }
        Ok(())
    }

    /// Takes the lowest step off the way, with what changed below it written down.
    fn leave_step(&mut self, root: &mut Word) -> Result<()> {
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

    /// Leaves the way, with all that changed written down.
    pub(crate) fn settle(&mut self, root: &mut Word) -> Result<()> {
        while !self.path.steps.is_empty() {
            self.leave_step(root)?;
        }
        Ok(())
    }

    /// Forgets the way of an operation that failed.
    pub(crate) fn forget_path(&mut self) {
        self.path.steps.clear();
    }

    /// Makes all nodes on the way this writer's own.
    pub(super) fn own_path(&mut self) -> Result<()> {
        // Above a node that is owned all are.
        let owned = self.path.steps.iter().rposition(|step| step.is_owned).map_or(0, |at| at + 1);
        for at in owned..self.path.steps.len() {
            let old = self.path.steps[at].reference;
            let node = self.arena.node(old)?;
            let (birth, units) = (generation(node.head), node.units());
            if birth < self.generation {
                let extent = self.allocate_units(units)?;
                self.arena.copy_whole(Extent { start: old, units }, extent.start, Kind::Inner, self.generation)?;
                self.retired.push(Retired { extent: Extent { start: old, units }, birth });
                self.path.steps[at].reference = extent.start;
            }
            self.path.steps[at].is_owned = true;
        }
        Ok(())
    }

    /// Has the lowest step lead to `child`, unless its children are right already, and counts `delta` keys more.
    pub(super) fn finish(&mut self, root: &mut Word, child: Option<Word>, delta: i64) -> Result<()> {
        match self.path.steps.last_mut() {
            Some(step) => {
                debug_assert!(step.is_owned, "a node on the way is about to be changed");
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
