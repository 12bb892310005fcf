//! Repairs of damaged stores.
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

use lath_store::{Error, Options, Snapshot, Store, repair, repair_with};

const COUNT: u32 = 20_000;

fn value(key: u32) -> Vec<u8> {
    vec![key as u8; if key.is_multiple_of(500) { 3_000 } else { 20 }]
}

fn build(path: &Path) {
    let store = Options::new().background_checkpoints(false).open(path).unwrap();
    let mut transaction = store.begin().unwrap();
    let mut tree = transaction.tree("a").unwrap();
    tree.append((0..COUNT).map(|key| (key.to_be_bytes(), value(key)))).unwrap();
    transaction.tree("b").unwrap().upsert(b"one", b"1").unwrap();
    transaction.commit().unwrap();
}

/// The number of keys of the tree with the right value.
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
fn repair_copies_a_sound_store_whole() {
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
fn cancelled_repair_leaves_no_files() {
    let folder = tempfile::tempdir().unwrap();
    let (path, target) = (folder.path().join("store"), folder.path().join("repaired"));
    build(&path);
    let result = repair_with(&path, &target, |_| ControlFlow::Break(()));
    assert!(matches!(result, Err(Error::Cancelled)), "{result:?}");
    assert!(std::fs::read_dir(folder.path()).unwrap().all(|entry| {
        let name = entry.unwrap().file_name();
        name.to_str().unwrap().starts_with("store")
    }));
    assert_eq!(count_right(&path), COUNT);
}

#[test]
fn loss_from_damaged_nodes_is_reported_and_small() {
    let seed = lath_testkit::seed();
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

/// Builds a store with three versions of a tree, two of them named snapshots, the last in the log only, and copies it
/// as if killed.
fn build_versions(path: &Path, copy: &Path) -> Vec<BTreeMap<Vec<u8>, Vec<u8>>> {
    let store = Options::new().background_checkpoints(false).open(path).unwrap();
    let mut versions = vec![BTreeMap::new()];
    for round in 0..4_u8 {
        let mut entries = versions[versions.len() - 1].clone();
        let mut transaction = store.begin().unwrap();
        if round > 1 {
            transaction.keep_snapshot(&format!("before {round}")).unwrap();
        }
        for number in (0..2_000_u32).filter(|number| number % (u32::from(round) + 1) == 0) {
            let key = number.to_be_bytes().to_vec();
            let mut tree = transaction.tree("a").unwrap();
            if number % 7 == u32::from(round) {
                assert_eq!(tree.remove(&key).unwrap(), entries.remove(&key).is_some());
            } else {
                tree.upsert(&key, &[round; 30]).unwrap();
                entries.insert(key, vec![round; 30]);
            }
        }
        transaction.tree(if round == 0 { "only at first" } else { "later" }).unwrap();
        if round == 2 {
            transaction.drop_tree("only at first").unwrap();
        }
        transaction.commit().unwrap();
        versions.push(entries);
        if round == 2 {
            store.checkpoint().unwrap();
        }
    }
    for suffix in ["", "-log0", "-log1"] {
        let name = |path: &Path| format!("{}{suffix}", path.display());
        std::fs::copy(name(path), name(copy)).unwrap();
    }
    versions
}

fn entries(snapshot: &Snapshot) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let tree = snapshot.tree("a").unwrap().unwrap();
    tree.iter().map(|entry| entry.map(|(key, value)| (key, value.to_vec())).unwrap()).collect()
}

#[test]
fn named_snapshots_are_copied_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let (path, target) = (folder.path().join("killed"), folder.path().join("repaired"));
    let versions = build_versions(&folder.path().join("store"), &path);
    let report = repair(&path, &target).unwrap();
    assert!(report.problems.is_empty(), "{:#?}", report.problems);
    // The other version is in the log.
    assert_eq!((report.snapshots, report.keys), (1, versions[3].len() as u64));
    let store = Store::open(&target).unwrap();
    assert!(store.check().unwrap().is_sound());
    let newest = store.snapshot().unwrap();
    assert_eq!(newest.snapshot_names().unwrap(), ["before 2", "before 3"]);
    assert!(entries(&newest) == versions[4] && newest.tree_names().unwrap() == ["a", "later"]);
    for (name, version, trees) in
        [("before 2", 2, &["a", "later", "only at first"][..]), ("before 3", 3, &["a", "later"])]
    {
        let named = newest.snapshot(name).unwrap().unwrap();
        assert!(entries(&named) == versions[version], "{name}");
        assert_eq!(named.tree_names().unwrap(), trees, "{name}");
    }
}

#[test]
fn last_checkpoint_is_found_without_headers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("killed");
    let versions = build_versions(&folder.path().join("store"), &path);
    let whole = std::fs::read(&path).unwrap();
    // Damage all bytes, or only the checksums, so that the store's identity can still be read.
    for (is_all, expected) in [(true, &versions[3]), (false, &versions[4])] {
        let mut bytes = whole.clone();
        for slot in [0, 4096] {
            if is_all {
                bytes[slot..slot + 88].fill(0xE5);
            } else {
                bytes[slot + 85] ^= 4;
            }
        }
        std::fs::write(&path, &bytes).unwrap();
        assert!(matches!(Store::open(&path), Err(Error::Corrupt { .. })));
        let target = folder.path().join(format!("repaired {is_all}"));
        let report = repair(&path, &target).unwrap();
        let told: Vec<_> = report.problems.iter().map(|problem| problem.what.as_str()).collect();
        assert!(told[0].contains("commit 3 was found"), "{told:?}");
        assert_eq!(told.len(), 1 + usize::from(is_all), "{told:?}");
        let store = Store::open(&target).unwrap();
        assert!(store.check().unwrap().is_sound());
        assert!(entries(&store.snapshot().unwrap()) == *expected);
    }
    // There is no record of a commit either.
    std::fs::write(&path, vec![0xE5; 1 << 16]).unwrap();
    let target = folder.path().join("nothing");
    assert!(matches!(repair(&path, &target), Err(Error::Corrupt { .. })));
    let left = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(left.filter(|name| name.to_str().unwrap().starts_with("nothing")).count(), 0);
}

#[test]
fn closed_store_survives_loss_of_headers() {
    let folder = tempfile::tempdir().unwrap();
    let (path, target) = (folder.path().join("store"), folder.path().join("repaired"));
    build(&path);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[..8192].fill(0);
    std::fs::write(&path, &bytes).unwrap();
    let report = repair(&path, &target).unwrap();
    assert_eq!((report.keys, count_right(&target)), (u64::from(COUNT) + 1, COUNT), "{:#?}", report.problems);
}
