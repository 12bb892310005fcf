//! Pairs of transactions that conflict, and pairs that do not.

use lath_store::{Durability, Error, Isolation, OptimisticTransaction, Options, Result, Store};

/// A store whose tree `data` has the keys `a`, `c`, `e` and `g`.
pub(super) fn store() -> Store {
    let store = Options::new().durability(Durability::Off).open_in_memory().unwrap();
    let mut transaction = store.begin().unwrap();
    let mut tree = transaction.tree("data").unwrap();
    for key in [b"a", b"c", b"e", b"g"] {
        tree.put(key, b"old").unwrap();
    }
    transaction.commit().unwrap();
    store
}

/// Commits a transaction between the snapshot and the commit of another one, and returns how the other one ends.
pub(super) fn race_with(
    isolation: Isolation,
    run: impl FnOnce(&mut OptimisticTransaction) -> Result<()>,
    other: impl FnOnce(&mut OptimisticTransaction) -> Result<()>,
) -> Option<(String, Option<Vec<u8>>)> {
    let store = store();
    let mut transaction = store.begin_optimistic_with(isolation).unwrap();
    run(&mut transaction).unwrap();
    let mut between = store.begin_optimistic().unwrap();
    other(&mut between).unwrap();
    between.commit().unwrap();
    match transaction.commit() {
        Ok(()) => None,
        Err(Error::Conflict { tree, key }) => Some((tree, key)),
        Err(error) => panic!("{error}"),
    }
}

/// Like [`race_with`], for a serializable transaction that also writes elsewhere, so that it is not read-only.
pub(super) fn race(
    run: impl FnOnce(&mut OptimisticTransaction) -> Result<()>,
    other: impl FnOnce(&mut OptimisticTransaction) -> Result<()>,
) -> Option<(String, Option<Vec<u8>>)> {
    race_with(
        Isolation::Serializable,
        |transaction| {
            run(transaction)?;
            transaction.tree("result")?.put(b"done", b"")
        },
        other,
    )
}

pub(super) fn conflict(key: &[u8]) -> Option<(String, Option<Vec<u8>>)> {
    Some(("data".to_owned(), Some(key.to_vec())))
}

pub(super) fn put(key: &'static [u8]) -> impl Fn(&mut OptimisticTransaction) -> Result<()> + Copy {
    move |transaction| transaction.tree("data")?.put(key, b"new")
}

fn get(key: &'static [u8]) -> impl Fn(&mut OptimisticTransaction) -> Result<()> + Copy {
    move |transaction| transaction.tree("data")?.get(key).map(drop)
}

#[test]
fn key_that_was_read_must_not_change() {
    assert_eq!(race(get(b"c"), put(b"c")), conflict(b"c"));
    assert_eq!(race(get(b"c"), put(b"e")), None);
    assert_eq!(race(get(b"d"), put(b"d")), conflict(b"d"), "a missing key");
    assert_eq!(race(get(b"d"), put(b"d\0")), None);
    let remove = |transaction: &mut OptimisticTransaction| {
        transaction.tree("data")?.remove(b"c");
        Ok(())
    };
    assert_eq!(race(get(b"c"), remove), conflict(b"c"));
    assert_eq!(race(get(b"b"), remove), None);
}

#[test]
fn range_that_was_read_must_not_get_or_lose_keys() {
    fn scan(transaction: &mut OptimisticTransaction) -> Result<()> {
        assert_eq!(transaction.tree("data")?.as_tree()?.range(&b"b"[..]..&b"f"[..]).count(), 2);
        Ok(())
    }
    assert_eq!(race(scan, put(b"d")), conflict(b"d"), "a phantom");
    assert_eq!(race(scan, put(b"b")), conflict(b"b"));
    assert_eq!(race(scan, put(b"e\0\0")), conflict(b"e\0\0"));
    assert_eq!(race(scan, put(b"a\xFF")), None);
    assert_eq!(race(scan, put(b"f")), None, "the end of the range");
    assert_eq!(
        race(scan, |transaction| {
            transaction.tree("data")?.remove_range(b"e", None);
            Ok(())
        }),
        conflict(b"e")
    );
    assert_eq!(
        race(scan, |transaction| {
            transaction.tree("data")?.remove_prefix(b"g");
            Ok(())
        }),
        None
    );
    let count = |transaction: &mut OptimisticTransaction| {
        assert_eq!(transaction.tree("data")?.as_tree()?.count(&b"b"[..]..&b"f"[..])?, 2);
        Ok(())
    };
    assert_eq!(race(count, put(b"d")), conflict(b"d"));
    assert_eq!(race(count, put(b"f")), None);
}

