//! Puts a key and its value.

use std::ops::Range;

use super::build::{Parts, common_len};
use super::descend::End;
use super::writer::{Content, Target, Writer};
use super::{LEAF_MAX, MAX_KEY_LEN};
use crate::error::{Error, Result};
use crate::node::edit_leaf::{self, Entries, entry_len};
use crate::node::leaf::hash;
use crate::node::{Inner, Kind, Leaf, Slot, Word, edit_inner, inner, value};

/// The treatment of a key that exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Replace its value.
    Replace,
    /// Keep its value.
    Keep,
    /// Replace the root of its nested tree. The nodes that the old root reaches stay as they are.
    Update,
}

/// Returns an error if a key or its value is too long.
#[inline]
pub(crate) fn check_lengths(key: &[u8], bytes: &[u8]) -> Result<()> {
    if key.len() > MAX_KEY_LEN {
        return Err(Error::Limit { what: "the length of a key", limit: MAX_KEY_LEN as u64 });
    }
    value::units(bytes.len() as u64).map(drop)
}

/// A leaf that grows within a transaction gets this many bytes more than it needs.
const SLACK: usize = 192;

impl Writer {
    /// Puts `bytes` at `key`, and returns whether the key is new.
    pub(crate) fn put(&mut self, root: &mut Word, key: &[u8], bytes: &[u8], mode: Mode) -> Result<bool> {
        self.discard_path();
        let is_new = self.put_next(root, key, bytes, mode)?;
        self.close_path(root)?;
        Ok(is_new)
    }

    /// Like [`put`](Self::put), from the path to the previous key. After the last key the path must be
    /// [closed](Self::close_path).
    pub(crate) fn put_next(&mut self, root: &mut Word, key: &[u8], bytes: &[u8], mode: Mode) -> Result<bool> {
        check_lengths(key, bytes)?;
        let end = self.descend(root, key)?;
        self.put_at(root, end, key, Content::Value(bytes), mode)
    }

    /// Puts a nested tree with the root `word` at `key`, and returns whether the key is new.
    pub(crate) fn put_tree(&mut self, root: &mut Word, key: &[u8], word: Word, mode: Mode) -> Result<bool> {
        self.discard_path();
        check_lengths(key, &[])?;
        let end = self.descend(root, key)?;
        let is_new = self.put_at(root, end, key, Content::Tree(word), mode)?;
        self.close_path(root)?;
        Ok(is_new)
    }

    /// Puts `content` at `key`, whose path ends at `end`, and returns whether the key is new.
    pub(super) fn put_at(
        &mut self,
        root: &mut Word,
        end: End,
        key: &[u8],
        content: Content<'_>,
        mode: Mode,
    ) -> Result<bool> {
        match end {
            End::Empty => {
                let slot = self.place(content)?;
                *root = self.leaf_of_one(key, key, slot)?;
                Ok(true)
            }
            End::Leaf { reference, depth } => self.put_in_leaf(root, reference, depth, key, content, mode),
            End::Inner { reference, depth, matched } => {
                let slot = self.place(content)?;
                self.own_path()?;
                self.divide_prefix(root, reference, depth, matched, key, slot)?;
                Ok(true)
            }
        }
    }

