use std::fmt;

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
        }
    }
}

impl std::error::Error for Error {}
