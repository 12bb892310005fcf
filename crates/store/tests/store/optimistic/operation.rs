//! Operations of an optimistic transaction, which also run on a model.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use fastrand::Rng;
use lath_store::{Entry, OptimisticTransaction, OptimisticTree, Result, Savepoint};

use crate::history::{Entries, Trees};

pub(super) const TREES: [&str; 3] = ["apples", "pears", "quinces"];

/// A range of keys.
pub(super) type KeyRange = (Vec<u8>, Option<Vec<u8>>);

#[derive(Debug, Clone)]
pub(super) enum Read {
    Get(Vec<u8>),
    Count(KeyRange),
    /// The first entries of a range, or the last ones.
    Scan {
        range: KeyRange,
        limit: usize,
        is_backward: bool,
    },
    /// Both ends of a range in turn.
    Both {
        range: KeyRange,
        limit: usize,
    },
    /// A cursor's moves from the first key that is not less than this one, from the start or from the end: forward or back.
    Walk {
        from: Option<Vec<u8>>,
        moves: Vec<bool>,
    },
    IsEmpty,
}

#[derive(Debug, Clone)]
pub(super) enum Write {
    Put(Vec<u8>, Vec<u8>),
    Remove(Vec<u8>),
    RemoveRange(KeyRange),
    RemovePrefix(Vec<u8>),
    Drop,
}

#[derive(Debug, Clone)]
pub(super) enum Operation {
    /// Reads a tree, if it exists or after it was created.
    Read {
        tree: &'static str,
        read: Read,
        creates: bool,
    },
    Write {
        tree: &'static str,
        write: Write,
    },
    Insert {
        tree: &'static str,
        key: Vec<u8>,
        value: Vec<u8>,
    },
    Names,
    Savepoint,
    Rollback,
    Release,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    Nothing,
    NoTree,
    Value(Option<Vec<u8>>),
    Count(usize),
    Flag(bool),
    Entries(Vec<Option<(Vec<u8>, Vec<u8>)>>),
    Names(Vec<String>),
}

/// One of 60 keys, some of them with common prefixes.
fn key(random: &mut Rng) -> Vec<u8> {
    match random.u8(..60) {
        number @ 0..=29 => vec![number],
        number @ 30..=49 => format!("key {number}").into_bytes(),
        number => [vec![b'p'; 300], vec![number]].concat(),
    }
}

fn range(random: &mut Rng) -> KeyRange {
    let mut bounds = [key(random), key(random)];
    bounds.sort();
    let [low, high] = bounds;
    let low = if random.u8(..8) == 0 { Vec::new() } else { low };
    (low, Some(high).filter(|_| random.u8(..8) > 0))
}

pub(super) fn operation(random: &mut Rng, only_writes: bool) -> Operation {
    let tree = TREES[random.usize(..TREES.len())];
    let some = if only_writes { 20 + random.u8(..20) } else { random.u8(..40) };
    let value = |random: &mut Rng| vec![random.u8(..3); random.usize(..4) * 200];
    let read = match some {
        0..=6 => Read::Get(key(random)),
        7 => Read::Count(range(random)),
        8..=11 => Read::Scan { range: range(random), limit: random.usize(..6), is_backward: random.bool() },
        12 => Read::Both { range: range(random), limit: random.usize(..6) },
        13..=15 => {
            let from = (random.u8(..4) > 0).then(|| key(random));
            Read::Walk { from, moves: (0..random.usize(..8)).map(|_| random.bool()).collect() }
        }
        16 => Read::IsEmpty,
        17 => return Operation::Names,
        18 | 19 => return Operation::Insert { tree, key: key(random), value: value(random) },
        20 => return Operation::Savepoint,
        21 => return Operation::Rollback,
        22 => return Operation::Release,
        other => {
            let write = match other {
                23..=32 => Write::Put(key(random), value(random)),
                33..=36 => Write::Remove(key(random)),
                37 => Write::RemoveRange(range(random)),
                38 => Write::RemovePrefix([&b"key "[..], b"p", b""][random.usize(..3)].to_vec()),
                _ => Write::Drop,
            };
            return Operation::Write { tree, write };
        }
    };
    Operation::Read { tree, read, creates: random.bool() }
}

/// Whether `key` is in a range.
pub(super) fn is_within(key: &[u8], (low, high): &KeyRange) -> bool {
    key >= &low[..] && high.as_ref().is_none_or(|high| key < &high[..])
}

