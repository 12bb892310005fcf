//! The primitives that the locks of this folder are built from, so that their model can replace them.

use std::time::{Duration, Instant};

pub(super) use std::sync::atomic::{AtomicBool, Ordering};
pub(super) use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
pub(super) use std::thread::{Thread, current, park};

/// The number of checks whether the lock is free before a thread sleeps. They take ten to twenty microseconds, as long
/// as a small transaction. Eight concurrent committers make 22,700 commits a second with this number and 21,600 with a
/// tenth of it: a thread that sleeps often finds on waking that another one was faster.
pub(super) const SPINS: u32 = 1000;

/// The first thread of the queue gets the lock by a handover once it has waited this long, and once so much time has passed since the
/// last handover.
const HANDOVER_INTERVAL: Duration = Duration::from_micros(500);

/// Whether to hand the lock over to a thread that asked for it at this time.
pub(super) fn is_overdue(asked: Instant, last_handover: Option<Instant>) -> bool {
    asked.elapsed() >= HANDOVER_INTERVAL && last_handover.is_none_or(|last| last.elapsed() >= HANDOVER_INTERVAL)
}

/// Sleeps until another thread wakes this one, or until then.
pub(super) fn park_until(until: Instant) {
    std::thread::park_timeout(until.saturating_duration_since(Instant::now()));
}
