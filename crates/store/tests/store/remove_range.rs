//! Ranges and prefixes of all sizes are removed without visiting their keys, and their space becomes free in steps.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::history::assert_sound;
use fastrand::Rng;
use lath_store::{Durability, Options, SimulatedStorage, Snapshot, Stats, Store, Transaction, Tree};
use lath_testkit::Seeded;

type Entries = BTreeMap<Vec<u8>, Vec<u8>>;

fn options() -> Options {
    Options::new().background_checkpoints(false).durability(Durability::Deferred)
}

fn some_key(random: &mut Rng) -> Vec<u8> {
    match random.u8(..4) {
        0 => format!("a long path that keys have in common/{:05}", random.u32(..3000)).into_bytes(),
        1 => random.u16(..).to_be_bytes()[..1 + random.usize(..2)].to_vec(),
        2 => [&[7; 3][..], &random.u16(..).to_be_bytes()].concat(),
        _ => random.u64(..).to_be_bytes().to_vec(),
    }
}

fn some_value(random: &mut Rng) -> Vec<u8> {
    let len = match random.u8(..40) {
        0 => random.usize(..3000),
        _ => random.usize(..50),
    };
    vec![random.u8(..); len]
}

fn put_some(random: &mut Rng, transaction: &mut Transaction, entries: &mut Entries, count: usize) {
    let mut tree = transaction.tree("data").unwrap();
    for _ in 0..count {
        let (key, value) = (some_key(random), some_value(random));
        tree.put(&key, &value).unwrap();
        entries.insert(key, value);
    }
}

/// Removes a range between two keys that have any number of keys between them, or a prefix of a key.
fn remove_some(random: &mut Rng, transaction: &mut Transaction, entries: &mut Entries) {
    let before = entries.len();
    let at = random.usize(..before.max(1));
    let mut low = entries.keys().nth(at).cloned().unwrap_or_default();
    let mut tree = transaction.tree("data").unwrap();
    let removed = if random.u8(..4) == 0 {
        low.truncate(random.usize(..low.len() + 1));
        entries.retain(|key, _| !key.starts_with(&low));
        tree.remove_prefix(&low).unwrap()
    } else {
        // Half of the ranges have less than a hundred keys.
        let count = random.usize(..=before) >> random.u32(..14);
        let mut high = entries.keys().nth(at + count).cloned();
        if random.bool() {
            low.pop();
        }
        if let Some(high) = high.as_mut().filter(|_| random.bool()) {
            high.push(0);
        }
        entries.retain(|key, _| *key < low || high.as_ref().is_some_and(|high| key >= high));
        tree.remove_range(&low, high.as_deref()).unwrap()
    };
    assert_eq!(removed as usize, before - entries.len());
    assert_eq!(tree.len().unwrap() as usize, entries.len());
    let tree = tree.as_tree().unwrap();
    let key = some_key(random);
    assert_eq!(tree.rank(&key).unwrap() as usize, entries.range(..key.clone()).count());
}

fn assert_has(snapshot: &Snapshot, entries: &Entries, what: &str) {
    let tree = snapshot.tree("data").unwrap();
    let found: Entries = tree
        .iter()
        .flat_map(Tree::iter)
        .map(|entry| entry.unwrap())
        .map(|(key, value)| (key, value.to_vec()))
        .collect();
    assert!(found == *entries, "{what}: {} keys, and {} were expected", found.len(), entries.len());
    assert_eq!(tree.map_or(0, |tree| tree.len().unwrap()) as usize, entries.len(), "{what}");
}

/// A store, the expected contents, and the snapshots that hold removed subtrees.
struct History {
    storage: SimulatedStorage,
    store: Store,
    entries: Entries,
    held: Vec<(Snapshot, Entries)>,
    named: BTreeMap<String, Entries>,
}

impl History {
    fn new() -> Self {
        let storage = SimulatedStorage::new(1 << 26).unwrap();
        let store = options().open_storage(Arc::new(storage.clone())).unwrap();
        Self { storage, store, entries: Entries::new(), held: Vec::new(), named: BTreeMap::new() }
    }

