//! Moves over the keys of a tree in order.

use super::MAX_KEY_LEN;
use super::count::{self, RankPath};
use super::find::{Branch, StoredItem, locate, no_progress, prefetch, prefetch_way, resolve_item, resolve_value};
use crate::arena::Arena;
use crate::error::{Error, Result};
use crate::extent::UNIT;
use crate::node::leaf::{EntryParts, NESTED, SHORT, behind, nested_word, short_entry};
use crate::node::{Inner, Leaf, Word, units_for};

/// The number of leaves prefetched ahead of the current one; each is prefetched this many times. Prefetching each once,
/// or first its first lines and then the others, is a tenth to a fifth slower.
const AHEAD: usize = 3;

#[derive(Debug, Clone, Copy)]
struct Step<'a> {
    inner: Inner<'a>,
    index: usize,
}

/// The position of a cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Before,
    At,
    After,
}

/// A position in a tree that does not change: at a key, before the first or after the last.
#[derive(Debug, Clone)]
pub(crate) struct Cursor<'a> {
    arena: &'a Arena,
    root: Word,
    place: Place,
    steps: Vec<Step<'a>>,
    leaf: Option<Leaf<'a>>,
    /// In the leaf: the places of the entries after the current one, and the heap.
    ahead: &'a [u8],
    heap: &'a [u8],
    /// The inline value or the word of a tree, and the value node, as in [`EntryParts`].
    value: &'a [u8],
    value_node: u64,
    /// The key and, at a leaf, room after it. All keys of the leaf share its first `base` bytes.
    key: Vec<u8>,
    base: usize,
    key_len: usize,
    /// The distance that the cursor has moved forward, in units of nodes: each leaf counts after its keys, each inner
    /// node before them. In an intact tree this never exceeds the units of the file; in a damaged one nodes may be
    /// reached over and over.
    passed_units: i64,
}

impl<'a> Cursor<'a> {
    /// A cursor before the first key.
    pub(crate) fn new(arena: &'a Arena, root: Word) -> Self {
        Self {
            arena,
            root,
            place: Place::Before,
            steps: Vec::new(),
            leaf: None,
            ahead: &[],
            heap: &[],
            value: &[],
            value_node: 0,
            key: Vec::new(),
            base: 0,
            key_len: 0,
            passed_units: 0,
        }
    }

