//! Errors of reading and writing, and their location.

use std::fmt;
use std::io;
use std::sync::Arc;

use arrow_schema::ArrowError;
use lath_kernels::KernelError;
use lath_predicate::Error as PredicateError;
use lath_source::BlockDamage;

use crate::other_format::OtherFormat;

/// A result whose error is [`enum@Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Location of an error in a file. Known parts are set; the others are `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Location {
    /// Path or name of the file.
    pub file: Option<Arc<str>>,
    /// Dotted path of the leaf column.
    pub column: Option<Arc<str>>,
    /// Row group, counted from 0.
    pub row_group: Option<usize>,
    /// Page within the column chunk, counted from 0; the dictionary page counts.
    pub page: Option<usize>,
    /// Row within the row group, counted from 0.
    pub row: Option<u64>,
    /// Byte offset within the file.
    pub offset: Option<u64>,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        let mut part = |f: &mut fmt::Formatter<'_>, name: &str, value: Option<&dyn fmt::Display>| {
            let Some(value) = value else { return Ok(()) };
            write!(f, "{separator}{name} {value}")?;
            separator = ", ";
            Ok(())
        };
        part(f, "file", self.file.as_ref().map(|v| v as _))?;
        part(f, "column", self.column.as_ref().map(|v| v as _))?;
        part(f, "row group", self.row_group.as_ref().map(|v| v as _))?;
        part(f, "row", self.row.as_ref().map(|v| v as _))?;
        part(f, "page", self.page.as_ref().map(|v| v as _))?;
        part(f, "offset", self.offset.as_ref().map(|v| v as _))
    }
}

impl Location {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// An error of reading or writing.
#[non_exhaustive]
#[derive(Debug)]
pub enum Error {
    /// The bytes break the format's rules.
    Corrupt {
        /// Description of the fault.
        what: String,
        /// Location.
        at: Box<Location>,
    },
    /// The file is not Parquet: it neither begins nor ends as a Parquet file does.
    NotParquet {
        /// The format that its first bytes look like, if any.
        looks_like: Option<OtherFormat>,
        /// Location.
        at: Box<Location>,
    },
    /// Something is encrypted, and its key was not given.
    Encrypted {
        /// The encrypted part: "the footer", or "column" and its path.
        what: String,
        /// Location.
        at: Box<Location>,
    },
    /// The file seems valid, but uses a feature that Lath does not read.
    Unsupported {
        /// The feature, as the specification names it.
        feature: String,
        /// Location.
        at: Box<Location>,
    },
    /// A value is valid, but the Arrow type of its column cannot hold it.
    OutOfRange {
        /// The value, the type, and what can be done.
        what: String,
        /// Location.
        at: Box<Location>,
    },
    /// A configured limit was reached; see [`Limits`](crate::Limits).
    Limit {
        /// The quantity, and the name of the option that bounds it.
        what: String,
        /// The limit.
        limit: u64,
        /// The amount that the file needs.
        needed: u64,
        /// Location.
        at: Box<Location>,
    },
    /// The storage failed.
    Io {
        /// The operation ("open", "read", …).
        op: &'static str,
        /// Location.
        at: Box<Location>,
        /// The operating system's error.
        source: io::Error,
    },
    /// The caller requested something that the file does not have or Lath does not do.
    Invalid {
        /// Description of the fault in the request.
        what: String,
    },
    /// The work was stopped by [`Cancel::cancel`](crate::Cancel::cancel).
    Cancelled,
    /// A bug in Lath, independent of the file's contents, which should be reported.
    Internal {
        /// Description of the fault.
        what: String,
        /// The location that was being read.
        at: Box<Location>,
    },
}

impl Error {
    /// Malformed bytes; [`Error::locate`] fills in the location.
    pub fn corrupt(what: impl Into<String>) -> Self {
        Self::Corrupt { what: what.into(), at: Box::default() }
    }

    /// Encrypted data without a key; [`Error::locate`] fills in the location.
    pub fn encrypted(what: impl Into<String>) -> Self {
        Self::Encrypted { what: what.into(), at: Box::default() }
    }

    /// A bug of Lath; [`Error::locate`] fills in the location.
    pub fn internal(what: impl Into<String>) -> Self {
        Self::Internal { what: what.into(), at: Box::default() }
    }

    /// An error of Arrow for arrays built of checked parts. Arrow refuses them only because of a bug of Lath, except if valid
    /// values are too long for offsets of 32 bits.
    pub(crate) fn from_arrow(error: &ArrowError) -> Self {
        match error {
            ArrowError::OffsetOverflowError(bytes) => {
                Self::limit("bytes of a batch with offsets of 32 bits", i32::MAX as u64, *bytes as u64)
            }
            other => Self::internal(other.to_string()),
        }
    }

    /// An unsupported feature; [`Error::locate`] fills in the location.
    pub fn unsupported(feature: impl Into<String>) -> Self {
        Self::Unsupported { feature: feature.into(), at: Box::default() }
    }