    fn transact(&mut self, random: &mut Rng, number: usize) {
        let mut transaction = self.store.begin().unwrap();
        let mut entries = self.entries.clone();
        let mut named = self.named.clone();
        for _ in 0..1 + random.usize(..4) {
            let (savepoint, then) = (transaction.savepoint().unwrap(), entries.clone());
            match random.u8(..3) {
                0 => {
                    let count = 2000 >> random.u32(..10);
                    put_some(random, &mut transaction, &mut entries, count);
                }
                1 => remove_some(random, &mut transaction, &mut entries),
                _ => {
                    // The nodes of this transaction are part of what is removed.
                    put_some(random, &mut transaction, &mut entries, 300);
                    remove_some(random, &mut transaction, &mut entries);
                }
            }
            if random.u8(..4) == 0 {
                transaction.rollback(&savepoint).unwrap();
                entries = then;
            }
        }
        match random.u8(..10) {
            0 if named.len() < 3 => {
                let name = format!("after {number}");
                transaction.keep_snapshot(&name).unwrap();
                named.insert(name, self.entries.clone());
            }
            1 => {
                if let Some((name, _)) = named.pop_first() {
                    assert!(transaction.drop_snapshot(&name).unwrap());
                }
            }
            2 => {
                transaction.drop_tree("data").unwrap();
                entries.clear();
            }
            _ => {}
        }
        if random.u8(..6) == 0 {
            return transaction.abort();
        }
        transaction.commit().unwrap();
        (self.entries, self.named) = (entries, named);
    }

    /// Opens the store again, after a clean close or a kill.
    fn reopen(&mut self, random: &mut Rng) {
        self.held.clear();
        if random.bool() {
            self.storage = self.storage.kill(false).unwrap();
        }
        // The last handle closes the store.
        self.store = Options::new().open_in_memory().unwrap();
        self.store = options().open_storage(Arc::new(self.storage.clone())).unwrap();
    }

    fn verify(&self, what: &str) {
        let snapshot = self.store.snapshot().unwrap();
        assert_has(&snapshot, &self.entries, what);
        for (name, entries) in &self.named {
            assert_has(&snapshot.snapshot(name).unwrap().unwrap(), entries, &format!("{what}, {name}"));
        }
        for (snapshot, entries) in &self.held {
            assert_has(snapshot, entries, &format!("{what}, a held snapshot"));
        }
    }

    fn run(&mut self, random: &mut Rng, number: usize) {
        self.transact(random, number);
        match random.u8(..12) {
            0 => self.store.checkpoint().unwrap(),
            1 => drop(self.store.compact().unwrap()),
            2 if self.held.len() < 3 => self.held.push((self.store.snapshot().unwrap(), self.entries.clone())),
            3 if !self.held.is_empty() => drop(self.held.swap_remove(random.usize(..self.held.len()))),
            4 => self.reopen(random),
            _ => {}
        }
        assert_sound(&self.store, &format!("step {number}"));
        if random.u8(..6) == 0 {
            self.verify(&format!("step {number}"));
        }
    }
}

#[test]
fn removed_ranges_of_all_sizes_match_the_model() {
    let mut random = Seeded::new("removed ranges match the model");
    let rounds = if std::env::var_os("LATH_FULL").is_some() { 100 } else { 4 };
    let mut pending = 0;
    for _ in 0..rounds {
        let mut history = History::new();
        for number in 0..60 {
            history.run(&mut random, number);
            pending += usize::from(history.store.stats().unwrap().removed_subtrees > 0);
        }
        history.verify("the end");
        history.held.clear();
        let mut transaction = history.store.begin().unwrap();
        for name in history.named.keys() {
            assert!(transaction.drop_snapshot(name).unwrap());
        }
        transaction.drop_tree("data").unwrap();
        transaction.commit().unwrap();
        history.store.checkpoint().unwrap();
        let report = history.store.check().unwrap();
        assert!(report.is_sound() && report.nodes < 12, "{report:?}");
    }
    // Other builds visit more nodes with each commit.
    assert!(!cfg!(debug_assertions) || pending > rounds, "few states have subtrees that were not visited: {pending}");
}

fn number(value: u32) -> [u8; 4] {
    value.to_be_bytes()
}

/// A store with a checkpoint of this many keys.
fn filled(storage: &SimulatedStorage, count: u32) -> Store {
    let store = options().open_storage(Arc::new(storage.clone())).unwrap();
    let mut transaction = store.begin().unwrap();
    transaction.tree("data").unwrap().append((0..count).map(|key| (number(key), [7; 20]))).unwrap();
    transaction.commit().unwrap();
    store.checkpoint().unwrap();
    store
}

fn remove_half(store: &Store, count: u32) {
    let mut transaction = store.begin().unwrap();
    let removed = transaction.tree("data").unwrap().remove_range(&number(count / 4), Some(&number(count * 3 / 4)));
    assert_eq!(removed.unwrap(), u64::from(count) / 2);
    transaction.commit().unwrap();
}

