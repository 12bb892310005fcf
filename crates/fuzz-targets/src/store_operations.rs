//! Bytes as a sequence of operations on a store: transactions over several trees with savepoints, commits of every
//! durability, snapshots, checkpoints, closing, killing and loss of power, compared with ordered maps at every step.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::Input;
use lath_store::{Durability, Options, Savepoint, SimulatedStorage, Snapshot, Store, Transaction, Tree};

/// One tree.
type Map = BTreeMap<Vec<u8>, Vec<u8>>;

/// The contents of a commit, without its named snapshots.
type Trees = BTreeMap<&'static str, Map>;

const NAMES: [&str; 4] = ["a", "b", "tree", ""];
const SNAPSHOTS: [&str; 2] = ["kept", "other"];
const OPERATIONS_MAX: usize = 100;

/// The expected contents of the store after a commit.
#[derive(Debug, Clone, Default, PartialEq)]
struct Model {
    trees: Trees,
    named: BTreeMap<&'static str, Trees>,
}

/// The commits by number, and the oldest that may be found after a crash.
#[derive(Debug, Default)]
struct History {
    commits: BTreeMap<u64, Model>,
    after_kill: u64,
    after_crash: u64,
}

impl History {
    /// Continues from the commit that was found. A killed process leaves its writes, of which no more are durable than
    /// before.
    fn settle(&mut self, found: u64, is_durable: bool) {
        self.commits.retain(|sequence, _| *sequence <= found);
        self.after_kill = found;
        if is_durable {
            self.after_crash = found;
        }
    }

    fn newest(&self) -> &Model {
        self.commits.last_key_value().expect("the empty store is a commit").1
    }
}

fn key(input: &mut Input<'_>) -> Vec<u8> {
    let shape = input.byte();
    let mut key: Vec<u8> = match shape >> 6 {
        0 => Vec::new(),
        1 => b"prefix/".to_vec(),
        2 => vec![b'x'; 300],
        _ => vec![0; 2 + usize::from(shape % 8) * 100],
    };
    key.extend((0..shape % 5).map(|_| input.byte() % 7 * 40));
    key
}

fn value(input: &mut Input<'_>) -> Vec<u8> {
    let len = match input.byte() {
        byte @ 0..200 => usize::from(byte) % 40,
        byte @ 200..240 => 240 + usize::from(byte) - 200,
        byte => (usize::from(byte) - 239) * 700,
    };
    vec![input.byte(); len]
}

fn assert_same(tree: &Tree<'_>, map: &Map) {
    assert_eq!(tree.len().unwrap(), map.len() as u64);
    let mut expected = map.iter();
    let mut cursor = tree.cursor();
    while cursor.next().unwrap() {
        let (key, value) = expected.next().expect("no more keys than in the map");
        assert_eq!((cursor.key(), cursor.value().unwrap()), (Some(&key[..]), Some(&value[..])));
    }
    assert!(expected.next().is_none());
    assert!(tree.iter().rev().map(|entry| entry.unwrap().0).eq(map.keys().rev().cloned()));
    for (rank, (key, value)) in map.iter().enumerate().step_by(7) {
        assert_eq!(tree.get(key).unwrap(), Some(&value[..]));
        assert_eq!(tree.rank(key).unwrap(), rank as u64);
        assert_eq!(tree.nth(rank as u64).unwrap().unwrap().0, *key);
    }
}

fn assert_commit(snapshot: &Snapshot, trees: &Trees) {
    assert!(snapshot.tree_names().unwrap().iter().eq(trees.keys()));
    for (name, map) in trees {
        assert_same(&snapshot.tree(name).unwrap().expect("the tree is there"), map);
    }
}

fn assert_model(store: &Store, model: &Model) {
    let snapshot = store.snapshot().unwrap();
    assert_commit(&snapshot, &model.trees);
    assert!(snapshot.snapshot_names().unwrap().iter().eq(model.named.keys()));
    for (name, trees) in &model.named {
        assert_commit(&snapshot.snapshot(name).unwrap().expect("the snapshot is there"), trees);
    }
}

