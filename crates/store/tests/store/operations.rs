//! The ordinary operations of a store.
use lath_store::{Durability, Error, Options, Store};

fn number(value: u64) -> [u8; 8] {
    value.to_be_bytes()
}

#[test]
fn commits_survive_reopening() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    for round in 0..15u64 {
        let durability = [Durability::Sync, Durability::Deferred, Durability::Off][round as usize % 3];
        let store = Options::new().durability(durability).open(&path).unwrap();
        let mut transaction = store.begin().unwrap();
        let mut tree = transaction.tree("a").unwrap();
        for i in 0..1000 {
            tree.upsert(&number(i * 17 + round), &vec![round as u8; (i % 400) as usize]).unwrap();
        }
        transaction.commit().unwrap();
        let snapshot = store.snapshot().unwrap();
        let tree = snapshot.tree("a").unwrap().unwrap();
        for i in 0..1000 {
            let value = tree.get(&number(i * 17 + round)).unwrap().unwrap();
            assert_eq!(value, vec![round as u8; (i % 400) as usize]);
        }
        assert_eq!(tree.iter().count() as u64, 1000 + 1000 * round);
        assert_eq!(tree.iter().rev().count() as u64, tree.len().unwrap());
    }
}

#[test]
fn named_snapshot_survives_later_changes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let store = Store::open(&path).unwrap();
    let mut transaction = store.begin().unwrap();
    let mut tree = transaction.tree("a").unwrap();
    assert_eq!(tree.append((0..5000).map(|i| (number(i), number(i)))).unwrap(), 5000);
    transaction.commit().unwrap();
    let mut transaction = store.begin().unwrap();
    transaction.keep_snapshot("before").unwrap();
    assert!(matches!(transaction.keep_snapshot("before"), Err(Error::Exists(_))));
    assert_eq!(transaction.tree("a").unwrap().remove_range(b"", None).unwrap(), 5000);
    transaction.commit().unwrap();
    for round in 0..3 {
        drop(store.clone());
        let mut transaction = store.begin().unwrap();
        transaction.tree("b").unwrap().append((0..5000).map(|i| (number(round * 5000 + i), b"b"))).unwrap();
        transaction.commit().unwrap();
    }
    drop(store);
    let store = Store::open(&path).unwrap();
    let snapshot = store.snapshot().unwrap();
    assert_eq!(snapshot.tree_names().unwrap(), ["a", "b"]);
    assert_eq!(snapshot.tree("a").unwrap().unwrap().len().unwrap(), 0);
    let before = snapshot.snapshot("before").unwrap().unwrap();
    let tree = before.tree("a").unwrap().unwrap();
    assert!(tree.iter().map(|entry| entry.unwrap().0).eq((0..5000).map(|i| number(i).to_vec())));
    let mut transaction = store.begin().unwrap();
    assert!(transaction.drop_snapshot("before").unwrap());
    transaction.commit().unwrap();
    assert!(tree.iter().map(|entry| entry.unwrap().0).eq((0..5000).map(|i| number(i).to_vec())));
}

#[test]
fn rollback_undoes_changes_after_savepoint() {
    let store = Options::new().open_in_memory().unwrap();
    let mut transaction = store.begin().unwrap();
    transaction.tree("a").unwrap().append((0..1000).map(|i| (number(i), b"1"))).unwrap();
    let savepoint = transaction.savepoint().unwrap();
    for _ in 0..3 {
        transaction.tree("a").unwrap().append((2000..3000).map(|i| (number(i), b"2"))).unwrap();
        assert!(transaction.drop_tree("a").unwrap());
        transaction.tree("b").unwrap().upsert(b"x", b"y").unwrap();
        transaction.rollback(&savepoint).unwrap();
    }
    assert_eq!(transaction.tree_names().unwrap(), ["a"]);
    assert_eq!(transaction.tree("a").unwrap().len().unwrap(), 1000);
    transaction.commit().unwrap();
    let snapshot = store.snapshot().unwrap();
    assert_eq!(snapshot.tree_names().unwrap(), ["a"]);
    assert_eq!(snapshot.tree("a").unwrap().unwrap().iter().count(), 1000);
}

#[test]
fn dropped_transaction_leaves_no_changes() {
    let store = Options::new().open_in_memory().unwrap();
    let mut transaction = store.begin().unwrap();
    transaction.tree("a").unwrap().upsert(b"kept", b"1").unwrap();
    transaction.commit().unwrap();
    let mut transaction = store.begin().unwrap();
    transaction.tree("a").unwrap().upsert(b"lost", b"2").unwrap();
    assert!(matches!(store.try_begin(), Err(Error::Busy)));
    drop(transaction);
    let snapshot = store.snapshot().unwrap();
    let tree = snapshot.tree("a").unwrap().unwrap();
    assert_eq!((tree.get(b"kept").unwrap(), tree.get(b"lost").unwrap()), (Some(&b"1"[..]), None));
    assert!(store.try_begin().is_ok());
}

