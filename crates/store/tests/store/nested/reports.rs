//! Histories from bug reports about other stores with buckets in buckets, named databases in databases, or cloned trees.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use lath_store::{Error, Item, MemoryStorage, Options, SimulatedStorage, Store, Transaction, TreePath};

use super::model::{assert_sound, dump};

fn store() -> Store {
    Options::new().background_checkpoints(false).open_in_memory().unwrap()
}

fn outer() -> TreePath {
    TreePath::new("outer")
}

fn inner() -> TreePath {
    outer().child(b"inner")
}

/// Commits that change nothing of interest, until dead nodes are no longer needed. Returns the bytes that are in use.
fn settle(store: &Store) -> u64 {
    store.visit_removed_subtrees().unwrap();
    for _ in 0..4 {
        store.checkpoint().unwrap();
        let mut transaction = store.begin().unwrap();
        transaction.tree("other").unwrap().put(b"", b"").unwrap();
        transaction.drop_tree("other").unwrap();
        transaction.commit().unwrap();
    }
    let stats = store.stats().unwrap();
    stats.file_bytes - stats.free_bytes - stats.dead_bytes
}

/// etcd-io/bbolt 208: a bucket with an empty value could not be deleted, because empty values were taken for buckets.
#[test]
fn tree_with_empty_values_is_removed() {
    let store = store();
    let mut transaction = store.begin().unwrap();
    transaction.tree_at(&inner()).unwrap().put(b"key", b"").unwrap();
    assert!(matches!(transaction.tree_at(&inner()).unwrap().item(b"key").unwrap(), Some(Item::Value(b""))));
    assert!(matches!(transaction.tree_at(&inner().child(b"key")).map(drop), Err(Error::KeyHoldsValue)));
    assert!(transaction.tree("outer").unwrap().remove(b"inner").unwrap());
    transaction.commit().unwrap();
    assert_sound(&store, "after the removal");
}

/// Values of eight bytes are as long as the root of a nested tree.
#[test]
fn values_of_eight_bytes_become_trees_and_back() {
    let store = store();
    for round in 0..40_u64 {
        let mut transaction = store.begin().unwrap();
        let mut tree = transaction.tree("outer").unwrap();
        for key in 0..60_u64 {
            if (key + round) % 3 == 0 {
                tree.remove(&key.to_be_bytes()).unwrap();
                tree.tree_at(&key.to_be_bytes()).unwrap().put(b"round", &round.to_be_bytes()).unwrap();
            } else {
                tree.put(&key.to_be_bytes(), &round.to_be_bytes()).unwrap();
            }
        }
        transaction.commit().unwrap();
        let snapshot = store.snapshot().unwrap();
        let tree = snapshot.tree("outer").unwrap().unwrap();
        for key in 0..60_u64 {
            match tree.item(&key.to_be_bytes()).unwrap().unwrap() {
                Item::Value(value) => assert_eq!(value, round.to_be_bytes()),
                Item::Tree(tree) => assert_eq!(tree.get(b"round").unwrap(), Some(&round.to_be_bytes()[..])),
            }
        }
        assert_sound(&store, "a round");
    }
}

/// etcd-io/bbolt 95 and boltdb/bolt 450: after removals in a transaction, the last key was not found, and scans ended early.
#[test]
fn first_and_last_keys_are_found_while_tree_is_emptied() {
    let store = store();
    let mut transaction = store.begin().unwrap();
    let mut tree = transaction.tree_at(&inner()).unwrap();
    for n in 0..1000_u32 {
        tree.put(&n.to_be_bytes(), &[1; 50]).unwrap();
    }
    transaction.commit().unwrap();
    let mut transaction = store.begin().unwrap();
    let mut tree = transaction.tree_at(&inner()).unwrap();
    for n in (0..1000_u32).rev() {
        let found = tree.as_tree().unwrap();
        assert_eq!(found.last().unwrap().unwrap().0, n.to_be_bytes());
        assert_eq!((found.first().unwrap().unwrap().0, found.iter().count()), (vec![0; 4], n as usize + 1));
        assert!(tree.remove(&n.to_be_bytes()).unwrap());
    }
    assert!(tree.is_empty());
    transaction.commit().unwrap();
    assert_sound(&store, "an emptied tree");
}