#[test]
fn empty_range_that_was_read_must_stay_empty() {
    let scan = |transaction: &mut OptimisticTransaction| {
        assert!(transaction.tree("data")?.as_tree()?.prefix(b"x").next().is_none());
        Ok(())
    };
    assert_eq!(race(scan, put(b"xyz")), conflict(b"xyz"));
    assert_eq!(race(scan, put(b"y")), None);
    let read_missing = |transaction: &mut OptimisticTransaction| {
        assert!(transaction.tree("more")?.as_tree()?.is_empty()?);
        Ok(())
    };
    let fill = |transaction: &mut OptimisticTransaction| transaction.tree("more")?.put(b"k", b"");
    assert_eq!(race(read_missing, fill), Some(("more".to_owned(), Some(b"k".to_vec()))));
}

#[test]
fn iterator_reads_only_as_far_as_it_goes() {
    let first_two = |transaction: &mut OptimisticTransaction| {
        let tree = transaction.tree("data")?.into_tree()?;
        assert_eq!(tree.iter().take(2).count(), 2);
        Ok(())
    };
    assert_eq!(race(first_two, put(b"b")), conflict(b"b"));
    assert_eq!(race(first_two, put(b"")), conflict(b""));
    assert_eq!(race(first_two, put(b"c")), conflict(b"c"));
    assert_eq!(race(first_two, put(b"d")), None);
    let last = |transaction: &mut OptimisticTransaction| {
        assert_eq!(transaction.tree("data")?.as_tree()?.last()?.unwrap().0, b"g");
        Ok(())
    };
    assert_eq!(race(last, put(b"z")), conflict(b"z"));
    assert_eq!(race(last, put(b"f")), None);
    let leaked = |transaction: &mut OptimisticTransaction| {
        let mut cursor = transaction.tree("data")?.into_tree()?.cursor();
        assert!(cursor.lower_bound(b"b")?);
        // A cursor that is never dropped has read all the same.
        std::mem::forget(cursor);
        Ok(())
    };
    assert_eq!(race(leaked, put(b"c")), conflict(b"c"));
    assert_eq!(race(leaked, put(b"d")), None);
}

#[test]
fn cursor_at_an_end_has_read_nothing_more() {
    let idle = |transaction: &mut OptimisticTransaction| {
        let mut cursor = transaction.tree("data")?.into_tree()?.cursor();
        assert!(!cursor.prev()?);
        cursor.seek_to_end();
        assert!(!cursor.next()?);
        Ok(())
    };
    assert_eq!(race(idle, put(b"c")), None);
}

#[test]
fn own_changes_are_no_reads() {
    let own = |transaction: &mut OptimisticTransaction| {
        let mut tree = transaction.tree("data")?;
        tree.put(b"c", b"own")?;
        tree.remove_range(b"d", Some(b"f"));
        assert_eq!(tree.get(b"c")?, Some(&b"own"[..]));
        assert_eq!(tree.get(b"e")?, None);
        Ok(())
    };
    assert_eq!(race(own, put(b"c")), None);
    assert_eq!(race(own, put(b"e")), None);
}

