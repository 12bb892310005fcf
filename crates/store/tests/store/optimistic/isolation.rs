//! The levels of isolation, and the errors of optimistic transactions.

use lath_store::{Error, Isolation, OptimisticTransaction, Options, Result, Store};

use super::conflicts::{conflict, put, race, race_with, store};

#[test]
fn read_only_transactions_always_commit() {
    let read = |transaction: &mut OptimisticTransaction| transaction.tree("data")?.as_tree()?.len().map(drop);
    assert_eq!(race_with(Isolation::Serializable, read, put(b"d")), None);
    // Undone changes are none.
    let undone = |transaction: &mut OptimisticTransaction| {
        let savepoint = transaction.savepoint();
        read(transaction)?;
        transaction.tree("data")?.put(b"x", b"")?;
        transaction.rollback(&savepoint)
    };
    assert_eq!(race_with(Isolation::Serializable, undone, put(b"d")), None);
}

#[test]
fn reads_stay_reads_after_a_rollback() {
    let rolled_back = |transaction: &mut OptimisticTransaction| {
        let savepoint = transaction.savepoint();
        transaction.tree("data")?.get(b"c").map(drop)?;
        transaction.rollback(&savepoint)
    };
    assert_eq!(race(rolled_back, put(b"c")), conflict(b"c"));
}

#[test]
fn write_skew_is_a_conflict_unless_of_snapshots() {
    for (isolation, is_conflict) in [(Isolation::Serializable, true), (Isolation::Snapshot, false)] {
        let skewed = race_with(
            isolation,
            |transaction| {
                transaction.tree("data")?.get(b"c").map(drop)?;
                transaction.tree("data")?.put(b"e", b"mine")
            },
            |other| {
                other.tree("data")?.get(b"e").map(drop)?;
                other.tree("data")?.put(b"c", b"theirs")
            },
        );
        assert_eq!(skewed.is_some(), is_conflict, "{isolation:?}");
    }
}

#[test]
fn lost_update_is_a_conflict_at_each_level() {
    for isolation in [Isolation::Serializable, Isolation::Snapshot] {
        let update = |transaction: &mut OptimisticTransaction| {
            let mut tree = transaction.tree("data")?;
            let value = [tree.get(b"c")?.unwrap(), b"!"].concat();
            tree.put(b"c", &value)
        };
        assert_eq!(race_with(isolation, update, put(b"c")), conflict(b"c"), "{isolation:?}");
    }
}

#[test]
fn snapshot_isolation_checks_what_was_changed() {
    let race = |run: fn(&mut OptimisticTransaction) -> Result<()>, key| race_with(Isolation::Snapshot, run, put(key));
    let remove: fn(&mut OptimisticTransaction) -> Result<()> = |transaction| {
        transaction.tree("data")?.remove_range(b"b", Some(b"d"));
        Ok(())
    };
    assert_eq!(race(remove, b"bb"), conflict(b"bb"));
    assert_eq!(race(remove, b"d"), None);
    let drop_tree: fn(&mut OptimisticTransaction) -> Result<()> = |transaction| transaction.drop_tree("data");
    assert_eq!(race(drop_tree, b"x"), conflict(b"x"));
    let write: fn(&mut OptimisticTransaction) -> Result<()> = |transaction| transaction.tree("data")?.put(b"x", b"");
    assert_eq!(race(write, b"y"), None);
    assert_eq!(race(write, b"x"), conflict(b"x"));
    let dropped = race_with(Isolation::Snapshot, write, |other| other.drop_tree("data"));
    assert_eq!(dropped, Some(("data".to_owned(), None)));
}

#[test]
fn conflict_leaves_nothing_behind_and_says_what_to_do() {
    let store = store();
    let mut transaction = store.begin_optimistic().unwrap();
    transaction.tree("data").unwrap().get(b"c").unwrap();
    transaction.tree("data").unwrap().put(b"x\n", b"").unwrap();
    store.transact(put(b"c")).unwrap();
    let before = store.snapshot().unwrap().sequence();
    let error = transaction.commit().unwrap_err();
    let message = "key \"c\" of tree \"data\" was changed by another transaction since this one began: run it again";
    assert_eq!(error.to_string(), message);
    assert_eq!(store.snapshot().unwrap().sequence(), before);
    assert!(store.check().unwrap().is_sound());
}

#[test]
fn transactions_without_a_store_to_write_to_fail_as_others_do() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    drop(Store::open(&path).unwrap());
    let store = Options::new().read_only(true).open(&path).unwrap();
    assert!(matches!(store.begin_optimistic(), Err(Error::ReadOnly)));
    assert!(matches!(store.begin_on(&["a"]), Err(Error::ReadOnly)));
    assert!(matches!(store.transact(|_| Ok::<_, Error>(())), Err(Error::ReadOnly)));
}

#[test]
fn limits_are_errors_when_a_change_is_made() {
    let store = store();
    let mut transaction = store.begin_optimistic().unwrap();
    let long = vec![0; 40_000];
    assert!(matches!(transaction.tree("data").unwrap().put(&long, b""), Err(Error::Limit { .. })));
    assert!(matches!(transaction.tree(&"x".repeat(2000)), Err(Error::Limit { .. })));
    // A key that cannot exist is not there.
    assert_eq!(transaction.tree("data").unwrap().get(&long).unwrap(), None);
    transaction.tree("data").unwrap().remove(&long);
    transaction.commit().unwrap();
}

#[test]
fn savepoints_of_other_transactions_are_refused() {
    let store = store();
    let (mut first, mut second) = (store.begin_optimistic().unwrap(), store.begin_optimistic().unwrap());
    let (old, other) = (first.savepoint(), second.savepoint());
    let newer = first.savepoint();
    assert!(first.rollback(&other).is_err());
    first.release(&old).unwrap();
    assert!(first.rollback(&newer).is_err());
    assert!(first.rollback(&old).is_err());
    // One that has the same place.
    first.savepoint();
    assert!(first.rollback(&old).is_err());
    let mut ordinary = store.begin().unwrap();
    assert!(ordinary.rollback(&other).is_err());
}
