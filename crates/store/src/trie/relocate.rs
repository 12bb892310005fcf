//! Moves nodes towards the start of the file.
//!
//! A relocation visits the keys of a range. It copies nodes that end above a ceiling below it, and so the nodes that
//! refer to copied ones. Nodes that named snapshots share are moved once for all of them: visiting the same range of
//! every tree that may have them finds the copies. So whether a node is moved must not depend on the path to it: a node
//! belongs to the range if its first possible key does, and a value if its key does.
//!
//! The copy of a node of a named snapshot keeps the node's generation, because the snapshot reaches no younger nodes.
//! The next checkpoint would expect a checksum in it, so the copy gets one at once, and that checkpoint syncs the whole
//! file.

use std::collections::HashMap;
use std::sync::Arc;

use super::find::{Branch, no_progress};
use super::writer::Writer;
use super::{Cursor, MAX_KEY_LEN, count};
use crate::arena::Arena;
use crate::error::{Error, Result};
use crate::extent::{Extent, Generation, UNIT};
use crate::node::{Inner, Kind, Leaf, Slot, Word, edit_inner, edit_leaf, inner, units_for, value};
use crate::space::reclaim::RetiredNode;

/// The number of keys of a tree that one call visits.
const KEYS: u64 = 1 << 16;

/// Values of more units need a long hole. If there is none below the ceiling, any hole before the value will do; if
/// there is none of those either, shorter values may still find room.
const LONG: u32 = 64;

/// After this many long values without room, no more are tried: each takes a search of the whole map.
const STUCK_MAX: u32 = 64;

/// The state of moving nodes in one transaction.
#[derive(Debug)]
pub(crate) struct Relocation<'w> {
    writer: &'w mut Writer,
    arena: Arc<Arena>,
    /// Nodes that end above this unit are moved below it.
    ceiling: u64,
    /// Nodes of this generation and earlier ones may be part of named snapshots.
    kept: Generation,
    /// Whether nodes that may be part of named snapshots are moved.
    moves_kept: bool,
    /// Whether only long values are moved.
    only_long: bool,
    /// The range of keys.
    low: Vec<u8>,
    high: Option<Vec<u8>>,
    /// The new words for values of a catalog.
    words: HashMap<u64, u64>,
    /// The current references of nodes that several trees may share.
    seen: HashMap<u64, u64>,
    /// The number of units that may still be moved.
    budget: u64,
    /// The first key whose node was not moved, for lack of budget or of room.
    left: Option<Vec<u8>>,
    is_full: bool,
    stuck: u32,
    visits: u64,
    moved: RelocationResult,
}

/// The result of a relocation.
#[derive(Debug, Default, Clone)]
pub(crate) struct RelocationResult {
    pub(crate) nodes: u64,
    pub(crate) units: u64,
    /// The new extents of nodes of named snapshots.
    pub(crate) kept: HashMap<u64, Extent>,
}

/// An inner node on the path.
struct Frame<'a> {
    word: Word,
    birth: Generation,
    inner: Inner<'a>,
    /// The index of the next child to visit.
    next: usize,
    /// Bytes of the path before this node's prefix.
    above: usize,
    /// Children that were moved.
    changed: Vec<(usize, Word)>,
}

/// The current value of a leaf's entry.
enum Change {
    Value(u64),
    Word(u64),
}

impl<'w> Relocation<'w> {
    /// Moves at most `budget` units, plus the node that exceeds them. `kept` is the generation of the newest named
    /// snapshot, or 0.
    pub(crate) fn new(writer: &'w mut Writer, ceiling: u64, kept: Generation, budget: u64) -> Self {
        let arena = Arc::clone(writer.shared());
        writer.space.set_ceiling(Some(ceiling));
        Self {
            writer,
            arena,
            ceiling,
            kept,
            moves_kept: true,
            only_long: false,
            low: Vec::new(),
            high: None,
            words: HashMap::new(),
            seen: HashMap::new(),
            budget,
            left: None,
            is_full: false,
            stuck: 0,
            visits: 0,
            moved: RelocationResult::default(),
        }
    }

    /// Sets whether only values that need long holes, and the nodes that refer to them, are moved.
    pub(crate) fn set_only_long(&mut self, only_long: bool) {
        self.only_long = only_long;
    }

    /// Leaves nodes that may be part of named snapshots where they are. In a store with nested trees, a named snapshot may
    /// have them at another place, where no visit of the same range finds them.
    pub(crate) fn leave_kept(&mut self) {
        self.moves_kept = false;
    }