fn open(storage: &SimulatedStorage) -> Store {
    let options = Options::new().background_checkpoints(false).capacity_bytes(1 << 28);
    options.open_storage(Arc::new(storage.clone())).unwrap()
}

/// One operation within a transaction.
fn change(input: &mut Input<'_>, transaction: &mut Transaction, model: &mut Model, base: &Trees) {
    let name = NAMES[usize::from(input.byte() % 4)];
    match input.byte() % 12 {
        0 | 1 => {
            let (key, value) = (key(input), value(input));
            transaction.tree(name).unwrap().put(&key, &value).unwrap();
            model.trees.entry(name).or_default().insert(key, value);
        }
        2 | 3 => {
            let (key, value) = (key(input), value(input));
            let is_new = transaction.tree(name).unwrap().upsert(&key, &value).unwrap();
            assert_eq!(is_new, model.trees.entry(name).or_default().insert(key, value).is_none());
        }
        4 => {
            let (key, value) = (key(input), value(input));
            let is_new = transaction.tree(name).unwrap().insert(&key, &value).unwrap();
            let map = model.trees.entry(name).or_default();
            assert_eq!(is_new, !map.contains_key(&key));
            map.entry(key).or_insert(value);
        }
        5 | 6 => {
            let key = key(input);
            let was_there = transaction.tree(name).unwrap().remove(&key).unwrap();
            assert_eq!(was_there, model.trees.entry(name).or_default().remove(&key).is_some());
        }
        7 => {
            let (low, high) = (key(input), key(input));
            let high = (!input.byte().is_multiple_of(4)).then_some(high);
            let count = transaction.tree(name).unwrap().remove_range(&low, high.as_deref()).unwrap();
            let map = model.trees.entry(name).or_default();
            let before = map.len();
            map.retain(|key, _| *key < low || high.as_ref().is_some_and(|high| key >= high));
            assert_eq!(count, (before - map.len()) as u64);
        }
        8 => {
            // Many keys at once, after all others.
            let (count, len) = (input.short() % 200, usize::from(input.byte()) % 64);
            let map = model.trees.entry(name).or_default();
            let mut first = map.last_key_value().map(|(key, _)| key.clone()).unwrap_or_default();
            first.truncate(400);
            first.push(255);
            let entries = (0..count as u16).map(|i| {
                let key = [&first[..], &[255; 400][..400 - first.len().min(400)], &i.to_be_bytes()].concat();
                (key, vec![i as u8; len])
            });
            let entries: Vec<_> =
                entries.filter(|(key, _)| map.last_key_value().is_none_or(|(last, _)| key > last)).collect();
            let appended = transaction.tree(name).unwrap().append(entries.iter().map(|(k, v)| (k, v))).unwrap();
            assert_eq!(appended, entries.len() as u64);
            map.extend(entries);
        }
        9 => {
            let was_there = transaction.drop_tree(name).unwrap();
            assert_eq!(was_there, model.trees.remove(name).is_some());
        }
        10 => {
            let snapshot = SNAPSHOTS[usize::from(input.byte() % 2)];
            let kept = transaction.keep_snapshot(snapshot);
            assert_eq!(kept.is_ok(), !model.named.contains_key(snapshot));
            model.named.entry(snapshot).or_insert_with(|| base.clone());
        }
        _ => {
            let snapshot = SNAPSHOTS[usize::from(input.byte() % 2)];
            let was_there = transaction.drop_snapshot(snapshot).unwrap();
            assert_eq!(was_there, model.named.remove(snapshot).is_some());
        }
    }
}

