//! The thread that flushes, compacts and removes files when that is due.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::compact::{Due, compact_once};
use super::expire;
use super::flush::{flush_and_publish, flush_if_due};
use super::vacuum::{Activity, IDLE_COMMITS, vacuum};
use crate::error::{Error, Result};
use crate::publish::setting;
use crate::view::{Commit, Engine, Signal, View, WakeReason};

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
    let mut publisher = Publisher { published: Instant::now(), files_stamp: 0, max_age: None };
    loop {
        let woken = signal.wait(publisher.max_age.map_or(PAUSE, |max_age| PAUSE.min(max_age)));
        if woken == WakeReason::Over {
            return;
        }
        let Some(engine) = engine.upgrade() else { return };
        let error = match work(&engine, woken, &mut last).and_then(|()| publisher.publish_if_due(&engine)) {
            Ok(()) => None,
            // The second: its database has dropped it.
            Err(Error::Closing | Error::NoTable { .. }) => return,
            Err(error) => Some(error),
        };
        *last_error.lock().unwrap_or_else(PoisonError::into_inner) = error;
    }
}

/// Publishes what no flush publishes.
#[derive(Debug)]
struct Publisher {
    /// The last time at which it flushed for the maximum age.
    published: Instant,
    /// The stamp of the files that were published last.
    files_stamp: u64,
    max_age: Option<Duration>,
}

impl Publisher {
    /// Flushes if the published snapshot has reached its maximum age. Publishes files that a transaction wrote itself, and merged files, once
    /// no row is hot.
    fn publish_if_due(&mut self, engine: &Arc<Engine>) -> Result<()> {
        let setting = setting(engine)?;
        self.max_age = setting.and_then(|setting| setting.max_age);
        if setting.is_none() || engine.signal.is_over() {
            return Ok(());
        }
        let is_old = self.max_age.is_some_and(|max_age| self.published.elapsed() >= max_age);
        let newest = Commit::newest(engine)?;
        let files_stamp = View::state(&newest).files_stamp;
        if is_old || (files_stamp != self.files_stamp && newest.hot_len()? == 0) {
            drop(newest);
            (self.published, self.files_stamp) = (Instant::now(), files_stamp);
            flush_and_publish(engine)?;
        }
        Ok(())
    }
}

fn work(engine: &Arc<Engine>, woken: WakeReason, last: &mut u64) -> Result<()> {
    let commits = engine.store.snapshot()?.sequence().saturating_sub(*last);
    let is_idle = woken == WakeReason::Timeout && commits <= IDLE_COMMITS;
    {
        let _one_at_a_time = engine.lock_maintenance();
        flush_if_due(engine, &[])?;
    }
    expire::remove_expired(engine, engine.options.deleted_percent)?;
    let due = Due::in_background(&engine.options);
    while !engine.signal.is_over() && compact_once(engine, due)?.is_some() {}
    vacuum(engine, if is_idle { Activity::Idle } else { Activity::Busy })?;
    *last = engine.store.snapshot()?.sequence();
    Ok(())
}
