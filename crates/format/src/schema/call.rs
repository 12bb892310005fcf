use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::{Error, Result};

/// The error of the `parquet` crate.
pub use parquet::errors::ParquetError as LibraryError;

/// Runs `call` and converts its error or panic to an error of this crate.
///
/// The `parquet` crate asserts properties of well-formed schemas (a repeated child that is a group, an Arrow schema with a known unit), so it panics
/// for some malformed ones. It owns all data that it changes, so unwinding leaves no inconsistent state.
///
/// # Errors
/// [`Error::Corrupt`] and [`Error::Unsupported`].
pub fn guard<T>(call: impl FnOnce() -> Result<T, LibraryError>) -> Result<T> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(LibraryError::General(what) | LibraryError::EOF(what) | LibraryError::ArrowError(what))) => {
            Err(Error::corrupt(what))
        }
        Ok(Err(LibraryError::NYI(what))) => Err(Error::unsupported(what)),
        Ok(Err(other)) => Err(Error::corrupt(other.to_string())),
        Err(payload) => Err(Error::corrupt(format!("malformed metadata: {}", panic_message(&*payload)))),
    }
}

fn panic_message(payload: &(dyn Any + Send)) -> &str {
    if let Some(message) = payload.downcast_ref::<&str>() {
        message
    } else if let Some(message) = payload.downcast_ref::<String>() {
        message
    } else {
        "the parser gave up"
    }
}
