//! Whose turn it is to write: what the writer has goes from hand to hand.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::state::State;

/// So often a thread looks whether the state is back before it sleeps: for ten or twenty microseconds, which a small
/// transaction takes. Eight committers at once made 22,700 commits a second with that and 21,600 with a tenth of it; who
/// sleeps as often as not wakes up to find that somebody else was faster.
const LOOKS: u32 = 1000;

/// The writer's state: here unless a transaction or a checkpoint has it. Never here in a store opened for reading only.
#[derive(Debug, Default)]
pub(crate) struct Turn {
    slot: Mutex<Slot>,
    is_back: Condvar,
    /// Whether the state is here, for those who look without locking.
    is_here: AtomicBool,
}

#[derive(Debug, Default)]
struct Slot {
    state: Option<Box<State>>,
    sleepers: usize,
    /// How many wait who go before all others.
    first: usize,
}

impl Turn {
    fn slot(&self) -> MutexGuard<'_, Slot> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state, once nobody else has it or goes first.
    pub(crate) fn take(&self) -> Box<State> {
        if let Some(state) = self.look() {
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

    /// The state, before all others who wait: for who is seldom here, and for a short time. A writer that begins its next
    /// transaction as soon as the last has ended would leave nobody a chance: checkpoints began so late that a file of 20
    /// million keys, written anew, got 3.3 times as long as what was in it.
    pub(crate) fn take_first(&self) -> Box<State> {
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

    /// Looks for it for a while.
    fn look(&self) -> Option<Box<State>> {
        for _ in 0..LOOKS {
            if self.is_here.load(Ordering::Relaxed)
                && let Some(state) = self.take_now()
            {
                return Some(state);
            }
            std::hint::spin_loop();
        }
        None
    }

    /// The state, if nobody else has it or goes first.
    pub(crate) fn take_now(&self) -> Option<Box<State>> {
        let mut slot = self.slot();
        self.take_unless(slot.first > 0, &mut slot)
    }

    fn take_unless(&self, is_others: bool, slot: &mut Slot) -> Option<Box<State>> {
        let state = if is_others { None } else { slot.state.take() };
        if state.is_some() {
            self.is_here.store(false, Ordering::Relaxed);
        }
        state
    }

    fn sleep<'s>(&self, mut slot: MutexGuard<'s, Slot>) -> MutexGuard<'s, Slot> {
        slot.sleepers += 1;
        slot = self.is_back.wait(slot).unwrap_or_else(PoisonError::into_inner);
        slot.sleepers -= 1;
        slot
    }

    pub(crate) fn put_back(&self, state: Box<State>) {
        let mut slot = self.slot();
        slot.state = Some(state);
        // Others need not look while somebody goes first.
        self.is_here.store(slot.first == 0, Ordering::Relaxed);
        let (sleepers, first) = (slot.sleepers, slot.first);
        drop(slot);
        if first > 0 {
            // Which of the sleepers is the one, nobody knows.
            self.is_back.notify_all();
        } else if sleepers > 0 {
            self.is_back.notify_one();
        }
    }
}