fn bounds((low, high): &KeyRange) -> (Bound<&[u8]>, Bound<&[u8]>) {
    (Bound::Included(&low[..]), high.as_deref().map_or(Bound::Unbounded, Bound::Excluded))
}

fn owned(entry: Result<Entry<'_>>) -> Option<(Vec<u8>, Vec<u8>)> {
    entry.map(|(key, value)| Some((key, value.to_vec()))).unwrap()
}

/// Takes entries from both ends in turn, and one more each.
fn take_both<T>(mut entries: impl DoubleEndedIterator<Item = T>, limit: usize) -> Vec<T> {
    let mut taken = Vec::new();
    for at in 0..limit {
        taken.extend(if at % 2 == 0 { entries.next() } else { entries.next_back() });
    }
    taken
}

fn read(tree: OptimisticTree<'_>, read: &Read) -> Answer {
    match read {
        Read::Get(key) => Answer::Value(tree.get(key).unwrap().map(<[u8]>::to_vec)),
        Read::Count(range) => Answer::Count(tree.count::<&[u8]>(bounds(range)).unwrap() as usize),
        Read::Scan { range, limit, is_backward } => {
            let entries = tree.range::<&[u8]>(bounds(range));
            Answer::Entries(match is_backward {
                false => entries.take(*limit).map(owned).collect(),
                true => entries.rev().take(*limit).map(owned).collect(),
            })
        }
        Read::Both { range, limit } => {
            Answer::Entries(take_both(tree.range::<&[u8]>(bounds(range)), *limit).into_iter().map(owned).collect())
        }
        Read::Walk { from, moves } => {
            let mut cursor = tree.cursor();
            match from {
                Some(from) => drop(cursor.lower_bound(from).unwrap()),
                None if moves.first() == Some(&false) => cursor.seek_to_end(),
                None => cursor.seek_to_start(),
            }
            let mut entries = Vec::new();
            for is_forward in moves {
                let has_key = if *is_forward { cursor.next() } else { cursor.prev() }.unwrap();
                let value = cursor.value().unwrap();
                assert_eq!((has_key, has_key), (cursor.key().is_some(), value.is_some()));
                entries.push(cursor.key().map(<[u8]>::to_vec).zip(value.map(<[u8]>::to_vec)));
            }
            Answer::Entries(entries)
        }
        Read::IsEmpty => Answer::Flag(tree.is_empty().unwrap()),
    }
}

/// Reads a model.
fn read_model(entries: &Entries, read: &Read) -> Answer {
    let copied = |(key, value): (&Vec<u8>, &Vec<u8>)| Some((key.clone(), value.clone()));
    match read {
        Read::Get(key) => Answer::Value(entries.get(key).cloned()),
        Read::Count(range) => Answer::Count(entries.keys().filter(|key| is_within(key, range)).count()),
        Read::Scan { range, limit, is_backward } => {
            let entries = entries.iter().filter(|(key, _)| is_within(key, range));
            Answer::Entries(match is_backward {
                false => entries.take(*limit).map(copied).collect(),
                true => entries.rev().take(*limit).map(copied).collect(),
            })
        }
        Read::Both { range, limit } => {
            let entries = entries.iter().filter(|(key, _)| is_within(key, range));
            Answer::Entries(take_both(entries, *limit).into_iter().map(copied).collect())
        }
        Read::Walk { from, moves } => {
            let list: Vec<_> = entries.iter().collect();
            // -1 is before the first key, and the number of keys after the last.
            let mut at = match from {
                Some(from) => list.partition_point(|(key, _)| *key < from) as isize,
                None if moves.first() == Some(&false) => list.len() as isize,
                None => -1,
            };
            let walked = moves.iter().map(|is_forward| {
                at = (at + if *is_forward { 1 } else { -1 }).clamp(-1, list.len() as isize);
                usize::try_from(at).ok().and_then(|at| list.get(at)).and_then(|entry| copied(*entry))
            });
            Answer::Entries(walked.collect())
        }
        Read::IsEmpty => Answer::Flag(entries.is_empty()),
    }
}

/// Runs operations on a transaction, with its savepoints.
#[derive(Default)]
pub(super) struct Runner {
    savepoints: Vec<Savepoint>,
}

