//! Sequences of numbers, each of which is given once.
//!
//! The file `sequences.json` in the database's folder has the sequences, each with the first number that is not reserved. Numbers are
//! reserved, durably, before they are given: so none is given again after the process was killed, or after a transaction was undone. Numbers
//! that are reserved and not given are returned when the database is closed.

mod changes;
mod file;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use lath_store::Store;

pub use self::changes::SequenceChanges;
pub(crate) use self::changes::{CommittedChanges, Names};
use crate::error::{Error, Result};
use crate::records::{DATABASE, SEQUENCE_CHANGE_KEY};

/// Numbers that are reserved at once, at least.
const RESERVED: u64 = 32;

/// The definition of a sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SequenceOptions {
    /// The first number.
    pub start: i64,
    /// The difference between a number and the next one, not 0.
    pub increment: i64,
    /// The least number.
    pub min: i64,
    /// The greatest number.
    pub max: i64,
    /// Whether the numbers begin again at the other end. Otherwise there are no more numbers then.
    pub cycle: bool,
}

impl Default for SequenceOptions {
    fn default() -> Self {
        Self { start: 1, increment: 1, min: 1, max: i64::MAX, cycle: false }
    }
}

impl SequenceOptions {
    pub(crate) fn check(&self) -> Result<()> {
        if self.increment == 0 {
            return Err(Error::sequence("the increment of a sequence is 0: choose another"));
        }
        if self.min > self.max || !(self.min..=self.max).contains(&self.start) {
            return Err(Error::sequence(format!(
                "a sequence starts between its least and its greatest number: {} is not from {} to {}",
                self.start, self.min, self.max
            )));
        }
        Ok(())
    }

    /// The number after another one, if there is one.
    pub(crate) fn after(&self, number: i64) -> Option<i64> {
        match number.checked_add(self.increment).filter(|next| (self.min..=self.max).contains(next)) {
            None if self.cycle => Some(if self.increment > 0 { self.min } else { self.max }),
            next => next,
        }
    }
}

/// A sequence and its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sequence {
    pub(crate) options: SequenceOptions,
    /// The next number to give; `None` after the last one.
    pub(crate) next: Option<i64>,
    /// The numbers from `next` on that are reserved.
    pub(crate) reserved: u64,
}

impl Sequence {
    /// The next numbers.
    fn take(&mut self, name: &str, count: u64) -> Result<Vec<i64>> {
        let mut numbers = Vec::new();
        for _ in 0..count {
            let Some(number) = self.next else {
                let limit = if self.options.increment > 0 { self.options.max } else { self.options.min };
                return Err(Error::sequence(format!(
                    "sequence {name:?} has given all its numbers, up to {limit}: create one with a greater range, or with CYCLE"
                )));
            };
            numbers.push(number);
            self.next = self.options.after(number);
        }
        Ok(numbers)
    }

    /// Makes a number the next one.
    pub(crate) fn restart(&mut self, next: i64) -> Result<()> {
        let SequenceOptions { min, max, .. } = self.options;
        if !(min..=max).contains(&next) {
            return Err(Error::sequence(format!(
                "the numbers of the sequence are from {min} to {max}, without {next}"
            )));
        }
        (self.next, self.reserved) = (Some(next), 0);
        Ok(())
    }
}

/// The sequences of an open database.
#[derive(Debug)]
pub(crate) struct Sequences {
    folder: PathBuf,
    /// Its newest commit says whether changes in the file count.
    store: Store,
    /// `None` until they are first used.
    open: Mutex<Option<BTreeMap<String, Sequence>>>,
    read_only: bool,
}

impl Sequences {
    pub(crate) fn new(folder: &Path, store: Store, read_only: bool) -> Self {
        Self { folder: folder.to_owned(), store, open: Mutex::default(), read_only }
    }

