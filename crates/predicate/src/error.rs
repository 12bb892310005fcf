use std::fmt;

use arrow_schema::ArrowError;
use lath_kernels::KernelError;

/// A result whose error is [`enum@Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The error of parsing, binding or evaluating a predicate.
///
/// ```
/// use lath_predicate::{Error, Predicate};
///
/// let error = Predicate::parse("price >").unwrap_err();
/// assert!(matches!(error, Error::Syntax { .. }));
/// assert!(error.to_string().starts_with("cannot read the expression: "));
/// ```
#[non_exhaustive]
#[derive(Debug)]
pub enum Error {
    /// The text is not a condition.
    Syntax {
        /// The text that was not understood, its position, and what to write instead.
        what: String,
    },
    /// The text is too long, or nests too deep.
    Limit {
        /// The quantity, and where the text exceeds it.
        what: String,
        /// The limit.
        limit: usize,
    },
    /// The predicate does not fit the schema: a column is missing, or types do not compare.
    Bind {
        /// The column or the types, and what to write instead.
        what: String,
    },
    /// There is no such literal.
    Literal {
        /// The literal.
        what: String,
    },
    /// A value cannot be cast to the type that CAST names.
    Cast {
        /// The column, the value and the type.
        what: String,
    },
    /// The arrays do not have the schema to which the predicate was bound.
    Mismatch {
        /// The difference.
        what: String,
    },
    /// Arrow failed.
    Arrow {
        /// Arrow's error.
        source: ArrowError,
    },
    /// A kernel refused its input.
    Kernel {
        /// The kernel's error.
        source: KernelError,
    },
}

impl Error {
    pub(crate) fn syntax(what: impl Into<String>) -> Self {
        Self::Syntax { what: what.into() }
    }

    pub(crate) fn bind(what: impl Into<String>) -> Self {
        Self::Bind { what: what.into() }
    }

    pub(crate) fn literal(what: impl Into<String>) -> Self {
        Self::Literal { what: what.into() }
    }

    pub(crate) fn mismatch(what: impl Into<String>) -> Self {
        Self::Mismatch { what: what.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax { what }
            | Self::Limit { what, .. }
            | Self::Bind { what }
            | Self::Literal { what }
            | Self::Cast { what }
            | Self::Mismatch { what } => f.write_str(what),
            Self::Arrow { source } => write!(f, "cannot evaluate the predicate: {source}"),
            Self::Kernel { source } => write!(f, "cannot evaluate the predicate: {source}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Arrow { source } => Some(source),
            Self::Kernel { source } => Some(source),
            _ => None,
        }
    }
}

impl From<ArrowError> for Error {
    fn from(source: ArrowError) -> Self {
        Self::Arrow { source }
    }
}

impl From<KernelError> for Error {
    fn from(source: KernelError) -> Self {
        Self::Kernel { source }
    }
}
