//! Allocates space for new nodes, and tracks which nodes the writer owns.

use std::sync::Arc;

use super::find::Branch;
use super::path::Path;
use super::shares::Shares;
use crate::arena::{Arena, WriteArena};
use crate::error::{Error, Result};
use crate::extent::{Extent, Generation, HUGE_PAGE, UNIT};
use crate::node::edit_leaf::Entries;
use crate::node::leaf::INLINE_MAX;
use crate::node::{Kind, Leaf, Slot, Word, generation, units_for, value};
use crate::space::Space;
use crate::space::reclaim::RetiredNode;

/// The data area grows by at least this much at a time, and by this fraction of its length.
const GROWTH_MIN: u64 = 1 << 20;
const GROWTH_FRACTION: u64 = 32;
const GROWTH_MAX: u64 = 64 << 20;

const PAGE: u64 = 4096;

/// One part in this many of the file is a reserve, up to a maximum. A file that has not grown yet has none.
const RESERVE_FRACTION: u64 = 16;
const RESERVE_MAX: u64 = 4 << 20;

/// The length of the file for a data area of `end` bytes, including the reserve.
pub(crate) fn len_with_reserve(end: u64) -> u64 {
    let reserve = if end < GROWTH_MIN { 0 } else { (end / (RESERVE_FRACTION - 1)).min(RESERVE_MAX) };
    (end + reserve).next_multiple_of(PAGE)
}

/// The length of the data area in a file of `len` bytes, without the reserve.
pub(crate) fn len_without_reserve(len: u64) -> u64 {
    let reserve = if len <= GROWTH_MIN { 0 } else { (len / RESERVE_FRACTION).min(RESERVE_MAX) };
    (len - reserve) / UNIT * UNIT
}

/// The reason for creating nodes, which decides whether they may use the reserve on a full disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A replay of the log: its nodes fitted before, but in other places.
    Replay,
    /// A removal, which makes room.
    Removal,
    Other,
}

/// The lengths of the lists of what a transaction no longer reaches.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RetiredLengths {
    pub(crate) nodes: usize,
    pub(crate) records: usize,
    pub(crate) subtrees: usize,
}

/// Makes, changes and retires nodes.
#[derive(Debug)]
pub(crate) struct Writer {
    pub(crate) arena: WriteArena,
    pub(crate) space: Space,
    /// The generation of new nodes. Nodes of this generation or later are changed in place, others are copied.
    pub(crate) generation: Generation,
    purpose: Purpose,
    /// Nodes that this transaction no longer reaches, but that an earlier root or savepoint may reach.
    pub(crate) retired: Vec<RetiredNode>,
    /// Retired nodes that are not part of any named snapshot: records of commits, and the tree of named snapshots.
    pub(crate) retired_records: Vec<RetiredNode>,
    /// The roots of subtrees that this transaction has removed, and that an earlier root or savepoint reaches. Their nodes
    /// are on no list of retired nodes.
    pub(crate) removed_subtrees: Vec<u64>,
    /// The nodes with several references in one commit.
    pub(crate) shares: Shares,
    pub(super) path: Path,
    pub(super) entries: Entries,
}

impl Writer {
    pub(crate) fn new(arena: WriteArena, space: Space, generation: Generation) -> Self {
        Self {
            arena,
            space,
            generation,
            purpose: Purpose::Replay,
            retired: Vec::new(),
            retired_records: Vec::new(),
            removed_subtrees: Vec::new(),
            shares: Shares::default(),
            path: Path::default(),
            entries: Entries::default(),
        }
    }

    pub(crate) fn shared(&self) -> &Arc<Arena> {
        self.arena.shared()
    }

    /// Sets the purpose of new nodes. During a replay it has no effect.
    #[inline]
    pub(crate) fn set_purpose(&mut self, purpose: Purpose) {
        if self.purpose != Purpose::Replay {
            self.purpose = purpose;
        }
    }

    /// Begins to write where another process has stopped, without a replay.
    pub(crate) fn begin(&mut self) {
        self.purpose = Purpose::Other;
    }

    /// Ends the replay, which may have used the reserve.
    pub(crate) fn end_replay(&mut self) {
        self.purpose = Purpose::Other;
        self.restore_reserve();
    }

    /// Restores the reserve after it was used, if possible.
    pub(crate) fn restore_reserve(&mut self) {
        let data = self.arena.shared().data();
        let (end, len, capacity) = (self.space.end() * UNIT, data.len(), data.capacity());
        let without = len_without_reserve(len);
        if end <= without || self.space.shrink(without / UNIT) {
            return;
        }
        // On a full disk this fails, and there is no reserve for now.
        let _ = self.arena.grow_file(len_with_reserve(end).min(capacity));
    }

    /// Allocates space for a node whose body has `len` bytes.
    pub(super) fn allocate(&mut self, body_len: usize) -> Result<Extent> {
        self.allocate_units(units_for(body_len))
    }

