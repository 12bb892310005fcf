//! The lock of the writer's state, which one transaction or checkpoint holds at a time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::state::State;

/// The number of checks whether the lock is free before a thread sleeps. They take ten to twenty microseconds, as long
/// as a small transaction. Eight concurrent committers make 22,700 commits a second with this number and 21,600 with a
/// tenth of it: a thread that sleeps often finds on waking that another one was faster.
const SPINS: u32 = 1000;

/// The lock and, while it is free, the state. A store that was opened read-only while another process writes has no
/// state.
#[derive(Debug, Default)]
pub(crate) struct WriterLock {
    slot: Mutex<Slot>,
    released: Condvar,
    /// Whether the lock is free, for threads that spin.
    is_free: AtomicBool,
}

#[derive(Debug, Default)]
struct Slot {
    state: Option<Box<State>>,
    sleepers: usize,
    /// The number of threads that wait in [`acquire_first`](WriterLock::acquire_first).
    first: usize,
}

impl WriterLock {
    fn slot(&self) -> MutexGuard<'_, Slot> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the lock.
    pub(crate) fn acquire(&self) -> Box<State> {
        if let Some(state) = self.spin() {
            return state;
        }
        let mut slot = self.slot();
        loop {
            if let Some(state) = self.take_unless(slot.first > 0, &mut slot) {
                return state;
            }
            slot = self.sleep(slot);
        }
    }

    /// Like [`acquire`](Self::acquire), but at most until then.
    pub(crate) fn acquire_until(&self, until: Instant) -> Option<Box<State>> {
        if let Some(state) = self.spin() {
            return Some(state);
        }
        let mut slot = self.slot();
        loop {
            if let Some(state) = self.take_unless(slot.first > 0, &mut slot) {
                return Some(state);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            slot.sleepers += 1;
            slot = self.released.wait_timeout(slot, left).unwrap_or_else(PoisonError::into_inner).0;
            slot.sleepers -= 1;
        }
    }

    /// Waits for the lock, and gets it before all threads that wait in [`acquire`](Self::acquire). For checkpoints,
    /// which need it rarely and briefly. Otherwise a writer that begins its next transaction as soon as the last has
    /// ended would keep them waiting: a file of 20 million keys that was rewritten became 3.3 times as long as its
    /// contents.
    pub(crate) fn acquire_first(&self) -> Box<State> {
        let mut slot = self.slot();
        slot.first += 1;
        loop {
            if let Some(state) = self.take_unless(false, &mut slot) {
                slot.first -= 1;
                return state;
            }
            slot = self.sleep(slot);
        }
    }

    /// Tries to get the lock for a while without sleeping.
    fn spin(&self) -> Option<Box<State>> {
        for _ in 0..SPINS {
            if self.is_free.load(Ordering::Relaxed)
                && let Some(state) = self.try_acquire()
            {
                return Some(state);
            }
            std::hint::spin_loop();
        }
        None
    }

    /// Returns the state, if the lock is free and no other thread goes first.
    pub(crate) fn try_acquire(&self) -> Option<Box<State>> {
        let mut slot = self.slot();
        self.take_unless(slot.first > 0, &mut slot)
    }

    fn take_unless(&self, is_reserved: bool, slot: &mut Slot) -> Option<Box<State>> {
        let state = if is_reserved { None } else { slot.state.take() };
        if state.is_some() {
            self.is_free.store(false, Ordering::Relaxed);
        }
        state
    }

    fn sleep<'s>(&self, mut slot: MutexGuard<'s, Slot>) -> MutexGuard<'s, Slot> {
        slot.sleepers += 1;
        slot = self.released.wait(slot).unwrap_or_else(PoisonError::into_inner);
        slot.sleepers -= 1;
        slot
    }

    /// Returns the state, so that the lock is free.
    pub(crate) fn release(&self, state: Box<State>) {
        let mut slot = self.slot();
        slot.state = Some(state);
        // While a thread goes first, the others need not try.
        self.is_free.store(slot.first == 0, Ordering::Relaxed);
        let (sleepers, first) = (slot.sleepers, slot.first);
        drop(slot);
        if first > 0 {
            // Wake all sleepers, because that thread may be any of them.
            self.released.notify_all();
        } else if sleepers > 0 {
            self.released.notify_one();
        }
    }
}
