//! Converts errors of Lath to Python exceptions, with the messages of the command.

use std::fmt::Display;
use std::io;

use lath::arrow::schema::ArrowError;
use lath::{Error, Location, OtherFormat, PredicateError, catalog, store, table};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::python_error::PythonError;

/// An error that becomes a Python exception.
#[derive(Debug)]
pub struct Failure {
    kind: Kind,
    message: String,
    at: Option<Box<Location>>,
    os_error: Option<i32>,
    mistake: Option<Box<MistakePlace>>,
    /// The exception of a file object that caused the failure.
    cause: Option<Box<PyErr>>,
}

/// The location of a mistake in a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MistakePlace {
    /// Line and character, both counted from 1, if known.
    pub at: Option<(usize, usize)>,
    /// Names that may have been intended.
    pub suggestions: Vec<String>,
}

/// The exception classes of `lath._errors`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The bytes of a file break the rules of its format.
    Corrupt,
    /// A file is not Parquet.
    NotParquet,
    /// A key is missing.
    Encrypted,
    /// A feature that Lath does not read.
    Unsupported,
    /// A value that the type of its column cannot hold.
    OutOfRange,
    /// A limit was exceeded.
    Limit,
    /// The operating system reported an error.
    Io,
    /// The file does not exist.
    NotFound,
    /// A request that cannot be served.
    Invalid,
    /// A statement with a mistake.
    Statement,
    /// Another process excludes this operation.
    Busy,
    /// Something with this name already exists.
    Exists,
    /// The operation was stopped.
    Cancelled,
    /// A bug in Lath.
    Internal,
}

impl Kind {
    fn class(self) -> &'static str {
        match self {
            Self::Corrupt => "CorruptError",
            Self::NotParquet => "NotParquetError",
            Self::Encrypted => "EncryptedError",
            Self::Unsupported => "UnsupportedError",
            Self::OutOfRange => "OutOfRangeError",
            Self::Limit => "LimitError",
            Self::Io => "IoError",
            Self::NotFound => "NotFoundError",
            Self::Invalid => "InvalidError",
            Self::Statement => "StatementError",
            Self::Busy => "BusyError",
            Self::Exists => "ExistsError",
            Self::Cancelled => "CancelledError",
            Self::Internal => "InternalError",
        }
    }

    /// The kind of an operating system error.
    pub fn from_io(error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::NotFound { Self::NotFound } else { Self::Io }
    }
}

impl Failure {
    /// A failure of a kind, with its message for the user.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), at: None, os_error: None, mistake: None, cause: None }
    }

    /// A mistake in the text of a statement.
    pub fn statement(message: impl Into<String>, place: MistakePlace) -> Self {
        Self { mistake: Some(Box::new(place)), ..Self::new(Kind::Statement, message) }
    }

    /// A request that cannot be served.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(Kind::Invalid, message)
    }

    /// Ctrl-C, if no Python exception can be raised.
    pub fn interrupted() -> Self {
        Self::new(Kind::Cancelled, "interrupted")
    }

    /// A bug in Lath.
    pub fn bug(what: impl Display) -> Self {
        Self::new(Kind::Internal, format!("a bug in Lath, please report it: {what}"))
    }

    /// A predicate that is malformed, or does not fit the columns.
    pub fn predicate(error: impl Into<Error>) -> Self {
        let failure = Self::from(error.into());
        Self { message: format!("where: {}", failure.message), ..failure }
    }

    /// An operating system error at `name`.
    pub fn io(name: &str, op: &str, error: &io::Error) -> Self {
        let message = format!("{name}: cannot {op}: {error}");
        Self { os_error: error.raw_os_error(), ..Self::new(Kind::from_io(error), message) }
    }

    /// An error of the ordered store at `path`.
    pub fn store(path: &str, error: store::Error) -> Self {
        let mut os_error = None;
        let kind = match &error {
            store::Error::Corrupt { .. } => Kind::Corrupt,
            store::Error::Io { source, .. } => {
                os_error = source.raw_os_error();
                Kind::from_io(source)
            }
            store::Error::Limit { .. } => Kind::Limit,
            store::Error::Busy | store::Error::BusyTimeout { .. } => Kind::Busy,
            store::Error::Poisoned | store::Error::Replaced { .. } => Kind::Io,
            store::Error::Exists(_) => Kind::Exists,
            store::Error::ReadOnly | store::Error::NoSuchSnapshot(_) | store::Error::Invalid(_) => Kind::Invalid,
            store::Error::Cancelled => Kind::Cancelled,
            _ => Kind::Internal,
        };
        Self { os_error, ..Self::new(kind, format!("{path}: {error}")) }
    }

    /// The message for the user.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl Failure {
    /// Converts an error that several consumers may have, with a message that includes its location.
    fn from_shared(error: &Error, message: String) -> Self {
        let os_error = match error {
            Error::Io { source, .. } => source.raw_os_error(),
            _ => None,
        };
        let cause = match error {
            Error::Io { source, .. } => source.get_ref().and_then(|source| source.downcast_ref::<PythonError>()),
            _ => None,
        };
        let cause = cause.map(|raised| Box::new(Python::attach(|py| raised.exception().clone_ref(py))));
        let at = error.location().cloned().map(Box::new);
        Self { at, os_error, cause, ..Self::new(error_kind(error), message) }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let at = error.location();
        let name = at.and_then(|at| at.file.as_ref()).map_or_else(String::new, |file| format!("{file}: "));
        let place = at.map_or_else(String::new, |at| {
            let place = Location { file: None, ..at.clone() }.to_string();
            if place.is_empty() { place } else { format!(" ({place})") }
        });
        let message = match &error {
            Error::Corrupt { what, .. } => format!("{name}corrupt data: {what}{place}"),
            Error::NotParquet { looks_like, .. } => {
                let what = Error::NotParquet { looks_like: *looks_like, at: Box::default() };
                format!("{name}{what}{}", looks_like.map_or("", way_to_parquet))
            }
            Error::Encrypted { what, .. } => {
                format!("{name}{what} is encrypted: give its key with footer_key and column_keys{place}")
            }
            Error::Unsupported { feature, .. } => format!("{name}Lath cannot read {feature}{place}"),
            Error::OutOfRange { what, .. } => format!("{name}{what}{place}"),
            Error::Limit { what, limit, needed, .. } => {
                format!("{name}{what}: {needed} needed, limit is {limit}{place}")
            }
            Error::Io { op, source, .. } => format!("{name}cannot {op}: {source}"),
            Error::Internal { what, .. } => format!("{name}a bug in Lath, please report it: {what}{place}"),
            other => other.to_string(),
        };
        Self::from_shared(&error, message)
    }
}

