//! The thread that flushes, compacts and removes files when that is due.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use super::compact::{Due, compact_once};
use super::flush::flush_if_due;
use super::vacuum::{Activity, IDLE_COMMITS, vacuum};
use crate::error::{Error, Result};
use crate::view::{Engine, Signal, WakeReason};

/// Maximum sleep of the thread. Files of readers that have gone are removed when it wakes up.
const PAUSE: Duration = Duration::from_secs(10);

/// The thread, which ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Background {
    signal: Arc<Signal>,
    thread: Option<JoinHandle<()>>,
    last_error: Arc<Mutex<Option<Error>>>,
}

impl Background {
    pub(crate) fn start(engine: &Arc<Engine>) -> Result<Self> {
        let last_error = Arc::new(Mutex::new(None));
        let (signal, weak, errors) = (Arc::clone(&engine.signal), Arc::downgrade(engine), Arc::clone(&last_error));
        let work = {
            let signal = Arc::clone(&signal);
            move || run(&signal, &weak, &errors)
        };
        let thread = std::thread::Builder::new().name("lath-table".to_owned()).spawn(work);
        let thread = thread.map_err(Error::io("start a thread for", &engine.folder))?;
        Ok(Self { signal, thread: Some(thread), last_error })
    }

    /// Why the last work failed; `None` if it did not.
    pub(crate) fn last_error(&self) -> Option<Error> {
        self.last_error.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.signal.end();
        if let Some(thread) = self.thread.take() {
            // A panic there was reported there.
            let _ = thread.join();
        }
    }
}

fn run(signal: &Signal, engine: &Weak<Engine>, last_error: &Mutex<Option<Error>>) {
    // The newest commit when the last work ended.
    let mut last = 0;
    loop {
        let woken = signal.wait(PAUSE);
        if woken == WakeReason::Over {
            return;
        }
        let Some(engine) = engine.upgrade() else { return };
        let error = match work(&engine, woken, &mut last) {
            Ok(()) => None,
            // The second: its database has dropped it.
            Err(Error::Closing | Error::NoTable { .. }) => return,
            Err(error) => Some(error),
        };
        *last_error.lock().unwrap_or_else(PoisonError::into_inner) = error;
    }
}

fn work(engine: &Arc<Engine>, woken: WakeReason, last: &mut u64) -> Result<()> {
    let commits = engine.store.snapshot()?.sequence().saturating_sub(*last);
    let is_idle = woken == WakeReason::Timeout && commits <= IDLE_COMMITS;
    {
        let _one_at_a_time = engine.lock_maintenance();
        flush_if_due(engine, &[])?;
    }
    let due = Due::in_background(&engine.options);
    while !engine.signal.is_over() && compact_once(engine, due)?.is_some() {}
    vacuum(engine, if is_idle { Activity::Idle } else { Activity::Busy })?;
    *last = engine.store.snapshot()?.sequence();
    Ok(())
}