    pub(crate) fn writer(&mut self) -> &mut Writer {
        self.writer
    }

    /// Sets the range to a bounded number of keys from `low` on, in all of these trees.
    pub(crate) fn set_range(&mut self, low: &[u8], trees: &[Word]) -> Result<()> {
        low.clone_into(&mut self.low);
        (self.high, self.left) = (None, None);
        for &tree in trees {
            let mut cursor = Cursor::new(&self.arena, tree);
            if cursor.seek_rank(count::rank(&self.arena, tree, low)?.saturating_add(KEYS))?
                && let Some(key) = cursor.key()
                && self.high.as_ref().is_none_or(|high| key < &high[..])
            {
                self.high = Some(key.to_vec());
            }
        }
        Ok(())
    }

    /// Sets the range to the entries of a catalog between these names, whose values are replaced by the new words of their trees.
    pub(crate) fn set_words(&mut self, first: &[u8], last: &[u8], words: HashMap<u64, u64>) {
        first.clone_into(&mut self.low);
        self.high = Some([last, &[0]].concat());
        (self.words, self.left) = (words, None);
    }

    /// The start of the rest of the range, and then of the next range; `None` after the last key.
    pub(crate) fn rest(&mut self) -> Option<Vec<u8>> {
        self.left.take().or_else(|| self.high.take())
    }

    /// Returns whether a node could not be moved because there was no room.
    pub(crate) fn is_full(&self) -> bool {
        self.is_full
    }

    /// Returns whether no more nodes are moved.
    pub(crate) fn is_done(&self) -> bool {
        self.is_full || self.moved.units >= self.budget
    }

    /// The number of nodes visited, without values.
    pub(crate) fn visits(&self) -> u64 {
        self.visits
    }

    pub(crate) fn finish(self) -> RelocationResult {
        self.moved
    }

    /// Whether a node is above the ceiling and may be elsewhere.
    fn may_move(&self, extent: Extent, birth: Generation) -> bool {
        extent.end() > self.ceiling && (self.moves_kept || birth > self.kept)
    }

    fn has(&self, key: &[u8]) -> bool {
        key >= &self.low[..] && self.high.as_ref().is_none_or(|high| key < &high[..])
    }

    /// Moves nodes of a tree, and returns the tree's new root.
    pub(crate) fn tree(&mut self, root: Word) -> Result<Word> {
        if root.is_none() {
            return Ok(root);
        }
        let arena = Arc::clone(&self.arena);
        let mut frames: Vec<Frame<'_>> = Vec::new();
        let mut path = Vec::new();
        // A tree with more inner nodes than the file has units reaches some of them over and over. Copied trees may have more references
        // to nodes.
        let mut visits = arena.len() / UNIT;
        let mut word = root;
        loop {
            self.visits += 1;
            let mut done = self.enter(&arena, word, &mut path, &mut frames)?;
            if done.is_none() {
                visits = visits.checked_sub(1).ok_or_else(|| Error::corrupt("a tree contains a cycle"))?;
            }
            loop {
                let Some(frame) = frames.last_mut() else { return Ok(done.unwrap_or(root)) };
                if let Some(child) = done.take() {
                    frame.update_child(child);
                }
                if let Some(child) = frame.next_child(&mut path, &self.low, self.high.as_deref()) {
                    word = child;
                    break;
                }
                let Some(frame) = frames.pop() else { return Ok(root) };
                let now = self.inner(&frame, &path)?;
                path.truncate(frame.above);
                done = Some(now);
            }
        }
    }

