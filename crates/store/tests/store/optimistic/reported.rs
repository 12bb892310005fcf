//! Faults that users of other stores have reported: RocksDB, Badger, FoundationDB, SurrealKV, SlateDB, ScalarDB, fjall and UnisonDB.

use std::sync::atomic::{AtomicUsize, Ordering};

use lath_store::{Durability, Error, Isolation, OptimisticTransaction, Options, Result, Store};

fn store() -> Store {
    Options::new().durability(Durability::Off).background_checkpoints(false).open_in_memory().unwrap()
}

fn filled(keys: &[&[u8]]) -> Store {
    let store = store();
    store.transact(|transaction| keys.iter().try_for_each(|key| transaction.tree("data")?.put(key, b"1"))).unwrap();
    store
}

fn keys(transaction: &mut OptimisticTransaction) -> Vec<Vec<u8>> {
    transaction.tree("data").unwrap().as_tree().unwrap().iter().map(|entry| entry.unwrap().0).collect()
}

/// Badger 409 and 2057, SurrealKV 28: each counts one class of keys, and adds a key to the other class.
#[test]
fn intersecting_scans_and_inserts_conflict() {
    let store = filled(&[b"a1", b"a2", b"b1", b"b2"]);
    let run = |from: &[u8], to: &[u8]| {
        let mut transaction = store.begin_optimistic().unwrap();
        let mut tree = transaction.tree("data").unwrap();
        let count = tree.as_tree().unwrap().prefix(from).count();
        tree.put(to, &[count as u8]).unwrap();
        transaction
    };
    let (first, second) = (run(b"a", b"b3"), run(b"b", b"a3"));
    first.commit().unwrap();
    assert!(matches!(second.commit(), Err(Error::Conflict { key: Some(key), .. }) if key == b"b3"));
}

