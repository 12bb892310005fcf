//! Space usage of a store, and the holders that keep space from becoming free.

use std::collections::{BTreeMap, HashMap};

use crate::error::{Error, Result};
use crate::extent::{Generation, UNIT};
use crate::root::Root;
use crate::store::Store;
use crate::writer::State;

/// A holder of space, which keeps it from becoming free.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holder {
    /// The last checkpoint, or the running one, until the next checkpoint.
    Checkpoint,
    /// A [`Snapshot`](crate::Snapshot) in this or another process, until it is dropped.
    Reader,
    /// The named snapshot with this name, until it is dropped.
    Snapshot(String),
}

/// Space that is kept from becoming free.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldSpace {
    /// The holder. If there are several, the one that lasts longest: a named snapshot rather than a reader.
    pub by: Holder,
    /// The number of the held commit.
    pub sequence: u64,
    /// The number of bytes that would become free, or be held by an older commit, without this holder.
    pub bytes: u64,
}

/// The result of [`Store::stats`]. All sizes except the log's are of the data file.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stats {
    /// The length of the data area, including its headers and its free space.
    pub file_bytes: u64,
    /// The bytes of free space, where the next nodes are written.
    pub free_bytes: u64,
    /// The part of the free space at the end of the file.
    pub trailing_free_bytes: u64,
    /// Space that is neither free nor part of the newest commit: the held space, and nodes replaced since. Does not
    /// include [`removed_subtrees`](Self::removed_subtrees).
    pub dead_bytes: u64,
    /// The number of subtrees of removed keys whose nodes were not counted yet: they are neither in
    /// [`free_bytes`](Self::free_bytes) nor in [`dead_bytes`](Self::dead_bytes). Later commits, checkpoints and a thread
    /// of the store count them.
    pub removed_subtrees: u64,
    /// The bytes of both logs that the next opening after a crash would read.
    pub log_bytes: u64,
    /// The length of both log files, including the space they keep for later commits.
    pub log_file_bytes: u64,
    /// The number of the newest commit.
    pub sequence: u64,
    /// The number of the oldest commit that a reader holds, if it is older than the newest commit; 0 if an encrypted store has readers in
    /// other handles, whose commits are not known.
    pub oldest_reader: Option<u64>,
    /// The held space, from the oldest commit to the newest.
    pub held: Vec<HeldSpace>,
}

impl Store {
    /// Reports the space usage of the store, and the holders that keep space from becoming free. Takes little time, but
    /// waits for an open transaction.
    ///
    /// # Errors
    /// [`Error::ReadOnly`](crate::Error::ReadOnly), because only the writing process has these figures;
    /// [`Error::Corrupt`](crate::Error::Corrupt).
    pub fn stats(&self) -> Result<Stats> {
        let _use = self.engine.use_writer()?;
        self.current_stats()
    }

    /// Like [`stats`](Self::stats), for a process that has the writer lock.
    pub(crate) fn current_stats(&self) -> Result<Stats> {
        let _no_writer = self.engine.exclude_writers()?.ok_or(Error::ReadOnly)?;
        let mut state = self.engine.lock_state()?;
        let stats = self.collect_stats(&mut state);
        self.engine.unlock_state(state);
        stats
    }

    fn collect_stats(&self, state: &mut State) -> Result<Stats> {
        let mut pinned = Vec::new();
        self.engine.readers.pinned(&mut pinned);
        let older = state.published.iter().filter(|published| published.root != state.root);
        let readers = older.filter(|published| pinned.contains(&published.value));
        let oldest_reader = match self.engine.arena.data().has_other_readers()? {
            true => Some(0),
            false => readers.map(|published| published.root.sequence).min(),
        };
        let names = state.root.named(&self.engine.arena)?;
        let names: HashMap<Generation, &(String, Root)> =
            names.iter().rev().map(|named| (named.1.generation, named)).collect();
        let mut held: BTreeMap<Generation, HeldSpace> = BTreeMap::new();
        for parked in state.reclaimer.parked().chain(state.records.parked()) {
            let held = held.entry(parked.pin).or_insert_with(|| {
                let (by, sequence) = holder(state, &names, parked.pin);
                HeldSpace { by, sequence, bytes: 0 }
            });
            held.bytes += parked.units * UNIT;
        }
        let dead = state.reclaimer.unneeded(&[]).chain(state.records.unneeded(&[]));
        let dead_units: u64 = dead.map(|extent| u64::from(extent.units)).sum();
        let space = &mut state.writer.space;
        Ok(Stats {
            file_bytes: space.end() * UNIT,
            free_bytes: space.free_units() * UNIT,
            trailing_free_bytes: space.trailing_free_units() * UNIT,
            dead_bytes: dead_units * UNIT,
            removed_subtrees: state.removed_subtrees.len() as u64,
            log_bytes: self.engine.log.size_bytes(),
            log_file_bytes: self.engine.log.file_bytes(),
            sequence: state.root.sequence,
            oldest_reader,
            held: held.into_values().collect(),
        })
    }
}

/// Returns the holder of the commit of this generation, and the commit's number.
fn holder(state: &State, names: &HashMap<Generation, &(String, Root)>, pin: Generation) -> (Holder, u64) {
    if let Some((name, root)) = names.get(&pin) {
        return (Holder::Snapshot(name.clone()), root.sequence);
    }
    if let Some(root) = [state.durable].into_iter().chain(state.checkpointing).find(|root| root.generation == pin) {
        return (Holder::Checkpoint, root.sequence);
    }
    let readers = state.published.iter().map(|published| published.root);
    // A dropped snapshot remains for as long as a reader sees its name.
    let dropped = state.named.iter().map(|named| named.root);
    let views = state.views.roots().into_iter().map(|view| view.root);
    let root = readers.chain(dropped).chain(views).find(|root| root.generation == pin);
    (Holder::Reader, root.map_or(0, |root| root.sequence))
}
