//! Random histories over nested trees, compared with a model: with savepoints, aborts, snapshots held for long, named
//! snapshots, compaction and reopenings. `check` finds no problem at any time, and at the end no node is left.

use std::collections::BTreeMap;
use std::sync::Arc;

use fastrand::Rng;
use lath_store::{MemoryStorage, Options, Savepoint, Snapshot, Store};

use super::model::{Contents, assert_same, assert_sound, change};
use crate::model::{length, seeds};

pub(crate) struct History {
    pub(crate) random: Rng,
    pub(crate) last: Contents,
    named: BTreeMap<String, Contents>,
    held: Vec<(Snapshot, Contents)>,
    /// Whether snapshots of transactions are held after the transaction.
    pub(crate) holds_views: bool,
}

impl History {
    pub(crate) fn new(seed: u64) -> Self {
        println!("seed {seed}");
        let (last, named) = (Contents::default(), BTreeMap::new());
        Self { random: Rng::with_seed(seed), last, named, held: Vec::new(), holds_views: true }
    }

    /// Runs a transaction of some operations, which ends in any way.
    pub(crate) fn transact(&mut self, store: &Store) {
        let mut transaction = store.begin().unwrap();
        let (mut contents, mut named) = (self.last.clone(), self.named.clone());
        let mut savepoints: Vec<(Savepoint, Contents, BTreeMap<String, Contents>)> = Vec::new();
        for _ in 0..self.random.usize(..40) {
            match self.random.u8(..30) {
                0 | 1 => savepoints.push((transaction.savepoint().unwrap(), contents.clone(), named.clone())),
                2 if !savepoints.is_empty() => {
                    savepoints.truncate(1 + self.random.usize(..savepoints.len()));
                    let (savepoint, then, then_named) = &savepoints[savepoints.len() - 1];
                    transaction.rollback(savepoint).unwrap();
                    (contents, named) = (then.clone(), then_named.clone());
                }
                3 if !savepoints.is_empty() => {
                    let index = self.random.usize(..savepoints.len());
                    transaction.release(&savepoints[index].0).unwrap();
                    savepoints.truncate(index);
                }
                4 if self.holds_views => self.held.push((transaction.snapshot().unwrap(), contents.clone())),
                5 => {
                    let name = self.random.u8(..3).to_string();
                    if named.remove(&name).is_some() {
                        assert!(transaction.drop_snapshot(&name).unwrap());
                    } else {
                        transaction.keep_snapshot(&name).unwrap();
                        named.insert(name, self.last.clone());
                    }
                }
                _ => change(&mut self.random, &mut transaction, &mut contents),
            }
        }
        if self.random.u8(..6) == 0 {
            transaction.abort();
        } else {
            transaction.commit_with(crate::history::durability(&mut self.random)).unwrap();
            (self.last, self.named) = (contents, named);
        }
    }

    /// Runs an operation between transactions, other than reopening.
    pub(crate) fn between(&mut self, store: &Store) {
        let snapshot = store.snapshot().unwrap();
        match self.random.u8(..8) {
            0 => self.assert_same(&snapshot, "the last commit"),
            1 | 2 => self.held.push((snapshot, self.last.clone())),
            3 if !self.held.is_empty() => {
                let (snapshot, contents) = self.held.swap_remove(self.random.usize(..self.held.len()));
                assert_same(&snapshot, &contents, "a snapshot held for long");
            }
            4 => store.checkpoint().unwrap(),
            5 => {
                drop(snapshot);
                let done = store.compact().unwrap();
                assert!(done.is_complete && done.after_bytes <= done.before_bytes, "{done:?}");
            }
            6 => store.visit_removed_subtrees().unwrap(),
            _ => {}
        }
    }

    pub(crate) fn assert_same(&self, snapshot: &Snapshot, when: &str) {
        assert_same(snapshot, &self.last, when);
        assert!(snapshot.snapshot_names().unwrap().iter().eq(self.named.keys()), "{when}");
        for (name, contents) in &self.named {
            assert_same(&snapshot.snapshot(name).unwrap().unwrap(), contents, "a named snapshot");
        }
    }

    pub(crate) fn release_all(&mut self) {
        for (snapshot, contents) in self.held.drain(..) {
            assert_same(&snapshot, &contents, "a snapshot held to the end");
        }
    }

    /// Removes everything, and checks that no nodes are left.
    pub(crate) fn empty(&mut self, store: &Store) {
        self.release_all();
        assert_sound(store, "at the end");
        self.assert_same(&store.snapshot().unwrap(), "the end");
        let mut transaction = store.begin().unwrap();
        for name in self.named.keys() {
            assert!(transaction.drop_snapshot(name).unwrap());
        }
        for name in transaction.tree_names().unwrap() {
            assert!(transaction.drop_tree(&name).unwrap());
        }
        transaction.commit().unwrap();
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
        assert!(report.nodes <= 12, "{} nodes are left", report.nodes);
        let (stats, used) = (store.stats().unwrap(), report.node_bytes);
        assert!(stats.file_bytes - stats.free_bytes <= used + stats.dead_bytes + 8192 + 4096, "{stats:?}");
    }
}

#[test]
fn histories_in_memory_match_the_model() {
    for seed in seeds(4) {
        let mut history = History::new(seed);
        let storage = Arc::new(MemoryStorage::new(1 << 28).unwrap());
        let open = || Options::new().background_checkpoints(false).open_storage(storage.clone()).unwrap();
        let mut store = open();
        for step in 0..length() {
            history.transact(&store);
            if step % 3 == 0 {
                assert_sound(&store, &format!("step {step}"));
            }
            history.between(&store);
            if step % 3 == 0 {
                assert_sound(&store, &format!("after step {step}"));
            }
            if history.random.u8(..16) == 0 {
                history.release_all();
                drop(store);
                store = open();
                history.assert_same(&store.snapshot().unwrap(), "after reopening");
            }
        }
        history.empty(&store);
    }
}

#[test]
fn histories_in_files_match_the_model() {
    for seed in seeds(2) {
        let mut history = History::new(seed);
        let folder = tempfile::tempdir().unwrap();
        let options = Options::new().capacity_bytes(1 << 30).log_limit_bytes(1 << 16);
        let open = || options.open(folder.path().join("store")).unwrap();
        let mut store = open();
        for _ in 0..length() {
            history.transact(&store);
            history.between(&store);
            if history.random.u8(..12) == 0 {
                history.release_all();
                drop(store);
                store = open();
                history.assert_same(&store.snapshot().unwrap(), "after reopening");
                assert_sound(&store, "after reopening");
            }
        }
        history.empty(&store);
    }
}
