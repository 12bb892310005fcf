//! A log that tracks which of its writes are durable.

use std::io;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use fastrand::Rng;

use super::SECTOR_BYTES;
use super::choice::Choice;
use crate::error::{Error, Result};

#[derive(Debug)]
pub(super) struct SimulatedLog {
    state: Mutex<State>,
}

#[derive(Debug, Default, Clone)]
struct State {
    now: Vec<u8>,
    durable: Vec<u8>,
    /// The changes since `durable`, in order.
    pending: Vec<Change>,
}

#[derive(Debug, Clone)]
enum Change {
    Write { offset: usize, bytes: Vec<u8> },
    SetLen(usize),
}

impl Change {
    fn apply(&self, file: &mut Vec<u8>) {
        match self {
            Self::Write { offset, bytes } => {
                let end = offset + bytes.len();
                if file.len() < end {
                    file.resize(end, 0);
                }
                file[*offset..end].copy_from_slice(bytes);
            }
            Self::SetLen(len) => file.resize(*len, 0),
        }
    }

    /// Applies the change to bytes `from..to` of a file, which is long enough, and leaves its length alone.
    fn apply_between(&self, file: &mut [u8], from: usize, to: usize) {
        match self {
            Self::Write { offset, bytes } => {
                let (start, end) = (from.max(*offset), to.min(offset + bytes.len()));
                if start < end {
                    file[start..end].copy_from_slice(&bytes[start - offset..end - offset]);
                }
            }
            Self::SetLen(len) => {
                if *len < to {
                    file[from.max(*len)..to].fill(0);
                }
            }
        }
    }

    /// The bytes that it changes in a file of this length.
    fn span(&self, len: usize) -> (usize, usize) {
        match self {
            Self::Write { offset, bytes } => (*offset, offset + bytes.len()),
            Self::SetLen(new) => (*new, len.max(*new)),
        }
    }
}

impl SimulatedLog {
    /// A log with these bytes, all durable.
    pub(super) fn new(bytes: Vec<u8>) -> Self {
        Self { state: Mutex::new(State { now: bytes.clone(), durable: bytes, pending: Vec::new() }) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn len(&self) -> u64 {
        self.state().now.len() as u64
    }

    pub(super) fn copy(&self) -> Self {
        Self { state: Mutex::new(self.state().clone()) }
    }

    pub(super) fn read_at(&self, offset: u64, bytes: &mut [u8]) -> Result<()> {
        let state = self.state();
        let found = usize::try_from(offset).ok().and_then(|offset| state.now.get(offset..)?.get(..bytes.len()));
        let missing = || Error::io("read", Path::new("a simulated log"))(io::ErrorKind::UnexpectedEof.into());
        bytes.copy_from_slice(found.ok_or_else(missing)?);
        Ok(())
    }

    pub(super) fn write_at(&self, offset: u64, bytes: &[u8]) {
        self.change(Change::Write { offset: offset as usize, bytes: bytes.to_vec() });
    }

    pub(super) fn set_len(&self, len: u64) {
        self.change(Change::SetLen(len as usize));
    }

    fn change(&self, change: Change) {
        let mut state = self.state();
        change.apply(&mut state.now);
        state.pending.push(change);
    }

    /// Makes all writes durable; or, if the sync fails, none, and pending writes never.
    pub(super) fn sync(&self, succeeds: bool) {
        let mut state = self.state();
        let State { durable, pending, .. } = &mut *state;
        for change in pending.drain(..) {
            if succeeds {
                change.apply(durable);
            }
        }
    }

    /// A possible state after a loss of power: each sector in any of the states that it went through, and any of the
    /// lengths.
    pub(super) fn crash(&self, random: &mut Rng) -> Vec<u8> {
        let state = self.state();
        let choice = Choice::new(random);
        let mut lens = vec![state.durable.len()];
        for change in &state.pending {
            let last = lens[lens.len() - 1];
            lens.push(match change {
                Change::Write { offset, bytes } => last.max(offset + bytes.len()),
                Change::SetLen(len) => *len,
            });
        }
        let changes = state.pending.len();
        let longest = lens.iter().copied().max().unwrap_or(0);
        let mut file = state.durable.clone();
        file.resize(longest, 0);
        if let Choice::Prefix(part) = choice {
            // In order of time: the first changes, the last of them torn.
            let count = (part * (changes + 1) as f64) as usize;
            file.truncate(state.durable.len());
            state.pending[..count].iter().for_each(|change| change.apply(&mut file));
            if let Some(Change::Write { offset, bytes }) = state.pending.get(count) {
                // Torn at the end of a sector, like all others.
                let torn = (offset + random.usize(..=bytes.len())) / SECTOR_BYTES * SECTOR_BYTES;
                if torn > *offset {
                    Change::Write { offset: *offset, bytes: bytes[..torn - offset].to_vec() }.apply(&mut file);
                }
            }
            return file;
        }
        let mut is_touched = vec![false; longest.div_ceil(SECTOR_BYTES)];
        for (change, &len) in state.pending.iter().zip(&lens) {
            let (start, end) = change.span(len);
            is_touched[start / SECTOR_BYTES..end.min(longest).div_ceil(SECTOR_BYTES).max(start / SECTOR_BYTES)]
                .fill(true);
        }
        // A sector goes through the states after each change that touched it.
        for sector in (0..is_touched.len()).filter(|&sector| is_touched[sector]) {
            let (from, to) = (sector * SECTOR_BYTES, longest.min((sector + 1) * SECTOR_BYTES));
            let touches = |change: &&Change| {
                let (start, end) = change.span(longest);
                start < to && end > from
            };
            let touching = state.pending.iter().filter(touches).count();
            let kept = choice.state(random, touching + 1, 0.0);
            state
                .pending
                .iter()
                .filter(touches)
                .take(kept)
                .for_each(|change| change.apply_between(&mut file, from, to));
        }
        file.resize(lens[choice.state(random, lens.len(), 0.0)], 0);
        file
    }
}
