use std::sync::mpsc;
use std::time::Duration;

use super::*;
use crate::storage::MemoryStorage;
use crate::transaction::Transaction;

#[test]
fn clean_store_is_opened_by_its_free_map_although_reader_holds_older_commit() {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new(1 << 28).unwrap());
    let options = Options::new().background_checkpoints(false);
    let put = |store: &Store, keys: std::ops::Range<u32>, value: u8| {
        let mut transaction = store.begin().unwrap();
        let mut tree = transaction.tree("data").unwrap();
        keys.for_each(|key| tree.put(&key.to_be_bytes(), &[value; 200]).unwrap());
        transaction.commit().unwrap();
    };
    let store = options.open_storage(Arc::clone(&storage)).unwrap();
    put(&store, 0..100_000, 1);
    store.checkpoint().unwrap();
    let reader = options.clone().read_only(true).open_storage(Arc::clone(&storage)).unwrap();
    let snapshot = reader.snapshot().unwrap();
    put(&store, 500..510, 2);
    drop(store);

    let store = options.open_storage(storage).unwrap();
    let state = store.engine.lock_state().unwrap();
    // Most of the map was not read: no tree was visited as a whole.
    assert!(!state.writer.space.is_loaded());
    let held: usize = state.records.parked_nodes().map(|(_, nodes)| nodes.len()).sum();
    assert!((1..50).contains(&held), "{held}");
    store.engine.unlock_state(state);
    for round in 3..20 {
        put(&store, 0..20_000, round);
        assert!(store.check().unwrap().is_sound());
    }
    let tree = snapshot.tree("data").unwrap().unwrap();
    assert!(tree.iter().all(|entry| entry.unwrap().1 == [1; 200]) && tree.len().unwrap() == 100_000);
    drop((snapshot, reader));
    store.checkpoint().unwrap();
    put(&store, 0..1, 3);
    assert!(store.check().unwrap().is_sound());
    assert!(store.stats().unwrap().oldest_reader.is_none());
}

#[test]
fn snapshot_dropped_while_reader_sees_it_leaks_no_space_at_reopening() {
    for ends_before_reopening in [false, true] {
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new(1 << 26).unwrap());
        let options = Options::new().background_checkpoints(false);
        let change = |store: &Store, change: &dyn Fn(&mut Transaction)| {
            let mut transaction = store.begin().unwrap();
            change(&mut transaction);
            transaction.commit().unwrap();
        };
        let store = options.open_storage(Arc::clone(&storage)).unwrap();
        change(&store, &|transaction| {
            transaction.tree("data").unwrap().append((0..5000_u32).map(|key| (key.to_be_bytes(), [7; 40]))).unwrap();
        });
        change(&store, &|transaction| transaction.keep_snapshot("before").unwrap());
        change(&store, &|transaction| assert!(transaction.drop_tree("data").unwrap()));
        drop(store);
        let store = options.open_storage(Arc::clone(&storage)).unwrap();
        let reader = options.clone().read_only(true).open_storage(Arc::clone(&storage)).unwrap();
        let snapshot = reader.snapshot().unwrap();
        change(&store, &|transaction| assert!(transaction.drop_snapshot("before").unwrap()));
        drop(store);
        let mut held = Some((snapshot, reader)).filter(|_| !ends_before_reopening);
        let store = options.open_storage(storage).unwrap();
        for _ in 0..2 {
            let report = store.check().unwrap();
            assert!(report.is_sound(), "{report:?}");
            if let Some((snapshot, _)) = held.take() {
                let before = snapshot.snapshot("before").unwrap().unwrap();
                assert_eq!(before.tree("data").unwrap().unwrap().len().unwrap(), 5000);
            }
            change(&store, &|transaction| transaction.tree("more").unwrap().put(b"key", b"").unwrap());
            store.checkpoint().unwrap();
        }
        let stats = store.stats().unwrap();
        assert!(stats.file_bytes - stats.free_bytes < 1 << 16, "{stats:?}");
    }
}

#[test]
fn copies_of_killed_compaction_are_freed_although_named_snapshot_is_older() {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new(1 << 26).unwrap());
    let options = Options::new().background_checkpoints(false);
    let store = options.open_storage(Arc::clone(&storage)).unwrap();
    let change = |store: &Store, change: &dyn Fn(&mut Transaction)| {
        let mut transaction = store.begin().unwrap();
        change(&mut transaction);
        transaction.commit().unwrap();
    };
    let fill = |transaction: &mut Transaction, tree: &str| {
        let entries = (0..5000_u32).map(|key| (key.to_be_bytes(), [7; 40]));
        transaction.tree(tree).unwrap().append(entries).unwrap();
    };
    change(&store, &|transaction| fill(transaction, "before"));
    change(&store, &|transaction| fill(transaction, "data"));
    change(&store, &|transaction| assert!(transaction.drop_tree("before").unwrap()));
    change(&store, &|transaction| transaction.keep_snapshot("kept").unwrap());
    let reader = options.clone().read_only(true).open_storage(Arc::clone(&storage)).unwrap();
    // The process is killed before the checkpoint that has the copies.
    let killed = store.compact_with(|progress| {
        if progress.moved_bytes > 0 {
            store.engine.poison();
        }
        std::ops::ControlFlow::Continue(())
    });
    assert!(matches!(killed, Err(Error::Poisoned)), "{killed:?}");
    drop(store);

    let store = options.open_storage(Arc::clone(&storage)).unwrap();
    assert!(store.check().unwrap().is_sound());
    drop(reader);
    change(&store, &|transaction| transaction.tree("more").unwrap().put(b"key", b"").unwrap());
    drop(store);
    let store = options.open_storage(storage).unwrap();
    let report = store.check().unwrap();
    assert!(report.is_sound(), "{report:?}");
}

