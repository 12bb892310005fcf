//! The thread that gives the writer lock away while the process is idle.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle, Thread};
use std::time::Duration;

use crate::readers::LockWords;

/// The thread is woken when another process wants the lock, so that this interval only bounds an error.
const INTERVAL: Duration = Duration::from_secs(10);

/// The thread, which ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Watcher {
    is_over: Arc<AtomicBool>,
    words: Arc<LockWords>,
    thread: Option<JoinHandle<()>>,
}

impl Watcher {
    /// Starts the thread. `give` gives the lock away if this process does not use it and another one wants it, or, if its argument is
    /// `true`, in any case. It returns whether this process has the lock; `None` if the store was closed.
    pub(crate) fn start(
        words: Arc<LockWords>,
        give: impl Fn(bool) -> Option<bool> + Send + 'static,
    ) -> std::io::Result<Self> {
        let is_over = Arc::new(AtomicBool::new(false));
        let (ends, waits) = (Arc::clone(&is_over), Arc::clone(&words));
        let work = move || {
            watch(&give, &waits, &ends);
            // Snapshots and transactions may be left, and nothing else gives the lock away while they are idle.
            give(true);
        };
        let thread = thread::Builder::new().name("lath-writer-lock".to_owned()).spawn(work)?;
        Ok(Self { is_over, words, thread: Some(thread) })
    }

    /// The thread, which is to be unparked when this process has taken the lock.
    pub(crate) fn thread(&self) -> Option<&Thread> {
        self.thread.as_ref().map(JoinHandle::thread)
    }
}

fn watch(give: &dyn Fn(bool) -> Option<bool>, words: &LockWords, is_over: &AtomicBool) {
    while !is_over.load(Ordering::SeqCst) {
        let requests = words.requests();
        let Some(is_held) = give(false) else { return };
        if is_over.load(Ordering::SeqCst) {
            return;
        }
        if is_held {
            words.wait_for_request(requests, INTERVAL);
        } else {
            thread::park();
        }
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        let Some(thread) = self.thread.take() else { return };
        thread.thread().unpark();
        self.words.request();
        // The thread may be the last one to use the store, which it then closes: the store is closed when this returns. A panic of the
        // thread was reported when it happened.
        let _ = thread.join();
    }
}