/// etcd-io/bbolt 611: keys were skipped when entries were removed during a scan.
#[test]
fn scan_of_view_sees_all_keys_while_they_are_removed() {
    let store = store();
    let mut transaction = store.begin().unwrap();
    let mut tree = transaction.tree_at(&inner()).unwrap();
    (0..500_u32).for_each(|n| tree.put(&n.to_be_bytes(), b"value").unwrap());
    let view = transaction.snapshot().unwrap();
    let mut removed = 0;
    for entry in view.tree_at(&inner()).unwrap().unwrap().iter() {
        assert!(transaction.tree_at(&inner()).unwrap().remove(&entry.unwrap().0).unwrap());
        removed += 1;
    }
    assert_eq!(removed, 500);
    assert!(transaction.tree_at(&inner()).unwrap().is_empty());
    transaction.commit().unwrap();
}

/// Mithril-mine/libmdbx 289: a database that was dropped in a nested transaction could not be used after that was aborted.
#[test]
fn tree_that_was_removed_after_savepoint_is_usable_after_rollback() {
    let store = store();
    let mut transaction = store.begin().unwrap();
    transaction.tree_at(&inner()).unwrap().put(b"key", b"value").unwrap();
    let savepoint = transaction.savepoint().unwrap();
    // These puts are deferred, and must not be applied to the tree as it was.
    transaction.tree_at(&inner()).unwrap().put(b"other", b"value").unwrap();
    assert!(transaction.tree("outer").unwrap().remove(b"inner").unwrap());
    transaction.tree_at(&inner()).unwrap().put(b"third", b"value").unwrap();
    transaction.rollback(&savepoint).unwrap();
    let mut tree = transaction.existing_tree_at(&inner()).unwrap().unwrap();
    assert_eq!((tree.len().unwrap(), tree.get(b"key").unwrap()), (1, Some(&b"value"[..])));
    tree.put(b"fourth", b"value").unwrap();
    transaction.commit().unwrap();
    let snapshot = store.snapshot().unwrap();
    assert_eq!(snapshot.tree_at(&inner()).unwrap().unwrap().len().unwrap(), 2);
    assert_sound(&store, "after a rollback");
}

/// Mithril-mine/libmdbx 146: a put into a database that was dropped and made again failed.
#[test]
fn tree_that_was_removed_is_made_again() {
    let store = store();
    for round in 0..20_u8 {
        let mut transaction = store.begin().unwrap();
        let mut outer = transaction.tree("outer").unwrap();
        assert_eq!(outer.remove(b"inner").unwrap(), round > 0);
        let mut tree = outer.tree_at(b"inner").unwrap();
        assert!(tree.is_empty());
        for n in 0..100_u8 {
            assert!(tree.insert(&[n], &[round; 300]).unwrap());
        }
        transaction.commit().unwrap();
    }
    let used = settle(&store);
    assert!(used < 100_000, "{used} bytes are used");
    assert_sound(&store, "a tree that was made again");
}

