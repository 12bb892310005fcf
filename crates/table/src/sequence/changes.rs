//! Sequences that an open transaction creates and drops.
//!
//! They are in memory until the transaction commits. The file of sequences and the store are then changed in three steps, so that a crash leaves
//! both changed or none: the file gets the changes with the number of this change, the store commits that number with the rest of the
//! transaction, and the file gets the sequences as they are then. A reader that finds changes in the file applies them if the store has
//! their number.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Sequence, SequenceOptions, existing, no_sequence};
use crate::error::{Error, Result};

/// The sequences that a [`DatabaseTransaction`](crate::DatabaseTransaction) has created and dropped. Clones are the same changes.
#[derive(Debug, Clone, Default)]
pub struct SequenceChanges(Arc<Mutex<Changes>>);

#[derive(Debug, Default)]
struct Changes {
    names: Names,
    /// The created sequences by their numbers. A rollback does not take back numbers that they have given.
    created: BTreeMap<u64, Sequence>,
}

/// The names of the sequences that are created and dropped, to which a rollback returns.
#[derive(Debug, Clone, Default)]
pub(crate) struct Names {
    created: BTreeMap<String, u64>,
    dropped: BTreeSet<String>,
}

/// The changes of a transaction that commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CommittedChanges {
    /// A commit of the store has this number.
    pub(crate) number: u64,
    pub(crate) created: BTreeMap<String, Sequence>,
    pub(crate) dropped: BTreeSet<String>,
}

impl CommittedChanges {
    pub(crate) fn apply(&self, sequences: &mut BTreeMap<String, Sequence>) {
        sequences.retain(|name, _| !self.dropped.contains(name));
        sequences.extend(self.created.clone());
    }

    /// The name of a created sequence that there is already.
    pub(crate) fn conflict(&self, sequences: &BTreeMap<String, Sequence>) -> Option<&str> {
        let is_there = |name: &&String| sequences.contains_key(*name) && !self.dropped.contains(*name);
        self.created.keys().find(is_there).map(String::as_str)
    }
}

impl SequenceChanges {
    fn lock(&self) -> MutexGuard<'_, Changes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn mark(&self) -> Names {
        self.lock().names.clone()
    }

    pub(crate) fn restore(&self, mark: &Names) {
        self.lock().names = mark.clone();
    }

    /// The changes to commit under a number, if there are some.
    pub(crate) fn committed(&self, number: u64) -> Option<CommittedChanges> {
        let changes = self.lock();
        let created = changes.names.created.iter();
        let created = created.filter_map(|(name, id)| Some((name.clone(), changes.created.get(id)?.clone()))).collect();
        let committed = CommittedChanges { number, created, dropped: changes.names.dropped.clone() };
        (!committed.created.is_empty() || !committed.dropped.is_empty()).then_some(committed)
    }

    pub(crate) fn is_empty(&self) -> bool {
        let changes = self.lock();
        changes.names.created.is_empty() && changes.names.dropped.is_empty()
    }

    /// Creates a sequence. `is_there` says whether the database has one with this name.
    pub(crate) fn create(&self, name: &str, options: &SequenceOptions, is_there: bool) -> Result<()> {
        options.check()?;
        let mut changes = self.lock();
        let is_visible = is_there && !changes.names.dropped.contains(name);
        if is_visible || changes.names.created.contains_key(name) {
            return Err(existing(name));
        }
        let id = changes.created.len() as u64;
        changes.created.insert(id, Sequence { options: *options, next: Some(options.start), reserved: 0 });
        changes.names.created.insert(name.to_owned(), id);
        Ok(())
    }

    /// Drops a sequence. Returns whether there was one.
    pub(crate) fn drop(&self, name: &str, is_there: bool) -> bool {
        let mut changes = self.lock();
        let was_created = changes.names.created.remove(name).is_some();
        let was_there = is_there && changes.names.dropped.insert(name.to_owned());
        was_created || was_there
    }

    /// The sequences that the transaction sees, where the database has these.
    #[must_use]
    pub fn apply_to(&self, mut sequences: BTreeMap<String, SequenceOptions>) -> BTreeMap<String, SequenceOptions> {
        let changes = self.lock();
        sequences.retain(|name, _| !changes.names.dropped.contains(name));
        let created = changes.names.created.iter();
        sequences.extend(created.filter_map(|(name, id)| Some((name.clone(), changes.created.get(id)?.options))));
        sequences
    }

    /// The next numbers of a sequence that the transaction has created; `None` for one of the database.
    ///
    /// # Errors
    /// [`Error::Sequence`] if the transaction has dropped it, or it has too few numbers left.
    pub fn next_numbers(&self, name: &str, count: usize) -> Result<Option<Vec<i64>>> {
        self.with(name, |sequence| sequence.take(name, count as u64))
    }

    /// Makes a number the last one that a created sequence has given, or, unless it `is_given`, the next one. Returns whether the transaction has
    /// created the sequence.
    ///
    /// # Errors
    /// [`Error::Sequence`] if the transaction has dropped it, or it does not have this number.
    pub fn set(&self, name: &str, number: i64, is_given: bool) -> Result<bool> {
        let set = self.with(name, |sequence| {
            sequence.restart(number)?;
            if is_given {
                sequence.next = sequence.options.after(number);
            }
            Ok(())
        })?;
        Ok(set.is_some())
    }

    fn with<T>(&self, name: &str, work: impl FnOnce(&mut Sequence) -> Result<T>) -> Result<Option<T>> {
        let mut changes = self.lock();
        match changes.names.created.get(name).copied() {
            Some(id) => match changes.created.get_mut(&id) {
                Some(sequence) => work(sequence).map(Some),
                None => Err(Error::internal("a created sequence is gone")),
            },
            None if changes.names.dropped.contains(name) => Err(no_sequence(name)),
            None => Ok(None),
        }
    }
}