    pub(crate) fn allocate_units(&mut self, units: u32) -> Result<Extent> {
        let Some(start) = self.space.allocate(units) else { return self.make_room(units, None) };
        // The next node goes to a place that is no longer in the cache. Loading 4 million random keys takes 2.4 s of
        // processor time with this prefetch and 3.0 s without.
        if let Some(next) = self.space.expect(units) {
            self.arena.shared().prefetch_to_write(next, units.into());
        }
        Ok(Extent { start, units })
    }

    /// Like [`allocate`](Self::allocate), for a single large node: searches everywhere before the file grows, and lets
    /// it grow by no more than necessary.
    pub(crate) fn allocate_tightly(&mut self, units: u32) -> Result<Extent> {
        match self.space.allocate_anywhere(units) {
            Some(start) => Ok(Extent { start, units }),
            None => self.make_room(units, Some(u64::from(units) * UNIT)),
        }
    }

    /// Grows the data area, by `bytes` or by the usual step. If it cannot grow, uses the last holes.
    #[cold]
    fn make_room(&mut self, units: u32, bytes: Option<u64>) -> Result<Extent> {
        // There is no room below the ceiling: raising it a little is better than a longer file.
        while let Some(ceiling) = self.space.ceiling() {
            let above = self.space.end().saturating_sub(ceiling);
            let higher = (above > 0).then(|| ceiling + (above / 8).max(64).min(above));
            self.space.set_ceiling(higher);
            if let Some(start) = self.space.allocate(units) {
                return Ok(Extent { start, units });
            }
        }
        let is_tight = bytes.is_some();
        loop {
            if let Err(error) = self.grow(units, bytes) {
                let start = self.allocate_last(units).ok_or(error)?;
                return Ok(Extent { start, units });
            }
            let found = if is_tight { self.space.allocate_anywhere(units) } else { self.space.allocate(units) };
            if let Some(start) = found {
                return Ok(Extent { start, units });
            }
        }
    }

    /// Allocates in the last holes, when the data area cannot grow as it usually does.
    fn allocate_last(&mut self, units: u32) -> Option<u64> {
        if self.purpose == Purpose::Other {
            // Without a reserve, the store may become too full to replay its log.
            let has_reserve = self.space.end() * UNIT <= len_without_reserve(self.arena.shared().data().len());
            return if has_reserve { self.space.allocate_anywhere(units) } else { None };
        }
        let found = self.space.allocate_anywhere(units);
        if found.is_some() {
            return found;
        }
        // The rest of the disk, or else the reserve.
        if self.grow(units, Some(u64::from(units) * UNIT)).is_err() {
            self.use_reserve();
        }
        self.space.allocate_anywhere(units)
    }

    /// Makes the data area long enough for a node of `units` at its end, and the file long enough for a reserve after
    /// it.
    fn grow(&mut self, units: u32, bytes: Option<u64>) -> Result<()> {
        let data = self.arena.shared().data();
        let end = self.space.end() * UNIT;
        let needed = u64::from(units) * UNIT;
        let wanted_len = bytes.map_or_else(
            || {
                let step = (end / GROWTH_FRACTION).clamp(GROWTH_MIN, GROWTH_MAX).max(needed);
                let len = len_with_reserve(end + step);
                // A longer file ends with a whole huge page.
                if len > HUGE_PAGE { len.next_multiple_of(HUGE_PAGE) } else { len }
            },
            |bytes| len_with_reserve(end + bytes),
        );
        let len = wanted_len.min(data.capacity());
        let wanted = len_without_reserve(len);
        if wanted < end + needed {
            return Err(Error::Limit { what: "the size of the store", limit: data.capacity() });
        }
        self.arena.grow_file(len)?;
        self.extend(wanted);
        Ok(())
    }

    /// Makes the file's reserve a part of the data area.
    fn use_reserve(&mut self) {
        let len = self.arena.shared().data().len() / UNIT * UNIT;
        if len > self.space.end() * UNIT {
            self.extend(len);
        }
    }

    fn extend(&mut self, end: u64) {
        self.arena.shared().set_len(end);
        self.space.grow(end / UNIT);
    }

    /// Returns whether the node at `reference` is changed in place.
    #[inline]
    pub(super) fn owns(&self, reference: u64) -> Result<bool> {
        Ok(generation(self.arena.node(reference)?.head) >= self.generation)
    }

    /// Retires a node that this transaction no longer reaches. Another node, or none, refers to what it referred to.
    ///
    /// If a node with several references loses one of them, it stays, and what it refers to has one more reference.
    pub(crate) fn retire(&mut self, reference: u64) -> Result<()> {
        if !self.shares.is_empty() && !self.remove_reference(reference)? {
            return Ok(());
        }
        let birth = self.shared().birth(reference)?;
        let extent = self.shared().extent(reference)?;
        if birth >= self.generation {
            self.release(extent)
        } else {
            self.retired.push(RetiredNode { extent, birth });
            Ok(())
        }
    }