/// etcd-io/bbolt 635: a bucket could be moved only if it was committed, because others had no page yet.
#[test]
fn tree_of_open_transaction_is_moved_and_written_on() {
    let store = store();
    let mut transaction = store.begin().unwrap();
    transaction.tree("target").unwrap();
    let mut tree = transaction.tree_at(&inner()).unwrap();
    (0..2000_u32).for_each(|n| tree.put(&n.to_be_bytes(), b"before").unwrap());
    let target = TreePath::new("target").child(b"moved");
    assert!(transaction.move_tree(&inner(), &target).unwrap());
    let mut tree = transaction.tree_at(&target).unwrap();
    (1000..3000_u32).for_each(|n| tree.put(&n.to_be_bytes(), b"after").unwrap());
    assert!(transaction.move_tree(&target, &inner()).unwrap());
    transaction.commit().unwrap();
    let snapshot = store.snapshot().unwrap();
    let tree = snapshot.tree_at(&inner()).unwrap().unwrap();
    assert_eq!((tree.len().unwrap(), tree.get(&1500_u32.to_be_bytes()).unwrap()), (3000, Some(&b"after"[..])));
    assert!(snapshot.tree("target").unwrap().unwrap().is_empty());
    assert_sound(&store, "a tree that was moved twice");
}

/// cberner/redb 832, 843, 1135 and 1142: restored savepoints, aborted transactions and dropped multimap tables leaked pages, or freed
/// pages that were in use.
#[test]
fn undone_copies_and_removals_leave_no_nodes() {
    let store = store();
    let mut transaction = store.begin().unwrap();
    let mut tree = transaction.tree_at(&inner()).unwrap();
    (0..3000_u32).for_each(|n| tree.put(&n.to_be_bytes(), &[2; 40]).unwrap());
    tree.put(b"long", &[3; 5000]).unwrap();
    transaction.commit().unwrap();
    let before = settle(&store);
    let contents = dump(&store.snapshot().unwrap());
    for round in 0..30_u32 {
        let mut transaction = store.begin().unwrap();
        let copy = outer().child(round.to_be_bytes());
        transaction.copy_tree(&inner(), &copy).unwrap();
        let savepoint = transaction.savepoint().unwrap();
        transaction.tree_at(&copy).unwrap().put(&round.to_be_bytes(), b"new").unwrap();
        transaction.tree_at(&copy).unwrap().remove(b"long").unwrap();
        transaction.copy_tree(&copy, &outer().child(b"second")).unwrap();
        assert!(transaction.tree("outer").unwrap().remove(b"inner").unwrap());
        if round % 3 == 0 {
            transaction.rollback(&savepoint).unwrap();
        }
        if round % 2 == 0 {
            transaction.rollback(&savepoint).unwrap();
            transaction.tree("outer").unwrap().remove(&round.to_be_bytes()).unwrap();
            transaction.commit().unwrap();
        } else {
            transaction.abort();
        }
        assert_sound(&store, "a round");
    }
    assert_eq!(dump(&store.snapshot().unwrap()), contents);
    assert_eq!(settle(&store), before);
}

/// cockroachdb/cockroach 32251: trees share nodes by counts of references. Here, clones of clones are written to, and their
/// originals dropped.
#[test]
fn chain_of_copies_keeps_each_state_and_frees_all() {
    let store = store();
    let mut transaction = store.begin().unwrap();
    let mut tree = transaction.tree("0").unwrap();
    (0..2000_u32).for_each(|n| tree.put(&n.to_be_bytes(), &0_u32.to_be_bytes()).unwrap());
    transaction.commit().unwrap();
    let one = settle(&store);
    for copy in 1..40_u32 {
        let mut transaction = store.begin().unwrap();
        let [from, to] = [copy - 1, copy].map(|number| TreePath::new(number.to_string()));
        assert!(transaction.copy_tree(&from, &to).unwrap());
        let mut tree = transaction.tree_at(&to).unwrap();
        tree.put(&(copy * 40).to_be_bytes(), &copy.to_be_bytes()).unwrap();
        // The original is changed, too.
        transaction.tree_at(&from).unwrap().remove(&1999_u32.to_be_bytes()).unwrap();
        transaction.commit().unwrap();
        assert_sound(&store, "a copy of copies");
    }
    let used = settle(&store);
    assert!(used < 5 * one, "40 copies take {used} bytes, and one {one}");
    let snapshot = store.snapshot().unwrap();
    for copy in 0..40_u32 {
        let tree = snapshot.tree(&copy.to_string()).unwrap().unwrap();
        assert_eq!(tree.len().unwrap(), if copy == 39 { 2000 } else { 1999 });
        let changed = (0..1999_u32).filter(|n| tree.get(&n.to_be_bytes()).unwrap() != Some(&[0; 4][..]));
        assert!(changed.eq((1..=copy).map(|copy| copy * 40)), "copy {copy}");
    }
    drop(snapshot);
    for copy in (0..40_u32).map(|n| (n * 7 + 3) % 40) {
        let mut transaction = store.begin().unwrap();
        assert!(transaction.drop_tree(&copy.to_string()).unwrap());
        transaction.commit().unwrap();
        assert_sound(&store, "a dropped copy");
    }
    let used = settle(&store);
    assert!(used < 8192 + 512, "{used} bytes are used");
}

