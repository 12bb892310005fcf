//! The errors of a store.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// A result whose error is [`enum@Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The error of an operation on a store.
#[non_exhaustive]
#[derive(Debug, Clone)]
pub enum Error {
    /// The files of the store do not follow its format.
    Corrupt {
        /// A description of the damage.
        what: String,
        /// The offset in the data file, in bytes, if known.
        offset: Option<u64>,
    },
    /// An operation of the operating system failed.
    Io {
        /// The operation, as in "cannot … the file".
        op: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: Arc<io::Error>,
    },
    /// Something is larger than the format or an option allows.
    Limit {
        /// The name of the limited quantity.
        what: &'static str,
        /// The maximum.
        limit: u64,
    },
    /// Another process or transaction has the store open in a way that excludes this call.
    Busy,
    /// Another process kept the store locked for longer than [`Options::busy_timeout`](crate::Options::busy_timeout).
    BusyTimeout {
        /// How long this process waited.
        waited: Duration,
        /// The number of the other process, as the operating system counts; 0 if unknown.
        process: u32,
    },
    /// Since an [`OptimisticTransaction`](crate::OptimisticTransaction) began, another one has changed what it has read, so it was not committed:
    /// run it again. [`Store::transact`](crate::Store::transact) does so.
    Conflict {
        /// The tree that was changed.
        tree: String,
        /// A key that was put, replaced or removed. `None` if the tree was created or dropped.
        key: Option<Vec<u8>>,
    },
    /// Another transaction has this tree, or waits for it ([`Store::try_begin_on`](crate::Store::try_begin_on)).
    TreeBusy {
        /// The name of the tree.
        tree: String,
    },
    /// A file of the store was removed while the store was open, or another file has taken its place.
    Replaced {
        /// The name of the file.
        path: PathBuf,
    },
    /// The store was opened read-only.
    ReadOnly,
    /// An earlier write or sync failed, so the contents of the disk are unknown. Open the store again.
    Poisoned,
    /// There is no snapshot with this name, or the savepoint belongs to another transaction.
    NoSuchSnapshot(String),
    /// A file or a snapshot with this name already exists.
    Exists(String),
    /// An argument is not allowed, or the call is not allowed at this time.
    Invalid(String),
    /// The store is encrypted, and its key is missing or another one; or a key was given for a store without encryption.
    Key(String),
    /// The key has a nested tree, and no value.
    KeyHoldsTree,
    /// The key has a value, and no nested tree.
    KeyHoldsValue,
    /// A progress callback stopped the operation.
    Cancelled,
    /// A bug in this crate. Please report it.
    Internal(String),
}

impl Error {
    pub(crate) fn corrupt(what: impl Into<String>) -> Self {
        Self::Corrupt { what: what.into(), offset: None }
    }

    pub(crate) fn corrupt_at(offset: u64, what: impl Into<String>) -> Self {
        Self::Corrupt { what: what.into(), offset: Some(offset) }
    }

    /// The error of a process that did not get the writer lock, which another one holds.
    pub(crate) fn busy(waited: Duration, process: u32) -> Self {
        if waited.is_zero() { Self::Busy } else { Self::BusyTimeout { waited, process } }
    }

    pub(crate) fn internal(what: impl Into<String>) -> Self {
        Self::Internal(what.into())
    }

    /// Returns a closure for `map_err` that makes the error of the operation `op` on the file at `path`.
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
            Self::Busy => {
                write!(f, "another process has the store open, or another transaction is open: try again later")
            }
            Self::BusyTimeout { waited, process: 0 } => {
                write!(f, "another process has kept the store locked for more than {waited:?}: try again later")
            }
            Self::BusyTimeout { waited, process } => {
                write!(f, "process {process} has kept the store locked for more than {waited:?}: try again later")
            }
            Self::Conflict { tree, key: Some(key) } => write!(
                f,
                "key \"{}\" of tree {tree:?} was changed by another transaction since this one began: run it again",
                key.escape_ascii()
            ),
            Self::Conflict { tree, key: None } => write!(
                f,
                "tree {tree:?} was created or dropped by another transaction since this one began: run it again"
            ),
            Self::TreeBusy { tree } => {
                write!(f, "another transaction has tree {tree:?}, or waits for it: try again later")
            }
            Self::Replaced { path } => write!(
                f,
                "{} was removed or replaced while the store was open, so nothing more is written: end all processes that have the \
                 store open, and open it again (what they still read can be saved by a backup before)",
                path.display()
            ),
            Self::ReadOnly => write!(f, "the store was opened read-only"),
            Self::Poisoned => {
                write!(f, "an earlier write failed, so nothing more is written: open the store again")
            }
            Self::NoSuchSnapshot(name) => write!(f, "there is no snapshot named {name:?}"),
            Self::Exists(name) => write!(f, "{name:?} exists already"),
            Self::Key(why) | Self::Invalid(why) => write!(f, "{why}"),
            Self::KeyHoldsTree => write!(f, "the key has a nested tree and no value: open it as a tree"),
            Self::KeyHoldsValue => {
                write!(f, "the key has a value and no nested tree: read it as a value, or remove it first")
            }
            Self::Cancelled => write!(f, "cancelled"),
            Self::Internal(what) => write!(f, "internal error (please report it): {what}"),
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
