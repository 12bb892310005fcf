//! Calls into the `parquet` crate, which parses the envelope of a file: footer, schema, page index.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use parquet::errors::ParquetError;

use crate::error::{Error, Result};

/// Runs `call` and turns its error, or its panic, into ours.
///
/// The crate's parsers assert some of what a well-formed file has (a repeated child that is a group, an encrypted row
/// group with an ordinal, an Arrow schema with a known unit), so that a malformed one panics. They own all that they work
/// on, so that nothing half-changed outlives the unwinding.
pub(crate) fn guard<T>(call: impl FnOnce() -> Result<T, ParquetError>) -> Result<T> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(result) => result.map_err(translate),
        Err(payload) => Err(Error::corrupt(format!("malformed metadata: {}", panic_message(&*payload)))),
    }
}

/// The error of the `parquet` crate as one of ours.
pub(crate) fn translate(error: ParquetError) -> Error {
    match error {
        ParquetError::General(what) | ParquetError::EOF(what) | ParquetError::ArrowError(what) => Error::corrupt(what),
        ParquetError::NYI(what) => Error::unsupported(what),
        other => Error::corrupt(other.to_string()),
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