/// Each tree has two copies of the one before: 2^60 trees in all. Nothing may visit each of them.
#[test]
fn doubled_trees_are_handled_node_by_node() {
    const LEVELS: u32 = 60;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let options = Options::new().capacity_bytes(1 << 28);
    let store = options.open(&path).unwrap();
    let mut transaction = store.begin().unwrap();
    transaction.tree("0").unwrap().put(b"key", &[1; 300]).unwrap();
    for level in 1..=LEVELS {
        let from = TreePath::new((level - 1).to_string());
        let to = TreePath::new(level.to_string());
        transaction.tree(to.name()).unwrap();
        transaction.copy_tree(&from, &to.clone().child(b"a")).unwrap();
        transaction.move_tree(&from, &to.child(b"b")).unwrap();
    }
    transaction.commit().unwrap();
    let top = LEVELS.to_string();
    let bottom =
        (0..LEVELS).fold(TreePath::new(&*top), |path, level| path.child(if level % 3 == 0 { b"a" } else { b"b" }));
    let assert_all = |store: &Store, when: &str| {
        assert_sound(store, when);
        let snapshot = store.snapshot().unwrap();
        assert_eq!(snapshot.tree_at(&bottom).unwrap().unwrap().get(b"key").unwrap(), Some(&[1; 300][..]), "{when}");
    };
    assert_all(&store, "doubled trees");
    store.checkpoint().unwrap();
    store.compact().unwrap();
    assert_all(&store, "compacted");
    let mut transaction = store.begin().unwrap();
    let savepoint = transaction.savepoint().unwrap();
    transaction.tree_at(&bottom).unwrap().put(b"key", b"other").unwrap();
    transaction.rollback(&savepoint).unwrap();
    transaction.drop_tree(&top).unwrap();
    transaction.abort();
    assert_all(&store, "undone");
    let copy = folder.path().join("backup");
    store.snapshot().unwrap().backup(&copy).unwrap();
    assert_all(&Store::open(&copy).unwrap(), "a backup");
    drop(store);
    let repaired = folder.path().join("repaired");
    let report = lath_store::repair(&path, &repaired).unwrap();
    assert!(report.problems.is_empty(), "{:?}", report.problems);
    assert_all(&Store::open(&repaired).unwrap(), "a repaired store");
    let store = options.open(&path).unwrap();
    assert_all(&store, "opened again");
    // One of 2^60 trees changes, and then all are dropped.
    let before = store.snapshot().unwrap();
    let mut transaction = store.begin().unwrap();
    transaction.tree_at(&bottom).unwrap().put(b"new", b"value").unwrap();
    transaction.commit().unwrap();
    let mut changes = 0;
    let now = store.snapshot().unwrap();
    let each = |path: &[Vec<u8>], _: &[u8], _: Option<Item<'_>>, _: Option<Item<'_>>| {
        changes += 1;
        assert_eq!(path, bottom.keys());
        Ok::<_, Error>(())
    };
    before.for_each_nested_change(&top, now.tree(&top).unwrap().unwrap(), each).unwrap();
    assert_eq!(changes, 1);
    drop((before, now));
    let mut transaction = store.begin().unwrap();
    assert!(transaction.drop_tree(&top).unwrap());
    transaction.commit().unwrap();
    let used = settle(&store);
    assert!(used < 8192 + 512, "{used} bytes are used");
    assert_sound(&store, "after all were dropped");
}

