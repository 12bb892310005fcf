//! The thread that makes checkpoints when they are due.

use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::thread::JoinHandle;

use crate::store::Inner;

#[derive(Debug, Default)]
struct Wishes {
    checkpoint: bool,
    end: bool,
}

/// How the thread is told that there is something to do.
#[derive(Debug, Default)]
pub(crate) struct Signal {
    wishes: Mutex<Wishes>,
    has_come: Condvar,
}

impl Signal {
    /// Says that a checkpoint is due.
    pub(crate) fn raise(&self) {
        self.change(|wishes| wishes.checkpoint = true);
    }

    fn change(&self, change: impl FnOnce(&mut Wishes)) {
        change(&mut self.wishes.lock().unwrap_or_else(PoisonError::into_inner));
        self.has_come.notify_one();
    }

    /// Waits; whether to go on.
    fn wait(&self) -> bool {
        let mut wishes = self.wishes.lock().unwrap_or_else(PoisonError::into_inner);
        while !wishes.checkpoint && !wishes.end {
            wishes = self.has_come.wait(wishes).unwrap_or_else(PoisonError::into_inner);
        }
        wishes.checkpoint = false;
        !wishes.end
    }
}

/// The thread, which ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Background {
    signal: Arc<Signal>,
    thread: Option<JoinHandle<()>>,
}

impl Background {
    pub(crate) fn start(inner: &Arc<Inner>) -> Self {
        let signal = Arc::clone(&inner.is_due);
        let weak = Arc::downgrade(inner);
        let waited_on = Arc::clone(&signal);
        let work = move || work(&waited_on, &weak);
        // Without a thread checkpoints are made when the store is closed.
        let thread = std::thread::Builder::new().name("lath-checkpoint".to_owned()).spawn(work).ok();
        Self { signal, thread }
    }
}

fn work(signal: &Signal, store: &Weak<Inner>) {
    while signal.wait() {
        let Some(store) = store.upgrade() else { return };
        // An error has poisoned the store, which says so to whoever writes next.
        let _ = store.checkpoint();
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.signal.change(|wishes| wishes.end = true);
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has nothing more to say.
            let _ = thread.join();
        }
    }
}