/// Badger 1289: a cursor that finds no key is a read, as a `get` is.
#[test]
fn keys_that_a_cursor_does_not_find_are_inserted_once() {
    let (store, inserted) = (store(), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for thread in 0..4_u8 {
            let (store, inserted) = (&store, &inserted);
            scope.spawn(move || {
                for key in 0..50_u8 {
                    let is_new = store.transact(|transaction| {
                        let mut tree = transaction.tree("data")?;
                        let mut cursor = tree.as_tree()?.cursor();
                        let is_new = !cursor.lower_bound(&[key])? || cursor.key() != Some(&[key]);
                        drop(cursor);
                        if is_new {
                            tree.put(&[key], &[thread])?;
                        }
                        Ok::<_, Error>(is_new)
                    });
                    inserted.fetch_add(usize::from(is_new.unwrap()), Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(inserted.into_inner(), 50);
}

/// SlateDB 1711: scans that find nothing, and removed keys in a scanned range that come back.
#[test]
fn scans_without_rows_are_reads() {
    let store = filled(&[b"m"]);
    let remove = |transaction: &mut OptimisticTransaction| {
        transaction.tree("data")?.remove(b"m");
        Ok::<_, Error>(())
    };
    store.transact(remove).unwrap();
    let run = |scanned: &[u8], written: &[u8]| {
        let mut transaction = store.begin_optimistic().unwrap();
        let mut tree = transaction.tree("data").unwrap();
        assert_eq!(tree.as_tree().unwrap().prefix(scanned).count(), 0);
        tree.put(written, b"2").unwrap();
        transaction
    };
    let (first, second) = (run(b"m", b"z"), run(b"z", b"m"));
    first.commit().unwrap();
    assert!(second.commit().is_err());
}

/// RocksDB 5260 and 8239, ScalarDB 150: what a transaction puts into a range that it has removed or scanned.
#[test]
fn puts_after_a_removed_range_are_seen_alone() {
    let store = filled(&[b"a", b"a2", b"a9", b"c"]);
    let mut transaction = store.begin_optimistic().unwrap();
    let mut tree = transaction.tree("data").unwrap();
    tree.remove_range(b"z", Some(b"y"));
    tree.remove_range(b"a", Some(b"a"));
    tree.remove_range(b"a", Some(b"b"));
    for key in [b"a1", b"a2", b"a3"] {
        tree.put(key, b"2").unwrap();
    }
    assert_eq!(keys(&mut transaction), [&b"a1"[..], b"a2", b"a3", b"c"]);
    let back: Vec<_> =
        transaction.tree("data").unwrap().as_tree().unwrap().iter().rev().map(|entry| entry.unwrap().0).collect();
    assert_eq!(back, [&b"c"[..], b"a3", b"a2", b"a1"]);
    // Removed once more, in part.
    transaction.tree("data").unwrap().remove_range(b"a2", None);
    transaction.tree("data").unwrap().put(b"x", b"").unwrap();
    assert_eq!(keys(&mut transaction), [&b"a1"[..], b"x"]);
    transaction.commit().unwrap();
    assert_eq!(keys(&mut store.begin_optimistic().unwrap()), [&b"a1"[..], b"x"]);
}

/// SurrealKV 178: a transaction that removes what it has read depends on it all the same.
#[test]
fn removing_what_was_read_is_no_exception() {
    let store = filled(&[b"k"]);
    let mut transaction = store.begin_optimistic().unwrap();
    assert_eq!(keys(&mut transaction), [b"k"]);
    transaction.tree("data").unwrap().remove(b"k");
    store.transact(|other| other.tree("data")?.put(b"k", b"2")).unwrap();
    assert!(matches!(transaction.commit(), Err(Error::Conflict { .. })));
}

/// TidesSQL 105 asks for no conflict if two transactions write the same value. Then two increments would count once.
#[test]
fn increments_to_the_same_value_conflict() {
    for isolation in [Isolation::Serializable, Isolation::Snapshot] {
        let store = filled(&[b"k"]);
        let run = || -> Result<OptimisticTransaction> {
            let mut transaction = store.begin_optimistic_with(isolation)?;
            let mut tree = transaction.tree("data")?;
            let next = tree.get(b"k")?.unwrap()[0] + 1;
            tree.put(b"k", &[next])?;
            Ok(transaction)
        };
        let (first, second) = (run().unwrap(), run().unwrap());
        first.commit().unwrap();
        assert!(second.commit().is_err(), "{isolation:?}");
    }
}

/// RocksDB: "could not check for conflicts", after the memory with earlier changes was written out. UnisonDB 183: changes by other kinds of
/// transactions.
#[test]
fn old_transactions_are_checked_after_any_number_of_commits() {
    for changes in [false, true] {
        let store = filled(&[b"k"]);
        let mut transaction = store.begin_optimistic().unwrap();
        assert!(transaction.tree("data").unwrap().get(b"k").unwrap().is_some());
        transaction.tree("result").unwrap().put(b"x", b"").unwrap();
        for number in 0..2_000_u32 {
            let mut other = store.begin().unwrap();
            let mut tree = other.tree("data").unwrap();
            tree.put(&number.to_be_bytes(), &[7; 100]).unwrap();
            if changes && number == 1_000 {
                tree.put(b"k", b"2").unwrap();
            }
            other.commit().unwrap();
            if number % 500 == 0 {
                store.checkpoint().unwrap();
                store.compact().unwrap();
            }
        }
        assert_eq!(transaction.commit().is_err(), changes);
    }
}

/// Badger 1962: transactions on different keys never conflict, as hashes of keys may do.
#[test]
fn different_keys_never_conflict() {
    let store = filled(&[]);
    let mut open: Vec<_> = (0..500_u32).map(|_| store.begin_optimistic().unwrap()).collect();
    for (number, transaction) in (0_u32..).zip(&mut open) {
        let key = number.wrapping_mul(0x9e37_79b9).to_be_bytes();
        assert!(transaction.tree("data").unwrap().insert(&key, b"").unwrap());
    }
    open.into_iter().for_each(|transaction| transaction.commit().unwrap());
    assert_eq!(keys(&mut store.begin_optimistic().unwrap()).len(), 500);
}

/// RocksDB 1969: savepoints in a loop, released one by one, or rolled back.
#[test]
fn savepoints_in_a_loop_leave_nothing() {
    let store = filled(&[]);
    let mut transaction = store.begin_optimistic().unwrap();
    for number in 0..10_000_u32 {
        let savepoint = transaction.savepoint();
        let mut tree = transaction.tree("data").unwrap();
        tree.put(&number.to_be_bytes(), &[1; 50]).unwrap();
        if number % 3 == 0 {
            tree.remove_range(b"", Some(&(number + 1).to_be_bytes()));
            transaction.rollback(&savepoint).unwrap();
        }
        transaction.release(&savepoint).unwrap();
    }
    let expected: Vec<_> =
        (0..10_000_u32).filter(|number| number % 3 > 0).map(|number| number.to_be_bytes().to_vec()).collect();
    assert_eq!(keys(&mut transaction), expected);
    transaction.commit().unwrap();
    assert_eq!(keys(&mut store.begin_optimistic().unwrap()), expected);
}

/// fjall 299, FoundationDB's snapshot reads: reads that do not count.
#[test]
fn reads_of_the_snapshot_do_not_count() {
    let store = filled(&[b"k", b"hot"]);
    let mut transaction = store.begin_optimistic().unwrap();
    transaction.tree("data").unwrap().put(b"k", b"2").unwrap();
    let seen = transaction.snapshot().tree("data").unwrap().unwrap().get(b"hot").unwrap().map(<[u8]>::to_vec);
    assert_eq!(seen.as_deref(), Some(&b"1"[..]));
    // Without the transaction's own changes.
    assert_eq!(transaction.snapshot().tree("data").unwrap().unwrap().get(b"k").unwrap(), Some(&b"1"[..]));
    store.transact(|other| other.tree("data")?.put(b"hot", b"2")).unwrap();
    transaction.commit().unwrap();
}

/// MyRocks 107: a transaction that removes the first key again and again passes all that it has removed.
#[test]
fn first_key_is_removed_again_and_again() {
    let store = store();
    store
        .transact(|setup| (0..3_000_u32).try_for_each(|key| setup.tree("data")?.put(&key.to_be_bytes(), b"")))
        .unwrap();
    let mut transaction = store.begin_optimistic().unwrap();
    let mut count = 0;
    loop {
        let mut tree = transaction.tree("data").unwrap();
        let Some((key, _)) = tree.as_tree().unwrap().first().unwrap() else { break };
        tree.remove(&key);
        count += 1;
    }
    assert_eq!(count, 3_000);
    transaction.commit().unwrap();
    assert_eq!(keys(&mut store.begin_optimistic().unwrap()).len(), 0);
}