/// The version of the newest header in the data file.
fn version(path: &Path) -> u32 {
    let bytes = fs::read(path).unwrap();
    let number = |at: usize| u64::from_le_bytes(*bytes[at + 24..].first_chunk().unwrap());
    let newest = if number(4096) > number(0) { 4096 } else { 0 };
    u32::from_le_bytes(*bytes[newest + 8..].first_chunk().unwrap())
}

/// Programs that do not know nested trees must not open a store that has any.
#[test]
fn only_stores_with_nested_trees_get_the_new_version() {
    for how in 0..4 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store");
        let options = Options::new().background_checkpoints(false);
        let store = options.open(&path).unwrap();
        let mut transaction = store.begin().unwrap();
        transaction.tree("plain").unwrap().put(b"key", b"value").unwrap();
        transaction.commit().unwrap();
        let mut transaction = store.begin().unwrap();
        transaction.tree_at(&inner()).unwrap();
        transaction.abort();
        store.checkpoint().unwrap();
        assert_eq!(version(&path), 2);
        let mut transaction = store.begin().unwrap();
        let (plain, other) = (TreePath::new("plain"), TreePath::new("other"));
        match how {
            0 => drop(transaction.tree_at(&inner()).unwrap()),
            1 => assert!(transaction.move_tree(&plain, &other).unwrap()),
            2 => assert!(transaction.copy_tree(&plain, &other).unwrap()),
            _ => {}
        }
        transaction.commit().unwrap();
        let expected = if how < 3 { 3 } else { 2 };
        store.checkpoint().unwrap();
        assert_eq!(version(&path), expected);
        drop(store);
        let store = options.open(&path).unwrap();
        let mut transaction = store.begin().unwrap();
        transaction.tree("third").unwrap().put(b"key", b"other").unwrap();
        transaction.commit().unwrap();
        drop(store);
        assert_eq!(version(&path), expected);
    }
}

/// A named snapshot has a tree under the name that it had. Compaction must not move nodes that it finds by the new name only.
#[test]
fn compaction_keeps_renamed_trees_of_named_snapshots() {
    let store = store();
    let mut transaction = store.begin().unwrap();
    let mut filler = transaction.tree("filler").unwrap();
    (0..20_000_u32).for_each(|n| filler.put(&n.to_be_bytes(), &[1; 200]).unwrap());
    let mut tree = transaction.tree("before").unwrap();
    (0..5000_u32).for_each(|n| tree.put(&n.to_be_bytes(), &[2; 100]).unwrap());
    transaction.commit().unwrap();
    let mut transaction = store.begin().unwrap();
    transaction.drop_tree("filler").unwrap();
    transaction.commit().unwrap();
    let mut transaction = store.begin().unwrap();
    transaction.keep_snapshot("kept").unwrap();
    assert!(transaction.move_tree(&TreePath::new("before"), &TreePath::new("after")).unwrap());
    transaction.commit().unwrap();
    let contents = dump(&store.snapshot().unwrap());
    let kept = dump(&store.snapshot().unwrap().snapshot("kept").unwrap().unwrap());
    assert!(store.compact().unwrap().is_complete);
    assert_sound(&store, "after a compaction");
    let snapshot = store.snapshot().unwrap();
    assert_eq!(dump(&snapshot), contents);
    assert_eq!(dump(&snapshot.snapshot("kept").unwrap().unwrap()), kept);
    let mut transaction = store.begin().unwrap();
    transaction.drop_snapshot("kept").unwrap();
    transaction.commit().unwrap();
    drop(snapshot);
    let done = store.compact().unwrap();
    assert!(done.after_bytes < 2 << 20, "{done:?}");
    assert_sound(&store, "after another compaction");
}

