//! Checks the writer lock and the locks of trees in every order of steps: `just loom`.
//!
//! The files under test are compiled once more, with Loom's primitives.

#[expect(clippy::duplicate_mod, reason = "the file under test, with other primitives")]
#[path = "tree_locks.rs"]
mod tree_locks;
#[expect(clippy::duplicate_mod, reason = "the file under test, with other primitives")]
#[path = "writer_lock.rs"]
mod writer_lock;

mod sync {
    use std::cell::Cell;
    use std::time::Instant;

    pub(super) use std::sync::PoisonError;

    pub(super) use loom::sync::atomic::{AtomicBool, Ordering};
    pub(super) use loom::sync::{Condvar, Mutex, MutexGuard};
    pub(super) use loom::thread::{Thread, current, park};

    pub(super) const SPINS: u32 = 1;

    thread_local! {
        /// Whether each waiting thread is overdue. Loom runs the threads of a model in one of the system's.
        pub(super) static IS_OVERDUE: Cell<bool> = const { Cell::new(false) };
    }

    pub(super) fn is_overdue(_: Instant, _: Option<Instant>) -> bool {
        IS_OVERDUE.get()
    }

    /// Time passes as it likes.
    pub(super) fn park_until(_: Instant) {
        loom::thread::yield_now();
    }
}

use std::time::Instant;

use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;

use self::tree_locks::TreeLocks;
use self::writer_lock::WriterLock;

/// The ways to ask for the lock.
#[derive(Clone, Copy)]
enum Way {
    Acquire,
    First,
    Try,
    Until,
}

/// Threads that take the lock in these ways. Each thread that waits without a limit gets it, and no two have it at a time.
fn check(is_overdue: bool, ways: &'static [Way]) {
    loom::model::Builder::new().check(move || {
        sync::IS_OVERDUE.set(is_overdue);
        let lock = Arc::new(WriterLock::<usize>::default());
        let expected = Arc::new(AtomicUsize::new(0));
        let threads: Vec<_> = ways
            .iter()
            .map(|way| {
                let (lock, expected) = (Arc::clone(&lock), Arc::clone(&expected));
                thread::spawn(move || {
                    let count = match way {
                        Way::Acquire => Some(lock.acquire()),
                        Way::First => Some(lock.acquire_first()),
                        Way::Try => lock.try_acquire(),
                        Way::Until => lock.acquire_until(Instant::now()),
                    };
                    if let Some(count) = count {
                        expected.fetch_add(1, Ordering::Relaxed);
                        lock.release(count + 1);
                    }
                })
            })
            .collect();
        lock.release(0);
        threads.into_iter().for_each(|thread| thread.join().expect("no thread fails"));
        assert_eq!(lock.try_acquire(), Some(expected.load(Ordering::Relaxed)), "the lock is lost");
    });
}

#[test]
fn each_thread_gets_the_lock() {
    for is_overdue in [false, true] {
        check(is_overdue, &[Way::Acquire, Way::Acquire]);
        check(is_overdue, &[Way::Acquire, Way::First]);
    }
}

#[test]
fn threads_that_give_up_leave_the_lock_to_others() {
    for is_overdue in [false, true] {
        check(is_overdue, &[Way::Acquire, Way::Until]);
        check(is_overdue, &[Way::First, Way::Until]);
        check(is_overdue, &[Way::Acquire, Way::Try]);
    }
}

#[test]
fn trees_are_locked_by_one_thread_at_a_time_and_without_circles() {
    loom::model::Builder::new().check(|| {
        let locks = std::sync::Arc::new(TreeLocks::default());
        let inside = Arc::new(AtomicUsize::new(0));
        let threads: Vec<_> = [(["a", "b"], true), (["b", "c"], true), (["c", "b"], false)]
            .into_iter()
            .map(|(names, waits)| {
                let (locks, inside) = (std::sync::Arc::clone(&locks), Arc::clone(&inside));
                thread::spawn(move || {
                    let names = names.map(str::to_owned).to_vec();
                    let locked = if waits { Ok(locks.lock(names.clone())) } else { locks.try_lock(names.clone()) };
                    let Ok(locked) = locked else { return };
                    assert_eq!(locked.names(), names);
                    assert_eq!(inside.fetch_add(1, Ordering::Relaxed), 0, "two threads have a tree");
                    inside.fetch_sub(1, Ordering::Relaxed);
                    drop(locked);
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().expect("no thread fails"));
        assert_eq!(inside.load(Ordering::Relaxed), 0);
    });
}
