//! A stack that is large enough, on whatever thread.

use std::panic::resume_unwind;
use std::thread;

use crate::error::Error;

/// What every thread is taken to have left: half of what Rust gives to a thread.
const ASSUMED_BYTES: usize = 1 << 20;

/// Calls `f` where there are `bytes` of stack for what nests, and half a megabyte for what does not: on a thread of its own, if that
/// is more than any thread is taken to have.
///
/// # Errors
/// [`Error::Limit`] if there can be no such thread.
pub(super) fn with_bytes<R: Send>(bytes: usize, f: impl FnOnce() -> R + Send) -> Result<R, Error> {
    if bytes <= ASSUMED_BYTES {
        return Ok(f());
    }
    thread::scope(|scope| {
        let thread = thread::Builder::new().name("lath-parse".to_owned()).stack_size(bytes + ASSUMED_BYTES);
        let running = thread.spawn_scoped(scope, f).map_err(|error| Error::Limit {
            what: format!("the expression nests too deep to be read without another thread: {error}"),
            limit: ASSUMED_BYTES,
        })?;
        Ok(running.join().unwrap_or_else(|panic| resume_unwind(panic)))
    })
}
