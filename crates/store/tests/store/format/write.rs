//! The program that wrote the fixtures.

use std::fs;
use std::io::Write;
use std::path::Path;

use super::{CLEAN_2, CLEAN_3, FIXTURES, KILLED_2, KILLED_3, SUFFIXES, contents};
use lath_store::{Durability, Options, Store, Transaction, TreePath};

fn pack(store: &Path, name: &str) {
    for suffix in SUFFIXES {
        let mut path = store.as_os_str().to_owned();
        path.push(suffix);
        let bytes = fs::read(path).unwrap();
        let file = fs::File::create(Path::new(FIXTURES).join(format!("{name}{suffix}.gz"))).unwrap();
        let mut encoder = flate2::write::GzEncoder::new(file, flate2::Compression::best());
        encoder.write_all(&bytes).unwrap();
        encoder.finish().unwrap();
    }
}

/// Puts a tree in an order in which leaves are split in their middles.
fn put(transaction: &mut Transaction, name: &str, contents: &contents::Tree) {
    let entries: Vec<_> = contents.iter().collect();
    let mut tree = transaction.tree(name).unwrap();
    // A prime that is the number of keys of no tree.
    for index in 0..entries.len() {
        let (key, value) = entries[index * 7919 % entries.len()];
        tree.upsert(key, value).unwrap();
    }
}

fn write_clean(path: &Path) {
    let store = Store::open(path).unwrap();
    let mut transaction = store.begin().unwrap();
    for (name, tree) in contents::first() {
        put(&mut transaction, &name, &tree);
    }
    transaction.commit().unwrap();

    let mut transaction = store.begin().unwrap();
    transaction.keep_snapshot("first").unwrap();
    put(&mut transaction, "squares", &contents::squares());
    put(&mut transaction, "words", &contents::words());
    assert!(transaction.drop_tree("gone").unwrap());
    let extra = (5000..5500_u32).map(|n| (n.to_be_bytes(), vec![n as u8; 400]));
    transaction.tree("squares").unwrap().append(extra).unwrap();
    transaction.commit().unwrap();

    let mut transaction = store.begin().unwrap();
    transaction.keep_snapshot("second").unwrap();
    put(&mut transaction, "bytes", &contents::bytes());
    put(&mut transaction, "long", &contents::long());
    assert_eq!(transaction.tree("squares").unwrap().remove_range(&5000_u32.to_be_bytes(), None).unwrap(), 500);
    transaction.commit().unwrap();

    let mut transaction = store.begin().unwrap();
    assert!(transaction.drop_snapshot("second").unwrap());
    let mut tree = transaction.tree("empty").unwrap();
    tree.upsert(b"key", b"value").unwrap();
    assert!(tree.remove(b"key").unwrap());
    transaction.commit().unwrap();
}

/// Returns while the store is open, so that it can be copied in the state that a killed process leaves.
fn write_killed(path: &Path) -> Store {
    let store = Options::new().background_checkpoints(false).durability(Durability::Deferred).open(path).unwrap();
    let mut transaction = store.begin().unwrap();
    put(&mut transaction, "squares", &contents::squares());
    transaction.commit().unwrap();
    let mut transaction = store.begin().unwrap();
    transaction.keep_snapshot("first").unwrap();
    put(&mut transaction, "words", &contents::words());
    transaction.commit().unwrap();
    store.checkpoint().unwrap();
    for (value, byte) in [(b"a", b'a'), (b"b", b'b')] {
        let mut transaction = store.begin().unwrap();
        transaction.tree("gone").unwrap().upsert(b"a", value).unwrap();
        assert!(byte == b'a' || transaction.drop_snapshot("first").unwrap());
        transaction.commit().unwrap();
    }
    store.checkpoint().unwrap();

    // From here on, commits are only in the log.
    let mut transaction = store.begin().unwrap();
    let mut words = transaction.tree("words").unwrap();
    words.upsert(b"new", &[7; 10_000]).unwrap();
    words.upsert(b"empty", b"").unwrap();
    transaction.tree("empty").unwrap();
    transaction.commit().unwrap();
    let mut transaction = store.begin().unwrap();
    transaction.keep_snapshot("second").unwrap();
    transaction.keep_snapshot("third").unwrap();
    assert!(transaction.drop_tree("gone").unwrap());
    transaction.commit().unwrap();
    let mut transaction = store.begin().unwrap();
    assert!(transaction.tree("words").unwrap().remove(b"new").unwrap());
    assert!(transaction.drop_snapshot("third").unwrap());
    transaction.commit().unwrap();
    let mut transaction = store.begin().unwrap();
    let mut squares = transaction.tree("squares").unwrap();
    let [low, high, last] = [100_u32, 200, 1900].map(u32::to_be_bytes);
    assert_eq!(squares.remove_range(&low, Some(&high)).unwrap(), 100);
    assert_eq!(squares.remove_range(&last, None).unwrap(), 100);
    transaction.commit().unwrap();
    store
}

fn place(path: &str) -> TreePath {
    let mut names = path.split('/');
    let name = names.next().unwrap_or_default();
    names.fold(TreePath::new(name), TreePath::child)
}

/// Makes the trees of the first commit.
fn put_nested(transaction: &mut Transaction) {
    for (path, tree) in contents::nested_first() {
        let mut written = transaction.tree_at(&place(&path)).unwrap();
        for (key, value) in tree {
            if value == contents::NESTED {
                written.tree_at(&key).unwrap();
            } else {
                written.upsert(&key, &value).unwrap();
            }
        }
    }
}

fn change_nested(transaction: &mut Transaction) {
    assert!(transaction.move_tree(&place("forest/oak/leaves"), &place("small/leaves")).unwrap());
    assert!(transaction.copy_tree(&place("forest/oak"), &place("small/oak")).unwrap());
    let mut copy = transaction.tree_at(&place("small/oak")).unwrap();
    copy.put(b"new", b"value").unwrap();
    assert!(copy.remove(b"roots").unwrap());
    transaction.tree_at(&place("small/gone")).unwrap().put(b"key", b"value").unwrap();
    assert!(transaction.tree("small").unwrap().remove(b"gone").unwrap());
}

/// With the options of a store that is closed, or is left as by a killed process.
fn write_nested(path: &Path, options: &Options) -> Store {
    let store = options.open(path).unwrap();
    let mut transaction = store.begin().unwrap();
    put_nested(&mut transaction);
    transaction.commit().unwrap();
    store.checkpoint().unwrap();
    let mut transaction = store.begin().unwrap();
    transaction.keep_snapshot("first").unwrap();
    change_nested(&mut transaction);
    transaction.commit().unwrap();
    store
}

#[test]
#[ignore = "writes the fixtures of version 3: for a new version only, after its number is changed here"]
fn write_the_fixtures_with_nested_trees() {
    let folder = tempfile::tempdir().unwrap();
    let clean = folder.path().join("clean");
    drop(write_nested(&clean, &Options::new()));
    pack(&clean, CLEAN_3);
    let killed = folder.path().join("killed");
    let store = write_nested(&killed, &Options::new().background_checkpoints(false).durability(Durability::Deferred));
    pack(&killed, KILLED_3);
    drop(store);
}

#[test]
#[ignore = "writes the fixtures of the present version: for a new version only, after its number is changed here"]
fn write_the_fixtures() {
    let folder = tempfile::tempdir().unwrap();
    let clean = folder.path().join("clean");
    write_clean(&clean);
    pack(&clean, CLEAN_2);
    let killed = folder.path().join("killed");
    let store = write_killed(&killed);
    pack(&killed, KILLED_2);
    drop(store);
}
