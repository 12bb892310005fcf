//! Compaction of stores that are in use.
#[allow(dead_code, reason = "other tests use the rest")]
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::history::assert_sound;
use fastrand::Rng;
use lath_store::{Durability, Error, Holder, Options, Snapshot, Store};
use lath_testkit::Seeded;

type Entries = BTreeMap<Vec<u8>, Vec<u8>>;

fn options() -> Options {
    Options::new().background_checkpoints(false).durability(Durability::Deferred).capacity_bytes(4 << 30)
}

fn put(store: &Store, tree: &str, entries: &Entries) {
    let mut transaction = store.begin().unwrap();
    let mut tree = transaction.tree(tree).unwrap();
    for (key, value) in entries {
        tree.put(key, value).unwrap();
    }
    transaction.commit().unwrap();
}

/// Keeps one in `one_of` keys.
fn thin_out(store: &Store, tree: &str, entries: &mut Entries, one_of: usize, random: &mut Rng) {
    let mut transaction = store.begin().unwrap();
    let mut tree = transaction.tree(tree).unwrap();
    entries.retain(|key, _| {
        let stays = random.usize(..one_of) == 0;
        if !stays {
            assert!(tree.remove(key).unwrap());
        }
        stays
    });
    transaction.commit().unwrap();
}

fn some_entries(random: &mut Rng, count: usize) -> Entries {
    let entry = |random: &mut Rng| {
        let key = match random.u8(..4) {
            0 => format!("a long way of many bytes in common/{:07}", random.u32(..10_000_000)).into_bytes(),
            _ => random.u64(..).to_be_bytes().to_vec(),
        };
        let len = match random.u8(..100) {
            0 => random.usize(..20_000),
            1..10 => random.usize(..2000),
            _ => random.usize(..100),
        };
        (key, vec![random.u8(..); len])
    };
    (0..count).map(|_| entry(random)).collect()
}

fn read_entries(snapshot: &Snapshot, tree: &str) -> Entries {
    let tree = snapshot.tree(tree).unwrap().unwrap();
    tree.iter().map(|entry| entry.map(|(key, value)| (key, value.to_vec())).unwrap()).collect()
}

fn assert_has(store: &Store, tree: &str, entries: &Entries) {
    assert!(read_entries(&store.snapshot().unwrap(), tree) == *entries, "{tree} has changed");
}

/// The bytes of the nodes that any commit or holder needs.
fn live_bytes(store: &Store) -> u64 {
    let stats = store.stats().unwrap();
    stats.file_bytes - stats.free_bytes - stats.dead_bytes
}

fn length(path: &Path) -> u64 {
    std::fs::metadata(path).unwrap().len()
}

/// The maximum length of a compact file with this many bytes of nodes: free space is at most a quarter of the used
/// space, and the reserve is a fifteenth of both.
fn about(live: u64) -> u64 {
    (live * 5 / 4 * 16 / 15).max(1 << 16)
}

/// Compacts, and checks the result.
fn assert_compact(store: &Store, path: &Path) {
    let before = length(path);
    let done = store.compact().unwrap();
    assert!(done.is_complete);
    let (after, live) = (length(path), live_bytes(store));
    assert_eq!((done.before_bytes, done.after_bytes), (before, after));
    println!("{before} to {after} bytes, {live} live, {} moved", done.moved_bytes);
    assert!(after <= about(live), "{after} bytes for {live}: {done:?}");
    assert_sound(store, "after compacting");
}

#[test]
fn compaction_shrinks_file_to_about_its_contents() {
    let mut random = Seeded::new("a file gets about as short as what is in it");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let store = options().open(&path).unwrap();
    let mut trees: BTreeMap<&str, Entries> = BTreeMap::new();
    for name in ["a", "b", "c"] {
        let entries = some_entries(&mut random, 40_000);
        put(&store, name, &entries);
        trees.insert(name, entries);
    }
    for (name, entries) in &mut trees {
        thin_out(&store, name, entries, 10, &mut random);
    }
    assert!(length(&path) > 5 * live_bytes(&store));
    assert_compact(&store, &path);
    for (name, entries) in &trees {
        assert_has(&store, name, entries);
    }
    // A second run has next to nothing to do.
    let again = store.compact().unwrap();
    let longest = again.before_bytes + again.before_bytes / 64;
    assert!(again.after_bytes <= longest && again.moved_bytes < 1 << 20, "{again:?}");
    // The file can grow again after truncation.
    let more = some_entries(&mut random, 40_000);
    put(&store, "d", &more);
    assert_has(&store, "d", &more);
    assert_sound(&store, "grown again");
    drop(store);
    let before = length(&path);
    let store = options().open(&path).unwrap();
    for (name, entries) in trees.iter().map(|(name, entries)| (*name, entries)).chain([("d", &more)]) {
        assert_has(&store, name, entries);
    }
    // Drop whole trees, so that little is left.
    let mut transaction = store.begin().unwrap();
    for name in ["a", "b", "d"] {
        transaction.drop_tree(name).unwrap();
    }
    transaction.commit().unwrap();
    assert_compact(&store, &path);
    assert_has(&store, "c", &trees["c"]);
    drop(store);
    assert!(length(&path) < before / 4, "closing makes it long again");
    let store = options().open(&path).unwrap();
    assert_has(&store, "c", &trees["c"]);
    assert_sound(&store, "opened again");
}

