//! The errors of catalogs.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_schema::ArrowError;

/// A result whose error is [`enum@Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The error of an operation on a catalog.
#[non_exhaustive]
#[derive(Debug, Clone)]
pub enum Error {
    /// The store of the catalog failed.
    Store {
        /// The store's error.
        source: lath_store::Error,
    },
    /// A file could not be found or read.
    Parquet {
        /// The reader's error.
        source: Arc<lath_parquet::Error>,
    },
    /// A condition does not fit the columns.
    Predicate {
        /// The error of the predicate.
        source: Arc<lath_predicate::Error>,
    },
    /// A schema could not be encoded or decoded.
    Arrow {
        /// Arrow's error.
        source: Arc<ArrowError>,
    },
    /// There is no catalog at this path.
    NoCatalog {
        /// The path.
        path: PathBuf,
    },
    /// Another program has changed the catalog in a bucket since it was opened. It stays as that program wrote it.
    Changed {
        /// The URL.
        url: String,
    },
    /// The catalog has a format that this version does not support.
    Format {
        /// The number of the format.
        format: u32,
    },
    /// A record of the catalog is malformed.
    Corrupt {
        /// The damage found.
        what: String,
    },
    /// The call does not fit this catalog, or cannot be answered from one.
    Invalid {
        /// The mistake, and what to do instead.
        what: String,
    },
}

impl Error {
    pub(crate) fn corrupt(what: impl Into<String>) -> Self {
        Self::Corrupt { what: what.into() }
    }

    /// The error for a catalog of a table in a build that reads none.
    #[cfg(not(feature = "lake"))]
    pub(crate) fn without_lakes() -> Self {
        Self::invalid("the catalog is of a table of Delta Lake or Iceberg, which needs a build with the feature lake")
    }

    pub(crate) fn invalid(what: impl Into<String>) -> Self {
        Self::Invalid { what: what.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Store { source } => write!(f, "the store of the catalog: {source}"),
            Self::Parquet { source } => source.fmt(f),
            Self::Predicate { source } => source.fmt(f),
            Self::Arrow { source } => source.fmt(f),
            Self::NoCatalog { path } => {
                write!(f, "{}: there is no catalog; create one by adding files", path.display())
            }
            Self::Changed { url } => {
                write!(f, "{url}: another program has changed the catalog meanwhile; run the command again")
            }
            Self::Format { format } => {
                write!(
                    f,
                    "the catalog has format {format}, which this version of Lath does not read; use a newer version"
                )
            }
            Self::Corrupt { what } => write!(f, "the catalog is damaged: {what}; delete it and add its files again"),
            Self::Invalid { what } => f.write_str(what),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Store { source } => Some(source),
            Self::Parquet { source } => Some(&**source),
            Self::Predicate { source } => Some(&**source),
            Self::Arrow { source } => Some(&**source),
            _ => None,
        }
    }
}

impl From<lath_store::Error> for Error {
    fn from(source: lath_store::Error) -> Self {
        Self::Store { source }
    }
}

impl From<lath_store::RecordError> for Error {
    fn from(error: lath_store::RecordError) -> Self {
        Self::corrupt(error.to_string())
    }
}

impl From<lath_parquet::Error> for Error {
    fn from(source: lath_parquet::Error) -> Self {
        Self::Parquet { source: Arc::new(source) }
    }
}

impl From<lath_predicate::Error> for Error {
    fn from(source: lath_predicate::Error) -> Self {
        Self::Predicate { source: Arc::new(source) }
    }
}

impl From<ArrowError> for Error {
    fn from(source: ArrowError) -> Self {
        Self::Arrow { source: Arc::new(source) }
    }
}
