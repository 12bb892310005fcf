//! Calls into the schema library, whose errors and panics become errors of Lath.

use lath_format::schema::LibraryError;

use crate::error::Result;

/// Runs `call` and converts its error or panic.
pub fn guard<T>(call: impl FnOnce() -> Result<T, LibraryError>) -> Result<T> {
    Ok(lath_format::schema::guard(call)?)
}