impl Runner {
    pub(super) fn run(&mut self, transaction: &mut OptimisticTransaction, operation: &Operation) -> Answer {
        match operation {
            Operation::Read { tree, read: what, creates: true } => {
                read(transaction.tree(tree).unwrap().into_tree().unwrap(), what)
            }
            Operation::Read { tree, read: what, creates: false } => {
                transaction.read_tree(tree).unwrap().map_or(Answer::NoTree, |tree| read(tree, what))
            }
            Operation::Write { tree, write } => {
                if let Write::Drop = write {
                    transaction.drop_tree(tree).unwrap();
                    return Answer::Nothing;
                }
                let mut tree = transaction.tree(tree).unwrap();
                match write {
                    Write::Put(key, value) => tree.put(key, value).unwrap(),
                    Write::Remove(key) => tree.remove(key),
                    Write::RemoveRange((low, high)) => tree.remove_range(low, high.as_deref()),
                    Write::RemovePrefix(prefix) => tree.remove_prefix(prefix),
                    Write::Drop => {}
                }
                Answer::Nothing
            }
            Operation::Insert { tree, key, value } => {
                Answer::Flag(transaction.tree(tree).unwrap().insert(key, value).unwrap())
            }
            Operation::Names => Answer::Names(transaction.tree_names().unwrap()),
            Operation::Savepoint => {
                self.savepoints.push(transaction.savepoint());
                Answer::Nothing
            }
            Operation::Rollback => {
                if let Some(savepoint) = self.savepoints.last() {
                    transaction.rollback(savepoint).unwrap();
                }
                Answer::Nothing
            }
            Operation::Release => {
                if let Some(savepoint) = self.savepoints.pop() {
                    transaction.release(&savepoint).unwrap();
                }
                Answer::Nothing
            }
        }
    }
}

/// Runs operations on a model, with its savepoints.
pub(super) struct ModelRunner {
    pub(super) trees: Trees,
    savepoints: Vec<Trees>,
}

impl ModelRunner {
    pub(super) fn new(trees: Trees) -> Self {
        Self { trees, savepoints: Vec::new() }
    }

    fn entries(&mut self, tree: &str) -> &mut Entries {
        Arc::make_mut(self.trees.entry(tree.to_owned()).or_default())
    }

    pub(super) fn run(&mut self, operation: &Operation) -> Answer {
        match operation {
            Operation::Read { tree, read, creates: true } => read_model(self.entries(tree), read),
            Operation::Read { tree, read, creates: false } => {
                self.trees.get(*tree).map_or(Answer::NoTree, |entries| read_model(entries, read))
            }
            Operation::Write { tree, write } => {
                match write {
                    Write::Put(key, value) => drop(self.entries(tree).insert(key.clone(), value.clone())),
                    Write::Remove(key) => drop(self.entries(tree).remove(key)),
                    Write::RemoveRange(range) => self.entries(tree).retain(|key, _| !is_within(key, range)),
                    Write::RemovePrefix(prefix) => self.entries(tree).retain(|key, _| !key.starts_with(prefix)),
                    Write::Drop => drop(self.trees.remove(*tree)),
                }
                Answer::Nothing
            }
            Operation::Insert { tree, key, value } => {
                let is_new = !self.entries(tree).contains_key(key);
                if is_new {
                    self.entries(tree).insert(key.clone(), value.clone());
                }
                Answer::Flag(is_new)
            }
            Operation::Names => Answer::Names(self.trees.keys().cloned().collect()),
            Operation::Savepoint => {
                self.savepoints.push(self.trees.clone());
                Answer::Nothing
            }
            Operation::Rollback => {
                if let Some(savepoint) = self.savepoints.last() {
                    self.trees = savepoint.clone();
                }
                Answer::Nothing
            }
            Operation::Release => {
                self.savepoints.pop();
                Answer::Nothing
            }
        }
    }
}

/// The keys of a tree that differ between two states.
pub(super) fn changed_keys(before: &Trees, now: &Trees, tree: &str) -> Vec<Vec<u8>> {
    let empty = Arc::new(BTreeMap::new());
    let (before, now) = (before.get(tree).unwrap_or(&empty), now.get(tree).unwrap_or(&empty));
    let keys: std::collections::BTreeSet<_> = before.keys().chain(now.keys()).collect();
    keys.into_iter().filter(|key| before.get(*key) != now.get(*key)).cloned().collect()
}
