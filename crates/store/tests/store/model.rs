//! Long random histories of every operation, compared with `BTreeMap`s: over several trees, with savepoints, long-lived
//! snapshots, also of open transactions, and reopenings. After each history a check finds no problem, and removing everything leaves no nodes.
//!
//! `LATH_SEED` sets the first seed; `LATH_FULL=1` makes the histories longer.
#[allow(dead_code, reason = "other tests use the rest")]
use std::ops::Bound;
use std::sync::Arc;

use crate::history::{Entries, Version, assert_same, assert_same_trees, change, durability};
use fastrand::Rng;
use lath_store::{MemoryStorage, Options, Savepoint, Snapshot, Store, Transaction, Tree};

const TREES: [&str; 3] = ["apples", "pears", "quinces"];

pub(crate) struct Model {
    pub(crate) random: Rng,
    /// The contents after the last commit.
    pub(crate) last: Version,
    held: Vec<(Snapshot, Version)>,
    /// Whether snapshots of transactions are held after the transaction.
    pub(crate) holds_views: bool,
}

impl Model {
    pub(crate) fn new(seed: u64) -> Self {
        println!("seed {seed}");
        Self { random: Rng::with_seed(seed), last: Version::default(), held: Vec::new(), holds_views: true }
    }

    /// Runs a transaction of some operations, which ends in any way.
    pub(crate) fn transact(&mut self, store: &Store) {
        let mut transaction = store.begin().unwrap();
        let mut version = self.last.clone();
        let mut savepoints: Vec<(Savepoint, Version)> = Vec::new();
        for _ in 0..self.random.usize(..60) {
            match self.random.u8(..26) {
                0 => savepoints.push((transaction.savepoint().unwrap(), version.clone())),
                1 if !savepoints.is_empty() => {
                    let index = self.random.usize(..savepoints.len());
                    savepoints.truncate(index + 1);
                    let (savepoint, then) = &savepoints[index];
                    transaction.rollback(savepoint).unwrap();
                    version = then.clone();
                }
                2 => self.read_own_writes(&mut transaction, &version),
                24 if !savepoints.is_empty() => {
                    let index = self.random.usize(..savepoints.len());
                    transaction.release(&savepoints[index].0).unwrap();
                    savepoints.truncate(index);
                }
                25 if self.holds_views => self.held.push((transaction.snapshot().unwrap(), version.clone())),
                3..=7 => self.write(&mut transaction, &mut version),
                _ => change(&mut self.random, &mut transaction, &mut version, &self.last).unwrap(),
            }
        }
        self.read_own_writes(&mut transaction, &version);
        match self.random.u8(..8) {
            0 => transaction.abort(),
            1 => drop(transaction),
            _ => {
                transaction.commit_with(durability(&mut self.random)).unwrap();
                self.last = version;
            }
        }
    }

    /// Runs one of the rarer ways to write.
    fn write(&mut self, transaction: &mut Transaction, version: &mut Version) {
        let name = TREES[self.random.usize(..TREES.len())];
        let entries = Arc::make_mut(version.trees.entry(name.to_owned()).or_default());
        let mut tree = transaction.tree(name).unwrap();
        let key = some_key(&mut self.random, entries);
        let value = vec![self.random.u8(..); [0, 7, 90, 260, 9000][self.random.usize(..5)]];
        match self.random.u8(..4) {
            0 => {
                let is_new = tree.insert(&key, &value).unwrap();
                assert_eq!(is_new, !entries.contains_key(&key));
                entries.entry(key).or_insert(value);
            }
            1 => {
                let last = entries.keys().next_back().cloned().unwrap_or_default();
                let more: Vec<Vec<u8>> =
                    (1..self.random.u16(1..40)).map(|i| [&*last, &i.to_be_bytes()].concat()).collect();
                let count = tree.append(more.iter().map(|key| (key, &value))).unwrap();
                assert_eq!(count, more.len() as u64);
                entries.extend(more.into_iter().map(|key| (key, value.clone())));
            }
            _ => {
                tree.put(&key, &value).unwrap();
                entries.insert(key, value);
            }
        }
    }

    fn read_own_writes(&mut self, transaction: &mut Transaction, version: &Version) {
        assert!(transaction.tree_names().unwrap().iter().eq(version.trees.keys()));
        let name = TREES[self.random.usize(..TREES.len())];
        match (transaction.existing_tree(name).unwrap(), version.trees.get(name)) {
            (None, None) => {}
            (Some(mut tree), Some(entries)) => {
                let key = some_key(&mut self.random, entries);
                assert_eq!(tree.get(&key).unwrap(), entries.get(&key).map(Vec::as_slice));
                assert_eq!(tree.len().unwrap(), entries.len() as u64);
                assert_eq!(tree.is_empty(), entries.is_empty());
                probe(&mut self.random, &tree.as_tree().unwrap(), entries);
            }
            (tree, entries) => panic!("{name} is there: {}, {}", tree.is_some(), entries.is_some()),
        }
    }