    pub(crate) fn arena(&self) -> &'a Arena {
        self.arena
    }

    /// The key at the cursor.
    #[inline]
    pub(crate) fn key(&self) -> Option<&[u8]> {
        (self.place == Place::At).then(|| &self.key[..self.key_len])
    }

    /// The value at the cursor.
    #[inline]
    pub(crate) fn value(&self) -> Result<Option<&'a [u8]>> {
        if self.place != Place::At {
            return Ok(None);
        }
        resolve_value(self.arena, self.value, self.value_node).map(Some)
    }

    /// The root of the nested tree at the cursor, if the key has one.
    pub(crate) fn nested(&self) -> Option<Result<Word>> {
        (self.place == Place::At && self.value_node == NESTED).then(|| nested_word(self.value))
    }

    /// The value at the cursor, or the nested tree.
    pub(crate) fn item(&self) -> Result<Option<StoredItem<'a>>> {
        if self.place != Place::At {
            return Ok(None);
        }
        resolve_item(self.arena, self.value, self.value_node).map(Some)
    }

    pub(crate) fn seek_before(&mut self) {
        (self.place, self.ahead) = (Place::Before, &[]);
    }

    pub(crate) fn seek_after(&mut self) {
        (self.place, self.ahead) = (Place::After, &[]);
    }

    /// Moves to the first key that is not less than `key`, and returns whether there is one.
    pub(crate) fn seek(&mut self, key: &[u8]) -> Result<bool> {
        self.reset();
        if self.root.is_none() {
            return Ok(false);
        }
        let mut reference = self.root.reference();
        let mut rest = key;
        loop {
            match self.branch(reference)? {
                Branch::Inner(inner) => {
                    let prefix = inner.prefix();
                    let Some(behind) = behind(rest, prefix) else {
                        return if rest < prefix { self.first_below(reference) } else { self.next_leaf() };
                    };
                    rest = behind;
                    let index = inner.child_index(rest.first().copied());
                    self.enter(inner, index, reference)?;
                    let child = inner.child(index);
                    reference = child.reference();
                    prefetch_way(self.arena, child, rest);
                }
                Branch::Leaf(leaf) => {
                    let (position, _) =
                        leaf.lower_bound(key, key.len() - rest.len()).map_err(|error| locate(error, reference))?;
                    if position == leaf.count() {
                        return self.next_leaf();
                    }
                    self.enter_leaf(leaf, position)?;
                    return Ok(true);
                }
            }
        }
    }

    /// Moves to the key with `rank` keys before it, and returns whether there is one.
    pub(crate) fn seek_rank(&mut self, rank: u64) -> Result<bool> {
        let Some(RankPath { indexes, position }) = count::select(self.arena, self.root, rank)? else {
            self.seek_after();
            return Ok(false);
        };
        self.reset();
        let mut reference = self.root.reference();
        for index in indexes {
            let Branch::Inner(inner) = self.branch(reference)? else { return Err(changed()) };
            self.enter(inner, index, reference)?;
            reference = inner.child(index).reference();
        }
        let Branch::Leaf(leaf) = self.branch(reference)? else { return Err(changed()) };
        self.enter_leaf(leaf, position)?;
        Ok(true)
    }

    /// Moves to the next key, and returns whether there is one.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<bool> {
        if self.load()? { Ok(true) } else { self.next_far() }
    }

    /// Like [`next`](Self::next), if the next key is not in this leaf.
    #[inline(never)]
    fn next_far(&mut self) -> Result<bool> {
        match self.place {
            Place::At => self.next_leaf(),
            Place::Before => {
                self.reset();
                if self.root.is_none() {
                    return Ok(false);
                }
                self.first_below(self.root.reference())
            }
            Place::After => Ok(false),
        }
    }

    /// Moves to the previous key, and returns whether there is one.
    pub(crate) fn prev(&mut self) -> Result<bool> {
        match self.place {
            Place::At => {
                if let Some(leaf) = &self.leaf
                    && self.ahead.len() + 2 < leaf.places().len()
                {
                    self.ahead = &leaf.places()[leaf.places().len() - self.ahead.len() - 4..];
                    return self.load();
                }
                self.previous_leaf()
            }
            Place::After => {
                self.reset();
                if self.root.is_none() {
                    self.seek_before();
                    return Ok(false);
                }
                self.last_below(self.root.reference())
            }
            Place::Before => Ok(false),
        }
    }

    fn reset(&mut self) {
        if self.key.capacity() == 0 {
            // Enough for most paths and keys.
            (self.steps, self.key) = (Vec::with_capacity(8), Vec::with_capacity(64));
        }
        self.steps.clear();
        self.key.clear();
        self.forget_leaf();
        self.passed_units = 0;
    }

    #[inline]
    fn branch(&self, reference: u64) -> Result<Branch<'a>> {
        Branch::at(self.arena, reference)
    }

    /// Descends below an inner node.
    #[inline]
    fn enter(&mut self, inner: Inner<'a>, index: usize, reference: u64) -> Result<()> {
        if inner.prefix().is_empty() && !self.steps.is_empty() {
            return Err(no_progress(reference));
        }
        self.key.extend_from_slice(inner.prefix());
        if self.key.len() > MAX_KEY_LEN {
            return Err(too_deep(reference));
        }
        self.steps.push(Step { inner, index });
        Ok(())
    }

    fn first_below(&mut self, mut reference: u64) -> Result<bool> {
        loop {
            match self.branch(reference)? {
                Branch::Inner(inner) => {
                    self.enter(inner, 0, reference)?;
                    self.passed_units += 1;
                    reference = inner.child(0).reference();
                }
                Branch::Leaf(leaf) => {
                    self.enter_leaf(leaf, 0)?;
                    return Ok(true);
                }
            }
        }
    }

    fn last_below(&mut self, mut reference: u64) -> Result<bool> {
        loop {
            match self.branch(reference)? {
                Branch::Inner(inner) => {
                    let index = inner.count() - 1;
                    self.enter(inner, index, reference)?;
                    reference = inner.child(index).reference();
                }
                Branch::Leaf(leaf) => {
                    self.enter_leaf(leaf, leaf.count() - 1)?;
                    self.passed_units -= units(&leaf);
                    return Ok(true);
                }
            }
        }
    }

    /// Moves to the first key of the leaf that follows the current steps.
    fn next_leaf(&mut self) -> Result<bool> {
        if let Some(leaf) = &self.leaf {
            self.passed_units += units(leaf);
            self.check_passed()?;
        }
        self.leave_leaf();
        while let Some(step) = self.steps.last_mut() {
            if step.index + 1 < step.inner.count() {
                step.index += 1;
                let reference = step.inner.child(step.index).reference();
                self.load_ahead();
                return self.first_below(reference);
            }
            self.pop_step();
        }
        Ok(false)
    }

    /// If both cursors are at the beginning of a subtree that both trees have at the same place, moves them behind it and behind all such
    /// subtrees that follow, and returns whether each is at a key then. No node of these subtrees is read.
    pub(crate) fn skip_shared(&mut self, other: &mut Self) -> Result<Option<(bool, bool)>> {
        let (mut depth, mut other_depth) = (self.steps.len(), other.steps.len());
        let is_shared = std::ptr::eq(self.arena, other.arena)
            && self.is_at_start_of_leaf()
            && other.is_at_start_of_leaf()
            && self.subtree(depth) == other.subtree(other_depth)
            && self.key() == other.key();
        if !is_shared {
            return Ok(None);
        }
        while let (Some(step), Some(other_step)) = (self.steps[..depth].last(), other.steps[..other_depth].last())
            && (step.index, other_step.index) == (0, 0)
            && self.subtree(depth - 1) == other.subtree(other_depth - 1)
        {
            (depth, other_depth) = (depth - 1, other_depth - 1);
        }
        self.leave_subtree(depth);
        other.leave_subtree(other_depth);
        loop {
            match (self.next_subtree(), other.next_subtree()) {
                // The key is the path down to them.
                (Some(next), Some(other_next)) if next == other_next && self.key == other.key => {}
                (next, other_next) => {
                    let enter =
                        |cursor: &mut Self, next: Option<u64>| next.map_or(Ok(false), |next| cursor.first_below(next));
                    return Ok(Some((enter(self, next)?, enter(other, other_next)?)));
                }
            }
        }
    }

    #[inline]
    fn is_at_start_of_leaf(&self) -> bool {
        self.place == Place::At && self.leaf.as_ref().is_some_and(|leaf| self.ahead.len() + 2 == leaf.places().len())
    }

    /// The reference of the node that the first steps lead to.
    fn subtree(&self, steps: usize) -> u64 {
        let word = self.steps[..steps].last().map_or(self.root, |step| step.inner.child(step.index));
        word.reference()
    }

    /// Leaves the leaf and all nodes down to the one that the first steps lead to.
    fn leave_subtree(&mut self, steps: usize) {
        self.steps.truncate(steps);
        self.leave_leaf();
    }

    /// Leaves the subtree that the steps lead to for the next one, whose reference is returned.
    fn next_subtree(&mut self) -> Option<u64> {
        while let Some(step) = self.steps.last_mut() {
            if step.index + 1 < step.inner.count() {
                step.index += 1;
                return Some(step.inner.child(step.index).reference());
            }
            self.pop_step();
        }
        None
    }

    /// Prefetches the leaves after the next one, also across the ends of inner nodes.
    fn load_ahead(&self) {
        let [.., above, step] = &self.steps[..] else {
            if let [step] = &self.steps[..] {
                self.load_children(&step.inner, step.index + 1);
            }
            return;
        };
        self.load_children(&step.inner, step.index + 1);
        let left = step.inner.count() - 1 - step.index;
        if left >= AHEAD || above.index + 1 >= above.inner.count() {
            return;
        }
        let next = above.inner.child(above.index + 1);
        prefetch(self.arena, next);
        // Also the first children of that node, which was prefetched by an earlier call.
        if left + 1 < AHEAD
            && let Ok(Branch::Inner(inner)) = self.branch(next.reference())
        {
            self.load_children(&inner, 0);
        }
    }

    fn load_children(&self, inner: &Inner<'_>, from: usize) {
        for index in from..(from + AHEAD).min(inner.count()) {
            prefetch(self.arena, inner.child(index));
        }
    }

    fn previous_leaf(&mut self) -> Result<bool> {
        self.check_passed()?;
        self.leave_leaf();
        while let Some(step) = self.steps.last_mut() {
            if step.index > 0 {
                step.index -= 1;
                let reference = step.inner.child(step.index).reference();
                return self.last_below(reference);
            }
            self.passed_units -= 1;
            self.pop_step();
        }
        self.seek_before();
        Ok(false)
    }

    #[inline]
    fn check_passed(&self) -> Result<()> {
        if self.passed_units.unsigned_abs() > self.arena.len() / UNIT { Err(cycle()) } else { Ok(()) }
    }

    /// Makes the cursor count as after the last key until it enters another leaf, which fails if that leaf is damaged.
    fn forget_leaf(&mut self) {
        self.leaf = None;
        self.seek_after();
    }

    /// Leaves the leaf, and removes its part from the key.
    fn leave_leaf(&mut self) {
        self.forget_leaf();
        let path_len = self.steps.iter().map(|step| step.inner.prefix().len()).sum();
        self.key.truncate(path_len);
    }

    fn pop_step(&mut self) {
        if let Some(step) = self.steps.pop() {
            self.key.truncate(self.key.len() - step.inner.prefix().len());
        }
    }

    fn enter_leaf(&mut self, leaf: Leaf<'a>, position: usize) -> Result<()> {
        self.key.extend_from_slice(leaf.prefix());
        self.base = self.key.len();
        self.key.resize(self.base + SHORT, 0);
        (self.ahead, self.heap) = (&leaf.places()[2 * position..], leaf.heap());
        self.leaf = Some(leaf);
        self.load()?;
        self.place = Place::At;
        Ok(())
    }

    /// Loads the next entry of the leaf, if there is one.
    ///
    /// The cursor keeps slices of the leaf's parts. Finding them in the leaf each time made a scan of a million keys a
    /// sixth slower.
    #[inline]
    fn load(&mut self) -> Result<bool> {
        let Some((place, ahead)) = self.ahead.split_first_chunk() else { return Ok(false) };
        self.ahead = ahead;
        if let Some((room, suffix_len, value)) = short_entry(self.heap, *place)
            && let Some(to) = self.key.get_mut(self.base..self.base + SHORT)
        {
            // A copy of constant length is a load and a store.
            to.copy_from_slice(room);
            self.key_len = self.base + suffix_len;
            (self.value, self.value_node) = (value, 0);
            return Ok(true);
        }
        self.load_any()
    }

    /// Like [`load`](Self::load), for entries of any kind.
    #[inline(never)]
    fn load_any(&mut self) -> Result<bool> {
        let Some(leaf) = &self.leaf else { return Ok(false) };
        let position = leaf.count() - 1 - self.ahead.len() / 2;
        let EntryParts { suffix, value, value_node, .. } = leaf.entry_parts(position)?;
        (self.value, self.value_node) = (value, value_node);
        self.key_len = self.base + suffix.len();
        self.key.truncate(self.base);
        self.key.extend_from_slice(suffix);
        self.key.resize(self.key.len().max(self.base + SHORT), 0);
        Ok(true)
    }
}