fn commit_little(store: &Store, round: u32) {
    let mut transaction = store.begin().unwrap();
    transaction.tree("data").unwrap().upsert(&number(round), b"later").unwrap();
    transaction.commit().unwrap();
}

fn live_bytes(stats: &Stats) -> u64 {
    stats.file_bytes - stats.free_bytes - stats.dead_bytes
}

#[test]
fn space_of_removed_half_is_counted_in_bounded_steps() {
    const KEYS: u32 = 200_000;
    let storage = SimulatedStorage::new(1 << 26).unwrap();
    let store = filled(&storage, KEYS);
    let before = store.stats().unwrap();
    remove_half(&store, KEYS);
    let after = store.stats().unwrap();
    assert!(after.removed_subtrees > 0, "{after:?}");
    // The commit has not visited the nodes: nearly all count as used.
    assert!(live_bytes(&after) > live_bytes(&before) * 9 / 10, "{before:?} {after:?}");
    let mut last = live_bytes(&after);
    for round in 0..8 {
        commit_little(&store, round);
        let stats = store.stats().unwrap();
        let now = live_bytes(&stats);
        assert!(now < last && last - now < 1 << 20, "{last} bytes, then {now}");
        assert_sound(&store, "while nodes are visited");
        last = now;
    }
    store.checkpoint().unwrap();
    let stats = store.stats().unwrap();
    assert_eq!(stats.removed_subtrees, 0);
    assert!(stats.free_bytes > live_bytes(&before) * 2 / 5, "{before:?} {stats:?}");
    assert_sound(&store, "after a checkpoint");
    assert_eq!(store.check().unwrap().keys, u64::from(KEYS) / 2);
}

#[test]
fn thread_of_the_store_counts_removed_space_without_further_commits() {
    let storage = SimulatedStorage::new(1 << 26).unwrap();
    drop(filled(&storage, 200_000));
    let store = Options::new().open_storage(Arc::new(storage.clone())).unwrap();
    remove_half(&store, 200_000);
    while store.stats().unwrap().removed_subtrees > 0 {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    assert_sound(&store, "after the thread has visited all nodes");
}

#[test]
fn reopening_before_all_nodes_are_visited_neither_loses_nor_frees_twice() {
    for is_killed in [false, true] {
        let storage = SimulatedStorage::new(1 << 26).unwrap();
        let mut store = filled(&storage, 100_000);
        remove_half(&store, 100_000);
        commit_little(&store, 0);
        assert!(store.stats().unwrap().removed_subtrees > 0);
        let image = if is_killed { storage.kill(false).unwrap() } else { storage.clone() };
        drop(store);
        store = options().open_storage(Arc::new(image)).unwrap();
        assert_sound(&store, "after reopening");
        store.checkpoint().unwrap();
        commit_little(&store, 1);
        store.checkpoint().unwrap();
        let stats = store.stats().unwrap();
        assert!(stats.dead_bytes < 1 << 16 && stats.removed_subtrees == 0, "{stats:?}");
        assert!(stats.free_bytes > live_bytes(&stats) * 4 / 5, "{stats:?}");
        assert_eq!(store.check().unwrap().keys, 50_000);
    }
}

#[test]
fn subtrees_removed_by_an_undone_transaction_stay() {
    let storage = SimulatedStorage::new(1 << 26).unwrap();
    let store = filled(&storage, 50_000);
    let before = store.stats().unwrap();
    let mut transaction = store.begin().unwrap();
    let savepoint = transaction.savepoint().unwrap();
    for _ in 0..3 {
        let mut tree = transaction.tree("data").unwrap();
        assert_eq!(tree.remove_prefix(&[0, 0]).unwrap(), 50_000);
        tree.append((0..20_000).map(|key| (number(key), [1; 30]))).unwrap();
        assert_eq!(tree.remove_range(&number(5), Some(&number(19_000))).unwrap(), 18_995);
        transaction.rollback(&savepoint).unwrap();
    }
    assert_eq!(transaction.tree("data").unwrap().remove_range(&[], None).unwrap(), 50_000);
    transaction.abort();
    let after = store.stats().unwrap();
    assert_eq!((after.sequence, after.removed_subtrees), (before.sequence, 0));
    assert_eq!(live_bytes(&after), live_bytes(&before));
    assert_sound(&store, "after an abort");
    assert_eq!(store.check().unwrap().keys, 50_000);
}