fn error_kind(error: &Error) -> Kind {
    match error {
        Error::Corrupt { .. } => Kind::Corrupt,
        Error::NotParquet { .. } => Kind::NotParquet,
        Error::Encrypted { .. } => Kind::Encrypted,
        Error::Unsupported { .. } => Kind::Unsupported,
        Error::OutOfRange { .. } => Kind::OutOfRange,
        Error::Limit { .. } => Kind::Limit,
        Error::Io { source, .. } => Kind::from_io(source),
        Error::Invalid { .. } => Kind::Invalid,
        Error::Cancelled => Kind::Cancelled,
        _ => Kind::Internal,
    }
}

impl From<PredicateError> for Failure {
    fn from(error: PredicateError) -> Self {
        Error::from(error).into()
    }
}

/// Arrow's error for data from or to Python.
impl From<ArrowError> for Failure {
    fn from(error: ArrowError) -> Self {
        Self::invalid(error.to_string())
    }
}

impl From<table::Error> for Failure {
    fn from(error: table::Error) -> Self {
        let message = error.to_string();
        let kind = match error {
            table::Error::Parquet { source } => return Self::from_shared(&source, message),
            table::Error::Store { source } => return Self { message, ..Self::store("", source) },
            table::Error::Io { source, .. } => {
                return Self { os_error: source.raw_os_error(), ..Self::new(Kind::from_io(&source), message) };
            }
            table::Error::Exists { .. } | table::Error::TableExists { .. } | table::Error::NotEmpty { .. } => {
                Kind::Exists
            }
            table::Error::NoTable { .. } | table::Error::NoDatabase { .. } => Kind::NotFound,
            table::Error::InUse { .. } => Kind::Busy,
            table::Error::Corrupt { .. } => Kind::Corrupt,
            table::Error::Format { .. } => Kind::Unsupported,
            table::Error::KeyTooLong { .. } => Kind::Limit,
            table::Error::Closing => Kind::Cancelled,
            table::Error::Internal { .. } => Kind::Internal,
            // Each message says what the caller has to change.
            _ => Kind::Invalid,
        };
        Self::new(kind, message)
    }
}

impl From<catalog::Error> for Failure {
    fn from(error: catalog::Error) -> Self {
        let message = error.to_string();
        let kind = match error {
            catalog::Error::Parquet { source } => return Self::from_shared(&source, message),
            catalog::Error::Store { source, .. } => return Self { message, ..Self::store("", source) },
            catalog::Error::NoCatalog { .. } => Kind::NotFound,
            catalog::Error::Changed { .. } => Kind::Io,
            catalog::Error::Corrupt { .. } => Kind::Corrupt,
            catalog::Error::Format { .. } => Kind::Unsupported,
            // Each message says what the caller has to change.
            _ => Kind::Invalid,
        };
        Self::new(kind, message)
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        Python::attach(|py| exception(py, &failure).unwrap_or_else(|error| error))
    }
}

fn exception(py: Python<'_>, failure: &Failure) -> PyResult<PyErr> {
    let class = py.import("lath._errors")?.getattr(failure.kind.class())?;
    let exception = class.call1((&failure.message,))?;
    if let Some(at) = &failure.at {
        let place = PyDict::new(py);
        place.set_item("file", at.file.as_deref())?;
        place.set_item("column", at.column.as_deref())?;
        place.set_item("row_group", at.row_group)?;
        place.set_item("page", at.page)?;
        place.set_item("row", at.row)?;
        place.set_item("offset", at.offset)?;
        for (name, value) in place {
            exception.setattr(name.cast::<pyo3::types::PyString>()?, value)?;
        }
    }
    if let Some(MistakePlace { at, suggestions }) = failure.mistake.as_deref() {
        exception.setattr("line", at.map(|(line, _)| line))?;
        exception.setattr("character", at.map(|(_, character)| character))?;
        exception.setattr("suggestions", pyo3::types::PyTuple::new(py, suggestions)?)?;
    }
    if let Some(code) = failure.os_error {
        exception.setattr("errno", code)?;
    }
    let error = PyErr::from_value(exception);
    if let Some(cause) = &failure.cause {
        error.set_cause(py, Some(cause.clone_ref(py)));
    }
    Ok(error)
}

/// Instructions for converting a file of another format to Parquet, for messages.
fn way_to_parquet(format: OtherFormat) -> &'static str {
    match format {
        OtherFormat::Csv | OtherFormat::Json | OtherFormat::ArrowFile | OtherFormat::ArrowStream => {
            "; lath convert makes a Parquet file of it"
        }
        OtherFormat::Zip => "; extract it first",
        OtherFormat::Gzip | OtherFormat::Zstandard | OtherFormat::Bzip2 | OtherFormat::Xz => "; decompress it first",
        _ => "",
    }
}