/// Two processes write by turns: each gets the counts of references from the other.
#[test]
fn handles_that_pass_the_lock_share_copies() {
    let storage = Arc::new(MemoryStorage::new(1 << 28).unwrap());
    let options = Options::new().background_checkpoints(false).busy_timeout(Options::USUAL_BUSY_TIMEOUT);
    let stores = [0, 1].map(|_| options.open_storage(storage.clone()).unwrap());
    let mut history = super::histories::History::new(lath_testkit::seed());
    // A view keeps the writer lock.
    history.holds_views = false;
    for step in 0..120 {
        let store = &stores[history.random.usize(..2)];
        history.transact(store);
        if step % 4 == 0 {
            assert_sound(store, &format!("step {step}"));
        }
    }
    history.release_all();
    history.assert_same(&stores[0].snapshot().unwrap(), "the end");
}

/// Copies of a tree that each have one change refer to more nodes than the file has units.
fn change_copies(transaction: &mut Transaction, copies: u32) {
    transaction.tree("outer").unwrap();
    for copy in 0..copies {
        let place = outer().child(copy.to_be_bytes());
        transaction.copy_tree(&TreePath::new("big"), &place).unwrap();
        transaction.tree_at(&place).unwrap().put(&(copy * 7).to_be_bytes(), b"new").unwrap();
    }
}

fn fill_big(store: &Store) {
    let mut transaction = store.begin().unwrap();
    for key in 0..30_000_u32 {
        transaction.tree("big").unwrap().put(&key.to_be_bytes(), &[1; 20]).unwrap();
    }
    transaction.commit().unwrap();
}

#[test]
fn many_changed_copies_are_removed() {
    let store = store();
    fill_big(&store);
    let before = settle(&store);
    // In one transaction.
    let mut transaction = store.begin().unwrap();
    change_copies(&mut transaction, 500);
    assert!(transaction.drop_tree("outer").unwrap());
    transaction.commit().unwrap();
    assert_sound(&store, "one transaction");
    assert_eq!(settle(&store), before);
    // In another one.
    let mut transaction = store.begin().unwrap();
    change_copies(&mut transaction, 500);
    transaction.commit().unwrap();
    let mut transaction = store.begin().unwrap();
    transaction.drop_tree("outer").unwrap();
    transaction.commit().unwrap();
    assert_sound(&store, "before the visit");
    assert_eq!(settle(&store), before);
    assert_sound(&store, "after the visit");
}

#[test]
fn many_changed_copies_are_compacted() {
    let store = store();
    fill_big(&store);
    let mut transaction = store.begin().unwrap();
    change_copies(&mut transaction, 500);
    transaction.commit().unwrap();
    let before = dump(&store.snapshot().unwrap());
    store.compact().unwrap();
    assert_sound(&store, "after compaction");
    assert!(dump(&store.snapshot().unwrap()) == before);
}

/// A replay joins commits, so that it removes the changed copies in the transaction that has made them.
#[test]
fn removal_of_many_changed_copies_is_replayed() {
    let storage = SimulatedStorage::new(1 << 28).unwrap();
    let options = Options::new().background_checkpoints(false);
    let store = options.open_storage(Arc::new(storage.clone())).unwrap();
    fill_big(&store);
    store.checkpoint().unwrap();
    let mut transaction = store.begin().unwrap();
    change_copies(&mut transaction, 1000);
    transaction.commit().unwrap();
    let mut transaction = store.begin().unwrap();
    transaction.drop_tree("outer").unwrap();
    transaction.commit().unwrap();
    let again = options.open_storage(Arc::new(storage.kill(false).unwrap())).unwrap();
    assert_eq!(again.snapshot().unwrap().tree_names().unwrap(), ["big"]);
    assert_sound(&again, "a replay");
}
