//! Transactions that have trees for themselves.

use std::sync::mpsc;

use lath_store::{Error, Options, Store};

fn store() -> Store {
    Options::new().open_in_memory().unwrap()
}

#[test]
fn transactions_on_the_same_trees_follow_each_other() {
    let store = store();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let store = &store;
            scope.spawn(move || {
                // In different orders, some twice.
                let trees = if thread % 2 == 0 { ["a", "b", "a"] } else { ["b", "a", "b"] };
                for _ in 0..200 {
                    let mut transaction = store.begin_on(&trees).unwrap();
                    for name in ["a", "b"] {
                        let mut tree = transaction.tree(name).unwrap();
                        let count =
                            tree.get(b"count").unwrap().map_or(0, |bytes| bytes[0] as u32 * 256 + bytes[1] as u32) + 1;
                        tree.put(b"count", &(count as u16).to_be_bytes()).unwrap();
                    }
                    // No retries.
                    transaction.commit().unwrap();
                }
            });
        }
    });
    let snapshot = store.snapshot().unwrap();
    for name in ["a", "b"] {
        assert_eq!(snapshot.tree(name).unwrap().unwrap().get(b"count").unwrap(), Some(&800_u16.to_be_bytes()[..]));
    }
}

#[test]
fn transactions_on_other_trees_run_meanwhile() {
    let store = store();
    let mut first = store.begin_on(&["a", "b"]).unwrap();
    first.tree("a").unwrap().put(b"k", b"").unwrap();
    let mut second = store.begin_on(&["c"]).unwrap();
    second.tree("c").unwrap().put(b"k", b"").unwrap();
    let is_busy = |trees: &[&str], busy: &str| match store.try_begin_on(trees) {
        Err(Error::TreeBusy { tree }) => tree == busy,
        _ => false,
    };
    assert!(is_busy(&["b", "d"], "b"));
    assert!(is_busy(&["c"], "c"));
    second.commit().unwrap();
    let mut third = store.try_begin_on(&["c"]).unwrap();
    assert_eq!(third.tree("c").unwrap().get(b"k").unwrap(), Some(&b""[..]), "what was committed before");
    first.commit().unwrap();
    drop(third);
    drop(store.try_begin_on(&["a", "b", "c"]).unwrap());
}

#[test]
fn waiting_transaction_comes_before_later_ones() {
    let store = store();
    let first = store.begin_on(&["a"]).unwrap();
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let both = store.begin_on(&["a", "b"]).unwrap();
            sender.send("both").unwrap();
            drop(both);
        });
        // No transaction has `b`, but one waits for it.
        while store.try_begin_on(&["b"]).is_ok() {
            std::thread::yield_now();
        }
        assert!(receiver.try_recv().is_err());
        drop(first);
        drop(store.begin_on(&["b"]).unwrap());
        assert_eq!(receiver.recv().unwrap(), "both");
    });
}

#[test]
fn other_trees_are_refused() {
    let store = store();
    let mut transaction = store.begin_on(&["a", "b"]).unwrap();
    let error = transaction.tree("c").unwrap_err();
    assert_eq!(error.to_string(), "tree \"c\" is not one of those that the transaction began on (a, b)");
    assert!(transaction.read_tree("c").is_err());
    assert!(transaction.drop_tree("c").is_err());
    assert!(transaction.tree_names().is_err());
    assert!(transaction.read_tree("a").unwrap().is_none());
}

#[test]
fn other_kinds_of_transactions_are_found_at_the_commit() {
    let store = store();
    let mut transaction = store.begin_on(&["a"]).unwrap();
    assert_eq!(transaction.tree("a").unwrap().get(b"k").unwrap(), None);
    transaction.tree("a").unwrap().put(b"k", b"").unwrap();
    let mut ordinary = store.begin().unwrap();
    ordinary.tree("a").unwrap().put(b"k", b"other").unwrap();
    ordinary.commit().unwrap();
    assert!(matches!(transaction.commit(), Err(Error::Conflict { .. })));
    // The trees are free again.
    store.try_begin_on(&["a"]).unwrap().commit().unwrap();
}
