//! Detects that a file has changed since its footer was read.

use std::fs::{self, Metadata};
use std::io;
#[cfg(target_os = "linux")]
use std::os::fd::OwnedFd;
use std::path::Path;
#[cfg(feature = "object-store")]
use std::sync::Arc;

/// Which object an upload may replace.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Replaces {
    /// Any, or none.
    #[default]
    Any,
    /// None: it is an error if there is one.
    None,
    /// Only the object with this version.
    Version(Version),
}

/// A state of a file. Equal versions have the same bytes, as far as metadata can tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Version {
    /// A local file. Times are in seconds and nanoseconds since 1970.
    Local {
        /// Length in bytes.
        len: u64,
        /// The time of the last change of its contents.
        modified: (i64, i64),
        /// Device and inode number, if the system has them.
        identity: (u64, u64),
        /// The time of the last change of contents or metadata; the time of creation if the system does not have the former.
        changed: (i64, i64),
    },
    /// An object in a store.
    #[cfg(feature = "object-store")]
    Store {
        /// Length in bytes.
        len: u64,
        /// The ETag, or the time of the last change if the store has no ETag.
        tag: Arc<str>,
    },
}

impl Version {
    /// The version of an object by its length and its ETag.
    ///
    /// # Errors
    /// None.
    #[cfg(feature = "object-store")]
    pub fn object(len: u64, tag: &str) -> io::Result<Self> {
        Ok(Self::Store { len, tag: tag.into() })
    }

    /// Always an error in this build.
    ///
    /// # Errors
    /// [`io::ErrorKind::Unsupported`].
    #[cfg(not(feature = "object-store"))]
    pub fn object(len: u64, tag: &str) -> io::Result<Self> {
        let what = format!(
            "this build reads no stores, and so not the object of {len} bytes with the ETag {tag}; build it with the feature object-store"
        );
        Err(io::Error::new(io::ErrorKind::Unsupported, what))
    }

    /// Whether both have the same bytes, as far as metadata can tell without the time of changes of metadata: other names and rights of a local
    /// file do not count.
    pub fn has_same_contents(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Local { len, modified, identity, .. },
                Self::Local { len: other_len, modified: other_modified, identity: other_identity, .. },
            ) if *identity != (0, 0) => (len, modified, identity) == (other_len, other_modified, other_identity),
            _ => self == other,
        }
    }

    /// The ETag of an object, or the time of its last change if the store has no ETag; `None` for a local file.
    pub fn tag(&self) -> Option<&str> {
        match self {
            Self::Local { .. } => None,
            #[cfg(feature = "object-store")]
            Self::Store { tag, .. } => Some(tag),
        }
    }

    /// The version of a local file.
    pub fn from_metadata(metadata: &Metadata) -> Self {
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
            let since = |time: io::Result<std::time::SystemTime>| {
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

/// Compares files with their known versions, one after the other.
///
/// Half of the time goes into finding the file's directory. On Linux, consecutive files of one directory are looked up from there: 0.9 µs
/// instead of 1.7 µs for a path of six names.
#[derive(Debug, Default)]
pub struct VersionCheck<'a> {
    #[cfg(target_os = "linux")]
    before: &'a [u8],
    #[cfg(target_os = "linux")]
    directory: Option<OwnedFd>,
    #[cfg(not(target_os = "linux"))]
    lifetime: std::marker::PhantomData<&'a ()>,
}

impl<'a> VersionCheck<'a> {
    /// Whether the file at `path` still has the version `known`.
    pub fn is_current(&mut self, path: &'a Path, known: &Version) -> bool {
        // The two ways to look a file up can give different numbers for the same state, so a difference is checked by the path.
        self.seen_from_directory(path).is_some_and(|version| version == *known)
            || fs::metadata(path).is_ok_and(|metadata| Version::from_metadata(&metadata) == *known)
    }

    #[cfg(target_os = "linux")]
    fn seen_from_directory(&mut self, path: &'a Path) -> Option<Version> {
        use std::os::unix::ffi::OsStrExt;

        use rustix::fs::{AtFlags, CWD, Mode, OFlags, openat, statat};

        let bytes = path.as_os_str().as_bytes();
        let (directory, name) = bytes.split_at(bytes.iter().rposition(|&byte| byte == b'/')? + 1);
        if self.before != directory {
            // A single file is found as fast by its path.
            self.before = directory;
            self.directory = None;
            return None;
        }
        if self.directory.is_none() {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            self.directory = openat(CWD, directory, flags, Mode::empty()).ok();
        }
        let stat = statat(self.directory.as_ref()?, name, AtFlags::empty()).ok()?;
        Some(Version::Local {
            len: u64::try_from(stat.st_size).ok()?,
            modified: (stat.st_mtime, i64::try_from(stat.st_mtime_nsec).ok()?),
            identity: (stat.st_dev, stat.st_ino),
            changed: (stat.st_ctime, i64::try_from(stat.st_ctime_nsec).ok()?),
        })
    }

    #[cfg(not(target_os = "linux"))]
    fn seen_from_directory(&mut self, _: &'a Path) -> Option<Version> {
        None
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn files_are_seen_from_their_directory_as_by_their_paths() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let name = |number: usize| if number < 6 { one.path() } else { other.path() }.join(number.to_string());
        let paths: Vec<_> = (0..9).map(name).collect();
        paths.iter().enumerate().for_each(|(number, path)| fs::write(path, vec![0; number]).unwrap());
        let version = |path: &Path| Version::from_metadata(&fs::metadata(path).unwrap());
        let known: Vec<Version> = paths.iter().map(|path| version(path)).collect();

        let mut check = VersionCheck::default();
        let seen = paths.iter().map(|path| check.seen_from_directory(path)).collect::<Vec<_>>();
        for (number, (seen, known)) in seen.into_iter().zip(&known).enumerate() {
            let is_seen = cfg!(target_os = "linux") && number % 6 > 0;
            assert_eq!(seen.as_ref(), is_seen.then_some(known), "{number}");
        }
        fs::write(&paths[3], "changed").unwrap();
        fs::rename(&paths[5], &paths[4]).unwrap();
        let mut check = VersionCheck::default();
        let current = paths.iter().zip(&known).map(|(path, known)| check.is_current(path, known));
        assert_eq!(current.collect::<Vec<_>>(), [true, true, true, false, false, false, true, true, true]);
        // Without a directory in its name, and with one that is not there.
        let mut check = VersionCheck::default();
        for path in ["no file", "/no/file", "/no/file"] {
            assert!(!check.is_current(Path::new(path), &known[0]));
        }
    }
}