#[test]
fn blind_writes_never_conflict() {
    let write = |transaction: &mut OptimisticTransaction| {
        let mut tree = transaction.tree("data")?;
        tree.put(b"c", b"mine")?;
        tree.remove(b"e");
        tree.remove_prefix(b"g");
        transaction.drop_tree("other")
    };
    assert_eq!(race_with(Isolation::Serializable, write, put(b"c")), None);
    assert_eq!(race_with(Isolation::Serializable, write, put(b"gg")), None);
    assert_eq!(race_with(Isolation::Serializable, write, |other| other.drop_tree("data")), None);
    let drop_all = |transaction: &mut OptimisticTransaction| transaction.drop_tree("data");
    assert_eq!(race_with(Isolation::Serializable, drop_all, put(b"c")), None);
}

#[test]
fn removed_range_removes_what_is_there_at_the_commit() {
    let store = store();
    let mut transaction = store.begin_optimistic().unwrap();
    transaction.tree("data").unwrap().remove_range(b"b", Some(b"f"));
    let mut other = store.begin().unwrap();
    other.tree("data").unwrap().put(b"d", b"in between").unwrap();
    other.commit().unwrap();
    transaction.commit().unwrap();
    let snapshot = store.snapshot().unwrap();
    let keys: Vec<Vec<u8>> = snapshot.tree("data").unwrap().unwrap().iter().map(|entry| entry.unwrap().0).collect();
    assert_eq!(keys, [b"a", b"g"]);
}

#[test]
fn same_value_is_no_conflict() {
    assert_eq!(race(get(b"c"), |other| other.tree("data")?.put(b"c", b"old")), None);
    let store = store();
    let mut transaction = store.begin_optimistic().unwrap();
    assert_eq!(transaction.tree("data").unwrap().get(b"c").unwrap(), Some(&b"old"[..]));
    transaction.tree("data").unwrap().put(b"x", b"").unwrap();
    for value in [&b"new"[..], b"old"] {
        store.transact(|other| other.tree("data")?.put(b"c", value)).unwrap();
    }
    transaction.commit().unwrap();
}

#[test]
fn long_values_are_compared_too() {
    for value in [[1; 100_000], [2; 100_000]] {
        let store = store();
        store.transact(|other| other.tree("data")?.put(b"c", &[1; 100_000])).unwrap();
        let mut transaction = store.begin_optimistic().unwrap();
        assert_eq!(transaction.tree("data").unwrap().get(b"c").unwrap().map(<[u8]>::len), Some(100_000));
        transaction.tree("data").unwrap().put(b"x", b"").unwrap();
        store.transact(|other| other.tree("data")?.put(b"c", &value)).unwrap();
        assert_eq!(transaction.commit().is_ok(), value[0] == 1);
    }
}

#[test]
fn existence_of_trees_is_read_when_it_is_asked_for() {
    let asks =
        |name: &'static str| move |transaction: &mut OptimisticTransaction| transaction.existing_tree(name).map(drop);
    let create = |name: &'static str| move |other: &mut OptimisticTransaction| other.tree(name).map(drop);
    let missing = |name: &str| Some((name.to_owned(), None));
    assert_eq!(race(asks("new"), create("new")), missing("new"));
    assert_eq!(race(asks("new"), create("newer")), None);
    assert_eq!(race(asks("data"), |other| other.drop_tree("data")), missing("data"));
    assert_eq!(race(asks("data"), put(b"c")), None);
    assert_eq!(race(|transaction| transaction.tree("data").map(drop), |other| other.drop_tree("data")), None);
    let names = |transaction: &mut OptimisticTransaction| {
        assert_eq!(transaction.tree_names()?, ["data"]);
        Ok(())
    };
    assert_eq!(race(names, create("new")), missing("new"));
    assert_eq!(race(names, |other| other.drop_tree("data")), missing("data"));
    assert_eq!(race(names, put(b"c")), None);
    // Dropped, and made again with the same contents.
    let remake = |other: &mut OptimisticTransaction| {
        other.drop_tree("data")?;
        let mut tree = other.tree("data")?;
        [b"a", b"c", b"e", b"g"].iter().try_for_each(|key| tree.put(*key, b"old"))
    };
    let read_all = |transaction: &mut OptimisticTransaction| {
        assert_eq!(transaction.read_tree("data")?.unwrap().len()?, 4);
        Ok(())
    };
    assert_eq!(race(read_all, remake), None);
}
