//! Provides a large enough stack on any thread.

use std::panic::resume_unwind;
use std::thread;

use crate::error::Error;

/// The stack that every thread is assumed to have left: half of Rust's default.
const ASSUMED_BYTES: usize = 1 << 20;

/// Calls `f` with `bytes` of stack for nesting, and half a megabyte for the rest. Uses a new thread if that is more than every thread is assumed
/// to have.
///
/// # Errors
/// [`Error::Limit`] if the thread cannot be started.
pub(super) fn with_bytes<R: Send>(bytes: usize, f: impl FnOnce() -> R + Send) -> Result<R, Error> {
    if bytes <= ASSUMED_BYTES {
        return Ok(f());
    }
    thread::scope(|scope| {
        let thread = thread::Builder::new().name("lath-parse".to_owned()).stack_size(bytes + ASSUMED_BYTES);
        let running = thread.spawn_scoped(scope, f).map_err(|error| Error::Limit {
            what: format!("the expression nests so deep that it needs a thread, which cannot be started: {error}"),
            limit: ASSUMED_BYTES,
        })?;
        Ok(running.join().unwrap_or_else(|panic| resume_unwind(panic)))
    })
}