#[inline]
fn units(leaf: &Leaf<'_>) -> i64 {
    i64::from(units_for(leaf.capacity()))
}

#[cold]
fn cycle() -> Error {
    Error::corrupt("a tree has more nodes than fit the file, so it contains a cycle")
}

#[cold]
fn changed() -> Error {
    Error::corrupt("a node changed while it was read")
}

#[cold]
fn too_deep(reference: u64) -> Error {
    locate(Error::corrupt("the path to a key is longer than the maximum length of a key"), reference)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::{FIRST_UNIT, WriteArena};
    use crate::extent::Extent;
    use crate::node::edit_leaf::LeafWriter;
    use crate::node::{Kind, Slot, edit_inner};
    use crate::space::Space;
    use crate::trie::{Mode, Writer};

    const LEN: u64 = 1 << 16;

    fn arena() -> WriteArena {
        WriteArena::in_memory(1 << 22, LEN)
    }

    #[test]
    fn shared_nodes_cannot_claim_more_keys_than_fit_the_file() {
        const DEPTH: u64 = 40;
        let mut arena = arena();
        let leaf = Word::new(FIRST_UNIT, 1);
        let mut writer =
            LeafWriter::new(arena.fresh(Extent { start: FIRST_UNIT, units: 1 }, Kind::Leaf, 1).unwrap(), 1, b"");
        writer.push(0, b"", Slot::Inline(b""));
        writer.finish();
        for level in 1..=DEPTH {
            let below = if level == 1 { leaf } else { Word::new(FIRST_UNIT + level - 1, 1 << (level - 1)) };
            let extent = Extent { start: FIRST_UNIT + level, units: 1 };
            let body = arena.fresh(extent, Kind::Inner, 1).unwrap();
            edit_inner::write(body, 1 << level, b"p", b"q", &[below, below]);
        }
        let root = Word::new(FIRST_UNIT + DEPTH, 1 << DEPTH);
        for is_forward in [true, false] {
            let mut cursor = Cursor::new(arena.shared(), root);
            let mut count = 0;
            let ended = if is_forward {
                std::iter::repeat_with(|| cursor.next()).inspect(|_| count += 1).find_map(Result::err)
            } else {
                cursor.seek_after();
                std::iter::repeat_with(|| cursor.prev()).inspect(|_| count += 1).find_map(Result::err)
            };
            assert!(matches!(ended, Some(Error::Corrupt { .. })), "{ended:?}");
            assert!(count <= 1 + LEN / UNIT, "{count}");
        }
    }

    #[test]
    fn cursor_at_damaged_node_has_no_key() {
        let mut arena = arena();
        let leaf = Word::new(FIRST_UNIT, 1);
        let mut writer =
            LeafWriter::new(arena.fresh(Extent { start: FIRST_UNIT, units: 1 }, Kind::Leaf, 1).unwrap(), 1, b"");
        writer.push(0, b"key", Slot::Inline(b"value"));
        writer.finish();
        let body = arena.fresh(Extent { start: FIRST_UNIT + 1, units: 1 }, Kind::Inner, 1).unwrap();
        // The outer children refer to no node.
        let nothing = Word::new(FIRST_UNIT + 2, 1);
        edit_inner::write(body, 3, b"", b"gp", &[nothing, leaf, nothing]);
        let mut cursor = Cursor::new(arena.shared(), Word::new(FIRST_UNIT + 1, 3));
        let moves: [fn(&mut Cursor<'_>) -> Result<bool>; 4] =
            [|cursor| cursor.next(), |cursor| cursor.prev(), |cursor| cursor.seek(b"z"), |cursor| cursor.seek(b"a")];
        for step in moves {
            assert!(cursor.seek(b"key").unwrap());
            assert_eq!(cursor.key(), Some(&b"key"[..]));
            assert!(matches!(step(&mut cursor), Err(Error::Corrupt { .. })));
            assert_eq!((cursor.key(), cursor.value().unwrap()), (None, None));
            assert!(!cursor.next().unwrap());
        }
    }

    #[test]
    fn alternating_seeks_set_no_direction() {
        let mut writer = Writer::new(arena(), Space::new(FIRST_UNIT, LEN / UNIT), 1);
        let mut root = Word::NONE;
        // The first bytes lead to trees of different depth, with leaves of different size at their ends.
        let keys =
            (0..1_000_u32).map(|i| [&[(i % 3) as u8][..], &vec![7; (i % 3 * 5) as usize], &i.to_be_bytes()].concat());
        let mut keys: Vec<Vec<u8>> = keys.collect();
        for key in &keys {
            writer.put(&mut root, key, b"", Mode::Replace).unwrap();
        }
        writer.close_path(&mut root).unwrap();
        keys.sort();
        let mut cursor = Cursor::new(writer.shared(), root);
        for key in &keys[..keys.len() - 1] {
            assert!(cursor.seek(key).unwrap());
            // More rounds than the file has units, so that an error of one at the end of a leaf adds up.
            for _ in 0..LEN / UNIT + 100 {
                assert!(cursor.next().unwrap() && cursor.prev().unwrap());
            }
            assert_eq!(cursor.key(), Some(&key[..]));
        }
        for _ in 0..100 {
            cursor.seek_before();
            assert!((0..keys.len()).all(|_| cursor.next().unwrap()));
            assert!((1..keys.len()).all(|_| cursor.prev().unwrap()));
        }
    }
}
