use std::fmt;
use std::sync::Arc;

use datafusion::error::DataFusionError;

use crate::text::Mistake;

/// An error of a statement.
#[non_exhaustive]
#[derive(Debug)]
pub enum Error {
    /// The text cannot be parsed, or names something that does not exist.
    Statement(String),
    /// A mistake in the text, with its position.
    Mistake(Box<Mistake>),
    /// A file could not be read or written.
    File(Box<lath_parquet::Error>),
    /// A table with a primary key could not be read or changed.
    Table(Box<lath_table::Error>),
    /// A catalog of files could not be read.
    Catalog(Box<lath_catalog::Error>),
    /// Not enough memory, or no space on disk to spill to.
    Resources(String),
    /// An expression fails for some row: a failed cast, a number that is too large.
    Rows(String),
    /// Another transaction has changed what this one has read. It has to be rolled back and run again.
    Conflict(String),
    /// The statement was stopped by [`Stop`](crate::Stop).
    Stopped,
    /// A bug in Lath or DataFusion.
    Internal(String),
}

/// A result with [`enum@Error`] as its error.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Wraps an error of Lath in one of DataFusion.
pub(crate) fn external(error: lath_parquet::Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

/// Wraps an error of a table with a primary key in one of DataFusion, with the words of SQL.
pub(crate) fn table_error(error: lath_table::Error) -> DataFusionError {
    use lath_table::Error as Table;
    match error {
        Table::DuplicateKey { key, .. } => DataFusionError::Execution(format!(
            "there is a row with {key} already, so nothing was changed; INSERT OR REPLACE INTO replaces it"
        )),
        Table::Null { column, .. } => DataFusionError::Execution(format!(
            "column {column:?} allows no nulls, so nothing was changed; give a value"
        )),
        Table::NotUnique { .. }
        | Table::KeyTooLong { .. }
        | Table::Constraint { .. }
        | Table::NoReferredRow { .. }
        | Table::ReferredRow { .. }
        | Table::ImpossibleAction { .. }
        | Table::TooLong { .. } => DataFusionError::Execution(error.to_string()),
        Table::Schema { .. }
        | Table::Key { .. }
        | Table::TableExists { .. }
        | Table::TableName { .. }
        | Table::NoSuchTable { .. }
        | Table::NoSuchIndex { .. }
        | Table::IndexExists { .. }
        | Table::NoSuchSnapshot { .. }
        | Table::SnapshotName { .. } => DataFusionError::Plan(error.to_string()),
        Table::NoChanges { since, kept_since: None } => DataFusionError::Plan(format!(
            "the table keeps no changes, so there are none since {since}; CALL keep_changes('table', 1000000) keeps the changes of later commits"
        )),
        error if error.is_read_only() => DataFusionError::Plan(
            "the database is open read-only, so nothing was changed; open it for writing".to_owned(),
        ),
        Table::NotKept { what } => {
            DataFusionError::Plan(format!("{what}; CALL keep_history() keeps the states after later commits"))
        }
        Table::Parquet { source } => match Arc::try_unwrap(source) {
            Ok(source) => external(source),
            Err(source) => DataFusionError::External(Box::new(Table::Parquet { source })),
        },
        other => DataFusionError::External(Box::new(other)),
    }
}

/// The plan of a statement does not fit its tables any more.
#[derive(Debug)]
struct OutdatedPlan(String);

impl fmt::Display for OutdatedPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for OutdatedPlan {}

/// The error for a plan that does not fit its tables any more.
pub(crate) fn outdated(what: String) -> DataFusionError {
    DataFusionError::External(Box::new(OutdatedPlan(what)))
}

/// The database has changed since a transaction began to read it.
#[derive(Debug)]
struct ReadConflict;

impl fmt::Display for ReadConflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "the database was changed after this transaction had begun to read it, so the transaction cannot change it; roll it back, and run \
             its statements again",
        )
    }
}

impl std::error::Error for ReadConflict {}

/// The error for a transaction whose reads may not hold any more.
pub(crate) fn conflict() -> DataFusionError {
    DataFusionError::External(Box::new(ReadConflict))
}

/// Whether a statement has to be planned again.
pub(crate) fn is_outdated(error: &DataFusionError) -> bool {
    matches!(error.find_root(), DataFusionError::External(inner) if inner.is::<OutdatedPlan>())
}

/// The error without its place in the text of the statement.
pub(crate) fn without_place(error: DataFusionError) -> DataFusionError {
    match error {
        DataFusionError::Diagnostic(_, inner) => without_place(*inner),
        DataFusionError::Context(what, inner) => DataFusionError::Context(what, Box::new(without_place(*inner))),
        other => other,
    }
}

/// Wraps an error of a catalog in one of DataFusion.
pub(crate) fn catalog_error(error: lath_catalog::Error) -> DataFusionError {
    use lath_catalog::Error as Catalog;
    match error {
        Catalog::NoCatalog { .. } | Catalog::Changed { .. } | Catalog::Predicate { .. } | Catalog::Invalid { .. } => {
            DataFusionError::Plan(error.to_string())
        }
        Catalog::Parquet { source } => match Arc::try_unwrap(source) {
            Ok(source) => external(source),
            Err(source) => DataFusionError::External(Box::new(Catalog::Parquet { source })),
        },
        other => DataFusionError::External(Box::new(other)),
    }
}

/// Runs work that blocks on I/O on a thread for blocking work.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, DataFusionError> + Send + 'static,
) -> Result<T, DataFusionError> {
    tokio::task::spawn_blocking(work).await.map_err(|panicked| DataFusionError::External(Box::new(panicked)))?
}

