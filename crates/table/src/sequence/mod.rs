//! Sequences of numbers, each of which is given once.
//!
//! The file `sequences.json` in the database's folder has the sequences, each with the first number that is not reserved. Numbers are
//! reserved, durably, before they are given: so none is given again after the process was killed, or after a transaction was undone. Numbers
//! that are reserved and not given are returned when the database is closed.

mod file;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::database::Database;
use crate::error::{Error, Result};

pub(crate) use self::file::FILE_NAME;

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
    fn check(&self) -> Result<()> {
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
    fn after(&self, number: i64) -> Option<i64> {
        match number.checked_add(self.increment).filter(|next| (self.min..=self.max).contains(next)) {
            None if self.cycle => Some(if self.increment > 0 { self.min } else { self.max }),
            next => next,
        }
    }
}

/// A sequence and its position.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Sequence {
    options: SequenceOptions,
    /// The next number to give; `None` after the last one.
    next: Option<i64>,
    /// The numbers from `next` on that are reserved.
    reserved: u64,
}

/// The sequences of an open database.
#[derive(Debug)]
pub(crate) struct Sequences {
    folder: PathBuf,
    /// `None` until they are first used.
    open: Mutex<Option<BTreeMap<String, Sequence>>>,
    read_only: bool,
}

impl Sequences {
    pub(crate) fn new(folder: &Path, read_only: bool) -> Self {
        Self { folder: folder.to_owned(), open: Mutex::default(), read_only }
    }

    fn lock(&self) -> MutexGuard<'_, Option<BTreeMap<String, Sequence>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `read` with the sequences.
    fn read<T>(&self, read: impl FnOnce(&BTreeMap<String, Sequence>) -> T) -> Result<T> {
        let mut open = self.lock();
        if self.read_only {
            return Ok(read(&file::load(&self.folder)?));
        }
        if open.is_none() {
            *open = Some(file::load(&self.folder)?);
        }
        Ok(read(open.get_or_insert_default()))
    }

    /// Calls `change` with the sequences. Its changes are durable, unless it returns an error.
    fn change<T>(&self, change: impl FnOnce(&mut BTreeMap<String, Sequence>) -> Result<(T, bool)>) -> Result<T> {
        if self.read_only {
            return Err(Error::sequence(
                "the database is open read-only, and sequences change with each number: open it for writing",
            ));
        }
        let mut open = self.lock();
        let mut sequences = match open.as_ref() {
            Some(sequences) => sequences.clone(),
            None => file::load(&self.folder)?,
        };
        let (changed, must_store) = change(&mut sequences)?;
        if must_store {
            file::store(&self.folder, &sequences, false)?;
        }
        *open = Some(sequences);
        Ok(changed)
    }

    fn next_numbers(&self, name: &str, count: usize) -> Result<Vec<i64>> {
        self.change(|sequences| {
            let Some(sequence) = sequences.get_mut(name) else { return Err(no_sequence(name)) };
            let count = count as u64;
            let must_reserve = sequence.reserved < count;
            if must_reserve {
                sequence.reserved = count.saturating_add(RESERVED - 1);
            }
            let mut numbers = Vec::new();
            for _ in 0..count {
                let Some(number) = sequence.next else {
                    let limit = if sequence.options.increment > 0 { sequence.options.max } else { sequence.options.min };
                    return Err(Error::sequence(format!(
                        "sequence {name:?} has given all its numbers, up to {limit}: create one with a greater range, or with CYCLE"
                    )));
                };
                numbers.push(number);
                sequence.next = sequence.options.after(number);
            }
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
            let _ = file::store(&self.folder, &sequences, true);
        }
    }
}

fn no_sequence(name: &str) -> Error {
    Error::sequence(format!("there is no sequence {name:?}: CREATE SEQUENCE makes one"))
}

impl Database {
    /// Creates a sequence of numbers.
    ///
    /// ```
    /// use lath_table::{Database, SequenceOptions, TableOptions};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let folder = folder.path().join("shop");
    /// let database = Database::create(&folder, TableOptions::new())?;
    /// database.create_sequence("orders", &SequenceOptions { start: 100, ..SequenceOptions::default() })?;
    /// assert_eq!(database.next_numbers("orders", 2)?, [100, 101]);
    /// drop(database);
    /// assert_eq!(Database::open(&folder, TableOptions::new())?.next_numbers("orders", 1)?, [102]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Sequence`] if there is one with this name, or for options that no sequence has; [`Error::Io`].
    pub fn create_sequence(&self, name: &str, options: &SequenceOptions) -> Result<()> {
        options.check()?;
        self.tables().sequences.change(|sequences| {
            if sequences.contains_key(name) {
                return Err(Error::sequence(format!(
                    "there is a sequence {name:?} already: drop it first, or choose another name"
                )));
            }
            let sequence = Sequence { options: *options, next: Some(options.start), reserved: 0 };
            sequences.insert(name.to_owned(), sequence);
            Ok(((), true))
        })
    }

    /// Drops a sequence. Returns whether there was one.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn drop_sequence(&self, name: &str) -> Result<bool> {
        self.tables().sequences.change(|sequences| {
            let was_there = sequences.remove(name).is_some();
            Ok((was_there, was_there))
        })
    }

    /// Sets the next number of a sequence. Numbers that were given before may be given again.
    ///
    /// # Errors
    /// [`Error::Sequence`] if there is no such sequence, or it does not have this number; [`Error::Io`].
    pub fn restart_sequence(&self, name: &str, next: i64) -> Result<()> {
        self.tables().sequences.change(|sequences| {
            let Some(sequence) = sequences.get_mut(name) else { return Err(no_sequence(name)) };
            let SequenceOptions { min, max, .. } = sequence.options;
            if !(min..=max).contains(&next) {
                return Err(Error::sequence(format!(
                    "the numbers of the sequence are from {min} to {max}, without {next}"
                )));
            }
            (sequence.next, sequence.reserved) = (Some(next), 0);
            Ok(((), true))
        })
    }

    /// The sequences, by their names.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Corrupt`].
    pub fn sequences(&self) -> Result<BTreeMap<String, SequenceOptions>> {
        self.tables()
            .sequences
            .read(|sequences| sequences.iter().map(|(name, sequence)| (name.clone(), sequence.options)).collect())
    }

    /// The next numbers of a sequence. No number is given again, whatever happens to the transaction or process that has asked for it. Numbers
    /// that were given and not used, and up to 31 others if the process is killed, are left out.
    ///
    /// # Errors
    /// [`Error::Sequence`] if there is no such sequence, or it has too few numbers left; [`Error::Io`].
    pub fn next_numbers(&self, name: &str, count: usize) -> Result<Vec<i64>> {
        self.tables().sequences.next_numbers(name, count)
    }
}
