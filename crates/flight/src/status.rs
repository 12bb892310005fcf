//! Errors as clients see them.

use lath_sql::Error;
use lath_table::Error as TableError;
use tonic::{Code, Status};

/// Maximum size of a message in bytes: it travels in a header, whose size clients limit.
const MAX_MESSAGE_BYTES: usize = 4000;

/// The status for an error of a statement.
pub(crate) fn status(error: &Error) -> Status {
    let code = match error {
        Error::Statement(_) | Error::Mistake(_) | Error::Rows(_) => Code::InvalidArgument,
        Error::File(error) => file_code(error),
        Error::Table(error) => table_code(error),
        Error::Catalog(_) => Code::FailedPrecondition,
        Error::Resources(_) => Code::ResourceExhausted,
        Error::Conflict(_) => Code::Aborted,
        Error::Stopped => Code::Cancelled,
        _ => Code::Internal,
    };
    let message = match error {
        Error::Stopped => "the statement was stopped".to_owned(),
        other => shortened(other.to_string()),
    };
    Status::new(code, message)
}

fn file_code(error: &lath_parquet::Error) -> Code {
    use lath_parquet::Error as File;
    match error {
        File::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound => Code::NotFound,
        File::Io { .. } => Code::Unavailable,
        File::Corrupt { .. } | File::NotParquet { .. } => Code::DataLoss,
        File::Unsupported { .. } => Code::Unimplemented,
        File::Limit { .. } => Code::ResourceExhausted,
        File::Cancelled => Code::Cancelled,
        File::Internal { .. } => Code::Internal,
        _ => Code::InvalidArgument,
    }
}

fn table_code(error: &TableError) -> Code {
    match error {
        TableError::InUse { .. } => Code::Unavailable,
        // Another transaction is open for longer than a statement waits.
        TableError::Store { .. } if error.to_string().contains("transaction") => Code::Aborted,
        TableError::Store { .. } | TableError::Io { .. } => Code::Unavailable,
        TableError::Corrupt { .. } => Code::DataLoss,
        _ => Code::FailedPrecondition,
    }
}

/// A message that fits into a header.
fn shortened(mut message: String) -> String {
    if message.len() > MAX_MESSAGE_BYTES {
        let end = (0..=MAX_MESSAGE_BYTES).rev().find(|&end| message.is_char_boundary(end)).unwrap_or(0);
        message.truncate(end);
        message.push('…');
    }
    message
}

/// The status for an error that is a fault of Lath.
pub(crate) fn fault(what: impl std::fmt::Display) -> Status {
    Status::internal(shortened(format!("{what}; this is a fault of Lath")))
}

/// The status for a server that is about to end.
pub(crate) fn stopping() -> Status {
    Status::unavailable("the server is stopping, so the statement was ended; run it again when the server is back")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_messages_are_cut_between_characters() {
        let status = status(&Error::Rows("é".repeat(MAX_MESSAGE_BYTES)));
        assert!(status.message().len() <= MAX_MESSAGE_BYTES + 4 && status.message().ends_with("é…"));
    }
}