/// Runs a whole transaction.
fn transact(input: &mut Input<'_>, store: &Store, history: &mut History) {
    let base = history.newest().clone();
    let mut model = base.clone();
    let mut savepoints: Vec<(Savepoint, Model)> = Vec::new();
    let mut transaction = store.begin().unwrap();
    for _ in 0..input.byte() % 32 {
        match input.byte() % 16 {
            0 => savepoints.push((transaction.savepoint().unwrap(), model.clone())),
            1 if !savepoints.is_empty() => {
                let at = usize::from(input.byte()) % savepoints.len();
                transaction.rollback(&savepoints[at].0).unwrap();
                model = savepoints[at].1.clone();
                savepoints.truncate(at + 1);
            }
            _ => change(input, &mut transaction, &mut model, &base.trees),
        }
    }
    let durability = match input.byte() % 8 {
        0 => return transaction.abort(),
        1 | 2 => Durability::Off,
        3 | 4 => Durability::Deferred,
        _ => Durability::Sync,
    };
    transaction.commit_with(durability).unwrap();
    let sequence = store.snapshot().unwrap().sequence();
    if let Some(same) = history.commits.insert(sequence, model.clone()) {
        assert_eq!(same, model, "a commit that changed something has a number of its own");
        return;
    }
    assert_eq!(history.commits.len() as u64, sequence + 1);
    if durability != Durability::Off {
        history.after_kill = sequence;
    }
    if durability == Durability::Sync {
        history.after_crash = sequence;
    }
}

/// Reopens the store after a crash. It must be at a commit from `least` on.
fn recover(storage: &SimulatedStorage, history: &mut History, least: u64, is_durable: bool) -> Store {
    let store = open(storage);
    let found = store.snapshot().unwrap().sequence();
    assert!(found >= least, "commit {found} was found, and {least} was promised");
    assert!(history.commits.contains_key(&found), "commit {found} never was");
    history.settle(found, is_durable);
    assert_model(&store, history.newest());
    store
}

/// Checks one input.
///
/// # Panics
/// If the input is handled wrongly.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let mut storage = SimulatedStorage::new(1 << 28).unwrap();
    let mut store = open(&storage);
    let mut history = History::default();
    history.commits.insert(0, Model::default());
    let mut snapshots: Vec<(Snapshot, Trees)> = Vec::new();
    for _ in 0..OPERATIONS_MAX {
        if input.is_empty() {
            break;
        }
        match input.byte() % 16 {
            0 => {
                let newest = history.newest().trees.clone();
                snapshots.push((store.snapshot().unwrap(), newest));
            }
            1 if !snapshots.is_empty() => {
                let (snapshot, trees) = snapshots.swap_remove(usize::from(input.byte()) % snapshots.len());
                assert_commit(&snapshot, &trees);
            }
            2 => {
                store.checkpoint().unwrap();
                let newest = store.snapshot().unwrap().sequence();
                (history.after_kill, history.after_crash) = (newest, newest);
            }
            3 => {
                store.sync().unwrap();
                let newest = store.snapshot().unwrap().sequence();
                (history.after_kill, history.after_crash) = (newest, newest);
            }
            4 => {
                snapshots.iter().for_each(|(snapshot, trees)| assert_commit(snapshot, trees));
                snapshots.clear();
                drop(store);
                let newest = history.commits.len() as u64 - 1;
                store = recover(&storage, &mut history, newest, true);
            }
            5 => {
                let killed = storage.kill(false).unwrap();
                snapshots.clear();
                drop(store);
                storage = killed;
                let least = history.after_kill;
                store = recover(&storage, &mut history, least, false);
            }
            6 => {
                let mut random = fastrand::Rng::with_seed(u64::from(input.byte()));
                let crashed = storage.crash(&mut random).unwrap();
                snapshots.clear();
                drop(store);
                storage = crashed;
                let least = history.after_crash;
                store = recover(&storage, &mut history, least, true);
            }
            _ => transact(&mut input, &store, &mut history),
        }
    }
    snapshots.iter().for_each(|(snapshot, trees)| assert_commit(snapshot, trees));
    assert_model(&store, history.newest());
}
