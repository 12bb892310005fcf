//! Checkpoints: make the nodes of a commit durable, and then a header that refers to them.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::PoisonError;

use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::extent::{Extent, FIRST_LEN, Generation, UNIT};
use crate::node::{Kind, Word, value};
use crate::records::{Header, NESTED_VERSION};
use crate::root::Root;
use crate::trie::walk::walk;
use crate::trie::{Writer, len_with_reserve};
use crate::writer::{NamedSnapshot, PublishedCommit, State, sorted, walk_root};

/// The size of the pieces in which a checkpoint tracks the ranges to sync.
const PIECE_BYTES: u64 = 1 << 16;

/// The bytes of both headers.
const HEADERS: Range<u64> = 0..8192;

/// The file is truncated to a multiple of a page, and never below the length of a new store.
pub(crate) const PAGE_UNITS: u64 = 4096 / UNIT;
pub(crate) const MIN_UNITS: u64 = FIRST_LEN / UNIT;

impl Engine {
    /// Makes a checkpoint that includes the commit numbered `sequence`, unless one exists.
    pub(crate) fn checkpoint_from(&self, sequence: u64) -> Result<()> {
        let state = self.lock_state()?;
        let durable = state.durable.sequence;
        self.unlock_state(state);
        if durable >= sequence { Ok(()) } else { self.checkpoint() }
    }

    /// Makes a checkpoint of the newest commit, unless one exists. Writers wait only at its beginning and end.
    pub(crate) fn checkpoint(&self) -> Result<()> {
        self.make_checkpoint(false)
    }

    /// Truncates the free space at the end of the file, once a durable header has the new length. A crash in between
    /// leaves a file that is longer than necessary.
    pub(crate) fn shorten(&self) -> Result<()> {
        self.make_checkpoint(true)
    }

    fn make_checkpoint(&self, shorten: bool) -> Result<()> {
        let mut number = self.checkpoints.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_poisoned() {
            return Err(self.poisoned());
        }
        // A file that was removed gets no checkpoint, because the log may be all that is left.
        self.check_place()?;
        self.visit_removed_subtrees(|| false)?;
        let mut state = self.lock_state_first()?;
        let is_shorter = shorten && self.trim_tail(&mut state);
        // The free map of a clean close may also keep the file from shrinking.
        if state.root == state.durable && !is_shorter && !(shorten && state.free_map.is_some()) {
            self.unlock_state(state);
            return Ok(());
        }
        // The old free map, which is read on demand, is about to become free itself.
        state.writer.space.load_all();
        let (root, durable, end) = (state.root, state.durable, state.writer.space.end());
        state.checkpointing = Some(root);
        let version = state.version();
        state.is_version_due = false;
        let has_copies = std::mem::take(&mut state.has_copies);
        let switched = self.log.switch();
        self.unlock_state(state);

        let header = Header {
            version,
            identity: self.identity,
            number: *number + 1,
            root,
            end,
            free_map: None,
            is_clean: false,
        };
        let written = switched.and_then(|_| self.write_checkpoint(&header, &durable, has_copies));
        let mut state = self.lock_state_first()?;
        state.checkpointing = None;
        let result = written.and_then(|()| {
            *number += 1;
            self.finish_checkpoint(&mut state, root)
        });
        let cut = if result.is_ok() && is_shorter { self.cut_off(&mut state) } else { Ok(()) };
        self.unlock_state(state);
        if result.is_err() {
            self.poison();
        }
        // If truncation fails, the file is longer than necessary, and nothing else is wrong.
        result.and(cut)
    }

    /// Drops the free units at the end of the area, and returns whether the file can become shorter.
    fn trim_tail(&self, state: &mut State) -> bool {
        let space = &mut state.writer.space;
        space.load_all();
        let used = space.end() - space.trailing_free_units();
        let end = used.next_multiple_of(PAGE_UNITS).max(MIN_UNITS);
        space.shrink(end) && len_with_reserve(space.end() * UNIT) < self.arena.data().len()
    }

