//! Stores written by earlier versions, read by this one, and by a reader made from `docs/formats/store.md` alone.
//!
//! Fixtures are never rewritten: a version that changes the format adds its own and still reads these.
mod contents;
mod reference;
mod write;

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use contents::{Trees, words};
use lath_store::{Item, Options, Snapshot, Store, TreePath};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures");

/// Closed cleanly, with every kind of node.
const CLEAN: &str = "v1-clean";

/// Left by a killed process: a checkpoint, and commits that are only in the log.
const KILLED: &str = "v1-killed";

/// Two such stores in version 2.
const CLEAN_2: &str = "v2-clean";
const KILLED_2: &str = "v2-killed";

/// Two stores of version 3: with nested trees that were moved, copied and removed.
const CLEAN_3: &str = "v3-clean";
const KILLED_3: &str = "v3-killed";

/// The suffixes of a store's files.
const SUFFIXES: [&str; 3] = ["", "-log0", "-log1"];

fn unpacked(file: &str) -> Vec<u8> {
    let packed = fs::File::open(Path::new(FIXTURES).join(format!("{file}.gz"))).unwrap();
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(packed).read_to_end(&mut bytes).unwrap();
    bytes
}

/// Copies a fixture, to open it.
fn copy_fixture(name: &str, folder: &Path) -> PathBuf {
    for suffix in SUFFIXES {
        fs::write(folder.join(format!("store{suffix}")), unpacked(&format!("{name}{suffix}"))).unwrap();
    }
    folder.join("store")
}

/// The trees of a store with nested trees, by their paths.
fn read_nested(snapshot: &Snapshot) -> Trees {
    let mut trees = Trees::new();
    let names = snapshot.tree_names().unwrap().into_iter();
    let mut pending: Vec<_> = names.map(|name| (name.clone(), snapshot.tree(&name).unwrap().unwrap())).collect();
    while let Some((path, tree)) = pending.pop() {
        let mut found = contents::Tree::new();
        let mut cursor = tree.cursor();
        while cursor.next().unwrap() {
            let key = cursor.key().unwrap().to_vec();
            let value = match cursor.item().unwrap().unwrap() {
                Item::Value(value) => value.to_vec(),
                Item::Tree(nested) => {
                    pending.push((format!("{path}/{}", std::str::from_utf8(&key).unwrap()), nested));
                    contents::NESTED.to_vec()
                }
            };
            found.insert(key, value);
        }
        trees.insert(path, found);
    }
    trees
}

#[test]
fn stores_with_nested_trees_are_read_and_written() {
    for name in [CLEAN_3, KILLED_3] {
        let folder = tempfile::tempdir().unwrap();
        let path = copy_fixture(name, folder.path());
        let store = Store::open(&path).unwrap();
        let snapshot = store.snapshot().unwrap();
        assert_trees(&read_nested(&snapshot), &contents::nested());
        assert_trees(&read_nested(&snapshot.snapshot("first").unwrap().unwrap()), &contents::nested_first());
        assert!(store.check().unwrap().is_sound());
        let mut transaction = store.begin().unwrap();
        let place = TreePath::new("forest").child(b"oak");
        assert!(transaction.move_tree(&place, &TreePath::new("oak")).unwrap());
        transaction.commit().unwrap();
        drop((snapshot, store));
        let store = Store::open(&path).unwrap();
        let mut trees = read_nested(&store.snapshot().unwrap());
        for key in ["oak", "oak/roots"] {
            let tree = trees.remove(key).unwrap();
            assert_eq!(tree, contents::nested()[&format!("forest/{key}")]);
        }
        assert!(store.check().unwrap().is_sound());
    }
}

fn read_trees(snapshot: &Snapshot) -> Trees {
    let mut trees = Trees::new();
    for name in snapshot.tree_names().unwrap() {
        let tree = snapshot.tree(&name).unwrap().unwrap();
        let entries: Vec<_> = tree.iter().map(Result::unwrap).map(|(key, value)| (key, value.to_vec())).collect();
        assert!(entries.is_sorted_by(|(a, _), (b, _)| a < b), "{name}");
        assert_eq!(tree.len().unwrap(), entries.len() as u64, "{name}");
        assert!(tree.iter().rev().map(|entry| entry.unwrap().0).eq(entries.iter().rev().map(|entry| entry.0.clone())));
        for (rank, (key, value)) in entries.iter().enumerate() {
            assert_eq!(tree.get(key).unwrap(), Some(&value[..]), "{name}");
            assert_eq!(tree.rank(key).unwrap(), rank as u64, "{name}");
        }
        trees.insert(name, entries.into_iter().collect());
    }
    trees
}

/// Compares the trees, with a message of a readable length.
fn assert_trees(found: &Trees, expected: &Trees) {
    assert!(found.keys().eq(expected.keys()), "{:?}", found.keys());
    for (name, tree) in expected {
        assert_eq!(found[name].len(), tree.len(), "{name}");
        for (key, value) in tree {
            assert_eq!(found[name].get(key), Some(value), "{name}: {key:?}");
        }
    }
}