    /// A value that its Arrow type cannot hold; [`Error::locate`] fills in the location.
    pub fn out_of_range(what: impl Into<String>) -> Self {
        Self::OutOfRange { what: what.into(), at: Box::default() }
    }

    /// A limit that would be exceeded; [`Error::locate`] fills in the location.
    pub fn limit(what: impl Into<String>, limit: u64, needed: u64) -> Self {
        Self::Limit { what: what.into(), limit, needed, at: Box::default() }
    }

    /// A failure of the storage; [`Error::locate`] fills in the location.
    pub fn io(op: &'static str, source: io::Error) -> Self {
        if let Some(inner) = source.get_ref()
            && inner.is::<BlockDamage>()
        {
            return Self::corrupt(source.to_string());
        }
        Self::Io { op, source, at: Box::default() }
    }

    /// A request that cannot be served.
    pub fn invalid(what: impl Into<String>) -> Self {
        Self::Invalid { what: what.into() }
    }

    /// The error's location; `None` for a request that cannot be served, and for cancelled work.
    pub fn location(&self) -> Option<&Location> {
        match self {
            Self::Corrupt { at, .. }
            | Self::NotParquet { at, .. }
            | Self::Encrypted { at, .. }
            | Self::Unsupported { at, .. }
            | Self::OutOfRange { at, .. }
            | Self::Limit { at, .. }
            | Self::Io { at, .. }
            | Self::Internal { at, .. } => Some(at),
            Self::Invalid { .. } | Self::Cancelled => None,
        }
    }

    /// Completes the error's location with `fill`; each layer fills the parts that are still `None`.
    pub fn locate(mut self, fill: impl FnOnce(&mut Location)) -> Self {
        match &mut self {
            Self::Corrupt { at, .. }
            | Self::NotParquet { at, .. }
            | Self::Encrypted { at, .. }
            | Self::Unsupported { at, .. }
            | Self::OutOfRange { at, .. }
            | Self::Limit { at, .. }
            | Self::Io { at, .. }
            | Self::Internal { at, .. } => fill(at),
            Self::Invalid { .. } | Self::Cancelled => {}
        }
        self
    }

    /// Converts the row to the numbering of the next layer: each layer counts its values, slots or rows from 0.
    pub fn map_row(self, row: impl FnOnce(u64) -> u64) -> Self {
        self.locate(|at| at.row = at.row.map(row))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Corrupt { what, .. } => write!(f, "corrupt data: {what}")?,
            Self::NotParquet { looks_like: None, .. } => write!(f, "not a Parquet file")?,
            Self::NotParquet { looks_like: Some(format), .. } => write!(f, "not a Parquet file: it is {format}")?,
            Self::Encrypted { what, .. } => write!(f, "{what} is encrypted, and no key for it was given")?,
            Self::Unsupported { feature, .. } => write!(f, "not supported: {feature}")?,
            Self::OutOfRange { what, .. } => write!(f, "out of range: {what}")?,
            Self::Limit { what, limit, needed, .. } => write!(f, "{what}: {needed} needed, limit is {limit}")?,
            Self::Io { op, source, .. } => write!(f, "cannot {op}: {source}")?,
            Self::Invalid { what } => return f.write_str(what),
            Self::Cancelled => return f.write_str("cancelled"),
            Self::Internal { what, .. } => write!(f, "a bug in Lath, please report it: {what}")?,
        }
        match self.location() {
            Some(at) if !at.is_empty() => write!(f, " ({at})"),
            _ => Ok(()),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}

impl From<PredicateError> for Error {
    fn from(error: PredicateError) -> Self {
        match error {
            PredicateError::Arrow { source } => Self::from_arrow(&source),
            PredicateError::Kernel { source } => source.into(),
            // Each message says what the caller has to change.
            other => Self::invalid(other.to_string()),
        }
    }
}

impl From<lath_format::Error> for Error {
    fn from(error: lath_format::Error) -> Self {
        match error {
            lath_format::Error::Corrupt { what } => Self::corrupt(what),
            lath_format::Error::CorruptChunk { what, row_group, .. } => {
                Self::corrupt(what).locate(|at| at.row_group = Some(row_group))
            }
            lath_format::Error::Unsupported { what } => Self::unsupported(what),
            lath_format::Error::Limit { what, limit, actual } => Self::limit(what, limit, actual),
            lath_format::Error::Encrypted { what } => Self::encrypted(what),
            lath_format::Error::InvalidKey { what } => Self::invalid(what),
            other => Self::internal(other.to_string()),
        }
    }
}

impl From<KernelError> for Error {
    fn from(error: KernelError) -> Self {
        match error {
            // A caller's slices do not match; input that does not fit is refused by other errors.
            KernelError::LengthMismatch { .. } => Self::internal(error.to_string()),
            _ => Self::corrupt(error.to_string()),
        }
    }
}
