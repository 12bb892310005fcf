//! What SIGINT (Ctrl-C), SIGTERM and SIGHUP do, in every command.
//!
//! The signals are blocked in all threads but one, which waits for them. What it does may therefore take locks and time.
//!
//! | when a signal comes | it |
//! | --- | --- |
//! | and the command runs | removes the temporary files of all outputs, and ends the process by the same signal |
//! | and the command stops by itself ([`Stop`]) | tells it so; the process ends by the signal when the command has stopped |
//! | a second time | ends the process at once |
//! | and was ignored when the process began (`nohup`) | stays ignored |
//!
//! Ending by the signal, rather than with an exit code, tells a shell that its loop or script should end too.
//! SIGKILL cannot be handled: the next run that writes the same output removes the temporary files.

#[cfg(unix)]
mod signals;

use std::ops::ControlFlow;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use lath_parquet::Uncommitted;

#[cfg(unix)]
use self::signals::Signals;
#[cfg(unix)]
use crate::progress;

static UNCOMMITTED: LazyLock<Uncommitted> = LazyLock::new(Uncommitted::new);

static STATE: Mutex<State> = Mutex::new(State { signal: None, stops_by_itself: false });

#[derive(Debug)]
struct State {
    /// The first signal that came.
    signal: Option<i32>,
    /// Whether the command has a [`Stop`].
    stops_by_itself: bool,
}

/// The list of outputs that are removed at a signal: every file that a command writes belongs in it.
pub(crate) fn uncommitted() -> &'static Uncommitted {
    &UNCOMMITTED
}

/// Starts to wait for signals. Threads that were started before are ended by them without more ado.
pub(crate) fn install() {
    #[cfg(unix)]
    if let Some(signals) = Signals::block() {
        let spawned = std::thread::Builder::new().name("signals".to_owned()).spawn(move || handle(&signals));
        if spawned.is_err() {
            // Signals end the process as they do by default, and leave temporary files to the next run.
            signals.unblock();
        }
    }
}

/// Ends the process by the signal if one came. Called when a command has come to its end, before anything is said about it.
pub(crate) fn end_if_interrupted() {
    #[cfg(unix)]
    if let Some(signal) = state().signal {
        end(signal);
    }
}

/// What a command has that stops by itself at a signal, between two steps, and would leave something worse if it was ended
/// within one.
#[derive(Debug)]
pub(crate) struct Stop(());

impl Stop {
    /// From now on the command asks whether to go on.
    pub(crate) fn by_itself() -> Self {
        state().stops_by_itself = true;
        Self(())
    }

    /// Whether there was no signal.
    pub(crate) fn go_on(&self) -> ControlFlow<()> {
        if state().signal.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

impl Drop for Stop {
    fn drop(&mut self) {
        state().stops_by_itself = false;
    }
}

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(unix)]
fn handle(signals: &Signals) {
    let signal = signals.wait();
    // The next one ends the process, even if removing files takes long: it reaches this thread alone, which therefore stays.
    signals.unblock();
    if let Some(signal) = signal {
        let stops_by_itself = {
            let mut state = state();
            state.signal = Some(signal);
            state.stops_by_itself
        };
        if !stops_by_itself {
            end(signal);
        }
    }
    loop {
        std::thread::park();
    }
}

/// Removes what is not finished, and ends the process.
#[cfg(unix)]
fn end(signal: i32) -> ! {
    UNCOMMITTED.abandon();
    progress::clear_line();
    signals::end_by(signal)
}
