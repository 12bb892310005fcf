//! The changes that an optimistic transaction keeps in memory.

use std::collections::BTreeMap;
use std::ops::Bound;

use super::key_ranges::{Addition, KeyRanges};

type Entries = BTreeMap<Vec<u8>, Option<Box<[u8]>>>;

/// Whether a transaction has made sure that a tree exists, or has dropped it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Existence {
    #[default]
    Unchanged,
    Created,
    Dropped,
}

/// The changes to one tree. They apply in this order: the tree is dropped, created, loses ranges, and then gets and loses entries.
#[derive(Debug, Default)]
pub(super) struct TreeChanges {
    pub(super) existence: Existence,
    /// Whether the tree was dropped, so that nothing is left of the snapshot's entries.
    pub(super) is_emptied: bool,
    pub(super) removed: KeyRanges,
    /// Put entries, and removed ones without a value.
    pub(super) entries: Entries,
}

impl TreeChanges {
    /// Whether the snapshot's entries are the tree's.
    pub(super) fn has_no_entries(&self) -> bool {
        !self.is_emptied && self.removed.is_empty() && self.entries.is_empty()
    }

    /// The value of `key`, if the changes decide it.
    pub(super) fn get(&self, key: &[u8]) -> Option<Option<&[u8]>> {
        match self.entries.get(key) {
            Some(value) => Some(value.as_deref()),
            None => self.hides(key).then_some(None),
        }
    }

    /// Whether an entry of the snapshot with this key was removed by its range or with its tree.
    pub(super) fn hides(&self, key: &[u8]) -> bool {
        self.is_emptied || self.removed.find(key).is_some()
    }
}

/// Takes back one change.
#[derive(Debug)]
enum Undo {
    Entry { tree: usize, key: Vec<u8>, value: Option<Option<Box<[u8]>>> },
    Range { tree: usize, addition: Option<Addition>, entries: Entries },
    Created { tree: usize, existence: Existence },
    Dropped { tree: usize, changes: Box<TreeChanges> },
}

/// The changes to all trees, and what takes them back to the savepoints.
#[derive(Debug, Default)]
pub(super) struct Changes {
    pub(super) trees: Vec<(String, TreeChanges)>,
    /// Empty without savepoints.
    journal: Vec<Undo>,
    /// The numbers of the savepoints, and the lengths of the journal then.
    marks: Vec<(u64, usize)>,
    next_mark: u64,
}

impl Changes {
    /// The changes to the tree with this name.
    pub(super) fn tree(&self, name: &str) -> Option<&TreeChanges> {
        self.trees.iter().find(|(other, _)| other == name).map(|(_, changes)| changes)
    }

    /// The index of the tree with this name.
    pub(super) fn index(&mut self, name: &str) -> usize {
        let index = self.trees.iter().position(|(other, _)| other == name);
        index.unwrap_or_else(|| {
            self.trees.push((name.to_owned(), TreeChanges::default()));
            self.trees.len() - 1
        })
    }

    fn record(&mut self, undo: impl FnOnce() -> Undo) {
        if !self.marks.is_empty() {
            self.journal.push(undo());
        }
    }

    pub(super) fn create(&mut self, tree: usize) {
        let existence = std::mem::replace(&mut self.trees[tree].1.existence, Existence::Created);
        if existence != Existence::Created {
            self.record(|| Undo::Created { tree, existence });
        }
    }

    pub(super) fn drop_tree(&mut self, tree: usize) {
        let dropped = TreeChanges { existence: Existence::Dropped, is_emptied: true, ..TreeChanges::default() };
        let changes = std::mem::replace(&mut self.trees[tree].1, dropped);
        self.record(|| Undo::Dropped { tree, changes: Box::new(changes) });
    }

    /// Puts an entry, or removes it.
    pub(super) fn set(&mut self, tree: usize, key: &[u8], value: Option<&[u8]>) {
        let old = self.trees[tree].1.entries.insert(key.to_vec(), value.map(Box::from));
        self.record(|| Undo::Entry { tree, key: key.to_vec(), value: old });
    }

    pub(super) fn remove_range(&mut self, tree: usize, low: &[u8], high: Option<&[u8]>) {
        let changes = &mut self.trees[tree].1;
        let bounds = (Bound::Included(low), high.map_or(Bound::Unbounded, Bound::Excluded));
        let keys: Vec<Vec<u8>> = changes.entries.range::<[u8], _>(bounds).map(|(key, _)| key.clone()).collect();
        let entries = keys.into_iter().filter_map(|key| changes.entries.remove_entry(&key)).collect();
        let addition = if changes.is_emptied { None } else { changes.removed.add(low, high) };
        self.record(|| Undo::Range { tree, addition, entries });
    }

    /// Marks the current state, and returns the place of the savepoint and its number.
    pub(super) fn mark(&mut self) -> (usize, u64) {
        let number = self.next_mark;
        self.next_mark += 1;
        self.marks.push((number, self.journal.len()));
        (self.marks.len() - 1, number)
    }

    /// Whether this savepoint is valid.
    pub(super) fn has_mark(&self, place: usize, number: u64) -> bool {
        self.marks.get(place).is_some_and(|mark| mark.0 == number)
    }

    /// Takes the changes since a savepoint back, which stays valid.
    pub(super) fn rollback(&mut self, place: usize) {
        self.marks.truncate(place + 1);
        let len = self.marks[place].1;
        while self.journal.len() > len {
            match self.journal.pop() {
                Some(Undo::Entry { tree, key, value }) => {
                    let entries = &mut self.trees[tree].1.entries;
                    match value {
                        Some(value) => entries.insert(key, value),
                        None => entries.remove(&key),
                    };
                }
                Some(Undo::Range { tree, addition, entries }) => {
                    let changes = &mut self.trees[tree].1;
                    changes.entries.extend(entries);
                    addition.into_iter().for_each(|addition| changes.removed.undo(addition));
                }
                Some(Undo::Created { tree, existence }) => self.trees[tree].1.existence = existence,
                Some(Undo::Dropped { tree, changes }) => self.trees[tree].1 = *changes,
                None => return,
            }
        }
    }

    /// Forgets a savepoint and those after it.
    pub(super) fn release(&mut self, place: usize) {
        self.marks.truncate(place);
        if self.marks.is_empty() {
            self.journal = Vec::new();
        }
    }
}
