//! The lock of the writer's state, which one transaction or checkpoint holds at a time.
//!
//! Threads that wait sleep in a queue, in the order in which they asked. A thread that asks while the lock is free takes it, even if others
//! sleep: waking one takes longer than a small transaction. So that writers without a break do not keep it from the others, the lock is at
//! times handed over to the first of the queue:
//!
//! | lock | reserved for | which thread takes it |
//! | --- | --- | --- |
//! | held | – | none |
//! | free | no thread | the first that comes; the first of the queue was woken |
//! | free | the first of the queue | that thread |
//!
//! A lock that is released is reserved if the first of the queue goes before all others (a checkpoint), or if it is
//! [overdue](super::sync::is_overdue).

use std::collections::VecDeque;
use std::time::Instant;

use super::sync::{
    AtomicBool, Mutex, MutexGuard, Ordering, PoisonError, SPINS, Thread, current, is_overdue, park, park_until,
};

/// The lock and, while it is free, the state. A store that was opened read-only while another process writes has no
/// state.
#[derive(Debug)]
pub(crate) struct WriterLock<T> {
    slot: Mutex<Slot<T>>,
    /// Whether the lock is free for all threads, for the ones that spin.
    is_free: AtomicBool,
}

#[derive(Debug)]
struct Slot<T> {
    state: Option<T>,
    queue: VecDeque<Waiter>,
    /// The ticket of the thread that the free lock is reserved for.
    reserved: Option<u64>,
    next_ticket: u64,
    last_handover: Option<Instant>,
}

#[derive(Debug)]
struct Waiter {
    ticket: u64,
    asked: Instant,
    goes_first: bool,
    thread: Thread,
}

impl<T> Default for WriterLock<T> {
    fn default() -> Self {
        let slot = Slot { state: None, queue: VecDeque::new(), reserved: None, next_ticket: 0, last_handover: None };
        Self { slot: Mutex::new(slot), is_free: AtomicBool::new(false) }
    }
}

impl<T> Slot<T> {
    /// Joins the queue, at its end or behind the threads that go first, and returns the ticket.
    fn join(&mut self, goes_first: bool) -> u64 {
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        let at = if goes_first {
            self.queue.iter().take_while(|waiter| waiter.goes_first).count()
        } else {
            self.queue.len()
        };
        self.queue.insert(at, Waiter { ticket, asked: Instant::now(), goes_first, thread: current() });
        ticket
    }

    fn leave(&mut self, ticket: u64) {
        self.queue.retain(|waiter| waiter.ticket != ticket);
        self.reserved = self.reserved.filter(|reserved| *reserved != ticket);
    }

    /// Whether the lock, if it is free, goes to the thread with this ticket.
    fn is_next(&self, ticket: u64) -> bool {
        match self.reserved {
            Some(reserved) => reserved == ticket,
            None => self.queue.front().is_some_and(|first| first.ticket == ticket),
        }
    }

    /// Offers the free lock to the first of the queue, and returns the thread to wake.
    fn offer(&mut self) -> Option<Thread> {
        let first = self.queue.front()?;
        if first.goes_first {
            self.reserved = Some(first.ticket);
        } else if is_overdue(first.asked, self.last_handover) {
            self.reserved = Some(first.ticket);
            self.last_handover = Some(Instant::now());
        }
        Some(first.thread.clone())
    }
}

impl<T> WriterLock<T> {
    fn slot(&self) -> MutexGuard<'_, Slot<T>> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the lock.
    pub(crate) fn acquire(&self) -> T {
        if let Some(state) = self.spin() {
            return state;
        }
        self.sleep(false)
    }

    /// Like [`acquire`](Self::acquire), but at most until then.
    pub(crate) fn acquire_until(&self, until: Instant) -> Option<T> {
        if let Some(state) = self.spin() {
            return Some(state);
        }
        let mut slot = self.slot();
        if slot.reserved.is_none()
            && let Some(state) = self.take(&mut slot)
        {
            return Some(state);
        }
        let ticket = slot.join(false);
        loop {
            drop(slot);
            park_until(until);
            slot = self.slot();
            if let Some(state) = self.take_if_next(&mut slot, ticket) {
                return Some(state);
            }
            if Instant::now() >= until {
                // A wake-up that came too late is the next thread's.
                let was_first = slot.queue.front().is_some_and(|first| first.ticket == ticket);
                slot.leave(ticket);
                let woken = if was_first && slot.state.is_some() { slot.offer() } else { None };
                self.is_free.store(slot.state.is_some() && slot.reserved.is_none(), Ordering::Relaxed);
                drop(slot);
                woken.iter().for_each(Thread::unpark);
                return None;
            }
        }
    }

    /// Waits for the lock, and gets it before all threads that wait in [`acquire`](Self::acquire). For checkpoints,
    /// which need it rarely and briefly. Otherwise a writer that begins its next transaction as soon as the last has
    /// ended would keep them waiting: a file of 20 million keys that was rewritten became 3.3 times as long as its
    /// contents.
    pub(crate) fn acquire_first(&self) -> T {
        self.sleep(true)
    }

    fn sleep(&self, goes_first: bool) -> T {
        let mut slot = self.slot();
        if slot.reserved.is_none()
            && let Some(state) = self.take(&mut slot)
        {
            return state;
        }
        let ticket = slot.join(goes_first);
        loop {
            drop(slot);
            park();
            slot = self.slot();
            if let Some(state) = self.take_if_next(&mut slot, ticket) {
                return state;
            }
        }
    }

    /// Tries to get the lock for a while without sleeping.
    fn spin(&self) -> Option<T> {
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

    /// Returns the state, if the lock is free and not reserved.
    pub(crate) fn try_acquire(&self) -> Option<T> {
        let mut slot = self.slot();
        if slot.reserved.is_none() { self.take(&mut slot) } else { None }
    }

    fn take_if_next(&self, slot: &mut Slot<T>, ticket: u64) -> Option<T> {
        let state = if slot.is_next(ticket) { self.take(slot) } else { None };
        if state.is_some() {
            slot.leave(ticket);
        }
        state
    }

    fn take(&self, slot: &mut Slot<T>) -> Option<T> {
        let state = slot.state.take();
        if state.is_some() {
            self.is_free.store(false, Ordering::Relaxed);
        }
        state
    }

    /// Returns the state, so that the lock is free.
    pub(crate) fn release(&self, state: T) {
        let mut slot = self.slot();
        slot.state = Some(state);
        let woken = slot.offer();
        self.is_free.store(slot.reserved.is_none(), Ordering::Relaxed);
        drop(slot);
        woken.iter().for_each(Thread::unpark);
    }
}