    /// Truncates the file after the area and its reserve. No durable header has a later end, and no needed commit has
    /// nodes there.
    fn cut_off(&self, state: &mut State) -> Result<()> {
        let end = state.writer.space.end() * UNIT;
        // From here on, readers access nothing past the new end.
        self.readers.publish(PublishedCommit::table_value(state.record, state.root.sequence), end);
        self.arena.set_len(end);
        let len = len_with_reserve(end).max(self.readers.held_bytes()).min(self.arena.data().len());
        state.writer.arena.shorten_file(len)
    }

    /// Updates the state after a checkpoint has become durable.
    fn finish_checkpoint(&self, state: &mut State, root: Root) -> Result<()> {
        state.durable = root;
        state.gap = state.gap.filter(|gap| *gap > root.sequence);
        if let Some(map) = state.free_map.take() {
            state.writer.release(map)?;
        }
        self.log.retire(root.sequence)?;
        state.reclaim(&self.readers)?;
        state.writer.restore_reserve();
        Ok(())
    }

    /// Syncs the nodes of a root that are younger than the durable one, or the whole file if `all`, and then writes and
    /// syncs the header.
    fn write_checkpoint(&self, header: &Header, durable: &Root, all: bool) -> Result<()> {
        let sealed = self.seal(&header.root, durable, header.version)?;
        let data = self.arena.data();
        if all {
            data.sync()?;
        } else {
            // The next checkpoint includes changes that writers make meanwhile.
            data.sync_ranges(&sealed.ranges())?;
        }
        self.arena.write_header((header.number % 2) as usize, &header.to_bytes())?;
        data.sync_ranges(std::slice::from_ref(&HEADERS))
    }

    /// Writes the checksums of the nodes created since the last checkpoint, and returns the pieces of the file that
    /// contain them.
    fn seal(&self, root: &Root, durable: &Root, version: u32) -> Result<PieceSet> {
        let mut sealed = PieceSet::default();
        // Several places of a commit may have the same nodes, if it has nested trees.
        let mut seen = (version >= NESTED_VERSION).then(HashSet::new);
        let mut seal_after = |generation: Generation, node: Extent| {
            let is_young = self.arena.birth(node.start)? > generation
                && seen.as_mut().is_none_or(|seen: &mut HashSet<u64>| seen.insert(node.start));
            if is_young {
                self.arena.seal(node.start)?;
                sealed.add(node);
            }
            Ok(is_young)
        };
        let mut roots: Vec<Root> = root.named(&self.arena)?.into_iter().map(|(_, named)| named).collect();
        roots.push(Root { snapshots: Word::NONE, ..*root });
        roots.sort_unstable_by_key(|root| root.generation);
        // Nodes that are older than the commit before are part of that commit, too.
        let mut before = durable.generation;
        for root in roots.iter().filter(|root| root.generation > durable.generation) {
            walk_root(&self.arena, root, before + 1, &mut |node| seal_after(before, node))?;
            before = root.generation;
        }
        // Named snapshots have none.
        walk(&self.arena, root.snapshots, durable.generation + 1, &mut |reference, _| {
            seal_after(durable.generation, self.arena.extent(reference)?)
        })?;
        Ok(sealed)
    }

    /// Writes the last checkpoint, with the free map, so that the next opening need not rebuild it.
    pub(crate) fn close(&self) -> Result<()> {
        if self.options.read_only || self.is_poisoned() {
            return Ok(());
        }
        // If opening failed because the log could not be replayed, there is no state, and nothing is written.
        if !self.take_to_close() {
            return Ok(());
        }
        let Some(state) = self.try_lock_state() else { return Ok(()) };
        self.unlock_state(state);
        self.checkpoint()?;
        // Without the logs, the checkpoint has everything, and the next opening makes others.
        self.log.check_place()?;
        let mut number = self.checkpoints.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(mut state) = self.try_lock_state() else { return Ok(()) };
        let header = self.write_free_map(&mut state, *number + 1)?;
        *number += 1;
        self.write_checkpoint(&header, &state.durable, true)?;
        self.log.clear(header.root.sequence)
    }

