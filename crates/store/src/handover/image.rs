#![expect(unsafe_code, reason = "makes the one object that may write to the data area")]
//! The writer's state as bytes, which the holder of the writer lock leaves for the next one.
//!
//! ```text
//! byte   0  checksum        XXH3 of the bytes from 8 on
//!        8  magic           "LathWst2"
//!       16  taken           how often the writer lock was taken when the state was saved
//!       24  identity        of the store
//!       32  length          of the numbers in bytes
//!       40  numbers         the state of the log, the number of the last checkpoint, commits, and lists of dead nodes
//!           free space      as in the free map of a clean close
//! ```
//!
//! All integers are little-endian. The image is valid only if the lock was not taken since it was saved: a process that was killed while
//! it had the lock has left none, and the next one then recovers the store as an opening does.

use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64;

use crate::arena::{Arena, WriteArena};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::extent::Extent;
use crate::node::Word;
use crate::readers::{Readers, is_held};
use crate::root::Root;
use crate::space::Space;
use crate::space::reclaim::Reclaimer;
use crate::trie::Writer;
use crate::trie::shares::Shares;
use crate::words::{WordReader, WordWriter};
use crate::writer::{NamedSnapshot, PublishedCommit, RemovedSubtrees, State};

const MAGIC: u64 = u64::from_le_bytes(*b"LathWst2");

/// The bytes before the numbers.
const HEAD_BYTES: usize = 40;

/// A valid image.
#[derive(Debug)]
pub(crate) struct Image {
    bytes: Vec<u8>,
    /// The offset of the free space.
    space: usize,
}

impl Image {
    /// Checks an image of the store with this identity, which was saved after the lock was taken for the time `taken`.
    pub(crate) fn parse(bytes: Vec<u8>, taken: u64, identity: u64) -> Option<Self> {
        let (head, _) = bytes.split_first_chunk::<HEAD_BYTES>()?;
        let mut words = WordReader::new(head);
        let checksum = words.next().ok()?;
        let is_right = [MAGIC, taken, identity].into_iter().all(|right| words.next().is_ok_and(|word| word == right));
        let space = HEAD_BYTES + usize::try_from(words.next().ok()?).ok()?;
        let is_valid = is_right && space <= bytes.len() && checksum == xxh3_64(&bytes[8..]);
        is_valid.then_some(Self { bytes, space })
    }
}

impl Engine {
    /// Saves the state for the next holder of the lock. All records of the log are in its files afterwards.
    pub(super) fn save_image(&self, state: &mut State, checkpoint: u64, taken: u64) -> Result<Vec<u8>> {
        let mut words = WordWriter::default();
        self.log.save(&mut words)?;
        words.put(checkpoint);
        state.save(&mut words);
        let words = words.to_bytes();
        let mut image = vec![0; 8];
        for word in [MAGIC, taken, self.identity, words.len() as u64] {
            image.extend_from_slice(&word.to_le_bytes());
        }
        image.extend_from_slice(&words);
        image.extend_from_slice(&state.writer.space.save([]));
        let checksum = xxh3_64(&image[8..]);
        image[..8].copy_from_slice(&checksum.to_le_bytes());
        Ok(image)
    }

    /// Restores the log and the state from the image. Returns the state and the number of the last checkpoint.
    pub(crate) fn restore_image(&self, mut image: Image) -> Result<(Box<State>, u64)> {
        let space = image.bytes.split_off(image.space);
        let mut words = WordReader::new(&image.bytes[HEAD_BYTES..]);
        self.log.restore(&mut words)?;
        let checkpoint = words.next()?;
        let mut state = State::restore(&mut words, Space::lazy(space)?, &self.arena)?;
        state.add_held(&self.readers);
        Ok((state, checkpoint))
    }
}