#[test]
fn record_that_reader_held_is_freed_although_its_commit_is_named() {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new(1 << 26).unwrap());
    let options = Options::new().background_checkpoints(false);
    let store = options.open_storage(Arc::clone(&storage)).unwrap();
    let mut transaction = store.begin().unwrap();
    transaction.tree("data").unwrap().upsert(b"key", b"value").unwrap();
    transaction.commit().unwrap();
    let reader = options.clone().read_only(true).open_storage(Arc::clone(&storage)).unwrap();
    let snapshot = reader.snapshot().unwrap();
    drop(store);
    let store = options.open_storage(Arc::clone(&storage)).unwrap();
    let mut transaction = store.begin().unwrap();
    transaction.keep_snapshot("read by another").unwrap();
    transaction.commit().unwrap();
    drop((snapshot, reader, store));
    let store = options.open_storage(storage).unwrap();
    let report = store.check().unwrap();
    assert!(report.is_sound(), "{report:?}");
}

#[test]
fn opening_fails_on_record_that_cannot_be_replayed() {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new(1 << 24).unwrap());
    let options = Options::new().background_checkpoints(false);
    let store = options.open_storage(Arc::clone(&storage)).unwrap();
    let mut transaction = store.begin().unwrap();
    transaction.tree("data").unwrap().upsert(b"a", b"1").unwrap();
    transaction.commit().unwrap();
    store.checkpoint().unwrap();
    // The checksum of the first record is right, but no operation has this number.
    store.engine.log.append(2, &[&[0xee; 20]]).unwrap();
    store.engine.poison();
    drop(store);
    let (sender, opened) = mpsc::channel();
    thread::spawn(move || sender.send(options.open_storage(storage).map(drop)));
    let Ok(Err(error)) = opened.recv_timeout(Duration::from_secs(20)) else { panic!("it opens, or never ends") };
    assert!(matches!(error, Error::Corrupt { .. }), "{error}");
}

fn put(store: &Store, keys: std::ops::Range<u32>, value: u8) {
    let mut transaction = store.begin().unwrap();
    let mut tree = transaction.tree("data").unwrap();
    keys.for_each(|key| tree.put(&key.to_be_bytes(), &[value; 200]).unwrap());
    transaction.commit().unwrap();
}

fn change(store: &Store, change: &dyn Fn(&mut Transaction)) {
    let mut transaction = store.begin().unwrap();
    change(&mut transaction);
    transaction.commit().unwrap();
}

#[test]
fn snapshot_dropped_after_reopening_leaves_nodes_to_reader_of_earlier_commit() {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new(1 << 26).unwrap());
    let options = Options::new().background_checkpoints(false);
    let store = options.open_storage(Arc::clone(&storage)).unwrap();
    put(&store, 500..501, 1);
    put(&store, 0..200, 1);
    let reader = options.clone().read_only(true).open_storage(Arc::clone(&storage)).unwrap();
    let snapshot = reader.snapshot().unwrap();
    // The snapshot shares most nodes with the commit that is read, and the newest commit some of them.
    put(&store, 500..501, 2);
    change(&store, &|transaction| transaction.keep_snapshot("later").unwrap());
    put(&store, 0..100, 2);
    drop(store);
    let store = options.open_storage(Arc::clone(&storage)).unwrap();
    put(&store, 100..150, 3);
    change(&store, &|transaction| assert!(transaction.drop_snapshot("later").unwrap()));
    drop(store);
    let store = options.open_storage(Arc::clone(&storage)).unwrap();
    for round in 4..9 {
        put(&store, 0..200, round);
        store.checkpoint().unwrap();
        let report = store.check().unwrap();
        assert!(report.is_sound(), "{report:?}");
    }
    let tree = snapshot.tree("data").unwrap().unwrap();
    assert!(tree.iter().all(|entry| entry.unwrap().1 == [1; 200]) && tree.len().unwrap() == 201);
    drop((snapshot, reader));
    drop(store);
    let store = options.open_storage(storage).unwrap();
    put(&store, 0..1, 9);
    store.checkpoint().unwrap();
    let report = store.check().unwrap();
    assert!(report.is_sound(), "{report:?}");
    assert!(store.stats().unwrap().held.is_empty());
}