    fn put_in_leaf(
        &mut self,
        root: &mut Word,
        reference: u64,
        depth: usize,
        key: &[u8],
        content: Content<'_>,
        mode: Mode,
    ) -> Result<bool> {
        let rest = &key[depth..];
        let leaf = Leaf::parse(self.arena.node(reference)?)?;
        let (index, is_there) = leaf.lower_bound(key, depth)?;
        if is_there {
            if mode != Mode::Keep {
                let old = self.replace(root, reference, index, rest, content)?;
                self.retire_target(old.filter(|_| mode == Mode::Replace))?;
            }
            return Ok(false);
        }
        let (count, capacity, used, dead) = (leaf.count(), leaf.capacity(), leaf.used_len(), leaf.dead_len());
        let prefix_len = leaf.prefix().len();
        let fits_prefix = rest.starts_with(leaf.prefix());
        let owned = self.owns(reference)?;
        let slot = self.place(content)?;
        self.own_path()?;
        let hash = hash(key);
        let more = 3 + if fits_prefix { entry_len(rest.len() - prefix_len, slot) } else { 0 };
        if !fits_prefix || used + more > LEAF_MAX || (dead > 0 && !owned) {
            self.rebuild(root, reference, index..index, Some((hash, rest, slot)), index == count)?;
            return Ok(true);
        }
        let suffix = &rest[prefix_len..];
        if owned && used + more <= capacity {
            edit_leaf::insert(self.arena.own(reference, self.generation)?, index, hash, suffix, slot);
            self.record_change(root, Some(Word::new(reference, count as u64 + 1)), 1)?;
            return Ok(true);
        }
        let wanted = if owned { (used + more + SLACK).min(LEAF_MAX) } else { used + more };
        let extent = self.allocate(wanted)?;
        let (node, body) = self.arena.copy_to(reference, extent, Kind::Leaf, self.generation)?;
        edit_leaf::copy_with(&Leaf::parse(node)?, body, index, hash, suffix, slot);
        self.retire(reference)?;
        self.record_change(root, Some(Word::new(extent.start, count as u64 + 1)), 1)?;
        Ok(true)
    }

    /// Replaces the value at `index` of a leaf, and returns what the old one referred to. The bytes of its key after the
    /// path are `rest`.
    fn replace(
        &mut self,
        root: &mut Word,
        reference: u64,
        index: usize,
        rest: &[u8],
        content: Content<'_>,
    ) -> Result<Option<Target>> {
        let slot = self.place(content)?;
        self.own_path()?;
        let leaf = Leaf::parse(self.arena.node(reference)?)?;
        let entry = leaf.entry(index)?;
        let (old, suffix_len, count) = (Target::from_slot(entry.value), entry.suffix.len(), leaf.count());
        let same = match (entry.value, slot) {
            (Slot::Inline(a), Slot::Inline(b)) => a.len() == b.len(),
            (a, b) => std::mem::discriminant(&a) == std::mem::discriminant(&b),
        };
        if !same {
            let hash = leaf.hash_at(index);
            self.rebuild(root, reference, index..index + 1, Some((hash, rest, slot)), false)?;
        } else if self.owns(reference)? {
            edit_leaf::overwrite(self.arena.own(reference, self.generation)?, index, suffix_len, slot);
            self.record_change(root, Some(Word::new(reference, count as u64)), 0)?;
        } else {
            let used = leaf.used_len();
            let extent = self.allocate(used)?;
            let (node, body) = self.arena.copy_to(reference, extent, Kind::Leaf, self.generation)?;
            edit_leaf::copy(&Leaf::parse(node)?, body);
            edit_leaf::overwrite(body, index, suffix_len, slot);
            self.retire(reference)?;
            self.record_change(root, Some(Word::new(extent.start, count as u64)), 0)?;
        }
        Ok(old)
    }

