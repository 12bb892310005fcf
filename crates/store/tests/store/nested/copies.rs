//! Backups, repairs and replays of stores with nested trees.

use std::fs;
use std::sync::Arc;

use fastrand::Rng;
use lath_store::{Durability, Options, SimulatedStorage, Store};

use super::histories::History;
use super::model::{Contents, assert_same, assert_sound, change};
use crate::model::seeds;

#[test]
fn backup_has_nested_trees_of_all_named_snapshots() {
    for seed in seeds(3) {
        let mut history = History::new(seed);
        let folder = tempfile::tempdir().unwrap();
        let store = Options::new().open(folder.path().join("store")).unwrap();
        for number in 0..6 {
            (0..4).for_each(|_| history.transact(&store));
            let copy = folder.path().join(format!("copy-{number}"));
            store.snapshot().unwrap().backup(&copy).unwrap();
            let copy = Store::open(&copy).unwrap();
            history.assert_same(&copy.snapshot().unwrap(), "a backup");
            assert_sound(&copy, "a backup");
        }
    }
}

#[test]
fn replay_of_log_makes_the_same_trees() {
    for seed in seeds(6) {
        println!("seed {seed}");
        let mut random = Rng::with_seed(seed);
        let storage = SimulatedStorage::new(1 << 26).unwrap();
        let options = Options::new().background_checkpoints(false);
        let store = options.open_storage(Arc::new(storage.clone())).unwrap();
        let mut contents = Contents::default();
        for _ in 0..20 {
            let mut transaction = store.begin().unwrap();
            for _ in 0..random.usize(..20) {
                if random.u8(..10) == 0 {
                    let (savepoint, then) = (transaction.savepoint().unwrap(), contents.clone());
                    (0..5).for_each(|_| change(&mut random, &mut transaction, &mut contents));
                    if random.bool() {
                        transaction.rollback(&savepoint).unwrap();
                        contents = then;
                    }
                }
                change(&mut random, &mut transaction, &mut contents);
            }
            transaction.commit_with(Durability::Sync).unwrap();
        }
        // As a killed process leaves it: everything is in the log.
        let killed = Arc::new(storage.kill(false).unwrap());
        let again = options.open_storage(killed).unwrap();
        assert_same(&again.snapshot().unwrap(), &contents, "a replayed log");
        assert_sound(&again, "a replayed log");
    }
}

#[test]
fn repair_saves_nested_trees() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let mut history = History::new(3);
    let store = Options::new().open(&path).unwrap();
    (0..12).for_each(|_| history.transact(&store));
    history.release_all();
    drop(store);
    let target = folder.path().join("repaired");
    let report = lath_store::repair(&path, &target).unwrap();
    assert!(report.problems.is_empty(), "{:?}", report.problems);
    let store = Store::open(&target).unwrap();
    history.assert_same(&store.snapshot().unwrap(), "a repaired store");
    assert_sound(&store, "a repaired store");
}

#[test]
fn repair_loses_only_what_is_below_damaged_node() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let store = Options::new().open(&path).unwrap();
    let mut transaction = store.begin().unwrap();
    let mut outer = transaction.tree("outer").unwrap();
    for name in ["lost", "kept"] {
        let mut inner = outer.tree_at(name.as_bytes()).unwrap();
        inner.put(name.as_bytes(), format!("a value of the tree that is {name}").as_bytes()).unwrap();
    }
    transaction.commit().unwrap();
    drop(store);
    let mut bytes = fs::read(&path).unwrap();
    let wanted = b"a value of the tree that is lost";
    let at = bytes.windows(wanted.len()).position(|window| window == wanted).unwrap();
    bytes[at] ^= 1;
    fs::write(&path, bytes).unwrap();
    let target = folder.path().join("repaired");
    let report = lath_store::repair(&path, &target).unwrap();
    assert!(report.problems.iter().any(|problem| problem.what.contains("outer/lost")), "{:?}", report.problems);
    let store = Store::open(&target).unwrap();
    let snapshot = store.snapshot().unwrap();
    let outer = snapshot.tree("outer").unwrap().unwrap();
    let kept = outer.tree_at(b"kept").unwrap().unwrap();
    assert_eq!(kept.get(b"kept").unwrap(), Some(&b"a value of the tree that is kept"[..]));
    assert!(outer.tree_at(b"lost").unwrap().unwrap().is_empty());
}
