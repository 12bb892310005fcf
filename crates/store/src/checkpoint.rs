//! Checkpoints: a commit's nodes made durable, and then the header that says so.

use std::ops::Range;
use std::sync::PoisonError;

use crate::arena::FIRST_LEN;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::extent::{Extent, UNIT};
use crate::header::Header;
use crate::node::{Kind, value};
use crate::root::Root;
use crate::state::{Published, State, sorted, walk_root};
use crate::trie::{Writer, len_with_reserve};

/// What a checkpoint has to sync is remembered in pieces of so many bytes.
const PIECE_BYTES: u64 = 1 << 16;

/// The bytes of both headers.
const HEADERS: Range<u64> = 0..8192;

/// The file is cut off at a multiple of so many units, and not below so many.
pub(crate) const PAGE_UNITS: u64 = 4096 / UNIT;
pub(crate) const LEAST_UNITS: u64 = FIRST_LEN / UNIT;

impl Engine {
    /// Makes a checkpoint of at least the commit numbered `sequence`, unless there is one.
    pub(crate) fn checkpoint_from(&self, sequence: u64) -> Result<()> {
        let state = self.take()?;
        let durable = state.durable.sequence;
        self.put_back(state);
        if durable >= sequence { Ok(()) } else { self.checkpoint() }
    }

    /// Makes a checkpoint of the newest commit, unless there is one. Writers wait only while it begins and ends.
    pub(crate) fn checkpoint(&self) -> Result<()> {
        self.make_checkpoint(false)
    }

    /// Cuts off what is free at the end of the file. The length that is left is in a durable header before; a crash in
    /// between leaves a file that is longer than it has to be.
    pub(crate) fn shorten(&self) -> Result<()> {
        self.make_checkpoint(true)
    }

    fn make_checkpoint(&self, shorter: bool) -> Result<()> {
        let mut number = self.checkpoints.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_poisoned() {
            return Err(Error::Poisoned);
        }
        let mut state = self.take_first()?;
        let is_shorter = shorter && self.drop_tail(&mut state);
        // The map of free space that a clean close has left is in the way too.
        if state.root == state.durable && !is_shorter && !(shorter && state.free_map.is_some()) {
            self.put_back(state);
            return Ok(());
        }
        // What is read from the old map of free space is about to be free space itself.
        state.writer.space.load_all();
        let (root, durable, end) = (state.root, state.durable, state.writer.space.end());
        state.checkpointing = Some(root);
        let has_copies = std::mem::take(&mut state.has_copies);
        let switched = self.log.switch();
        self.put_back(state);

        let header =
            Header { identity: self.identity, number: *number + 1, root, end, free_map: None, is_clean: false };
        let written = switched.and_then(|_| self.write_checkpoint(&header, &durable, has_copies));
        let mut state = self.take_first()?;
        state.checkpointing = None;
        let result = written.and_then(|()| {
            *number += 1;
            self.settle_checkpoint(&mut state, root)
        });
        let cut = if result.is_ok() && is_shorter { self.cut_off(&mut state) } else { Ok(()) };
        self.put_back(state);
        if result.is_err() {
            self.poison();
        }
        // A file that could not be cut off is longer than it has to be, and otherwise what it was.
        result.and(cut)
    }

    /// Allocates nothing more in the free units at the end; whether the file may then be shorter than it is.
    fn drop_tail(&self, state: &mut State) -> bool {
        let space = &mut state.writer.space;
        space.load_all();
        let used = space.end() - space.trailing_free_units();
        let end = used.next_multiple_of(PAGE_UNITS).max(LEAST_UNITS);
        space.shrink(end) && len_with_reserve(space.end() * UNIT) < self.arena.data().len()
    }

    /// Has the file end where the space and the reserve do. No durable header says anything else, and no commit that counts
    /// has nodes behind it.
    fn cut_off(&self, state: &mut State) -> Result<()> {
        let end = state.writer.space.end() * UNIT;
        // Readers look no further from here on.
        self.readers.publish(Published::value_of(state.record, state.root.sequence), end);
        self.arena.set_len(end);
        state.writer.arena.shorten_file(len_with_reserve(end))
    }