fn assert_store(store: &Store, sequence: u64, newest: &Trees, named: &[(&str, u64, Trees)]) {
    let snapshot = store.snapshot().unwrap();
    assert_eq!(snapshot.sequence(), sequence);
    assert_trees(&read_trees(&snapshot), newest);
    assert!(snapshot.snapshot_names().unwrap().iter().eq(named.iter().map(|(name, ..)| name)));
    for (name, sequence, trees) in named {
        let snapshot = snapshot.snapshot(name).unwrap().unwrap();
        assert_eq!(snapshot.sequence(), *sequence, "{name}");
        assert_trees(&read_trees(&snapshot), trees);
    }
}

/// Reads the copy, writes to it as to any store, and reads it again.
fn assert_lives(path: &Path, sequence: u64, newest: &Trees, named: &[(&str, u64, Trees)]) {
    let store = Store::open(path).unwrap();
    assert_store(&store, sequence, newest, named);
    let mut transaction = store.begin().unwrap();
    for (name, tree) in newest {
        let mut written = transaction.tree(name).unwrap();
        for key in tree.keys().step_by(2) {
            assert!(written.remove(key).unwrap());
        }
    }
    transaction.tree("new").unwrap().append(words()).unwrap();
    transaction.commit().unwrap();
    drop(store);

    let mut changed = newest.clone();
    for tree in changed.values_mut() {
        let mut index = 0;
        tree.retain(|_, _| {
            index += 1;
            index % 2 == 0
        });
    }
    changed.insert("new".to_owned(), words());
    let store = Options::new().create(false).open(path).unwrap();
    assert_store(&store, sequence + 1, &changed, named);
}

#[test]
fn cleanly_closed_stores_of_each_version_are_read_and_written() {
    for name in [CLEAN, CLEAN_2] {
        let folder = tempfile::tempdir().unwrap();
        let path = copy_fixture(name, folder.path());
        assert_lives(&path, 4, &contents::clean(), &[("first", 1, contents::first())]);
    }
}

#[test]
fn unclosed_stores_of_each_version_are_recovered() {
    for name in [KILLED, KILLED_2] {
        let folder = tempfile::tempdir().unwrap();
        let path = copy_fixture(name, folder.path());
        assert_lives(&path, 8, &contents::killed(), &[("second", 5, contents::second())]);
    }
}

#[test]
fn format_document_suffices_to_read_store() {
    [CLEAN, CLEAN_2].into_iter().for_each(assert_document_reads_store);
}

fn assert_document_reads_store(name: &str) {
    let store = reference::Store::open(unpacked(name));
    assert!(store.is_clean);
    assert_eq!(store.sequence, 4);
    assert_trees(&store.trees(store.catalog), &contents::clean());
    let named = store.named();
    assert_eq!(named.len(), 1);
    assert_eq!((&named[0].0[..], named[0].1), ("first", 1));
    assert_trees(&store.trees(named[0].2), &contents::first());
    let kinds = store.kinds();
    assert!(kinds.iter().all(|count| *count > 3), "leaves, inner nodes, value nodes: {kinds:?}");
    store.check_free_map();
    for log in ["-log0", "-log1"] {
        assert_eq!(unpacked(&format!("{name}{log}")), b"", "a clean close empties the logs");
    }
}

#[test]
fn format_document_suffices_to_read_checkpoint_and_log() {
    [KILLED, KILLED_2].into_iter().for_each(assert_document_reads_log);
}

fn assert_document_reads_log(name: &str) {
    let store = reference::Store::open(unpacked(name));
    assert!(!store.is_clean);
    assert_eq!(store.sequence, 4);
    assert_trees(&store.trees(store.catalog), &contents::checkpointed());
    let mut trees = contents::checkpointed();
    let logs = ["-log0", "-log1"].map(|log| unpacked(&format!("{name}{log}")));
    let mut records: Vec<_> = logs.iter().flat_map(|log| reference::records(log, store.identity)).collect();
    records.retain(|(sequence, _)| *sequence > store.sequence);
    records.sort_unstable();
    assert!(records.iter().map(|record| record.0).eq(5..=8));
    for (_, record) in records {
        reference::replay(record, &mut trees);
    }
    assert_trees(&trees, &contents::killed());
}

#[test]
fn format_document_suffices_to_read_nested_trees() {
    let store = reference::Store::open(unpacked(CLEAN_3));
    assert_trees(&store.trees(store.catalog), &contents::nested());
    let named = store.named();
    assert_trees(&store.trees(named[0].2), &contents::nested_first());
    let store = reference::Store::open(unpacked(KILLED_3));
    let mut trees = store.trees(store.catalog);
    assert_trees(&trees, &contents::nested_first());
    let logs = ["-log0", "-log1"].map(|log| unpacked(&format!("{KILLED_3}{log}")));
    let records = logs.iter().flat_map(|log| reference::records(log, store.identity));
    for (_, record) in records.filter(|(sequence, _)| *sequence > store.sequence) {
        reference::replay(record, &mut trees);
    }
    assert_trees(&trees, &contents::nested());
}

#[test]
fn the_fixtures_are_small() {
    let files = fs::read_dir(FIXTURES).unwrap().map(|file| file.unwrap().metadata().unwrap().len());
    assert!(files.sum::<u64>() < 400_000);
}
