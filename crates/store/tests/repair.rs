//! What is brought over from damaged stores.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;

use lath_store::{Error, Options, Store, repair};

const COUNT: u32 = 20_000;

fn value(key: u32) -> Vec<u8> {
    vec![key as u8; if key.is_multiple_of(500) { 3_000 } else { 20 }]
}

fn build(path: &Path) {
    let store = Options::new().background(false).open(path).unwrap();
    let mut transaction = store.begin().unwrap();
    let mut tree = transaction.tree("a").unwrap();
    tree.append((0..COUNT).map(|key| (key.to_be_bytes(), value(key)))).unwrap();
    transaction.tree("b").unwrap().put(b"one", b"1").unwrap();
    transaction.commit().unwrap();
}

/// How many keys of the tree are there, all with the right value.
fn count_right(path: &Path) -> u32 {
    let store = Store::open(path).unwrap();
    assert!(store.check().unwrap().is_sound());
    let snapshot = store.snapshot().unwrap();
    let Some(tree) = snapshot.tree("a").unwrap() else { return 0 };
    let mut count = 0;
    for entry in tree.iter() {
        let (key, found) = entry.unwrap();
        assert_eq!(found, value(u32::from_be_bytes(key.try_into().unwrap())));
        count += 1;
    }
    count
}

#[test]
fn a_sound_store_is_brought_over_whole() {
    let folder = tempfile::tempdir().unwrap();
    let (path, target) = (folder.path().join("store"), folder.path().join("repaired"));
    build(&path);
    let store = Store::open(&path).unwrap();
    assert!(matches!(repair(&path, folder.path().join("other")), Err(Error::Busy)));
    drop(store);
    let report = repair(&path, &target).unwrap();
    assert!(report.problems.is_empty(), "{:#?}", report.problems);
    assert_eq!((report.keys, count_right(&target)), (u64::from(COUNT) + 1, COUNT));
    assert!(matches!(repair(&path, &target), Err(Error::Exists(_))));
}

#[test]
fn what_is_lost_with_damaged_nodes_is_told_and_little() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut rng = fastrand::Rng::with_seed(seed);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    build(&path);
    let whole = std::fs::read(&path).unwrap();
    let mut lossy = 0;
    for round in 0..40 {
        let mut bytes = whole.clone();
        let used = bytes.iter().rposition(|byte| *byte != 0).unwrap();
        let at = rng.usize(8192..used);
        bytes[at] ^= 1 << rng.u8(..8);
        std::fs::write(&path, &bytes).unwrap();
        let target = folder.path().join(format!("repaired {round}"));
        let report = repair(&path, &target).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), bytes, "the damaged store was changed");
        let count = count_right(&target);
        assert_eq!(count == COUNT && report.keys == u64::from(COUNT) + 1, report.problems.is_empty(), "byte {at}");
        lossy += u32::from(count < COUNT);
    }
    assert!(lossy > 10, "{lossy}");
}
