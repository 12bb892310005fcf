use std::fmt;

use crate::thrift::ThriftError;

/// A result whose error is [`enum@Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The error of reading or decrypting metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The bytes violate the format.
    Corrupt {
        /// The violation, for a user.
        what: String,
    },
    /// The metadata of one column chunk violate the format; other chunks can be read.
    CorruptChunk {
        /// The violation, for a user.
        what: String,
        /// The row group, counted from 0.
        row_group: usize,
        /// The leaf column, counted from 0.
        column: usize,
    },
    /// The file uses a feature of the format that Lath does not support.
    Unsupported {
        /// The feature.
        what: String,
    },
    /// The file exceeds a limit.
    Limit {
        /// The limited quantity.
        what: &'static str,
        /// The limit.
        limit: u64,
        /// The quantity in the file.
        actual: u64,
    },
    /// A key is missing.
    Encrypted {
        /// The encrypted part.
        what: String,
    },
    /// A key is invalid.
    InvalidKey {
        /// The reason.
        what: String,
    },
}

impl Error {
    pub(crate) fn corrupt(what: impl Into<String>) -> Self {
        Self::Corrupt { what: what.into() }
    }

    pub(crate) fn unsupported(what: impl Into<String>) -> Self {
        Self::Unsupported { what: what.into() }
    }

    pub(crate) fn encrypted(what: impl Into<String>) -> Self {
        Self::Encrypted { what: what.into() }
    }

    pub(crate) fn invalid_key(what: impl Into<String>) -> Self {
        Self::InvalidKey { what: what.into() }
    }

    /// The error of a structure called `name`.
    pub(crate) fn malformed(name: &str, error: ThriftError) -> Self {
        match error {
            ThriftError::Incomplete(_) => Self::corrupt(format!("the {name} ends within a structure")),
            ThriftError::Malformed(what) => Self::corrupt(format!("malformed {name}: {what}")),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Corrupt { what } | Self::InvalidKey { what } => f.write_str(what),
            Self::CorruptChunk { what, row_group, column } => {
                write!(f, "{what} (row group {row_group}, column {column})")
            }
            Self::Unsupported { what } => write!(f, "not supported: {what}"),
            Self::Limit { what, limit, actual } => write!(f, "{actual} {what}, limit is {limit}"),
            Self::Encrypted { what } => write!(f, "{what} is encrypted, and its key was not given"),
        }
    }
}

impl std::error::Error for Error {}