#[test]
fn empty_and_single_key_stores_are_compacted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let store = options().open(&path).unwrap();
    assert_compact(&store, &path);
    put(&store, "t", &Entries::from([(b"key".to_vec(), b"value".to_vec())]));
    assert_compact(&store, &path);
    assert_eq!(length(&path), 1 << 16);
    put(&store, "t", &(0..50_000_u32).map(|key| (key.to_be_bytes().to_vec(), vec![7; 50])).collect());
    assert!(length(&path) > 1 << 20);
    let mut transaction = store.begin().unwrap();
    transaction.tree("t").unwrap().remove_range(b"", None).unwrap();
    transaction.commit().unwrap();
    assert_compact(&store, &path);
    assert_eq!(length(&path), 1 << 16);
    // A store that was closed has a free map at its end.
    drop(store);
    let store = options().open(&path).unwrap();
    assert_compact(&store, &path);
    assert_eq!(length(&path), 1 << 16);
    assert_has(&store, "t", &Entries::new());
    let reader = options().read_only(true).open(&path).unwrap();
    assert!(matches!(reader.compact(), Err(Error::ReadOnly)));
    let memory = options().open_in_memory().unwrap();
    assert_eq!(memory.compact().unwrap().moved_nodes, 0);
}

#[test]
fn compaction_moves_long_values() {
    const LONG: usize = 100 << 20;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let store = options().durability(Durability::Off).open(&path).unwrap();
    let value = |key: u8| (0..LONG).map(|index| (index as u8).wrapping_mul(key)).collect::<Vec<u8>>();
    for key in [1, 2, 3] {
        put(&store, "t", &Entries::from([(vec![key], value(key))]));
    }
    let mut transaction = store.begin().unwrap();
    transaction.tree("t").unwrap().remove(&[1]).unwrap();
    transaction.commit().unwrap();
    assert_compact(&store, &path);
    let snapshot = store.snapshot().unwrap();
    for key in [2, 3] {
        assert!(snapshot.tree("t").unwrap().unwrap().get(&[key]).unwrap().unwrap() == value(key), "value {key}");
    }
}

#[test]
fn readers_continue_and_space_is_freed_after_they_end() {
    let mut random = Seeded::new("readers read on");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let store = options().open(&path).unwrap();
    let mut entries = some_entries(&mut random, 30_000);
    put(&store, "t", &entries);
    let (snapshot, then) = (store.snapshot().unwrap(), entries.clone());
    thin_out(&store, "t", &mut entries, 10, &mut random);
    let done = store.compact().unwrap();
    assert!(done.held.iter().any(|held| held.by == Holder::Reader && held.bytes > 1 << 20), "{done:?}");
    assert_sound(&store, "compacted beside a reader");
    assert!(read_entries(&snapshot, "t") == then);
    assert_has(&store, "t", &entries);
    drop(snapshot);
    assert_compact(&store, &path);
    assert_has(&store, "t", &entries);
}

