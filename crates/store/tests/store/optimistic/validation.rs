//! The cost of a commit is the one of what it has read and changed, and not the one of the store or of other commits.

use std::time::Instant;

use lath_store::{Durability, Error, Options, Store};

fn filled(keys: u32) -> Store {
    let store = Options::new().durability(Durability::Off).background_checkpoints(false).open_in_memory().unwrap();
    let mut transaction = store.begin().unwrap();
    let mut tree = transaction.tree("data").unwrap();
    for key in 0..keys {
        tree.put(&key.to_be_bytes(), b"value").unwrap();
    }
    transaction.commit().unwrap();
    // A second commit, so that the newest is not the first since the store was opened.
    store.transact(|transaction| transaction.tree("other")?.put(b"k", b"")).unwrap();
    store
}

#[test]
fn many_commits_elsewhere_are_no_conflict() {
    let store = filled(50_000);
    let mut transaction = store.begin_optimistic().unwrap();
    {
        let tree = transaction.read_tree("data").unwrap().unwrap();
        assert_eq!(tree.range(&10_000_u32.to_be_bytes()[..]..&10_100_u32.to_be_bytes()[..]).count(), 100);
    }
    transaction.tree("data").unwrap().put(b"result", b"100").unwrap();
    let mut others = store.begin().unwrap();
    let mut tree = others.tree("data").unwrap();
    for key in (0..10_000_u32).chain(10_100..50_000) {
        tree.put(&key.to_be_bytes(), b"new").unwrap();
    }
    others.commit().unwrap();
    transaction.commit().unwrap();
}

/// Each of very many points becomes part of a range in the end. A change of one of them is found, and memory is bounded.
#[test]
fn very_many_reads_are_joined() {
    const READS: u32 = 200_000;
    for changed in [0, 77_777, 2 * READS - 2] {
        let store = filled(10);
        let mut transaction = store.begin_optimistic().unwrap();
        {
            let tree = transaction.tree("data").unwrap().into_tree().unwrap();
            for key in 0..READS {
                let _ = tree.get(&(2 * key).to_be_bytes()).unwrap();
            }
        }
        transaction.tree("result").unwrap().put(b"k", b"").unwrap();
        store.transact(|other| other.tree("data")?.put(&(changed & !1).to_be_bytes(), b"new")).unwrap();
        assert!(matches!(transaction.commit(), Err(Error::Conflict { .. })), "{changed}");
    }
}

#[test]
#[ignore = "measures for some seconds; run it alone"]
fn time_of_a_validation() {
    println!("{:>9} {:>9} {:>9} {:>12}", "keys", "read", "changed", "commit");
    for (keys, read, changed) in [
        (10_000, 1, 1),
        (1_000_000, 1, 1),
        (1_000_000, 1, 100_000),
        (1_000_000, 10_000, 1),
        (1_000_000, 10_000, 100_000),
        (1_000_000, 900_000, 1),
    ] {
        let store = filled(keys);
        let mut transaction = store.begin_optimistic().unwrap();
        let tree = transaction.tree("data").unwrap().into_tree().unwrap();
        assert_eq!(tree.range(&[][..]..&read.min(keys).to_be_bytes()[..]).count(), read as usize);
        transaction.tree("result").unwrap().put(b"k", b"").unwrap();
        let mut other = store.begin().unwrap();
        let mut tree = other.tree("data").unwrap();
        for key in keys - changed..keys {
            tree.put(&key.to_be_bytes(), b"new").unwrap();
        }
        other.commit().unwrap();
        let started = Instant::now();
        transaction.commit().unwrap();
        println!("{keys:>9} {read:>9} {changed:>9} {:>12.1?}", started.elapsed());
    }
}
