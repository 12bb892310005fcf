//! Errors of files, which keep their kind on the way from a worker to the coordinator.
//!
//! datafusion-distributed sends them as text. So their parts go along as a context.

use std::io;

use datafusion::error::DataFusionError;
use lath_parquet::{Error, Location};
use serde::{Deserialize, Serialize};

/// The context with the parts of an error begins with this.
const MARK: &str = "error of a file: ";
/// Operations that can fail at a file that a worker reads.
const OPERATIONS: [&str; 4] = ["open", "read", "map", "read the length of"];

/// The parts of an error.
#[derive(Serialize, Deserialize)]
struct FileError {
    kind: Kind,
    file: Option<String>,
    column: Option<String>,
    row_group: Option<usize>,
    page: Option<usize>,
    row: Option<u64>,
    offset: Option<u64>,
}

#[derive(Serialize, Deserialize)]
enum Kind {
    Corrupt(String),
    NotParquet,
    Encrypted(String),
    Unsupported(String),
    OutOfRange(String),
    Limit { what: String, limit: u64, needed: u64 },
    Io { operation: String, source: String },
    Invalid(String),
    Internal(String),
}

/// Adds the parts of an error of a file.
pub(crate) fn with_parts(error: DataFusionError) -> DataFusionError {
    let DataFusionError::External(cause) = error.find_root() else { return error };
    let parts = cause.downcast_ref::<Error>().and_then(FileError::of);
    match parts.and_then(|parts| serde_json::to_string(&parts).ok()) {
        Some(parts) => error.context(format!("{MARK}{parts}")),
        None => error,
    }
}

/// The error of a file that was sent with its parts; other errors as they are.
pub(crate) fn from_parts(error: DataFusionError) -> DataFusionError {
    match parts(&error) {
        Some(parts) => DataFusionError::External(Box::new(parts.into_error())),
        None => error,
    }
}

fn parts(error: &DataFusionError) -> Option<FileError> {
    match error {
        DataFusionError::Context(text, inner) => {
            let own = text.strip_prefix(MARK).and_then(|parts| serde_json::from_str(parts).ok());
            own.or_else(|| parts(inner))
        }
        DataFusionError::Diagnostic(_, inner) => parts(inner),
        DataFusionError::Shared(inner) => parts(inner),
        DataFusionError::Collection(errors) => errors.first().and_then(parts),
        _ => None,
    }
}

impl FileError {
    fn of(error: &Error) -> Option<Self> {
        let kind = match error {
            Error::Corrupt { what, .. } => Kind::Corrupt(what.clone()),
            Error::NotParquet { .. } => Kind::NotParquet,
            Error::Encrypted { what, .. } => Kind::Encrypted(what.clone()),
            Error::Unsupported { feature, .. } => Kind::Unsupported(feature.clone()),
            Error::OutOfRange { what, .. } => Kind::OutOfRange(what.clone()),
            Error::Limit { what, limit, needed, .. } => {
                Kind::Limit { what: what.clone(), limit: *limit, needed: *needed }
            }
            Error::Io { op, source, .. } => Kind::Io { operation: (*op).to_owned(), source: source.to_string() },
            Error::Invalid { what } => Kind::Invalid(what.clone()),
            Error::Internal { what, .. } => Kind::Internal(what.clone()),
            _ => return None,
        };
        let at = error.location().cloned().unwrap_or_default();
        Some(Self {
            kind,
            file: at.file.map(|file| file.as_ref().to_owned()),
            column: at.column.map(|column| column.as_ref().to_owned()),
            row_group: at.row_group,
            page: at.page,
            row: at.row,
            offset: at.offset,
        })
    }

    fn into_error(self) -> Error {
        let at = Box::new(Location {
            file: self.file.map(Into::into),
            column: self.column.map(Into::into),
            row_group: self.row_group,
            page: self.page,
            row: self.row,
            offset: self.offset,
        });
        match self.kind {
            Kind::Corrupt(what) => Error::Corrupt { what, at },
            Kind::NotParquet => Error::NotParquet { looks_like: None, at },
            Kind::Encrypted(what) => Error::Encrypted { what, at },
            Kind::Unsupported(feature) => Error::Unsupported { feature, at },
            Kind::OutOfRange(what) => Error::OutOfRange { what, at },
            Kind::Limit { what, limit, needed } => Error::Limit { what, limit, needed, at },
            Kind::Io { operation, source } => {
                let op = OPERATIONS.into_iter().find(|known| *known == operation).unwrap_or("read");
                Error::Io { op, at, source: io::Error::other(source) }
            }
            Kind::Invalid(what) => Error::Invalid { what },
            Kind::Internal(what) => Error::Internal { what, at },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn errors_of_files_keep_their_kind() {
        let at = || {
            Box::new(Location {
                file: Some("a.parquet".into()),
                column: Some("x.y".into()),
                row_group: Some(3),
                page: Some(0),
                row: Some(17),
                offset: Some(4711),
            })
        };
        let what = || "what".to_owned();
        for make in [
            || Error::corrupt("what"),
            || Error::NotParquet { looks_like: None, at: Box::default() },
            || Error::encrypted("column x"),
            || Error::unsupported("a feature"),
            || Error::out_of_range("a value"),
            || Error::limit("bytes", 1, 2),
            || Error::io("open", io::Error::other("no such file")),
            || Error::invalid("a request"),
            || Error::internal("a bug"),
        ] {
            let made = || make().locate(|place| *place = *at());
            let sent = with_parts(DataFusionError::External(Box::new(made())).context("below"));
            let received = from_parts(DataFusionError::Shared(Arc::new(sent.context(what()))));
            let DataFusionError::External(cause) = received else { panic!("{received:?}") };
            let cause = cause.downcast::<Error>().unwrap();
            assert_eq!(format!("{cause:?}"), format!("{:?}", made()));
        }
        // Other errors stay as they are.
        let other = with_parts(DataFusionError::Execution(what()));
        assert!(matches!(from_parts(other), DataFusionError::Execution(text) if text == "what"));
    }
}
