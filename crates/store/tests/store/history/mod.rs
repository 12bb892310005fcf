//! Random histories of a store, with the contents after every commit in `BTreeMap`s.

use std::collections::BTreeMap;
use std::sync::Arc;

use fastrand::Rng;
use lath_store::{Durability, OptimisticTransaction, Result, Savepoint, Snapshot, Store, Transaction, Tree};

pub(crate) type Entries = BTreeMap<Vec<u8>, Vec<u8>>;
pub(crate) type Trees = BTreeMap<String, Arc<Entries>>;

/// The contents after a commit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Version {
    pub(crate) trees: Trees,
    pub(crate) snapshots: BTreeMap<String, Arc<Trees>>,
}

const TREES: [&str; 3] = ["apples", "pears", "quinces"];
const SNAPSHOTS: [&str; 2] = ["monday", "tuesday"];

/// Applies a random change to `transaction` and to `version`. Earlier versions are in `last`.
pub(crate) fn change(
    random: &mut Rng,
    transaction: &mut Transaction,
    version: &mut Version,
    last: &Version,
) -> Result<()> {
    let name = TREES[random.usize(..TREES.len())];
    match random.u8(..40) {
        0 => {
            let dropped = transaction.drop_tree(name)?;
            assert_eq!(dropped, version.trees.remove(name).is_some());
        }
        1 | 2 => {
            let entries = entries_mut(version, name);
            let before = entries.len();
            let mut tree = transaction.tree(name)?;
            let removed = if random.u8(..3) == 0 {
                let mut prefix = key(random);
                prefix.truncate(random.usize(..prefix.len() + 1));
                entries.retain(|key, _| !key.starts_with(&prefix));
                tree.remove_prefix(&prefix)?
            } else {
                let mut bounds = [key(random), key(random)];
                bounds.sort();
                let [low, high] = bounds;
                let high = Some(high).filter(|_| random.u8(..8) > 0);
                let inside = |key: &Vec<u8>| *key >= low && high.as_ref().is_none_or(|high| key < high);
                entries.retain(|key, _| !inside(key));
                tree.remove_range(&low, high.as_deref())?
            };
            assert_eq!(removed as usize, before - entries.len());
            assert_eq!(tree.len()? as usize, entries.len());
        }
        3 => {
            let snapshot = SNAPSHOTS[random.usize(..SNAPSHOTS.len())];
            if version.snapshots.contains_key(snapshot) {
                assert!(transaction.drop_snapshot(snapshot)?);
                version.snapshots.remove(snapshot);
            } else {
                transaction.keep_snapshot(snapshot)?;
                version.snapshots.insert(snapshot.to_owned(), Arc::new(last.trees.clone()));
            }
        }
        4..=12 => {
            let entries = entries_mut(version, name);
            // Most random keys do not exist.
            let key = match random.bool().then(|| random.usize(..entries.len().max(1))) {
                Some(index) => entries.keys().nth(index).cloned().unwrap_or_default(),
                None => key(random),
            };
            let was_there = transaction.tree(name)?.remove(&key)?;
            assert_eq!(was_there, entries.remove(&key).is_some());
        }
        _ => {
            let (key, value) = (key(random), value(random));
            let is_new = transaction.tree(name)?.upsert(&key, &value)?;
            assert_eq!(is_new, entries_mut(version, name).insert(key, value).is_none());
        }
    }
    Ok(())
}

/// Applies a few changes, and undoes some of them by savepoints.
pub(crate) fn change_often(
    random: &mut Rng,
    transaction: &mut Transaction,
    version: &mut Version,
    last: &Version,
    mut between: impl FnMut(),
) -> Result<()> {
    let mut savepoint: Option<(Savepoint, Version)> = None;
    for _ in 0..1 + random.usize(..12) {
        change(random, transaction, version, last)?;
        match random.u8(..16) {
            0 => savepoint = Some((transaction.savepoint()?, version.clone())),
            1 => {
                if let Some((savepoint, then)) = &savepoint {
                    transaction.rollback(savepoint)?;
                    *version = then.clone();
                }
            }
            _ => {}
        }
        between();
    }
    Ok(())
}

