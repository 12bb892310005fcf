//! Runs a function for many items, on several threads.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::error::{Error, Result};

/// The results of `work` for each number below `count`, in their order, on up to `threads` threads including the caller's.
/// Numbers after one that fails may be left out.
pub fn each<T: Send, E: Send + From<Error>>(
    count: usize,
    threads: usize,
    name: &str,
    work: impl Fn(usize) -> Result<T, E> + Sync,
) -> Vec<Result<T, E>> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(count));
    let take = || {
        while let number = next.fetch_add(1, Ordering::Relaxed)
            && number < count
        {
            let result = work(number);
            if result.is_err() {
                next.store(count, Ordering::Relaxed);
            }
            done.lock().unwrap_or_else(PoisonError::into_inner).push((number, result));
        }
    };
    let panics = thread::scope(|scope| {
        // If a thread cannot be started, go on without it.
        let spawn = |_| thread::Builder::new().name(name.to_owned()).spawn_scoped(scope, take).ok();
        let threads: Vec<_> = (1..threads.min(count)).filter_map(spawn).collect();
        take();
        threads.into_iter().any(|thread| thread.join().is_err())
    });
    if panics {
        return vec![Err(Error::internal("a thread panicked").into())];
    }
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, result)| result).collect()
}