    /// Has all know that a checkpoint is durable.
    fn settle_checkpoint(&self, state: &mut State, root: Root) -> Result<()> {
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

    /// Makes durable the nodes of a root that are younger than the durable one, or all that was written, and then the header.
    fn write_checkpoint(&self, header: &Header, durable: &Root, all: bool) -> Result<()> {
        let sealed = self.seal(&header.root, durable)?;
        let data = self.arena.data();
        if all {
            data.sync()?;
        } else {
            // What writers have changed meanwhile is left to the next checkpoint.
            data.sync_ranges(&sealed.ranges())?;
        }
        self.arena.write_header((header.number % 2) as usize, &header.to_bytes())?;
        data.sync_ranges(std::slice::from_ref(&HEADERS))
    }

    /// Writes the checksums of the nodes that were made since the last checkpoint; where those are.
    fn seal(&self, root: &Root, durable: &Root) -> Result<Touched> {
        let mut sealed = Touched::default();
        let mut seal_young = |node: Extent| {
            let is_young = self.arena.birth(node.start)? > durable.generation;
            if is_young {
                self.arena.seal(node.start)?;
                sealed.add(node);
            }
            Ok(is_young)
        };
        let since = durable.generation + 1;
        walk_root(&self.arena, root, since, &mut seal_young)?;
        for (_, named) in root.named(&self.arena)? {
            if named.generation > durable.generation {
                walk_root(&self.arena, &named, since, &mut seal_young)?;
            }
        }
        Ok(sealed)
    }

    /// Writes the last checkpoint, with the map of free space, so that the next opening need not look for any.
    pub(crate) fn close(&self) -> Result<()> {
        if self.options.read_only || self.is_poisoned() {
            return Ok(());
        }
        // It is gone where opening failed: the log could not be done again, and nothing is to be written.
        let Some(state) = self.take_now() else { return Ok(()) };
        self.put_back(state);
        self.checkpoint()?;
        let mut number = self.checkpoints.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(mut state) = self.take_now() else { return Ok(()) };
        let header = self.write_free_map(&mut state, *number + 1)?;
        *number += 1;
        self.write_checkpoint(&header, &state.durable, true)?;
        self.log.clear(header.root.sequence)
    }

    fn write_free_map(&self, state: &mut State, number: u64) -> Result<Header> {
        let root = state.root;
        state.writer.space.load_all();
        state.reclaim(&self.readers)?;
        let named = state.named.iter().filter(|named| named.dropped.is_none());
        let pins = sorted(named.map(|named| named.root.generation).collect());
        let State { writer, reclaimer, records, free_map, record, .. } = state;
        let record = writer.shared().extent(*record)?;
        // Only what the newest commit and its named snapshots reach counts for who opens the store next; readers of other
        // processes are looked at then. Until the new header is there, they and the old map are in use.
        let unneeded = reclaimer.unneeded(&pins).chain(records.unneeded(&[])).chain([record]).chain(free_map.take());
        let unneeded: Vec<Extent> = unneeded.collect();
        let reference = write_map(writer, unneeded)?;
        self.arena.seal(reference)?;
        let end = writer.space.end();
        Ok(Header { identity: self.identity, number, root, end, free_map: Some(reference), is_clean: true })
    }
}

/// Writes the map of free space into a value node, which the map says is used; where that is. What is unneeded counts as
/// free there.
fn write_map(writer: &mut Writer, unneeded: Vec<Extent>) -> Result<u64> {
    let room = writer.space.saved_bytes_max() as u64 + 2 * UNIT;
    // Fresh space grows the map itself: a little more room than it needs now.
    let extent = writer.allocate_tightly(value::units(room + room / 8 + (1 << 16))?)?;
    let mut bytes = writer.space.save(unneeded);
    let generation = writer.generation;
    let len = extent.units as usize * UNIT as usize - value::HEAD;
    if bytes.len() > len {
        return Err(Error::corrupt("the map of free space is larger than it can be"));
    }
    // The node's length is all that says later what it takes.
    bytes.resize(len, 0);
    value::write(writer.arena.fresh(extent, Kind::Value, generation)?, &bytes);
    Ok(extent.start)
}

/// Where nodes lie, coarsely.
#[derive(Debug, Default)]
struct Touched {
    /// For each piece of `PIECE_BYTES` from the start of the file on.
    pieces: Vec<bool>,
}

impl Touched {
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
        // Nobody is left to be told what went wrong: what was synced is in the log or in the last checkpoint, and whoever
        // wants to know makes a checkpoint before.
        let _ = self.close();
    }
}
