//! Converts errors of tables to errors of the command.

use lath_table::Error;

use crate::encryption_key::key_failure;
use crate::failure::Failure;

/// A failure to read or change a table.
pub(crate) fn table_failure(error: Error) -> Failure {
    let text = error.to_string();
    match error {
        Error::Store { source } => match source {
            lath_store::Error::Io { .. }
            | lath_store::Error::Busy
            | lath_store::Error::BusyTimeout { .. }
            | lath_store::Error::Replaced { .. } => Failure::Io(text),
            lath_store::Error::Corrupt { .. } => Failure::Corrupt(text),
            lath_store::Error::Internal(_) => Failure::Internal(text),
            lath_store::Error::Key(_) => key_failure(&text),
            lath_store::Error::Cancelled => Failure::Interrupted,
            _ => Failure::Usage(text),
        },
        Error::Parquet { source } => match &*source {
            lath_parquet::Error::Io { .. } => Failure::Io(text),
            lath_parquet::Error::Internal { .. } => Failure::Internal(text),
            lath_parquet::Error::Cancelled => Failure::Interrupted,
            lath_parquet::Error::Invalid { .. } => Failure::Usage(text),
            _ => Failure::Corrupt(text),
        },
        Error::Io { .. } | Error::InUse { .. } => Failure::Io(text),
        Error::Corrupt { .. } | Error::Format { .. } => Failure::Corrupt(text),
        Error::Internal { .. } => Failure::Internal(text),
        Error::NoTable { folder } => {
            Failure::Usage(format!("{}: there is no table; lath table create makes one", folder.display()))
        }
        _ => Failure::Usage(text),
    }
}