/// [`blocking`] work on a table.
pub(crate) async fn table_work<T: Send + 'static>(
    work: impl FnOnce() -> lath_table::Result<T> + Send + 'static,
) -> Result<T, DataFusionError> {
    blocking(|| work().map_err(table_error)).await
}

/// [`blocking`] work on files.
pub(crate) async fn file_work<T: Send + 'static>(
    work: impl FnOnce() -> lath_parquet::Result<T> + Send + 'static,
) -> Result<T, DataFusionError> {
    blocking(|| work().map_err(external)).await
}

impl From<DataFusionError> for Error {
    fn from(error: DataFusionError) -> Self {
        let text = |error: &DataFusionError| error.message().into_owned();
        match error {
            DataFusionError::External(inner) => match inner.downcast::<lath_parquet::Error>() {
                Ok(error) => Self::File(error),
                Err(other) => match other.downcast::<lath_table::Error>() {
                    Ok(error) => Self::Table(error),
                    Err(other) => match other.downcast::<lath_catalog::Error>() {
                        Ok(error) => Self::Catalog(error),
                        Err(other) if other.is::<OutdatedPlan>() => Self::Statement(other.to_string()),
                        Err(other) if other.is::<ReadConflict>() => Self::Conflict(other.to_string()),
                        Err(other) => Self::Internal(other.to_string()),
                    },
                },
            },
            DataFusionError::Context(_, inner) | DataFusionError::Diagnostic(_, inner) => Self::from(*inner),
            DataFusionError::Shared(inner) => match Arc::try_unwrap(inner) {
                Ok(inner) => Self::from(inner),
                Err(inner) => Self::from_shared(&inner),
            },
            DataFusionError::Collection(errors) => match errors.into_iter().next() {
                Some(first) => Self::from(first),
                None => Self::Internal("an error without a cause".to_owned()),
            },
            error @ (DataFusionError::SQL(..)
            | DataFusionError::Plan(_)
            | DataFusionError::SchemaError(..)
            | DataFusionError::NotImplemented(_)
            | DataFusionError::Configuration(_)) => Self::Statement(text(&error)),
            error @ DataFusionError::ResourcesExhausted(_) => Self::Resources(text(&error)),
            error @ (DataFusionError::ArrowError(..) | DataFusionError::Execution(_)) => {
                Self::Rows(in_plain_words(text(&error)))
            }
            other => Self::Internal(text(&other)),
        }
    }
}

impl Error {
    /// Converts an error that several parts of a query share.
    fn from_shared(error: &DataFusionError) -> Self {
        match error {
            DataFusionError::Context(_, inner) | DataFusionError::Diagnostic(_, inner) => Self::from_shared(inner),
            DataFusionError::Shared(inner) => Self::from_shared(inner),
            DataFusionError::ResourcesExhausted(_) => Self::Resources(error.message().into_owned()),
            DataFusionError::External(inner) => match inner.downcast_ref().and_then(copied) {
                Some(error) => Self::File(Box::new(error)),
                None => Self::Rows(inner.to_string()),
            },
            other => Self::Rows(in_plain_words(other.message().into_owned())),
        }
    }
}

/// The message of Arrow for a time that nanoseconds cannot represent, with what to do.
fn in_plain_words(message: String) -> String {
    let time = message.split_once("Overflow converting ").and_then(|(_, rest)| rest.split_once(" to Nanosecond"));
    match time {
        Some((time, _)) => format!(
            "{time} is no TIMESTAMP, which has nanoseconds and is from 1677-09-21 to 2262-04-11; write TIMESTAMP(6), for a column or before a literal, which has \
             microseconds and reaches to the year 294247"
        ),
        None => message,
    }
}

/// A copy of an error of a file; `None` for kinds that have none.
fn copied(error: &lath_parquet::Error) -> Option<lath_parquet::Error> {
    use lath_parquet::Error as File;
    let at = || Box::new(error.location().cloned().unwrap_or_default());
    Some(match error {
        File::Corrupt { what, .. } => File::Corrupt { what: what.clone(), at: at() },
        File::NotParquet { looks_like, .. } => File::NotParquet { looks_like: *looks_like, at: at() },
        File::Encrypted { what, .. } => File::Encrypted { what: what.clone(), at: at() },
        File::Unsupported { feature, .. } => File::Unsupported { feature: feature.clone(), at: at() },
        File::OutOfRange { what, .. } => File::OutOfRange { what: what.clone(), at: at() },
        File::Limit { what, limit, needed, .. } => {
            File::Limit { what: what.clone(), limit: *limit, needed: *needed, at: at() }
        }
        File::Io { op, source, .. } => {
            File::Io { op, at: at(), source: std::io::Error::new(source.kind(), source.to_string()) }
        }
        File::Invalid { what } => File::Invalid { what: what.clone() },
        File::Cancelled => File::Cancelled,
        File::Internal { what, .. } => File::Internal { what: what.clone(), at: at() },
        _ => return None,
    })
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Statement(what)
            | Self::Resources(what)
            | Self::Rows(what)
            | Self::Conflict(what)
            | Self::Internal(what) => f.write_str(what),
            Self::Mistake(mistake) => mistake.fmt(f),
            Self::Stopped => f.write_str("stopped"),
            Self::File(error) => error.fmt(f),
            Self::Table(error) => error.fmt(f),
            Self::Catalog(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::File(error) => Some(error),
            Self::Table(error) => Some(error),
            Self::Catalog(error) => Some(error),
            _ => None,
        }
    }
}
