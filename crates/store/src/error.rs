//! What can go wrong in a store, and where.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A result whose error is [`enum@Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a store could not do what was asked.
#[non_exhaustive]
#[derive(Debug, Clone)]
pub enum Error {
    /// The bytes of the store break its format.
    Corrupt {
        /// What is wrong.
        what: String,
        /// The byte of the data file at which it was found, where that is known.
        offset: Option<u64>,
    },
    /// The operating system refused.
    Io {
        /// What was being done, as in "cannot … the file".
        op: &'static str,
        /// The file it was done to.
        path: PathBuf,
        /// What the system said.
        source: Arc<io::Error>,
    },
    /// Something is larger than the format or an option allows.
    Limit {
        /// What is too large.
        what: &'static str,
        /// The largest that is possible.
        limit: u64,
    },
    /// Another writer is at work, or a reader of a store that nobody was writing to, and the call was told not to wait.
    Busy,
    /// The store was opened for reading only.
    ReadOnly,
    /// An earlier write or sync failed, so that nobody knows what the disk holds: open the store again.
    Poisoned,
    /// No tree of this name is there.
    NoSuchTree(String),
    /// No snapshot of this name is there, or the savepoint belongs to another transaction.
    NoSuchSnapshot(String),
    /// Something of this name is there already.
    Exists(String),
    /// The call cannot be carried out as it was made.
    Invalid(String),
    /// The caller said during the work not to go on.
    Cancelled,
    /// A bug in this crate: please report it.
    Internal(String),
}

impl Error {
    pub(crate) fn corrupt(what: impl Into<String>) -> Self {
        Self::Corrupt { what: what.into(), offset: None }
    }

    pub(crate) fn corrupt_at(offset: u64, what: impl Into<String>) -> Self {
        Self::Corrupt { what: what.into(), offset: Some(offset) }
    }

    /// For `map_err`: the error of doing `op` to the file at `path`.
    pub fn io(op: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { op, path: path.to_owned(), source: Arc::new(source) }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Corrupt { what, offset: None } => write!(f, "the store is damaged: {what}"),
            Self::Corrupt { what, offset: Some(offset) } => write!(f, "the store is damaged at byte {offset}: {what}"),
            Self::Io { op, path, source } => write!(f, "cannot {op} {}: {source}", path.display()),
            Self::Limit { what, limit } => write!(f, "{what} is more than {limit}"),
            Self::Busy => write!(f, "another process has the store open"),
            Self::ReadOnly => write!(f, "the store was opened for reading only"),
            Self::Poisoned => {
                write!(f, "an earlier write failed, so that nothing more is written: open the store again")
            }
            Self::NoSuchTree(name) => write!(f, "there is no tree named {name:?}"),
            Self::NoSuchSnapshot(name) => write!(f, "there is no snapshot named {name:?}"),
            Self::Exists(name) => write!(f, "{name:?} is there already"),
            Self::Invalid(why) => write!(f, "{why}"),
            Self::Cancelled => write!(f, "the work was cancelled"),
            Self::Internal(what) => write!(f, "a bug in lath-store: {what}"),
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
