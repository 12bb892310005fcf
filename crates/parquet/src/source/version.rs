//! What tells whether a file is still the one whose footer was read.

use std::fs::Metadata;
#[cfg(feature = "object-store")]
use std::sync::Arc;

/// A state of a file. Two that are equal have the same bytes, as far as can be told without reading them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Version {
    /// A local file: length in bytes, time of the last change of its contents in seconds and nanoseconds, and where the system
    /// has them, device and inode number, and the time of the last change of any kind.
    Local { len: u64, modified: (i64, i64), identity: (u64, u64), changed: (i64, i64) },
    /// An object of a store: length in bytes, and what the store says of its contents.
    #[cfg(feature = "object-store")]
    Store { len: u64, tag: Arc<str> },
}

impl Version {
    /// The version of a local file.
    pub(crate) fn of_local(metadata: &Metadata) -> Self {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            Self::Local {
                len: metadata.len(),
                modified: (metadata.mtime(), metadata.mtime_nsec()),
                identity: (metadata.dev(), metadata.ino()),
                changed: (metadata.ctime(), metadata.ctime_nsec()),
            }
        }
        #[cfg(not(unix))]
        {
            use std::time::UNIX_EPOCH;
            let since = |time: std::io::Result<std::time::SystemTime>| {
                let since = time.ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
                (i64::try_from(since.as_secs()).unwrap_or(i64::MAX), i64::from(since.subsec_nanos()))
            };
            Self::Local {
                len: metadata.len(),
                modified: since(metadata.modified()),
                identity: (0, 0),
                changed: since(metadata.created()),
            }
        }
    }
}
