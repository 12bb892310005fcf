//! The changes between two states of a tree are the ones of a model, and unchanged parts are skipped.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use fastrand::Rng;
use lath_store::{Durability, Error, Options, SimulatedStorage, Snapshot, Store, Tree};
use lath_testkit::{Seeded, seed};

type Entries = BTreeMap<Vec<u8>, Vec<u8>>;
type Change = (Vec<u8>, Option<Vec<u8>>, Option<Vec<u8>>);

fn open(storage: &SimulatedStorage) -> Store {
    let options = Options::new().background_checkpoints(false).durability(Durability::Deferred);
    options.open_storage(Arc::new(storage.clone())).unwrap()
}

fn some_key(random: &mut Rng) -> Vec<u8> {
    match random.u8(..3) {
        0 => format!("a long path that keys have in common/{:05}", random.u32(..3000)).into_bytes(),
        1 => random.u16(..).to_be_bytes()[..1 + random.usize(..2)].to_vec(),
        _ => [&[7; 3][..], &random.u16(..).to_be_bytes()].concat(),
    }
}

fn some_value(random: &mut Rng) -> Vec<u8> {
    let len = if random.u8(..30) == 0 { random.usize(..3000) } else { random.usize(..40) };
    vec![random.u8(..4); len]
}

fn changes(since: &Snapshot, now: Tree<'_>) -> Vec<Change> {
    let mut changes = Vec::new();
    let owned = |value: Option<&[u8]>| value.map(<[u8]>::to_vec);
    since
        .for_each_change("data", now, |key, before, now| {
            changes.push((key.to_vec(), owned(before), owned(now)));
            Ok::<_, Error>(())
        })
        .unwrap();
    changes
}

fn expected(before: &Entries, now: &Entries) -> Vec<Change> {
    let keys: BTreeSet<_> = before.keys().chain(now.keys()).collect();
    let change = |key: &Vec<u8>| (key.clone(), before.get(key).cloned(), now.get(key).cloned());
    keys.into_iter().map(change).filter(|(_, before, now)| before != now).collect()
}

#[test]
fn changes_are_the_ones_of_a_model() {
    for seed in (0..6).map(|at| seed().wrapping_add(at)) {
        let mut random = Seeded::with_seed("changes of trees", seed);
        let store = open(&SimulatedStorage::new(1 << 28).unwrap());
        let mut entries = Entries::new();
        let mut earlier: VecDeque<(Snapshot, Entries)> = VecDeque::new();
        let mut generations: VecDeque<(u64, Entries)> = VecDeque::new();
        // Half of the histories keep no snapshots of earlier commits.
        let holds = seed % 2 == 0;
        for step in 0..150 {
            let mut transaction = store.begin().unwrap();
            let many = if random.u8(..8) == 0 { 2000 } else { 20 };
            for _ in 0..random.usize(..many) {
                let mut tree = transaction.tree("data").unwrap();
                let key = some_key(&mut random);
                if random.u8(..3) == 0 {
                    tree.remove(&key).unwrap();
                    entries.remove(&key);
                } else {
                    let value = some_value(&mut random);
                    tree.put(&key, &value).unwrap();
                    entries.insert(key, value);
                }
            }
            if random.u8(..10) == 0 {
                let mut bounds = [some_key(&mut random), some_key(&mut random)];
                bounds.sort();
                let [low, high] = bounds;
                transaction.tree("data").unwrap().remove_range(&low, Some(&high)).unwrap();
                entries.retain(|key, _| *key < low || *key >= high);
            }
            if random.u8(..40) == 0 {
                transaction.drop_tree("data").unwrap();
                entries.clear();
                transaction.tree("data").unwrap();
            }
            // Within the transaction, too.
            if let Some((since, before)) = earlier.front() {
                let tree = transaction.tree("data").unwrap();
                assert_eq!(
                    changes(since, tree.into_tree().unwrap()),
                    expected(before, &entries),
                    "seed {seed}, step {step}"
                );
            }
            transaction.commit().unwrap();
            if random.u8(..6) == 0 {
                store.checkpoint().unwrap();
            }
            if random.u8(..12) == 0 {
                store.compact().unwrap();
            }
            let now = store.snapshot().unwrap();
            for (since, before) in &earlier {
                let tree = now.tree("data").unwrap().unwrap();
                assert_eq!(changes(since, tree), expected(before, &entries), "seed {seed}, step {step}");
            }
            for (generation, before) in &generations {
                let tree = now.tree("data").unwrap().unwrap();
                let mut newer = Entries::new();
                let each = |key: &[u8], value: &[u8]| {
                    newer.insert(key.to_vec(), value.to_vec());
                    Ok::<_, Error>(())
                };
                tree.for_each_newer(*generation, each).unwrap();
                let is_new = |(key, value): &(&Vec<u8>, &Vec<u8>)| before.get(*key) != Some(*value);
                let missed = entries.iter().filter(is_new).find(|(key, value)| newer.get(*key) != Some(*value));
                assert_eq!(missed, None, "seed {seed}, step {step}");
                assert!(newer.iter().all(|(key, value)| entries.get(key) == Some(value)), "seed {seed}, step {step}");
            }
            generations.push_back((now.generation(), entries.clone()));
            if generations.len() > 6 {
                generations.pop_front();
            }
            if !holds {
                continue;
            }
            earlier.push_back((now, entries.clone()));
            if earlier.len() > 4 {
                earlier.pop_front();
            }
        }
    }
}
