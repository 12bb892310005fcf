//! The states of a file and of a folder since they were last synced, and the states that a loss of power can leave.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use fastrand::Rng;

/// The unit that a loss of power writes completely or not at all.
const SECTOR_BYTES: usize = 512;

/// The maximum number of states kept of a file.
const MAX_STATES: usize = 8;

/// The identity of a file, even if another one has its name later.
pub(super) type FileId = usize;

/// The way in which a loss of power chooses among the states. Plain cases come often, because real disks produce them.
#[derive(Debug, Clone, Copy)]
enum Choice {
    /// Nothing was written since the sync.
    Oldest,
    /// Everything was written.
    Newest,
    /// The length was written, and nothing else.
    Length,
    /// The first writes in order of time, and part of the next.
    Prefix(f64),
    /// Each sector by itself: with this probability the newest, otherwise any.
    Each(f64),
}

impl Choice {
    fn new(random: &mut Rng) -> Self {
        match random.u8(..10) {
            0 | 1 => Self::Oldest,
            2 => Self::Newest,
            3 => Self::Length,
            4 | 5 => Self::Prefix(random.f64()),
            // Few sectors missing, or few present: these find a forgotten sync.
            6 => Self::Each(0.97),
            7 => Self::Each(0.0),
            _ => Self::Each(random.f64()),
        }
    }

    /// Chooses one of `states` states, the oldest being 0.
    fn state(self, random: &mut Rng, states: usize) -> usize {
        match self {
            Self::Oldest | Self::Length => 0,
            Self::Newest => states - 1,
            Self::Prefix(part) => (part * states as f64) as usize,
            Self::Each(newest) if random.f64() < newest => states - 1,
            Self::Each(_) => random.usize(..states),
        }
    }
}

/// The contents of a file at its last sync, and since.
#[derive(Debug, Default)]
pub(super) struct FileStates {
    durable: Arc<Vec<u8>>,
    later: Vec<Arc<Vec<u8>>>,
}

impl FileStates {
    pub(super) fn durable(bytes: Vec<u8>) -> Self {
        Self { durable: Arc::new(bytes), later: Vec::new() }
    }

    fn newest(&self) -> &Arc<Vec<u8>> {
        self.later.last().unwrap_or(&self.durable)
    }

    /// Records the new contents of the file.
    pub(super) fn change(&mut self, bytes: Vec<u8>) {
        if **self.newest() != bytes {
            if self.later.len() == MAX_STATES {
                self.later.remove(0);
            }
            self.later.push(Arc::new(bytes));
        }
    }

    /// The contents that a sync beginning now makes durable.
    pub(super) fn begin_sync(&self) -> Arc<Vec<u8>> {
        Arc::clone(self.newest())
    }

    /// Ends that sync, for all bytes or for a range.
    pub(super) fn end_sync(&mut self, synced: &Arc<Vec<u8>>, range: Option<Range<usize>>) {
        let Some(range) = range else {
            let newest = self.later.iter().position(|state| Arc::ptr_eq(state, synced));
            self.later.drain(..newest.map_or(0, |newest| newest + 1));
            self.durable = Arc::clone(synced);
            return;
        };
        let range = range.start.min(synced.len())..range.end.min(synced.len());
        let synced_states = 1 + self.later.iter().position(|state| Arc::ptr_eq(state, synced)).unwrap_or(0);
        for state in std::iter::once(&mut self.durable).chain(self.later.iter_mut().take(synced_states)) {
            let state = Arc::make_mut(state);
            state.resize(synced.len(), 0);
            state[range.clone()].copy_from_slice(&synced[range.clone()]);
        }
    }

    /// A possible state of the file after a loss of power.
    pub(super) fn crash(&self, random: &mut Rng) -> Vec<u8> {
        let states: Vec<&[u8]> = std::iter::once(&self.durable).chain(&self.later).map(|state| &state[..]).collect();
        let newest = states[states.len() - 1];
        let choice = Choice::new(random);
        let mut bytes = states[0].to_vec();
        match choice {
            Choice::Length => bytes.resize(newest.len(), 0),
            Choice::Oldest | Choice::Newest => bytes = states[choice.state(random, states.len())].to_vec(),
            Choice::Prefix(_) => {
                let at = choice.state(random, states.len());
                bytes = states[at].to_vec();
                if let Some(next) = states.get(at + 1) {
                    let end = random.usize(..=next.len()) / SECTOR_BYTES * SECTOR_BYTES;
                    bytes.resize(bytes.len().max(end), 0);
                    bytes[..end].copy_from_slice(&next[..end]);
                }
            }
            Choice::Each(_) => {
                let longest = states.iter().map(|state| state.len()).max().unwrap_or(0);
                bytes.resize(longest, 0);
                for start in (0..longest).step_by(SECTOR_BYTES) {
                    let sector = start..longest.min(start + SECTOR_BYTES);
                    let of = |state: &[u8]| state.get(start..state.len().min(sector.end)).unwrap_or_default().to_vec();
                    if states.iter().all(|state| of(state) == of(states[0])) {
                        continue;
                    }
                    let mut content = of(states[choice.state(random, states.len())]);
                    content.resize(sector.len(), 0);
                    bytes[sector].copy_from_slice(&content);
                }
                let len = states[choice.state(random, states.len())].len();
                bytes.truncate(len);
            }
        }
        bytes
    }
}

/// The names in a folder at its last sync, and the changes of names since.
#[derive(Debug, Default)]
pub(super) struct NameStates {
    durable: BTreeMap<String, FileId>,
    later: Vec<(String, Option<FileId>)>,
}

impl NameStates {
    pub(super) fn durable(names: BTreeMap<String, FileId>) -> Self {
        Self { durable: names, later: Vec::new() }
    }

    pub(super) fn now(&self) -> BTreeMap<String, FileId> {
        self.after(self.later.len())
    }

    fn after(&self, changes: usize) -> BTreeMap<String, FileId> {
        let mut names = self.durable.clone();
        for (name, file) in &self.later[..changes] {
            match file {
                Some(file) => names.insert(name.clone(), *file),
                None => names.remove(name),
            };
        }
        names
    }

    pub(super) fn set(&mut self, name: String, file: Option<FileId>) {
        self.later.push((name, file));
    }

    /// The number of changes that a sync beginning now makes durable.
    pub(super) fn begin_sync(&self) -> usize {
        self.later.len()
    }

    pub(super) fn end_sync(&mut self, changes: usize) {
        self.durable = self.after(changes);
        self.later.drain(..changes);
    }

    /// The files in any of the states.
    pub(super) fn files(&self) -> BTreeSet<FileId> {
        self.durable.values().copied().chain(self.later.iter().filter_map(|(_, file)| *file)).collect()
    }

    /// A possible state after a loss of power: changes of different names in any order, changes of one name in order.
    pub(super) fn crash(&self, random: &mut Rng) -> BTreeMap<String, FileId> {
        let choice = Choice::new(random);
        if let Choice::Prefix(part) = choice {
            return self.after((part * (self.later.len() + 1) as f64) as usize);
        }
        let mut names = self.durable.clone();
        let changed: BTreeSet<&String> = self.later.iter().map(|(name, _)| name).collect();
        for name in changed {
            let states: Vec<Option<FileId>> = std::iter::once(self.durable.get(name).copied())
                .chain(self.later.iter().filter(|(other, _)| other == name).map(|(_, file)| *file))
                .collect();
            match states[choice.state(random, states.len())] {
                Some(file) => names.insert(name.clone(), file),
                None => names.remove(name),
            };
        }
        names
    }
}