    /// Runs an operation between transactions, other than reopening.
    pub(crate) fn between(&mut self, store: &Store) {
        let snapshot = store.snapshot().unwrap();
        for (name, entries) in &self.last.trees {
            probe(&mut self.random, &snapshot.tree(name).unwrap().unwrap(), entries);
        }
        match self.random.u8(..8) {
            0 => assert_same(&snapshot, &self.last, "the last commit"),
            1 => self.held.push((snapshot, self.last.clone())),
            2 if !self.held.is_empty() => {
                let index = self.random.usize(..self.held.len());
                let (snapshot, version) = self.held.swap_remove(index);
                assert_same(&snapshot, &version, "a snapshot held for long");
            }
            3 if !self.held.is_empty() => {
                let (snapshot, version) = &self.held[self.random.usize(..self.held.len())];
                assert_same_trees(snapshot, &version.trees, "a snapshot still held");
            }
            4 => store.checkpoint().unwrap(),
            5 => store.sync().unwrap(),
            6 => {
                let done = store.compact().unwrap();
                assert!(done.is_complete && done.after_bytes <= done.before_bytes, "{done:?}");
                if self.random.bool() {
                    assert_same(&store.snapshot().unwrap(), &self.last, "a store that was compacted");
                }
            }
            _ => {}
        }
    }

    pub(crate) fn release_all(&mut self) {
        for (snapshot, version) in self.held.drain(..) {
            assert_same(&snapshot, &version, "a snapshot held to the end");
        }
    }

    /// Removes everything, and checks that no nodes are left.
    pub(crate) fn empty(&mut self, store: &Store) {
        self.release_all();
        assert_sound(store, "at the end");
        assert_same(&store.snapshot().unwrap(), &self.last, "the end");
        let mut transaction = store.begin().unwrap();
        for name in self.last.snapshots.keys() {
            assert!(transaction.drop_snapshot(name).unwrap());
        }
        for name in self.last.trees.keys() {
            assert!(transaction.drop_tree(name).unwrap());
        }
        transaction.commit().unwrap();
        // One transaction after which the dead nodes are no longer needed, and more that leave few dead nodes.
        for _ in 0..3 {
            store.checkpoint().unwrap();
            let mut transaction = store.begin().unwrap();
            transaction.tree("last").unwrap();
            transaction.drop_tree("last").unwrap();
            transaction.commit().unwrap();
        }
        let report = store.check().unwrap();
        assert!(report.is_sound(), "{:#?}", report.problems);
        assert_eq!(report.keys, 0);
        // Records of commits and empty catalogs.
        assert!(report.nodes <= 12, "{} nodes are left", report.nodes);
    }
}

fn assert_sound(store: &Store, when: &str) {
    let report = store.check().unwrap();
    assert!(report.is_sound(), "{when}: {:#?}", report.problems);
}

/// A key of the tree, one close to it, or a random one.
fn some_key(random: &mut Rng, entries: &Entries) -> Vec<u8> {
    let index = random.usize(..entries.len().max(1));
    let mut key = entries.keys().nth(index).cloned().unwrap_or_default();
    match random.u8(..5) {
        0 => key.push(random.u8(..3)),
        1 => {
            key.pop();
        }
        2 => {
            if let Some(last) = key.last_mut() {
                *last = last.wrapping_add(1);
            }
        }
        3 => key = (0..random.usize(..6)).map(|_| random.u8(..)).collect(),
        _ => {}
    }
    key
}

fn owned(entry: Option<(Vec<u8>, &[u8])>) -> Option<(Vec<u8>, Vec<u8>)> {
    entry.map(|(key, value)| (key, value.to_vec()))
}

fn cloned(entry: Option<(&Vec<u8>, &Vec<u8>)>) -> Option<(Vec<u8>, Vec<u8>)> {
    entry.map(|(key, value)| (key.clone(), value.clone()))
}

/// Runs one query of every kind on a tree.
fn probe(random: &mut Rng, tree: &Tree<'_>, entries: &Entries) {
    let key = some_key(random, entries);
    assert_eq!(tree.get(&key).unwrap(), entries.get(&key).map(Vec::as_slice));
    assert_eq!(tree.contains_key(&key).unwrap(), entries.contains_key(&key));
    assert_eq!(tree.rank(&key).unwrap(), entries.range(..key.clone()).count() as u64);
    assert_eq!(owned(tree.first().unwrap()), cloned(entries.iter().next()));
    assert_eq!(owned(tree.last().unwrap()), cloned(entries.iter().next_back()));
    assert_eq!(owned(tree.lower_bound(&key).unwrap()), cloned(entries.range(key.clone()..).next()));
    let above = (Bound::Excluded(key.clone()), Bound::Unbounded);
    assert_eq!(owned(tree.upper_bound(&key).unwrap()), cloned(entries.range(above).next()));
    let rank = random.usize(..entries.len() + 2);
    assert_eq!(owned(tree.nth(rank as u64).unwrap()), cloned(entries.iter().nth(rank)));
    let with_prefix = entries.iter().filter(|(other, _)| other.starts_with(&key));
    let found = tree.prefix(&key).map(|entry| entry.unwrap().0);
    assert!(found.eq(with_prefix.map(|(key, _)| key.clone())), "prefix {key:?}");
    probe_range(random, tree, entries);
    probe_cursor(random, tree, entries);
}