impl State {
    fn save(&self, out: &mut WordWriter) {
        out.put(self.writer.generation);
        [self.root, self.durable].iter().for_each(|root| put_root(out, root));
        out.put(self.record);
        out.put(self.opened);
        out.put(self.has_copies.into());
        out.put(self.has_nested.into());
        out.put(self.is_version_due.into());
        out.put_option(self.gap);
        out.put_option(self.free_map.map(|map| map.start));
        out.put(self.free_map.map_or(0, |map| map.units.into()));
        out.put_len(self.named.len());
        for named in &self.named {
            put_root(out, &named.root);
            out.put(named.names as u64);
            out.put(named.created);
            out.put_option(named.dropped);
        }
        out.put_len(self.published.len());
        for published in &self.published {
            out.put(published.value);
            put_root(out, &published.root);
        }
        self.reclaimer.save(out);
        self.records.save(out);
        self.removed_subtrees.save(out);
        self.writer.shares.save(out);
    }

    /// Adds the checkpoints that readers hold who found no writer, while no process had the lock. Each of them is the last
    /// checkpoint, because readers keep writers out until they hold it.
    pub(crate) fn add_held(&mut self, readers: &Readers) {
        let mut pinned = Vec::new();
        readers.pinned(&mut pinned);
        pinned.retain(|value| is_held(*value) && !self.published.iter().any(|published| published.value == *value));
        let held =
            pinned.into_iter().filter_map(|value| Some(PublishedCommit { value, root: readers.held_root(value)? }));
        // The newest commit stays last.
        self.published.splice(..0, held);
    }

    fn restore(from: &mut WordReader<'_>, space: Space, arena: &Arc<Arena>) -> Result<Box<Self>> {
        // The whole file, as at an opening: another process may have made it longer or shorter.
        arena.set_len(u64::MAX);
        if space.end() * crate::extent::UNIT > arena.len() {
            return Err(Error::corrupt("the file is shorter than another process has left it"));
        }
        let generation = from.next()?;
        // SAFETY: the caller has the writer lock, and no other state of this store: the state gets this object. The free
        // space and the generations are the ones of the last holder of the lock, who kept these conditions, and no
        // process has changed the store since, as the number of times that the lock was taken says.
        let arena = unsafe { WriteArena::new(Arc::clone(arena)) };
        let mut writer = Writer::new(arena, space, generation);
        writer.begin();
        let (root, durable) = (next_root(from)?, next_root(from)?);
        let (record, opened) = (from.next()?, from.next()?);
        let (has_copies, nested) = (from.next_flag()?, [from.next_flag()?, from.next_flag()?]);
        let gap = from.next_option()?;
        let map = from.next_option()?;
        let units = u32::try_from(from.next()?).unwrap_or(0);
        let free_map = map.map(|start| Extent { start, units });
        let mut named = Vec::new();
        for _ in 0..from.next_len()? {
            let (root, names) = (next_root(from)?, from.next()? as usize);
            named.push(NamedSnapshot { root, names, created: from.next()?, dropped: from.next_option()? });
        }
        let mut published = Vec::new();
        for _ in 0..from.next_len()? {
            published.push(PublishedCommit { value: from.next()?, root: next_root(from)? });
        }
        let (reclaimer, records) = (Reclaimer::restore(from)?, Reclaimer::restore(from)?);
        let removed_subtrees = RemovedSubtrees::restore(from)?;
        writer.shares = Shares::restore(from)?;
        Ok(Box::new(Self {
            writer,
            reclaimer,
            records,
            removed_subtrees,
            root,
            record,
            durable,
            checkpointing: None,
            named,
            published,
            opened,
            free_map,
            gap,
            has_copies,
            has_nested: nested[0],
            is_version_due: nested[1],
            held: Vec::new(),
            views: Arc::default(),
            awaited_views: Vec::new(),
        }))
    }
}

fn put_root(out: &mut WordWriter, root: &Root) {
    let words = [root.generation, root.sequence, root.catalog.bits(), root.snapshots.bits()];
    words.into_iter().for_each(|word| out.put(word));
}

fn next_root(from: &mut WordReader<'_>) -> Result<Root> {
    let (generation, sequence) = (from.next()?, from.next()?);
    let [catalog, snapshots] = [from.next()?, from.next()?].map(Word::from_bits);
    Ok(Root { generation, sequence, catalog, snapshots })
}
