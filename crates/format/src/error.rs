use std::fmt;

use crate::thrift::ThriftError;

/// The result of whatever can fail here.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why metadata cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The bytes break a rule of the format. `what` says which, in words for a user.
    Corrupt {
        /// What is wrong.
        what: String,
    },
    /// A column chunk's own metadata breaks a rule of the format, and the others can be used.
    CorruptChunk {
        /// What is wrong.
        what: String,
        /// The row group, counted from 0.
        row_group: usize,
        /// The leaf column, counted from 0.
        column: usize,
    },
    /// The format has it, and Lath does not.
    Unsupported {
        /// What is not supported.
        what: String,
    },
    /// Larger than a limit that was set.
    Limit {
        /// What is limited.
        what: &'static str,
        /// The limit.
        limit: u64,
        /// What the file asks for.
        actual: u64,
    },
    /// A key is missing.
    Encrypted {
        /// What is encrypted.
        what: String,
    },
    /// A key cannot be used.
    InvalidKey {
        /// Why.
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

    /// An error of a structure that `name` names.
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
