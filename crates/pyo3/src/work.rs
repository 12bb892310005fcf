//! Runs operations without the GIL, so that Ctrl-C stops them and a panic becomes an exception.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use pyo3::prelude::*;

use crate::error::Failure;
use crate::progress::{Position, Watcher};

/// The maximum time before Ctrl-C is noticed.
pub const SIGNAL_PERIOD: Duration = Duration::from_millis(50);

/// Python runs signal handlers only on its main thread.
static MAIN_THREAD: OnceLock<ThreadId> = OnceLock::new();

/// Records Python's main thread, if it is the one that imports the module.
///
/// # Errors
/// An exception of Python.
pub fn note_main_thread(py: Python<'_>) -> PyResult<()> {
    let threading = py.import("threading")?;
    let main = threading.call_method0("main_thread")?;
    if main.is(&threading.call_method0("current_thread")?) {
        let _ = MAIN_THREAD.set(thread::current().id());
    }
    Ok(())
}

/// Returns whether this is known to be Python's main thread.
pub fn is_main_thread() -> bool {
    MAIN_THREAD.get() == Some(&thread::current().id())
}

/// Runs an operation that `stop` ends early. On the main thread, Ctrl-C calls `stop`, and is raised once the operation
/// has ended.
///
/// # Errors
/// The failure of the operation, or an exception of a signal handler.
pub fn run<T: Send>(
    py: Python<'_>,
    stop: impl FnOnce(),
    work: impl FnOnce() -> Result<T, Failure> + Send,
) -> PyResult<T> {
    run_watched(py, stop, None, || (0, None), work)
}

/// Like [`run`], but reports the `position` to `watcher`. Its exception stops the operation, and is raised once that
/// has ended.
///
/// # Errors
/// The same as [`run`], and an exception of the watcher.
pub fn run_watched<T: Send>(
    py: Python<'_>,
    stop: impl FnOnce(),
    mut watcher: Option<Watcher>,
    position: impl Fn() -> Position,
    work: impl FnOnce() -> Result<T, Failure> + Send,
) -> PyResult<T> {
    if !is_main_thread() && watcher.is_none() {
        return Ok(py.detach(|| guard(work))?);
    }
    let result = thread::scope(|scope| {
        let (sender, receiver) = sync_channel(1);
        scope.spawn(move || {
            // There is no receiver any more only if the signal handler has raised.
            let _ = sender.send(guard(work));
        });
        let tell = || match &mut watcher {
            Some(watcher) if watcher.is_due() => watcher.tell(py, position()),
            _ => Ok(()),
        };
        wait(py, receiver, tell, |receiver| {
            stop();
            let _ = py.detach(move || receiver.recv());
        })
    });
    let told = watcher.map_or(Ok(()), |watcher| watcher.finish(py, result.is_ok().then(&position)));
    let result = result?;
    told.map(|()| result)
}

/// Runs an operation that cannot be stopped: after Ctrl-C it continues in the background, and its result is dropped.
///
/// # Errors
/// The same as [`run`].
pub fn run_to_end<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> PyResult<T> {
    if !is_main_thread() {
        return Ok(py.detach(|| guard(work))?);
    }
    let (sender, receiver) = sync_channel(1);
    thread::spawn(move || {
        let _ = sender.send(guard(work));
    });
    wait(py, receiver, || Ok(()), drop)
}

/// Waits for the result of another thread, and calls `tell` meanwhile. If `tell` or a signal handler raises, calls
/// `stop` first.
fn wait<T: Send>(
    py: Python<'_>,
    mut receiver: Receiver<Result<T, Failure>>,
    mut tell: impl FnMut() -> PyResult<()>,
    stop: impl FnOnce(Receiver<Result<T, Failure>>),
) -> PyResult<T> {
    loop {
        let received = py.detach(move || (receiver.recv_timeout(SIGNAL_PERIOD), receiver));
        receiver = received.1;
        match received.0 {
            Ok(result) => return Ok(result?),
            Err(RecvTimeoutError::Disconnected) => return Err(Failure::bug("a thread ended without a result").into()),
            Err(RecvTimeoutError::Timeout) => {
                if let Err(raised) = py.check_signals().and_then(|()| tell()) {
                    stop(receiver);
                    return Err(raised);
                }
            }
        }
    }
}