    /// Counts one reference to a node less, whose children another node refers to now. Returns whether none is left.
    #[cold]
    pub(super) fn remove_reference(&mut self, reference: u64) -> Result<bool> {
        if self.shares.remove(reference, self.generation).is_some() {
            return Ok(true);
        }
        let node = self.arena.shared().birth(reference)?;
        debug_assert!(node < self.generation, "a node that is changed in place has several references");
        let arena = Arc::clone(self.arena.shared());
        if arena.kind(reference)? == Some(Kind::Value) {
            return Ok(false);
        }
        match Branch::at(&arena, reference)? {
            Branch::Inner(inner) => {
                (0..inner.count()).for_each(|index| self.shares.add(inner.child(index).reference()));
            }
            Branch::Leaf(leaf) => {
                for target in targets(&leaf)? {
                    match target {
                        Target::Value(value) => self.shares.add(value),
                        Target::Tree(word) if word.is_none() => {}
                        Target::Tree(word) => self.shares.add(word.reference()),
                    }
                }
            }
        }
        Ok(false)
    }

    /// Makes one more place refer to the tree with this root. From here on, nodes that exist are copied for changes.
    pub(crate) fn share(&mut self, root: Word) {
        if !root.is_none() {
            self.shares.add(root.reference());
            self.generation += 1;
        }
    }

    pub(crate) fn retired_lengths(&self) -> RetiredLengths {
        RetiredLengths {
            nodes: self.retired.len(),
            records: self.retired_records.len(),
            subtrees: self.removed_subtrees.len(),
        }
    }

    /// Runs an operation whose retired nodes are not part of any named snapshot.
    pub(crate) fn retiring_records<T>(&mut self, operation: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let from = self.retired.len();
        let result = operation(self);
        self.retired_records.extend(self.retired.drain(from..));
        result
    }

    /// Frees a node that only this transaction ever reached.
    pub(crate) fn release(&mut self, extent: Extent) -> Result<()> {
        self.space.release(extent);
        self.poison_freed()
    }

    /// Overwrites space that has just become free, before it is reused.
    #[cfg(any(feature = "poison", debug_assertions))]
    pub(crate) fn poison_freed(&mut self) -> Result<()> {
        self.space.take_released().into_iter().try_for_each(|extent| self.arena.poison(extent))
    }

    #[cfg(not(any(feature = "poison", debug_assertions)))]
    #[expect(clippy::unnecessary_wraps, clippy::unused_self, reason = "debug builds can fail here")]
    pub(crate) fn poison_freed(&mut self) -> Result<()> {
        Ok(())
    }

    /// The slot for a value: inline in the leaf if it is small, otherwise in a new node.
    pub(super) fn place<'v>(&mut self, content: Content<'v>) -> Result<Slot<'v>> {
        let bytes = match content {
            Content::Value(bytes) => bytes,
            Content::Tree(word) => return Ok(Slot::Tree(word)),
        };
        if bytes.len() <= INLINE_MAX {
            return Ok(Slot::Inline(bytes));
        }
        let extent = self.allocate_units(value::units(bytes.len() as u64)?)?;
        value::write(self.arena.fresh(extent, Kind::Value, self.generation)?, bytes);
        Ok(Slot::External(extent.start))
    }

    /// Retires what a slot that is gone referred to: the node of a value, or all nodes of a nested tree.
    #[inline]
    pub(super) fn retire_target(&mut self, target: Option<Target>) -> Result<()> {
        match target {
            None => Ok(()),
            Some(Target::Value(reference)) => self.retire(reference),
            Some(Target::Tree(word)) if word.is_none() => Ok(()),
            Some(Target::Tree(word)) => self.remove_subtree(word.reference()).map(drop),
        }
    }
}

/// A value or a nested tree that is put at a key.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Content<'v> {
    Value(&'v [u8]),
    /// The root of a nested tree.
    Tree(Word),
}

/// A node outside of the leaf to which a slot refers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    /// A value node.
    Value(u64),
    /// The root of a nested tree.
    Tree(Word),
}

impl Target {
    /// The node to which a slot refers, if its value is not in the leaf.
    #[inline]
    pub(crate) fn from_slot(slot: Slot<'_>) -> Option<Self> {
        match slot {
            Slot::Inline(_) => None,
            Slot::External(reference) => Some(Self::Value(reference)),
            Slot::Tree(word) => Some(Self::Tree(word)),
        }
    }
}

/// The value nodes and the nested trees to which a leaf refers.
pub(crate) fn targets(leaf: &Leaf<'_>) -> Result<Vec<Target>> {
    let mut targets = Vec::new();
    for index in 0..leaf.count() {
        if leaf.may_refer(index) {
            targets.extend(Target::from_slot(leaf.entry(index)?.value));
        }
    }
    Ok(targets)
}