    /// The sequences in the file, with the changes in it whose transaction was committed.
    fn load(&self) -> Result<BTreeMap<String, Sequence>> {
        let (mut sequences, changes) = file::load(&self.folder)?;
        if let Some(changes) = changes {
            // Read later than the file, so that no change is missed.
            let snapshot = self.store.snapshot()?;
            let number = match snapshot.tree(DATABASE)? {
                Some(tree) => change_number(tree.get(SEQUENCE_CHANGE_KEY)?),
                None => 0,
            };
            if number >= changes.number {
                changes.apply(&mut sequences);
            }
        }
        Ok(sequences)
    }

    /// Commits a transaction with its changes of sequences.
    pub(crate) fn commit(&self, changes: &CommittedChanges, commit: impl FnOnce() -> Result<()>) -> Result<()> {
        let mut open = self.lock();
        let mut sequences = match open.take() {
            Some(sequences) => sequences,
            None => self.load()?,
        };
        if let Some(name) = changes.conflict(&sequences) {
            let error = existing(name);
            *open = Some(sequences);
            return Err(error);
        }
        file::store(&self.folder, &sequences, Some(changes), false)?;
        // If the commit returns an error, it may still have been made: the sequences are then read again.
        commit()?;
        changes.apply(&mut sequences);
        // The changes in the file count from now on, so it need not be replaced.
        let _ = file::store(&self.folder, &sequences, None, false);
        *open = Some(sequences);
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Option<BTreeMap<String, Sequence>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `read` with the sequences.
    pub(crate) fn read<T>(&self, read: impl FnOnce(&BTreeMap<String, Sequence>) -> T) -> Result<T> {
        let mut open = self.lock();
        if self.read_only {
            return Ok(read(&self.load()?));
        }
        if open.is_none() {
            *open = Some(self.load()?);
        }
        Ok(read(open.get_or_insert_default()))
    }

    /// Calls `change` with the sequences. Its changes are durable, unless it returns an error.
    pub(crate) fn change<T>(
        &self,
        change: impl FnOnce(&mut BTreeMap<String, Sequence>) -> Result<(T, bool)>,
    ) -> Result<T> {
        if self.read_only {
            return Err(Error::sequence(
                "the database is open read-only, and sequences change with each number: open it for writing",
            ));
        }
        let mut open = self.lock();
        let mut sequences = match open.as_ref() {
            Some(sequences) => sequences.clone(),
            None => self.load()?,
        };
        let (changed, must_store) = change(&mut sequences)?;
        if must_store {
            file::store(&self.folder, &sequences, None, false)?;
        }
        *open = Some(sequences);
        Ok(changed)
    }

    pub(crate) fn next_numbers(&self, name: &str, count: usize) -> Result<Vec<i64>> {
        self.change(|sequences| {
            let Some(sequence) = sequences.get_mut(name) else { return Err(no_sequence(name)) };
            let count = count as u64;
            let must_reserve = sequence.reserved < count;
            if must_reserve {
                sequence.reserved = count.saturating_add(RESERVED - 1);
            }
            let numbers = sequence.take(name, count)?;
            sequence.reserved -= count;
            Ok((numbers, must_reserve))
        })
    }
}

impl Drop for Sequences {
    fn drop(&mut self) {
        // Only numbers that stay reserved are lost if this fails.
        if let Some(sequences) = self.lock().take()
            && sequences.values().any(|sequence| sequence.reserved > 0)
        {
            let _ = file::store(&self.folder, &sequences, None, true);
        }
    }
}

pub(crate) fn no_sequence(name: &str) -> Error {
    Error::sequence(format!("there is no sequence {name:?}: CREATE SEQUENCE makes one"))
}

/// The number of the last change of sequences in a transaction, as it is stored.
pub(crate) fn change_number(stored: Option<&[u8]>) -> u64 {
    stored.and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_le_bytes)
}

/// The error for a name that a sequence has already.
pub(crate) fn existing(name: &str) -> Error {
    Error::sequence(format!("there is a sequence {name:?} already: drop it first, or choose another name"))
}