/// Whether the interpreter is about to end, and the number of threads other than Python's main thread that are in a
/// call of it, or wait for one.
static IS_ENDING: AtomicBool = AtomicBool::new(false);
static CALLS: AtomicUsize = AtomicUsize::new(0);

/// The maximum time that [`end_calls`] waits.
const CALL_WAIT: Duration = Duration::from_secs(5);

/// Calls Python on any thread, including threads of other libraries that request batches.
///
/// Once the interpreter ends, a thread that waits for the GIL waits forever, and so does the process if it joins the
/// thread at its end. So no call begins after [`end_calls`], except on Python's main thread.
///
/// # Errors
/// The error of `call`, or an interruption once the interpreter ends.
pub fn attach<T>(call: impl FnOnce(Python<'_>) -> Result<T, Failure>) -> Result<T, Failure> {
    if is_main_thread() {
        return Python::attach(call);
    }
    let counted = CountedCall::begin();
    if IS_ENDING.load(Ordering::SeqCst) {
        return Err(Failure::interrupted());
    }
    let result = Python::attach(call);
    drop(counted);
    result
}

/// A call that [`end_calls`] waits for.
struct CountedCall;

impl CountedCall {
    fn begin() -> Self {
        CALLS.fetch_add(1, Ordering::SeqCst);
        Self
    }
}

impl Drop for CountedCall {
    fn drop(&mut self) {
        CALLS.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Keeps calls of [`attach`] from beginning on threads other than Python's main one, and waits for running calls.
#[pyfunction]
pub fn end_calls(py: Python<'_>) {
    IS_ENDING.store(true, Ordering::SeqCst);
    py.detach(|| {
        let started = Instant::now();
        while CALLS.load(Ordering::SeqCst) > 0 && started.elapsed() < CALL_WAIT {
            thread::sleep(Duration::from_millis(1));
        }
    });
}

/// The number of values whose threads of [`drop_apart`] have not ended.
static DROPPING: AtomicUsize = AtomicUsize::new(0);

/// The maximum time that [`wait_for_drops`] waits.
const DROP_WAIT: Duration = Duration::from_secs(5);

/// Drops a value on a separate thread. The drop may wait for threads that wait for the GIL, which this thread may hold.
pub fn drop_apart<T: Send + 'static>(value: T) {
    DROPPING.fetch_add(1, Ordering::AcqRel);
    let dropping = Dropping(Some(value));
    // If no thread can be spawned, the value is dropped here.
    let _ = thread::Builder::new().spawn(move || drop(dropping));
}

/// Waits until earlier calls of [`drop_apart`] have released files and locks.
pub fn wait_for_drops(py: Python<'_>) {
    py.detach(|| {
        let started = Instant::now();
        while DROPPING.load(Ordering::Acquire) > 0 && started.elapsed() < DROP_WAIT {
            thread::sleep(Duration::from_millis(1));
        }
    });
}

/// Forgets threads that a forked process does not have.
pub(crate) fn forget_drops() {
    DROPPING.store(0, Ordering::Release);
    CALLS.store(0, Ordering::SeqCst);
}

struct Dropping<T>(Option<T>);

impl<T> Drop for Dropping<T> {
    fn drop(&mut self) {
        drop(self.0.take());
        DROPPING.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Turns a panic into an error.
///
/// # Errors
/// The failure of the work, or its panic.
pub fn guard<T>(work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let message = panic.downcast_ref::<String>().map(String::as_str);
        let message = message.or_else(|| panic.downcast_ref::<&str>().copied());
        Err(Failure::bug(message.unwrap_or("a panic without a message")))
    })
}
