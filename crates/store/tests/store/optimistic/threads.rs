//! Threads that commit optimistic transactions at the same time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use lath_store::{Durability, Error, Isolation, Options, SimulatedStorage, Store};

use crate::history::assert_sound;

fn number(value: Option<&[u8]>) -> u64 {
    value.map_or(0, |bytes| u64::from_be_bytes(bytes.try_into().unwrap()))
}

fn store() -> Store {
    Options::new().durability(Durability::Deferred).log_limit_bytes(1 << 16).open_in_memory().unwrap()
}

#[test]
fn no_update_is_lost() {
    const THREADS: u64 = 4;
    const EACH: u64 = 300;
    let (store, attempts) = (store(), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (store, attempts) = (store.clone(), &attempts);
            scope.spawn(move || {
                for at in 0..EACH {
                    let add = |transaction: &mut lath_store::OptimisticTransaction| {
                        attempts.fetch_add(1, Ordering::Relaxed);
                        for key in [&b"all"[..], &[thread as u8], &[100 + (at % 3) as u8]] {
                            let mut tree = transaction.tree("counts")?;
                            let next = number(tree.get(key)?) + 1;
                            tree.put(key, &next.to_be_bytes())?;
                        }
                        Ok::<_, Error>(())
                    };
                    store.transact(add).unwrap();
                }
            });
        }
    });
    let snapshot = store.snapshot().unwrap();
    let counts = snapshot.tree("counts").unwrap().unwrap();
    assert_eq!(number(counts.get(b"all").unwrap()), THREADS * EACH);
    (0..THREADS).for_each(|thread| assert_eq!(number(counts.get(&[thread as u8]).unwrap()), EACH));
    assert!(attempts.into_inner() <= THREADS * EACH * (1 + Store::TRANSACT_ATTEMPTS as u64));
    assert_sound(&store, "the end");
}

#[test]
fn numbers_after_the_last_are_given_once() {
    let store = store();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let store = store.clone();
            scope.spawn(move || {
                for _ in 0..100 {
                    // Each transaction depends on there being no later key.
                    let given = store.transact(|transaction| {
                        let mut tree = transaction.tree("numbers")?;
                        let last = tree.as_tree()?.last()?.map_or(0, |(key, _)| number(Some(&key)));
                        assert!(tree.insert(&(last + 1).to_be_bytes(), b"")?);
                        Ok::<_, Error>(last + 1)
                    });
                    given.unwrap();
                }
            });
        }
    });
    let snapshot = store.snapshot().unwrap();
    let numbers = snapshot.tree("numbers").unwrap().unwrap();
    assert_eq!(numbers.len().unwrap(), 400);
    assert_eq!(number(numbers.last().unwrap().map(|(key, _)| key).as_deref()), 400);
}

#[test]
fn one_stays_on_call() {
    let store = store();
    store.transact(|setup| (0..4).try_for_each(|person| setup.tree("on call")?.put(&[person], b""))).unwrap();
    std::thread::scope(|scope| {
        for person in 0..4_u8 {
            let store = store.clone();
            scope.spawn(move || {
                for round in 0..100 {
                    let step = |transaction: &mut lath_store::OptimisticTransaction| {
                        let mut tree = transaction.tree("on call")?;
                        if tree.as_tree()?.len()? > 1 && round % 2 == 0 {
                            tree.remove(&[person]);
                        } else {
                            tree.put(&[person], b"")?;
                        }
                        Ok::<_, Error>(())
                    };
                    store.transact(step).unwrap();
                    assert!(!store.snapshot().unwrap().tree("on call").unwrap().unwrap().is_empty());
                }
            });
        }
    });
}

#[test]
fn error_of_a_run_undoes_it_and_is_returned() {
    let store = store();
    let mut runs = 0;
    let failed = store.transact(|transaction| {
        runs += 1;
        transaction.tree("data")?.put(b"k", b"")?;
        Err::<(), _>(Error::Cancelled)
    });
    assert!(matches!(failed, Err(Error::Cancelled)));
    assert_eq!((runs, store.snapshot().unwrap().sequence()), (1, 0));
}

#[test]
fn transaction_that_always_conflicts_ends_with_the_writer() {
    let (store, mut runs) = (store(), 0_usize);
    let done = store.transact(|transaction| {
        let mut tree = transaction.tree("data")?;
        let seen = number(tree.get(b"k")?);
        tree.put(b"seen", &seen.to_be_bytes())?;
        runs += 1;
        // Another writer is always faster, until it cannot write.
        if let Ok(mut other) = store.try_begin() {
            other.tree("data")?.put(b"k", &(runs as u64).to_be_bytes())?;
            other.commit()?;
        }
        Ok::<_, Error>(seen)
    });
    assert_eq!((done.unwrap() as usize, runs), (Store::TRANSACT_ATTEMPTS, Store::TRANSACT_ATTEMPTS + 1));
}

#[test]
fn panic_of_a_run_frees_the_writer() {
    let store = store();
    let mut runs = 0_u8;
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        store.transact(|transaction| {
            runs += 1;
            transaction.tree("data")?.get(b"k")?;
            transaction.tree("data")?.put(b"x", b"")?;
            let Ok(mut other) = store.try_begin() else { std::panic::resume_unwind(Box::new("at last")) };
            other.tree("data")?.put(b"k", &[runs])?;
            other.commit()
        })
    }));
    assert!(panicked.is_err());
    assert!(store.snapshot().unwrap().tree("data").unwrap().unwrap().get(b"x").unwrap().is_none());
    store.try_begin().unwrap();
}

#[test]
fn handles_that_pass_the_lock_see_each_other() {
    let storage = SimulatedStorage::new(1 << 26).unwrap();
    let options = Options::new().busy_timeout(Duration::from_secs(600)).durability(Durability::Deferred);
    let handles = [0, 1].map(|_| options.open_storage(std::sync::Arc::new(storage.clone())).unwrap());
    std::thread::scope(|scope| {
        for store in &handles {
            for _ in 0..2 {
                scope.spawn(move || {
                    for _ in 0..100 {
                        let add = |transaction: &mut lath_store::OptimisticTransaction| {
                            let mut tree = transaction.tree("counts")?;
                            let next = number(tree.get(b"all")?) + 1;
                            tree.put(b"all", &next.to_be_bytes())
                        };
                        store.transact(add).unwrap();
                    }
                });
            }
        }
    });
    let snapshot = handles[0].snapshot().unwrap();
    assert_eq!(number(snapshot.tree("counts").unwrap().unwrap().get(b"all").unwrap()), 400);
}

#[test]
fn open_transaction_keeps_no_other_waiting() {
    let store = store();
    let mut open = store.begin_optimistic_with(Isolation::Snapshot).unwrap();
    open.tree("data").unwrap().put(b"k", b"").unwrap();
    store.try_begin().unwrap().commit().unwrap();
    store.checkpoint().unwrap();
    store.compact().unwrap();
    // The last handle may be gone before it commits.
    drop(store);
    open.commit().unwrap();
}
