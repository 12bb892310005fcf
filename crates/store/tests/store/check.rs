//! Checks of intact stores.
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use lath_store::{Durability, MemoryStorage, Options, Store};

fn assert_sound(store: &Store, when: &str) {
    let report = store.check().unwrap();
    assert!(report.is_sound(), "{when}: {:#?}", report.problems);
}

fn random_key(rng: &mut fastrand::Rng) -> Vec<u8> {
    let len = [0, 1, 2, 3, 8, 8, 8, 20, 300][rng.usize(..9)];
    (0..len).map(|_| if rng.bool() { rng.u8(..4) } else { rng.u8(..) }).collect()
}

#[test]
fn store_is_sound_throughout_random_histories() {
    let first_seed = lath_testkit::seed();
    for seed in (first_seed..).take(6) {
        println!("seed {seed}");
        let mut rng = fastrand::Rng::with_seed(seed);
        let storage = std::sync::Arc::new(MemoryStorage::new(1 << 28).unwrap());
        let open = || Options::new().background_checkpoints(false).open_storage(storage.clone()).unwrap();
        let mut store = open();
        let mut model: BTreeMap<(u8, Vec<u8>), Vec<u8>> = BTreeMap::new();
        let mut held = Vec::new();
        let mut names = Vec::new();
        for step in 0..60 {
            let mut transaction = store.begin().unwrap();
            let before = model.clone();
            for _ in 0..rng.usize(..400) {
                let name = rng.u8(..3);
                let mut tree = transaction.tree(&name.to_string()).unwrap();
                let key = random_key(&mut rng);
                match rng.u8(..10) {
                    0..7 => {
                        let len = [0, 5, 40, 252, 253, 5000, 40_000][rng.usize(..7)];
                        let value = vec![rng.u8(..); len];
                        tree.upsert(&key, &value).unwrap();
                        model.insert((name, key), value);
                    }
                    7..9 => {
                        let was = tree.remove(&key).unwrap();
                        assert_eq!(was, model.remove(&(name, key)).is_some());
                    }
                    _ => {
                        let mut high = key.clone();
                        high.push(rng.u8(..));
                        tree.remove_range(&key, Some(&high)).unwrap();
                        model.retain(|(other, some), _| *other != name || *some < key || *some >= high);
                    }
                }
            }
            match rng.u8(..8) {
                0 if names.len() < 5 => {
                    transaction.keep_snapshot(&step.to_string()).unwrap();
                    names.push(step.to_string());
                }
                1 if !names.is_empty() => {
                    let name = names.swap_remove(rng.usize(..names.len()));
                    assert!(transaction.drop_snapshot(&name).unwrap());
                }
                2 if names.is_empty() => {
                    transaction.abort();
                    model = before;
                    assert_sound(&store, "after an abort");
                    continue;
                }
                _ => {}
            }
            transaction.commit_with([Durability::Sync, Durability::Off][rng.usize(..2)]).unwrap();
            match rng.u8(..8) {
                0 => held.push(store.snapshot().unwrap()),
                1 if !held.is_empty() => drop(held.swap_remove(rng.usize(..held.len()))),
                2 => store.checkpoint().unwrap(),
                3 => {
                    held.clear();
                    drop(store);
                    store = open();
                }
                _ => {}
            }
            assert_sound(&store, &format!("step {step}"));
        }
        let report = store.check().unwrap();
        assert_eq!(report.keys, model.len() as u64);
        assert!(report.nodes > 0 && report.node_bytes > 0);
    }
}

#[test]
fn reader_of_another_handle_verifies_checksums() {
    let store = Options::new().open_in_memory().unwrap();
    let mut transaction = store.begin().unwrap();
    transaction.tree("a").unwrap().append((0..5_000u32).map(|i| (i.to_be_bytes(), [7; 30]))).unwrap();
    transaction.commit().unwrap();
    let report = store.clone().check().unwrap();
    assert!(report.is_sound(), "{:#?}", report.problems);
    assert_eq!(report.keys, 5_000);
}

#[test]
fn check_during_checkpoints_finds_whole_headers() {
    let store = Options::new().background_checkpoints(false).durability(Durability::Off).open_in_memory().unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (writer, is_over) = (store.clone(), &is_over);
        scope.spawn(move || {
            for round in 0..30_000_u32 {
                let mut transaction = writer.begin().unwrap();
                transaction.tree("a").unwrap().upsert(b"round", &round.to_le_bytes()).unwrap();
                transaction.commit().unwrap();
                writer.checkpoint().unwrap();
            }
            is_over.store(true, Ordering::Relaxed);
        });
        while !is_over.load(Ordering::Relaxed) {
            assert_sound(&store, "while checkpoints are made");
        }
    });
}