    /// Visits a node. Returns its new word, or `None` for an inner node, whose children come first.
    fn enter<'a>(
        &mut self,
        arena: &'a Arena,
        word: Word,
        path: &mut Vec<u8>,
        frames: &mut Vec<Frame<'a>>,
    ) -> Result<Option<Word>> {
        let reference = word.reference();
        if let Some(&now) = self.seen.get(&reference) {
            return Ok(Some(moved_word(word, now)));
        }
        if self.writer.shares.is_shared(reference) {
            // Other places refer to it, too.
            return Ok(Some(word));
        }
        let birth = arena.birth(reference)?;
        match Branch::at(arena, reference)? {
            Branch::Leaf(leaf) => {
                let above = path.len();
                let now = self.leaf(reference, birth, &leaf, path)?;
                path.truncate(above);
                Ok(Some(moved_word(word, now)))
            }
            Branch::Inner(inner) => {
                if inner.prefix().is_empty() && !frames.is_empty() {
                    return Err(no_progress(reference));
                }
                let above = path.len();
                path.extend_from_slice(inner.prefix());
                if path.len() > MAX_KEY_LEN {
                    return Err(Error::corrupt_at(
                        reference.saturating_mul(UNIT),
                        "the path to a node is longer than the maximum length of a key",
                    ));
                }
                for index in 0..inner.count() {
                    arena.prefetch::<1>(inner.child(index).reference());
                }
                frames.push(Frame { word, birth, inner, next: 0, above, changed: Vec::new() });
                Ok(None)
            }
        }
    }

    /// Finishes an inner node after its children, and returns its new word.
    fn inner(&mut self, frame: &Frame<'_>, path: &[u8]) -> Result<Word> {
        let reference = frame.word.reference();
        let extent = self.arena.extent(reference)?;
        let (prefix, count) = (frame.inner.prefix(), frame.inner.count());
        let units = units_for(inner::body_len(prefix.len(), count - 1));
        let to = if frame.changed.is_empty() {
            let should_move = !self.only_long && self.may_move(extent, frame.birth) && self.has(path);
            should_move.then(|| self.room(units, path)).flatten()
        } else {
            Some(self.writer.allocate_units(units)?)
        };
        let Some(to) = to else { return Ok(self.keep_in_place(frame.word, frame.birth)) };
        let generation = self.generation(frame.birth);
        let (node, body) = self.writer.arena.copy_to(reference, to, Kind::Inner, generation)?;
        edit_inner::copy(&Inner::parse(node)?, body, &[prefix, &[]]);
        for &(index, child) in &frame.changed {
            edit_inner::set_child(body, index, child);
        }
        self.replace(extent, frame.birth, to)?;
        Ok(moved_word(frame.word, to.start))
    }

    /// Moves a leaf and the values that it refers to, and returns its new reference. Leaves `path` longer than it was.
    fn leaf(&mut self, reference: u64, birth: Generation, leaf: &Leaf<'_>, path: &mut Vec<u8>) -> Result<u64> {
        let extent = self.arena.extent(reference)?;
        path.extend_from_slice(leaf.prefix());
        let common = path.len();
        path.extend_from_slice(leaf.suffix(0)?);
        let should_move = !self.only_long && self.may_move(extent, birth) && self.has(path);
        let mut to = if should_move { self.room(units_for(leaf.used_len()), path) } else { None };
        let mut changes = Vec::new();
        for index in 0..leaf.count() {
            let entry = leaf.entry(index)?;
            let change = match entry.value {
                Slot::External(value) => {
                    path.truncate(common);
                    path.extend_from_slice(entry.suffix);
                    self.value(value, path, units_for(leaf.used_len()), &mut to)?.map(Change::Value)
                }
                Slot::Inline(bytes) => {
                    let word = (!self.words.is_empty()).then(|| bytes.as_array().copied().map(u64::from_le_bytes));
                    word.flatten().and_then(|word| self.words.get(&word)).copied().map(Change::Word)
                }
                Slot::Tree(_) => None,
            };
            changes.extend(change.map(|change| (index, entry.suffix.len(), change)));
        }
        if let Some(room) = to
            && changes.is_empty()
            && !should_move
        {
            self.writer.release(room)?;
            to = None;
        }
        if to.is_none() && !changes.is_empty() {
            to = Some(self.writer.allocate_units(units_for(leaf.used_len()))?);
        }
        let Some(to) = to else {
            self.keep_in_place(Word::new(reference, 0), birth);
            return Ok(reference);
        };
        let generation = self.generation(birth);
        let (node, body) = self.writer.arena.copy_to(reference, to, Kind::Leaf, generation)?;
        edit_leaf::copy(&Leaf::parse(node)?, body);
        for (index, suffix_len, change) in changes {
            match change {
                Change::Value(value) => edit_leaf::overwrite(body, index, suffix_len, Slot::External(value)),
                Change::Word(word) => {
                    edit_leaf::overwrite(body, index, suffix_len, Slot::Inline(&word.to_le_bytes()));
                }
            }
        }
        self.replace(extent, birth, to)?;
        Ok(to.start)
    }

    /// Moves the value of `key`, and returns its new reference if it was moved. The leaf, which takes `leaf` units,
    /// must then be moved too, so room for it is allocated first.
    fn value(&mut self, reference: u64, key: &[u8], leaf: u32, room: &mut Option<Extent>) -> Result<Option<u64>> {
        if let Some(&now) = self.seen.get(&reference) {
            return Ok((now != reference).then_some(now));
        }
        let extent = self.arena.extent(reference)?;
        let is_passed_over = self.only_long && extent.units <= LONG;
        let birth = self.arena.birth(reference)?;
        let is_shared = self.writer.shares.is_shared(reference);
        if is_passed_over || is_shared || !self.may_move(extent, birth) || !self.has(key) {
            return Ok(None);
        }
        *room = room.or_else(|| self.room(leaf, key));
        let Some(to) = room.and_then(|_| self.room_for_value(extent, key)) else {
            self.keep_in_place(Word::new(reference, 0), birth);
            return Ok(None);
        };
        if to.start < extent.end() && extent.start < to.end() {
            return Err(Error::corrupt_at(reference * UNIT, "a value lies where free space was"));
        }
        let arena = Arc::clone(&self.arena);
        let generation = self.generation(birth);
        value::write(self.writer.arena.fresh(to, Kind::Value, generation)?, arena.value(reference)?);
        self.replace(extent, birth, to)?;
        Ok(Some(to.start))
    }

    fn room_for_value(&mut self, value: Extent, key: &[u8]) -> Option<Extent> {
        if value.units <= LONG || self.is_done() {
            return self.room(value.units, key);
        }
        let space = &mut self.writer.space;
        let below = if space.ceiling().is_some() { space.allocate(value.units) } else { None };
        let start = below.or_else(|| space.allocate_below(value.units, value.start));
        if start.is_none() {
            self.stuck += 1;
            self.is_full = self.stuck >= STUCK_MAX;
        }
        start.map(|start| Extent { start, units: value.units })
    }

    /// Allocates room below the ceiling for the node of `key`, unless enough was moved.
    fn room(&mut self, units: u32, key: &[u8]) -> Option<Extent> {
        if !self.is_done() {
            // The ceiling was raised if a node that must be copied found no room below it.
            let space = &mut self.writer.space;
            let start = if space.ceiling() == Some(self.ceiling) { space.allocate(units) } else { None };
            match start {
                Some(start) => return Some(Extent { start, units }),
                None => self.is_full = true,
            }
        }
        if self.left.as_ref().is_none_or(|left| key < &left[..]) {
            self.left = Some(key.to_vec());
        }
        None
    }

    /// The generation of the copy of a node.
    fn generation(&self, birth: Generation) -> Generation {
        if birth <= self.kept { birth } else { self.writer.generation }
    }

    /// Records that a shared node was not moved, so that it is not moved for another tree either.
    fn keep_in_place(&mut self, word: Word, birth: Generation) -> Word {
        if birth <= self.kept {
            self.seen.insert(word.reference(), word.reference());
        }
        word
    }

    /// Replaces a node by its complete copy at `to`.
    fn replace(&mut self, from: Extent, birth: Generation, to: Extent) -> Result<()> {
        self.moved.nodes += 1;
        self.moved.units += u64::from(to.units);
        if birth > self.kept {
            return self.writer.retire(from.start);
        }
        self.arena.seal(to.start)?;
        self.seen.insert(from.start, to.start);
        self.moved.kept.insert(from.start, to);
        // Named snapshots will refer to the copy. Only commits with the old references to them need the node.
        self.writer.retired_records.push(RetiredNode { extent: from, birth });
        Ok(())
    }
}

impl Frame<'_> {
    /// Records the new word of the child that was visited last.
    fn update_child(&mut self, now: Word) {
        let index = self.next - 1;
        if self.inner.child(index) != now {
            self.changed.push((index, now));
        }
    }

    /// The next child that may have keys in the range. The path ends with this node's prefix.
    fn next_child(&mut self, path: &mut Vec<u8>, low: &[u8], high: Option<&[u8]>) -> Option<Word> {
        let dividers = self.inner.dividers();
        let base = path.len();
        let mut found = None;
        while found.is_none() && self.next < self.inner.count() {
            let index = self.next;
            self.next += 1;
            path.extend(index.checked_sub(1).map(|before| dividers[before]));
            let is_before_end = high.is_none_or(|high| path[..] < *high);
            path.truncate(base);
            path.extend(dividers.get(index));
            let is_over = index < dividers.len() && path[..] <= *low;
            path.truncate(base);
            if !is_before_end {
                self.next = self.inner.count();
            } else if !is_over {
                found = Some(self.inner.child(index));
            }
        }
        found
    }
}

/// The word of a moved node.
fn moved_word(word: Word, now: u64) -> Word {
    Word::from_bits(word.bits() - word.reference() + now)
}
