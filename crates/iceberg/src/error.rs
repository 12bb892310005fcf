use std::fmt;
use std::io;

/// An error of reading or writing Iceberg's files.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The bytes are not what the specification says.
    Corrupt {
        /// The kind of file or value: `manifest list`, `schema`.
        file: &'static str,
        /// The problem.
        what: String,
    },
    /// The specification allows it, and this version does not read it.
    Unsupported {
        /// The feature.
        feature: String,
    },
    /// Iceberg has no type for the values of a column.
    Type {
        /// The column, with the names of its parents.
        column: String,
        /// The problem.
        what: String,
    },
    /// A file could not be read.
    Io {
        /// The kind of failure.
        kind: io::ErrorKind,
        /// The problem.
        what: String,
    },
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Io { kind: error.kind(), what: error.to_string() }
    }
}

/// A result with [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    pub(crate) fn corrupt(file: &'static str, what: impl Into<String>) -> Self {
        Self::Corrupt { file, what: what.into() }
    }

    pub(crate) fn unsupported(feature: impl Into<String>) -> Self {
        Self::Unsupported { feature: feature.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Corrupt { file, what } => write!(f, "damaged {file}: {what}"),
            Self::Unsupported { feature } => write!(f, "not supported: {feature}"),
            Self::Type { column, what } => write!(f, "column {column}: {what}"),
            Self::Io { what, .. } => write!(f, "cannot be read: {what}"),
        }
    }
}

impl std::error::Error for Error {}