fn bound(random: &mut Rng, key: Vec<u8>) -> Bound<Vec<u8>> {
    match random.u8(..5) {
        0 => Bound::Unbounded,
        1 | 2 => Bound::Included(key),
        _ => Bound::Excluded(key),
    }
}

/// Compares a range, taken from both ends in turn.
fn probe_range(random: &mut Rng, tree: &Tree<'_>, entries: &Entries) {
    let mut keys = [some_key(random, entries), some_key(random, entries)];
    keys.sort();
    let range = keys.map(|key| bound(random, key));
    let inside = |key: &Vec<u8>| {
        (match &range[0] {
            Bound::Unbounded => true,
            Bound::Included(low) => key >= low,
            Bound::Excluded(low) => key > low,
        }) && match &range[1] {
            Bound::Unbounded => true,
            Bound::Included(high) => key <= high,
            Bound::Excluded(high) => key < high,
        }
    };
    let expected: Vec<_> = entries.iter().filter(|(key, _)| inside(key)).collect();
    let range = (range[0].clone(), range[1].clone());
    assert_eq!(tree.count(range.clone()).unwrap(), expected.len() as u64, "{range:?}");
    let (mut expected, mut found) = (expected.into_iter(), tree.range(range.clone()));
    loop {
        let (expected, found) = match random.u8(..3) {
            0 => (expected.next_back(), found.next_back()),
            _ => (expected.next(), found.next()),
        };
        assert_eq!(owned(found.map(Result::unwrap)), cloned(expected), "{range:?}");
        if expected.is_none() {
            return;
        }
    }
}

/// Moves a cursor at random; its place is the number of keys before it, plus one if it is at a key.
fn probe_cursor(random: &mut Rng, tree: &Tree<'_>, entries: &Entries) {
    let keys: Vec<&Vec<u8>> = entries.keys().collect();
    // 0 is before the first key, `n + 1` after the last of n.
    let (mut cursor, mut place, end) = (tree.cursor(), 0, keys.len() + 1);
    for _ in 0..random.usize(..20) {
        let is_at_key = match random.u8(..10) {
            0..=3 => {
                place = (place + 1).min(end);
                cursor.next().unwrap()
            }
            4..=6 => {
                place = place.saturating_sub(1);
                cursor.prev().unwrap()
            }
            7 => {
                let key = some_key(random, entries);
                place = keys.partition_point(|other| **other < key) + 1;
                cursor.lower_bound(&key).unwrap()
            }
            8 => {
                let key = some_key(random, entries);
                place = keys.partition_point(|other| **other <= key) + 1;
                cursor.upper_bound(&key).unwrap()
            }
            _ => {
                place = random.usize(..keys.len() + 1) + 1;
                cursor.nth(place as u64 - 1).unwrap()
            }
        };
        let key = place.checked_sub(1).and_then(|index| keys.get(index)).copied();
        assert_eq!(cursor.key(), key.map(Vec::as_slice));
        assert_eq!(is_at_key, key.is_some());
        assert_eq!(cursor.value().unwrap(), key.map(|key| &*entries[key]));
    }
}

pub(crate) fn seeds(count: u64) -> std::ops::Range<u64> {
    let first = lath_testkit::seed() / 2;
    first..first + count
}

pub(crate) fn length() -> usize {
    if std::env::var_os("LATH_FULL").is_some() { 5000 } else { 150 }
}

#[test]
fn histories_in_memory_match_the_model() {
    for seed in seeds(4) {
        let mut model = Model::new(seed);
        let storage = Arc::new(MemoryStorage::new(1 << 28).unwrap());
        let open = || Options::new().background_checkpoints(false).open_storage(storage.clone()).unwrap();
        let mut store = open();
        for step in 0..length() {
            model.transact(&store);
            model.between(&store);
            if model.random.u8(..16) == 0 {
                model.release_all();
                drop(store);
                store = open();
                assert_same(&store.snapshot().unwrap(), &model.last, "after reopening");
            }
            if step % 8 == 0 {
                assert_sound(&store, &format!("step {step}"));
            }
        }
        model.empty(&store);
    }
}

#[test]
fn histories_in_files_match_the_model() {
    for seed in seeds(2) {
        let mut model = Model::new(seed);
        let folder = tempfile::tempdir().unwrap();
        // With background checkpoints, and a log so short that they happen.
        let options = Options::new().capacity_bytes(1 << 30).log_limit_bytes(1 << 16);
        let open = || options.open(folder.path().join("store")).unwrap();
        let mut store = open();
        for _ in 0..length() {
            model.transact(&store);
            model.between(&store);
            if model.random.u8(..12) == 0 {
                model.release_all();
                drop(store);
                store = open();
                assert_same(&store.snapshot().unwrap(), &model.last, "after reopening");
                assert_sound(&store, "after reopening");
            }
        }
        model.empty(&store);
    }
}
