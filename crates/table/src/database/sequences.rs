//! Sequences of a database.

use std::collections::BTreeMap;

use super::{Database, DatabaseTransaction};
use crate::error::{Error, Result};
use crate::sequence::{Sequence, SequenceChanges, SequenceOptions, existing, no_sequence};

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
                return Err(existing(name));
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
            sequence.restart(next)?;
            Ok(((), true))
        })
    }

    /// Makes a number the last one that a sequence has given. Numbers that were given before may be given again.
    ///
    /// # Errors
    /// As [`restart_sequence`](Self::restart_sequence).
    pub fn set_last_number(&self, name: &str, last: i64) -> Result<()> {
        self.restart_sequence(name, last)?;
        self.tables().sequences.change(|sequences| {
            let Some(sequence) = sequences.get_mut(name) else { return Err(no_sequence(name)) };
            sequence.next = sequence.options.after(last);
            Ok(((), true))
        })
    }

    /// Changes the options of a sequence. Its next number is `restart`, or the one that follows its last number with the new increment.
    ///
    /// # Errors
    /// [`Error::Sequence`] if there is no such sequence, for options that no sequence has, and for a next number that is not in the new range;
    /// [`Error::Io`].
    pub fn alter_sequence(&self, name: &str, options: &SequenceOptions, restart: Option<i64>) -> Result<()> {
        options.check()?;
        self.tables().sequences.change(|sequences| {
            let Some(sequence) = sequences.get_mut(name) else { return Err(no_sequence(name)) };
            let old = sequence.options;
            let last = match sequence.next {
                // Nothing was given yet.
                Some(next) if next == old.start => None,
                Some(next) => next.checked_sub(old.increment),
                None => Some(if old.increment > 0 { old.max } else { old.min }),
            };
            let is_within = |number: i64| (options.min..=options.max).contains(&number);
            let next = match (restart, last) {
                (Some(restart), _) => Some(restart),
                (None, None) => Some(if is_within(old.start) { old.start } else { options.start }),
                (None, Some(last)) => options.after(last),
            };
            if let Some(next) = next.filter(|&next| !is_within(next)) {
                return Err(Error::sequence(format!(
                    "the numbers of the sequence are from {} to {}, without {next}: choose another number to RESTART with",
                    options.min, options.max
                )));
            }
            (sequence.options, sequence.next, sequence.reserved) = (*options, next, 0);
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

impl DatabaseTransaction {
    /// Creates a sequence, as [`Database::create_sequence`] does. It is one of this transaction at once, and one for others when this is committed.
    ///
    /// # Errors
    /// As there.
    pub fn create_sequence(&mut self, name: &str, options: &SequenceOptions) -> Result<()> {
        self.sequences.create(name, options, self.has_sequence(name)?)?;
        self.has_defined = true;
        Ok(())
    }

    /// Drops a sequence, for others when this is committed. Returns whether there was one. Numbers that it gives to others until then stay given.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn drop_sequence(&mut self, name: &str) -> Result<bool> {
        let was_there = self.sequences.drop(name, self.has_sequence(name)?);
        self.has_defined |= was_there;
        Ok(was_there)
    }

    /// The sequences that this transaction has created and dropped. They stay its changes while it goes on.
    pub fn sequence_changes(&self) -> SequenceChanges {
        self.sequences.clone()
    }

    /// Whether the database has a sequence with this name.
    fn has_sequence(&self, name: &str) -> Result<bool> {
        self.tables.sequences.read(|sequences| sequences.contains_key(name))
    }
}
