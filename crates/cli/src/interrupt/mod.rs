//! Handling of SIGINT (Ctrl-C), SIGTERM and SIGHUP, for every command.
//!
//! The signals are blocked in all threads but one, which waits for them: handling them may therefore take locks and time.
//!
//! | a signal that comes | does this |
//! | --- | --- |
//! | while the command runs | removes the temporary files of all outputs, and ends the process by the same signal |
//! | while the command has a [`GracefulStop`] | asks the command to stop; the process ends by the signal when it has |
//! | SIGINT, while there is an [`Interactive`] session | calls what the session says; nothing ends |
//! | a second time | ends the process at once |
//! | though it was ignored when the process began (`nohup`) | nothing |
//!
//! Ending by the signal, rather than with an exit code, tells a shell that its loop or script should end too.
//! SIGXFSZ is ignored, so that a file that becomes too long is an error.
//! SIGKILL cannot be handled: the next run that writes the same output removes the temporary files.

#[cfg(unix)]
mod signals;

use std::ops::ControlFlow;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use lath_writer::UncommittedFiles;

#[cfg(unix)]
use self::signals::Signals;
#[cfg(unix)]
use crate::console::progress;

static UNCOMMITTED: LazyLock<UncommittedFiles> = LazyLock::new(UncommittedFiles::new);

static STATE: Mutex<State> = Mutex::new(State { signal: None, stops_by_itself: false, on_interrupt: None });

struct State {
    /// The first signal, if one came.
    signal: Option<i32>,
    /// Whether the command has a [`GracefulStop`].
    stops_by_itself: bool,
    /// The action of an [`Interactive`] session at SIGINT.
    on_interrupt: Option<Box<dyn Fn() + Send>>,
}

/// The unfinished outputs, which are removed at a signal: every file that a command writes is registered here.
pub(crate) fn uncommitted() -> &'static UncommittedFiles {
    &UNCOMMITTED
}

/// Starts the thread that waits for signals. It has to be the first thread to start: threads inherit blocked signals.
pub(crate) fn install() {
    #[cfg(unix)]
    signals::ignore_file_limits();
    #[cfg(unix)]
    if let Some(signals) = Signals::block() {
        let spawned = std::thread::Builder::new().name("signals".to_owned()).spawn(move || handle(&signals));
        if spawned.is_err() {
            // Signals end the process as they do by default, and leave temporary files to the next run.
            signals.unblock();
        }
    }
}

/// Ends the process by the signal if one came. Called after a command, before its result is printed.
pub(crate) fn end_if_interrupted() {
    #[cfg(unix)]
    if let Some(signal) = state().signal {
        end(signal);
    }
}

/// Held by a command that must not be ended in the middle of a step: at a signal it stops by itself between two steps.
#[derive(Debug)]
pub(crate) struct GracefulStop(());

impl GracefulStop {
    /// From now on the command calls [`poll`](Self::poll) between steps.
    pub(crate) fn new() -> Self {
        state().stops_by_itself = true;
        Self(())
    }

    /// Breaks after a signal.
    pub(crate) fn poll(&self) -> ControlFlow<()> {
        if state().signal.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

impl Drop for GracefulStop {
    fn drop(&mut self) {
        state().stops_by_itself = false;
    }
}

/// Held by a session whose user stops single steps of it by Ctrl-C.
#[cfg(feature = "sql")]
#[derive(Debug)]
pub(crate) struct Interactive(());

#[cfg(feature = "sql")]
impl Interactive {
    /// From now on SIGINT calls `on_interrupt`, on another thread.
    pub(crate) fn new(on_interrupt: impl Fn() + Send + 'static) -> Self {
        state().on_interrupt = Some(Box::new(on_interrupt));
        Self(())
    }
}

#[cfg(feature = "sql")]
impl Drop for Interactive {
    fn drop(&mut self) {
        state().on_interrupt = None;
    }
}

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(unix)]
fn handle(signals: &Signals) {
    let signal = loop {
        let signal = signals.wait();
        match &state().on_interrupt {
            Some(on_interrupt) if signal == Some(libc::SIGINT) => on_interrupt(),
            _ => break signal,
        }
    };
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