#[test]
fn commit_without_changes_writes_nothing() {
    let store = Options::new().open_in_memory().unwrap();
    let before = store.stats().unwrap();
    let mut transaction = store.begin().unwrap();
    transaction.tree("data").unwrap().upsert(b"a", b"1").unwrap();
    // Nodes created before a savepoint are copied after it.
    transaction.savepoint().unwrap();
    transaction.tree("data").unwrap().upsert(b"b", b"2").unwrap();
    assert!(transaction.drop_tree("data").unwrap());
    transaction.commit().unwrap();
    let after = store.stats().unwrap();
    assert_eq!((after.sequence, after.free_bytes), (before.sequence, before.free_bytes));
    store.begin().unwrap().abort();
    let report = store.check().unwrap();
    assert!(report.is_sound(), "{:?}", report.problems);
}

#[test]
fn ranges_and_ranks_agree() {
    let store = Options::new().open_in_memory().unwrap();
    let mut transaction = store.begin().unwrap();
    let mut tree = transaction.tree("a").unwrap();
    tree.append((0..10_000).map(|i| (format!("{i:05}"), "v"))).unwrap();
    let tree = tree.as_tree().unwrap();
    assert_eq!(tree.count("00100".."00200").unwrap(), 100);
    assert_eq!(tree.count("00100"..="00200").unwrap(), 101);
    assert_eq!(tree.range("00100".."00200").count(), 100);
    assert_eq!(tree.prefix(b"01").count(), 1000);
    assert_eq!(tree.nth(1234).unwrap().unwrap().0, b"01234");
    assert_eq!(tree.upper_bound(b"01234").unwrap().unwrap().0, b"01235");
    let mut both = tree.range("00010".."00013");
    let key = |entry: Option<Result<lath_store::Entry<'_>, Error>>| entry.map(|entry| entry.unwrap().0);
    assert_eq!(key(both.next()).unwrap(), b"00010");
    assert_eq!(key(both.next_back()).unwrap(), b"00012");
    assert_eq!(key(both.next()).unwrap(), b"00011");
    assert_eq!((key(both.next()), key(both.next_back())), (None, None));
}

#[test]
fn deferred_puts_reach_their_tree() {
    let store = Options::new().open_in_memory().unwrap();
    let mut transaction = store.begin().unwrap();
    for name in ["a", "b"] {
        transaction.tree(name).unwrap();
    }
    transaction.commit().unwrap();
    let mut transaction = store.begin().unwrap();
    for i in 0..100 {
        transaction.existing_tree("a").unwrap().unwrap().put(&number(i), b"a").unwrap();
        let mut b = transaction.existing_tree("b").unwrap().unwrap();
        assert_eq!(b.is_empty(), i == 0);
        b.put(&number(i * 2), b"b").unwrap();
    }
    transaction.commit().unwrap();
    let snapshot = store.snapshot().unwrap();
    for (name, step) in [("a", 1), ("b", 2)] {
        let tree = snapshot.tree(name).unwrap().unwrap();
        assert_eq!(tree.len().unwrap(), 100);
        for entry in tree.iter() {
            let (key, value) = entry.unwrap();
            assert_eq!(value, name.as_bytes());
            assert_eq!(u64::from_be_bytes(key.try_into().unwrap()) % step, 0);
        }
    }
}

#[test]
fn full_store_undoes_transaction_and_accepts_others() {
    let store = Options::new().capacity_bytes(4 << 20).open_in_memory().unwrap();
    let mut transaction = store.begin().unwrap();
    transaction.tree("a").unwrap().append((0..1000).map(|i| (number(i), number(i)))).unwrap();
    assert!(matches!(transaction.tree("a").unwrap().upsert(&[0; 40_000], b""), Err(Error::Limit { .. })));
    transaction.commit().unwrap();
    for _ in 0..3 {
        let mut transaction = store.begin().unwrap();
        let mut tree = transaction.tree("a").unwrap();
        let full = (0..10_000).find_map(|i| tree.upsert(&number(5000 + i), &[1; 1000]).err());
        assert!(matches!(full, Some(Error::Limit { what: "the size of the store", .. })), "{full:?}");
        assert!(tree.upsert(b"more", b"").is_err(), "a transaction that failed halfway can only be undone");
        assert!(transaction.commit().is_err());
        let snapshot = store.snapshot().unwrap();
        assert!(snapshot.tree("a").unwrap().unwrap().iter().map(|entry| entry.unwrap().0).eq((0..1000).map(number)));
        let report = store.check().unwrap();
        assert!(report.is_sound(), "{report:?}");
    }
    let mut transaction = store.begin().unwrap();
    transaction.tree("a").unwrap().upsert(b"more", b"").unwrap();
    transaction.commit().unwrap();
}