/// Applies a few changes to an optimistic transaction and to `version`, and undoes some of them by savepoints.
pub(crate) fn change_optimistically(
    random: &mut Rng,
    transaction: &mut OptimisticTransaction,
    version: &mut Version,
) -> Result<()> {
    let mut savepoint: Option<(Savepoint, Version)> = None;
    for _ in 0..1 + random.usize(..12) {
        let (name, key) = (TREES[random.usize(..TREES.len())], key(random));
        match random.u8(..32) {
            0 => {
                transaction.drop_tree(name)?;
                version.trees.remove(name);
            }
            1 => {
                let mut bounds = [key, self::key(random)];
                bounds.sort();
                let [low, high] = bounds;
                transaction.tree(name)?.remove_range(&low, Some(&high));
                entries_mut(version, name).retain(|key, _| *key < low || *key >= high);
            }
            2 => {
                let prefix = &key[..random.usize(..key.len() + 1)];
                transaction.tree(name)?.remove_prefix(prefix);
                entries_mut(version, name).retain(|key, _| !key.starts_with(prefix));
            }
            3..=6 => {
                transaction.tree(name)?.remove(&key);
                entries_mut(version, name).remove(&key);
            }
            7..=9 => {
                let tree = transaction.tree(name)?.into_tree()?;
                assert_eq!(tree.get(&key)?, entries_mut(version, name).get(&key).map(Vec::as_slice));
                assert_eq!(tree.len()?, entries_mut(version, name).len() as u64);
            }
            10 => savepoint = Some((transaction.savepoint(), version.clone())),
            11 => {
                if let Some((savepoint, then)) = &savepoint {
                    transaction.rollback(savepoint)?;
                    *version = then.clone();
                }
            }
            _ => {
                let value = value(random);
                transaction.tree(name)?.put(&key, &value)?;
                entries_mut(version, name).insert(key, value);
            }
        }
    }
    Ok(())
}

pub(crate) fn durability(random: &mut Rng) -> Durability {
    match random.u8(..8) {
        0..=4 => Durability::Sync,
        5 | 6 => Durability::Deferred,
        _ => Durability::Off,
    }
}

fn entries_mut<'v>(version: &'v mut Version, name: &str) -> &'v mut Entries {
    Arc::make_mut(version.trees.entry(name.to_owned()).or_default())
}

/// One of about 300 keys with common prefixes, some of them long.
fn key(random: &mut Rng) -> Vec<u8> {
    let number = random.u32(..300);
    match number % 10 {
        0..=4 => number.to_be_bytes().to_vec(),
        5..=7 => format!("key-{number:05}").into_bytes(),
        8 => vec![number as u8; 1 + number as usize / 4],
        _ => [vec![b'p'; 600], number.to_le_bytes().to_vec()].concat(),
    }
}

fn value(random: &mut Rng) -> Vec<u8> {
    let len = match random.u8(..32) {
        0 => 4000 + random.usize(..3000),
        1..=4 => random.usize(..700),
        _ => random.usize(..24),
    };
    let first = random.u8(..);
    (0..len).map(|index| first.wrapping_add(index as u8)).collect()
}

/// Panics unless the snapshot has exactly the contents of the version.
pub(crate) fn assert_same(snapshot: &Snapshot, version: &Version, what: &str) {
    assert_same_trees(snapshot, &version.trees, what);
    let names: Vec<&String> = version.snapshots.keys().collect();
    assert_eq!(snapshot.snapshot_names().unwrap().iter().collect::<Vec<_>>(), names, "{what}: named snapshots");
    for (name, trees) in &version.snapshots {
        let snapshot = snapshot.snapshot(name).unwrap().unwrap_or_else(|| panic!("{what}: snapshot {name} is lost"));
        assert_same_trees(&snapshot, trees, &format!("{what}, snapshot {name}"));
    }
}

pub(crate) fn assert_same_trees(snapshot: &Snapshot, trees: &Trees, what: &str) {
    assert_eq!(
        snapshot.tree_names().unwrap().iter().collect::<Vec<_>>(),
        trees.keys().collect::<Vec<_>>(),
        "{what}: trees"
    );
    for (name, entries) in trees {
        let tree = snapshot.tree(name).unwrap().unwrap_or_else(|| panic!("{what}: tree {name} is lost"));
        assert_same_entries(&tree, entries, &format!("{what}, tree {name}"));
    }
}

fn assert_same_entries(tree: &Tree<'_>, entries: &Entries, what: &str) {
    assert_eq!(tree.len().unwrap(), entries.len() as u64, "{what}: number of keys");
    let mut cursor = tree.cursor();
    for (key, value) in entries {
        assert!(cursor.next().unwrap(), "{what}: ends before {key:?}");
        assert_eq!(cursor.key().unwrap(), key, "{what}: key");
        assert!(cursor.value().unwrap().unwrap() == value, "{what}: value of {key:?}");
    }
    assert!(!cursor.next().unwrap(), "{what}: has more keys");
}

/// Panics if a check finds a problem.
pub(crate) fn assert_sound(store: &Store, what: &str) {
    let report = store.check().unwrap();
    assert!(report.is_sound(), "{what}: {:#?}", report.problems);
}
