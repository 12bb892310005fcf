//! Operations of an optimistic transaction, which also run on a model.

use std::collections::BTreeMap;
use std::sync::Arc;

use fastrand::Rng;
use lath_store::{OptimisticTransaction, Savepoint};

use super::read::{Answer, KeyRange, Read, is_within, read, read_model};
use crate::history::{Entries, Trees};

pub(super) const TREES: [&str; 3] = ["apples", "pears", "quinces"];

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