#[test]
fn named_snapshots_are_moved_and_keep_sharing_nodes() {
    let mut random = Seeded::new("snapshots kept by name are moved");
    for reopened in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store");
        let mut store = options().open(&path).unwrap();
        // Entries before the others that will be removed, so that all the others have to move.
        put(&store, "gone", &some_entries(&mut random, 60_000));
        let mut entries = some_entries(&mut random, 20_000);
        put(&store, "t", &entries);
        let mut versions = Vec::new();
        for name in ["one", "two", "three"] {
            versions.push((name, entries.clone()));
            let mut transaction = store.begin().unwrap();
            transaction.keep_snapshot(name).unwrap();
            if name == "two" {
                // A second name for the same commit.
                transaction.keep_snapshot("two again").unwrap();
                versions.push(("two again", entries.clone()));
            }
            transaction.commit().unwrap();
            thin_out(&store, "t", &mut entries, 2, &mut random);
            let more = some_entries(&mut random, 500);
            put(&store, "t", &more);
            entries.extend(more);
        }
        let mut transaction = store.begin().unwrap();
        transaction.drop_tree("gone").unwrap();
        transaction.drop_snapshot("one").unwrap();
        versions.remove(0);
        transaction.commit().unwrap();
        if reopened {
            drop(store);
            store = options().open(&path).unwrap();
        }
        let check = |store: &Store, versions: &[(&str, Entries)], entries: &Entries, what: &str| {
            assert_has(store, "t", entries);
            assert_sound(store, what);
            let snapshot = store.snapshot().unwrap();
            assert_eq!(snapshot.snapshot_names().unwrap().len(), versions.len());
            for (name, entries) in versions {
                assert!(read_entries(&snapshot.snapshot(name).unwrap().unwrap(), "t") == *entries, "{what}: {name}");
            }
        };
        check(&store, &versions, &entries, "before");
        let needed = store.check().unwrap().node_bytes;
        store.compact().unwrap();
        check(&store, &versions, &entries, "after");
        let after = store.check().unwrap().node_bytes;
        assert!(after <= needed + needed / 50, "{needed} bytes of nodes became {after}");
        assert!(length(&path) <= about(after), "{} bytes for {after}", length(&path));

        // Later changes tell moved nodes from nodes that are no longer needed.
        while let Some((name, _)) = versions.pop() {
            thin_out(&store, "t", &mut entries, 2, &mut random);
            let mut transaction = store.begin().unwrap();
            assert!(transaction.drop_snapshot(name).unwrap());
            transaction.commit().unwrap();
            check(&store, &versions, &entries, "a name was dropped");
            store.compact().unwrap();
            check(&store, &versions, &entries, "a name was dropped, and compacted");
        }
        assert_compact(&store, &path);
        drop(store);
        let store = options().open(&path).unwrap();
        check(&store, &versions, &entries, "opened again");
    }
}

/// Ends the other threads, even if a test fails.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn writers_continue_during_compaction() {
    let mut random = Seeded::new("others write meanwhile");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let store = Options::new().durability(Durability::Deferred).log_limit_bytes(1 << 20).open(&path).unwrap();
    let mut entries = some_entries(&mut random, 60_000);
    put(&store, "t", &entries);
    let mut transaction = store.begin().unwrap();
    transaction.keep_snapshot("whole").unwrap();
    transaction.commit().unwrap();
    let whole = entries.clone();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (store, is_over) = (&store, &is_over);
        let mut random = random.fork();
        let entries = &mut entries;
        let writer = scope.spawn(move || {
            let mut commits = 0_u32;
            while !is_over.load(Ordering::Relaxed) {
                thin_out(store, "t", entries, 2, &mut random);
                let more = some_entries(&mut random, 2000);
                put(store, "t", &more);
                entries.extend(more);
                assert_has(store, "t", entries);
                commits += 2;
            }
            commits
        });
        scope.spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                let snapshot = store.snapshot().unwrap();
                let first = read_entries(&snapshot, "t");
                std::thread::yield_now();
                assert!(read_entries(&snapshot, "t") == first);
            }
        });
        let end = End(is_over);
        for _ in 0..5 {
            store.compact().unwrap();
            assert_sound(store, "while others write");
        }
        drop(end);
        assert!(writer.join().unwrap() > 0);
    });
    assert_has(&store, "t", &entries);
    let mut transaction = store.begin().unwrap();
    let kept = read_entries(&store.snapshot().unwrap().snapshot("whole").unwrap().unwrap(), "t");
    assert!(kept == whole);
    transaction.drop_snapshot("whole").unwrap();
    transaction.commit().unwrap();
    assert_compact(&store, &path);
    assert_has(&store, "t", &entries);
}

#[test]
fn compaction_can_be_cancelled() {
    let mut random = Seeded::new("a compaction ends when it is told to");
    let store = options().open_in_memory().unwrap();
    let mut entries = some_entries(&mut random, 100_000);
    put(&store, "t", &entries);
    thin_out(&store, "t", &mut entries, 3, &mut random);
    let mut calls = 0;
    let done = store
        .compact_with(|progress| {
            assert!(progress.moved_bytes <= progress.expected_bytes);
            calls += 1;
            ControlFlow::Break(())
        })
        .unwrap();
    assert!(!done.is_complete && calls == 1);
    assert_sound(&store, "stopped");
    assert_has(&store, "t", &entries);
    let done = store.compact().unwrap();
    assert!(done.is_complete && done.after_bytes < done.before_bytes);
    assert_has(&store, "t", &entries);
}