    /// Rebuilds a leaf with the key `new`, given by hash, bytes after the path and value, in place of the keys in
    /// `gone`. If the keys do not fit into one leaf, builds several.
    pub(super) fn rebuild(
        &mut self,
        root: &mut Word,
        reference: u64,
        gone: Range<usize>,
        new: Option<(u8, &[u8], Slot<'_>)>,
        appending: bool,
    ) -> Result<()> {
        let mut entries = std::mem::take(&mut self.entries);
        entries.clear();
        let leaf = Leaf::parse(self.arena.node(reference)?)?;
        entries.push_leaf(&leaf, 0..gone.start, &[])?;
        if let Some((hash, rest, slot)) = new {
            entries.push(hash, [rest, &[]], slot);
        }
        entries.push_leaf(&leaf, gone.end..leaf.count(), &[])?;
        self.retire(reference)?;
        let delta = i64::from(new.is_some()) - gone.len() as i64;
        let result = self.put_entries(root, &entries, delta, appending);
        self.entries = entries;
        result
    }

    /// Replaces the child at the end of the path by `entries`, whose keys begin there.
    pub(super) fn put_entries(
        &mut self,
        root: &mut Word,
        entries: &Entries,
        delta: i64,
        appending: bool,
    ) -> Result<()> {
        entries.check_order()?;
        let all = 0..entries.len();
        let alike = common_len(entries, &all, 0) > 0 || entries.len() == 1;
        if alike || self.path.steps.is_empty() {
            let word = self.build(entries, all, 0, appending)?;
            return self.record_change(root, Some(word), delta);
        }
        let parts = self.partition(entries, all, 0, appending)?;
        if let [child] = parts.children[..] {
            return self.record_change(root, Some(child), delta);
        }
        let step = self.path.steps[self.path.steps.len() - 1];
        self.replace_children(root, step.index..step.index + 1, parts, delta)
    }

    /// Replaces children of the lowest step by others, which begin with the same divider. More than one child remains.
    pub(super) fn replace_children(
        &mut self,
        root: &mut Word,
        replaced: Range<usize>,
        parts: Parts,
        delta: i64,
    ) -> Result<()> {
        let at = self.path.steps.len() - 1;
        let reference = self.path.steps[at].reference;
        let parent = Inner::parse(self.arena.node(reference)?)?;
        let mut dividers = parts.dividers;
        if replaced.start > 0 && !parts.children.is_empty() {
            dividers.insert(0, parent.dividers()[replaced.start - 1]);
        }
        let children = parent.count() - replaced.len() + parts.children.len();
        let extent = self.allocate(inner::body_len(parent.prefix().len(), children - 1))?;
        let (node, body) = self.arena.copy_to(reference, extent, Kind::Inner, self.generation)?;
        edit_inner::copy_with(&Inner::parse(node)?, body, replaced, &dividers, &parts.children);
        self.retire(reference)?;
        self.path.steps[at].reference = extent.start;
        self.record_change(root, None, delta)
    }

    /// Makes a leaf with one key, whose bytes after the path are `rest`.
    fn leaf_of_one(&mut self, key: &[u8], rest: &[u8], slot: Slot<'_>) -> Result<Word> {
        let extent = self.allocate(edit_leaf::body_len(1, 0, entry_len(rest.len(), slot)))?;
        let body = self.arena.fresh(extent, Kind::Leaf, self.generation)?;
        let mut writer = edit_leaf::LeafWriter::new(body, 1, &[]);
        writer.push(hash(key), rest, slot);
        writer.finish();
        Ok(Word::new(extent.start, 1))
    }

    /// Puts a new key next to an inner node; the key matches only the first `matched` bytes of the node's prefix.
    fn divide_prefix(
        &mut self,
        root: &mut Word,
        reference: u64,
        depth: usize,
        matched: usize,
        key: &[u8],
        slot: Slot<'_>,
    ) -> Result<()> {
        let rest = &key[depth + matched..];
        let leaf = self.leaf_of_one(key, rest, slot)?;
        let old = Inner::parse(self.arena.node(reference)?)?;
        let (total, prefix) = (old.total(), old.prefix().to_vec());
        let branch = prefix[matched];
        // A key that ends here, or continues with a lower byte, comes before all keys below the node.
        let (first_is_new, divider) = match rest.first() {
            Some(byte) if *byte > branch => (false, *byte),
            _ => (true, branch),
        };
        let node = if matched == 0 {
            Word::new(reference, total)
        } else {
            let extent = self.allocate(inner::body_len(prefix.len() - matched, old.count() - 1))?;
            let (node, body) = self.arena.copy_to(reference, extent, Kind::Inner, self.generation)?;
            edit_inner::copy(&Inner::parse(node)?, body, &[&prefix[matched..], &[]]);
            self.retire(reference)?;
            Word::new(extent.start, total)
        };
        let children = if first_is_new { vec![leaf, node] } else { vec![node, leaf] };
        let parts = Parts { dividers: vec![divider], children };
        if matched == 0
            && let Some(step) = self.path.steps.last()
        {
            let index = step.index;
            return self.replace_children(root, index..index + 1, parts, 1);
        }
        let extent = self.allocate(inner::body_len(matched, 1))?;
        let body = self.arena.fresh(extent, Kind::Inner, self.generation)?;
        edit_inner::write(body, total + 1, &prefix[..matched], &parts.dividers, &parts.children);
        self.record_change(root, Some(Word::new(extent.start, total + 1)), 1)
    }
}
