#![expect(unsafe_code, reason = "the data area is memory that others write to")]
//! A data area that tracks which of its sectors are durable.

use std::collections::HashMap;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fastrand::Rng;

use super::SECTOR_BYTES;
use super::choice::Choice;
use crate::error::Result;
use crate::storage::Data;

/// The maximum number of intermediate states kept of one sector.
const MAX_SAMPLES: usize = 8;

type Sector = [u8; SECTOR_BYTES];

#[derive(Debug)]
pub(super) struct SimulatedData {
    memory: Arc<dyn Data>,
    state: Mutex<State>,
}

#[derive(Debug, Default, Clone)]
struct State {
    durable: Vec<u8>,
    /// The lengths of the area since the last sync.
    lens: Vec<u64>,
    /// States of sectors at times since the last sync.
    samples: HashMap<usize, Vec<Sector>>,
    /// The states of sectors that a failed sync should have made durable. No sync makes them durable until they change.
    lost: HashMap<usize, Sector>,
}

impl SimulatedData {
    /// Makes an area in the empty `memory` with these bytes, all durable.
    pub(super) fn new(memory: Arc<dyn Data>, bytes: &[u8]) -> Result<Self> {
        // SAFETY: the memory is empty and has no other users yet.
        unsafe { memory.set_len(bytes.len() as u64)? };
        for (index, page) in bytes.chunks(4096).enumerate() {
            // Skip pages of zeros, which would take memory.
            if page.iter().any(|&byte| byte != 0) {
                let to = memory.base().as_ptr().wrapping_add(index * 4096);
                // SAFETY: the range lies within the length just set, and the new memory has no other users yet.
                unsafe { std::ptr::copy_nonoverlapping(page.as_ptr(), to, page.len()) };
            }
        }
        let state = Mutex::new(State { durable: bytes.to_vec(), ..State::default() });
        Ok(Self { memory, state })
    }

    /// Copies the area to other memory, which is empty. Exactly the durable bytes of the original are durable.
    pub(super) fn copy(&self, memory: Arc<dyn Data>) -> Result<Self> {
        let state = self.state();
        let copy = Self::new(memory, &self.contents())?;
        *copy.state() = state.clone();
        drop(state);
        Ok(copy)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn base(&self) -> NonNull<u8> {
        self.memory.base()
    }

    pub(super) fn len(&self) -> u64 {
        self.memory.len()
    }

    pub(super) fn capacity(&self) -> u64 {
        self.memory.capacity()
    }

    /// # Safety
    ///
    /// See [`Data::set_len`].
    pub(super) unsafe fn set_len(&self, len: u64) -> Result<()> {
        let mut state = self.state();
        state.lens.push(self.memory.len());
        // SAFETY: the caller guarantees what this requires.
        unsafe { self.memory.set_len(len) }
    }

    /// The current bytes, read like a disk would: regardless of concurrent writes.
    fn contents(&self) -> Vec<u8> {
        let len = self.memory.len() as usize;
        let mut bytes = vec![0; len];
        // SAFETY: the area is that long, because its length changes only under the lock that every caller holds, and it
        // lives as long as `self`; the vector does not overlap it. A concurrent write results in torn words, which is
        // what a crash simulates.
        unsafe { std::ptr::copy_nonoverlapping(self.memory.base().as_ptr(), bytes.as_mut_ptr(), len) };
        bytes
    }

    pub(super) fn sample(&self) {
        let mut state = self.state();
        let now = self.contents();
        let State { durable, samples, .. } = &mut *state;
        for sector in changed_sectors(durable, &now) {
            let states = samples.entry(sector).or_default();
            let content = sector_at(&now, sector);
            if states.last() != Some(&content) {
                if states.len() == MAX_SAMPLES {
                    states.remove(0);
                }
                states.push(content);
            }
        }
    }

    pub(super) fn sync(&self) {
        self.sync_some(|_| true);
    }

    pub(super) fn sync_ranges(&self, ranges: &[Range<u64>]) {
        self.sync_some(|sector| {
            let (start, end) = ((sector * SECTOR_BYTES) as u64, ((sector + 1) * SECTOR_BYTES) as u64);
            ranges.iter().any(|range| range.start < end && start < range.end)
        });
    }

    fn sync_some(&self, is_included: impl Fn(usize) -> bool) {
        let mut state = self.state();
        let now = self.contents();
        let State { durable, lens, samples, lost } = &mut *state;
        let changed: Vec<usize> = changed_sectors(durable, &now).filter(|&sector| is_included(sector)).collect();
        lost.retain(|&sector, content| sector_at(&now, sector) == *content);
        durable.resize(now.len(), 0);
        for sector in changed.into_iter().filter(|sector| !lost.contains_key(sector)) {
            put_sector(durable, sector, &sector_at(&now, sector));
        }
        samples.retain(|&sector, _| !is_included(sector));
        lens.clear();
    }

    pub(super) fn fail_sync(&self) {
        let mut state = self.state();
        let now = self.contents();
        let State { durable, lost, .. } = &mut *state;
        lost.extend(changed_sectors(durable, &now).map(|sector| (sector, sector_at(&now, sector))));
    }

    pub(super) fn crash(&self, random: &mut Rng) -> Vec<u8> {
        let state = self.state();
        let now = self.contents();
        let choice = Choice::new(random);
        let mut lens = vec![state.durable.len() as u64];
        lens.extend(&state.lens);
        lens.push(now.len() as u64);
        let mut bytes = state.durable.clone();
        bytes.resize(now.len().max(bytes.len()), 0);
        let sector_count = bytes.len().div_ceil(SECTOR_BYTES).max(1) as f64;
        for sector in changed_sectors(&state.durable, &now) {
            let samples = state.samples.get(&sector).map_or(&[][..], Vec::as_slice);
            match choice.state(random, samples.len() + 2, sector as f64 / sector_count) {
                0 => {}
                state if state <= samples.len() => put_sector(&mut bytes, sector, &samples[state - 1]),
                _ => put_sector(&mut bytes, sector, &sector_at(&now, sector)),
            }
        }
        let place = random.f64();
        let len = lens[choice.state(random, lens.len(), place)];
        bytes.resize(len as usize, 0);
        bytes
    }
}

/// The sectors in which the two differ. The shorter one is padded with zeros.
fn changed_sectors<'a>(old: &'a [u8], new: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
    let common = old.len().min(new.len()) / SECTOR_BYTES;
    let all = old.len().max(new.len()).div_ceil(SECTOR_BYTES);
    let same = move |sector: usize| {
        let range = sector * SECTOR_BYTES..(sector + 1) * SECTOR_BYTES;
        old[range.clone()] == new[range]
    };
    (0..common)
        .filter(move |&sector| !same(sector))
        .chain((common..all).filter(|&sector| sector_at(old, sector) != sector_at(new, sector)))
}

/// A sector of the bytes, padded with zeros.
fn sector_at(bytes: &[u8], sector: usize) -> Sector {
    let mut content = [0; SECTOR_BYTES];
    let start = bytes.len().min(sector * SECTOR_BYTES);
    let end = bytes.len().min((sector + 1) * SECTOR_BYTES);
    content[..end - start].copy_from_slice(&bytes[start..end]);
    content
}

/// Sets the part of the sector that lies within the bytes.
fn put_sector(bytes: &mut [u8], sector: usize, content: &Sector) {
    let start = bytes.len().min(sector * SECTOR_BYTES);
    let end = bytes.len().min((sector + 1) * SECTOR_BYTES);
    bytes[start..end].copy_from_slice(&content[..end - start]);
}
