//! The thread that makes checkpoints when they are due, and visits the nodes of removed subtrees.

use std::sync::{Arc, Weak};
use std::thread::JoinHandle;

use crate::engine::Engine;
use crate::error::Result;
use crate::writer::{DueWork, Signal};

/// The checkpoint thread. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Background {
    signal: Arc<Signal>,
    thread: Option<JoinHandle<()>>,
}

impl Background {
    pub(crate) fn start(engine: &Arc<Engine>) -> Self {
        let signal = Arc::clone(&engine.is_due);
        let weak = Arc::downgrade(engine);
        let waited_on = Arc::clone(&signal);
        let work = move || work(&waited_on, &weak);
        // If no thread can be spawned, checkpoints are made when the store is closed.
        let thread = std::thread::Builder::new().name("lath-checkpoint".to_owned()).spawn(work).ok();
        Self { signal, thread }
    }
}

fn work(signal: &Signal, engine: &Weak<Engine>) {
    while let Some(due) = signal.wait() {
        let Some(engine) = engine.upgrade() else { return };
        // An error has poisoned the store, so that the next write reports it.
        let _ = match due {
            DueWork::Checkpoint => make_due_checkpoint(&engine),
            DueWork::Visits => visit(signal, &engine),
            DueWork::FileCheck => check_files(&engine),
        };
    }
}

fn make_due_checkpoint(engine: &Arc<Engine>) -> Result<()> {
    let _use = engine.use_writer_first()?;
    let state = engine.lock_state()?;
    // Another process may have made one.
    let is_due = engine.is_checkpoint_due(&state);
    engine.unlock_state(state);
    if is_due { engine.checkpoint() } else { Ok(()) }
}

/// Visits removed subtrees. A checkpoint may be due afterwards, because their space waits for one.
fn visit(signal: &Signal, engine: &Arc<Engine>) -> Result<()> {
    // After the lock was given away, another process visits them.
    let Some(_use) = engine.use_held_writer() else { return Ok(()) };
    engine.visit_removed_subtrees(|| signal.interrupts_visits())?;
    let state = engine.lock_state()?;
    let is_due = engine.is_checkpoint_due(&state);
    engine.unlock_state(state);
    if is_due && !signal.interrupts_visits() { engine.checkpoint() } else { Ok(()) }
}

/// Checks that the files are still where they were. If they are not, later commits would be lost, so nothing more is written.
fn check_files(engine: &Arc<Engine>) -> Result<()> {
    // A process that takes the lock checks them by itself.
    let Some(_use) = engine.use_held_writer() else { return Ok(()) };
    engine.check_place()?;
    let Err(error) = engine.log.check_place() else { return Ok(()) };
    // The data file has all commits, once there is a checkpoint.
    let saved = engine.checkpoint();
    engine.poison_by(&error);
    saved.and(Err(error))
}

impl Drop for Background {
    fn drop(&mut self) {
        self.signal.end();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was reported when it happened.
            let _ = thread.join();
        }
    }
}