    fn write_free_map(&self, state: &mut State, number: u64) -> Result<Header> {
        let root = state.root;
        state.writer.space.load_all();
        state.visit_removed(usize::MAX);
        state.reclaim(&self.readers)?;
        let named = state.named.iter().filter(|named| named.dropped.is_none());
        let pins = sorted(named.map(|named| named.root.generation).collect());
        // Without the flag, the next opening visits all trees, and finds space that is on no list: below damaged nodes, and
        // of snapshots that were dropped while a reader sees them.
        let opened = state.opened;
        let is_seen_only = |named: &NamedSnapshot| named.dropped.is_some() && named.root.generation < opened;
        // The next opening also counts the references to shared nodes.
        let is_clean = state.writer.shares.is_empty()
            && !state.removed_subtrees.has_lost_nodes()
            && !state.named.iter().any(is_seen_only);
        let version = state.version();
        let State { writer, reclaimer, records, free_map, record, .. } = state;
        let record = writer.shared().extent(*record)?;
        // The map contains only the nodes that the newest commit and its named snapshots reach; the next opening looks
        // for readers in other processes itself. The nodes that they hold and the old map are in use until the new
        // header is written.
        let unneeded = reclaimer.unneeded(&pins).chain(records.unneeded(&[])).chain([record]).chain(free_map.take());
        let unneeded: Vec<Extent> = unneeded.collect();
        let reference = write_map(writer, unneeded)?;
        self.arena.seal(reference)?;
        let end = writer.space.end();
        Ok(Header { version, identity: self.identity, number, root, end, free_map: Some(reference), is_clean })
    }
}

/// Writes the free map into a value node, which the map itself counts as used, and returns its reference. The map
/// counts the `unneeded` extents as free.
fn write_map(writer: &mut Writer, unneeded: Vec<Extent>) -> Result<u64> {
    let room = writer.space.saved_bytes_max() as u64 + 2 * UNIT;
    // Allocating the node may enlarge the map, so allocate a little more room than it needs now.
    let extent = writer.allocate_tightly(value::units(room + room / 8 + (1 << 16))?)?;
    let mut bytes = writer.space.save(unneeded);
    let generation = writer.generation;
    let len = extent.units as usize * UNIT as usize - value::HEAD;
    if bytes.len() > len {
        return Err(Error::internal("the free map is larger than its maximum"));
    }
    // The length of a value determines the units of its node.
    bytes.resize(len, 0);
    value::write(writer.arena.fresh(extent, Kind::Value, generation)?, &bytes);
    Ok(extent.start)
}

/// A set of fixed-size pieces of the file.
#[derive(Debug, Default)]
struct PieceSet {
    /// A flag for each piece of `PIECE_BYTES` from the start of the file.
    pieces: Vec<bool>,
}

impl PieceSet {
    fn add(&mut self, node: Extent) {
        let first = (node.start * UNIT / PIECE_BYTES) as usize;
        let last = ((node.end() * UNIT - 1) / PIECE_BYTES) as usize;
        if last >= self.pieces.len() {
            self.pieces.resize(last + 1, false);
        }
        self.pieces[first..=last].fill(true);
    }

    fn ranges(&self) -> Vec<Range<u64>> {
        let mut ranges: Vec<Range<u64>> = Vec::new();
        let touched = self.pieces.iter().enumerate().filter(|(_, touched)| **touched);
        for start in touched.map(|(piece, _)| piece as u64 * PIECE_BYTES) {
            match ranges.last_mut() {
                Some(last) if last.end == start => last.end += PIECE_BYTES,
                _ => ranges.push(start..start + PIECE_BYTES),
            }
        }
        ranges
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // Dropping cannot report an error. Synced commits are in the log or in the last checkpoint; a program that
        // needs to know makes a checkpoint first.
        let _ = self.close();
        self.end_lock();
    }
}
