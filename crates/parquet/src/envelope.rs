//! Calls into the library behind schemas, whose errors and panics become ours.

use lath_format::schema::LibraryError;

use crate::error::Result;

/// Runs `call` and turns its error, or its panic, into ours.
pub(crate) fn guard<T>(call: impl FnOnce() -> Result<T, LibraryError>) -> Result<T> {
    Ok(lath_format::schema::guard(call)?)
}
