//! The thread that flushes, compacts and removes files when that is due.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::compact::{Due, compact_once};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::flush::flush;
use crate::layout::TreeName;
use crate::pinned::Pinned;
use crate::signal::Signal;
use crate::vacuum::vacuum;
use crate::view::View;

/// How long the thread sleeps if nobody wakes it: readers that are gone since then let it remove files.
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
    while signal.wait(PAUSE) {
        let Some(engine) = engine.upgrade() else { return };
        let error = match work(&engine) {
            Ok(()) => None,
            // The second: its database has dropped it.
            Err(Error::Closing | Error::NoTable { .. }) => return,
            Err(error) => Some(error),
        };
        *last_error.lock().unwrap_or_else(PoisonError::into_inner) = error;
    }
}

fn work(engine: &Arc<Engine>) -> Result<()> {
    let pinned = Pinned::newest(engine)?;
    let rows = pinned.len_of(TreeName::Hot)? + pinned.len_of(TreeName::Tombstones)?;
    let is_due = engine.options.is_flush_due(rows, pinned.state().hot_bytes);
    // It would keep files from being removed.
    drop(pinned);
    if is_due {
        flush(engine)?;
    }
    let due = Due::in_background(&engine.options);
    while !engine.signal.is_over() && compact_once(engine, due)?.is_some() {}
    vacuum(engine).map(drop)
}
