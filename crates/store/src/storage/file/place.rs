//! Notices that another file has taken the name of an open one.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// The name of an open file, and what tells the file from others.
#[derive(Debug)]
pub(super) struct Place {
    path: PathBuf,
    device: u64,
    file: u64,
}

impl Place {
    pub(super) fn new(file: &File, path: &Path) -> Result<Self> {
        let metadata = file.metadata().map_err(Error::io("read the number of", path))?;
        Ok(Self { path: path.to_owned(), device: metadata.dev(), file: metadata.ino() })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The number of the file, which no other file on the machine has as long as this one is open. Never 0.
    pub(super) fn number(&self) -> u64 {
        (self.device.rotate_left(40) ^ self.file).max(1)
    }

    /// Returns whether the name leads to the file.
    pub(super) fn is_current(&self) -> Result<bool> {
        match std::fs::metadata(&self.path) {
            Ok(there) => Ok(self.is_at(&there)),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(false),
            // A process may give up its rights after it has opened the store.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(true),
            Err(error) => Err(Error::io("find", &self.path)(error)),
        }
    }

    /// # Errors
    ///
    /// [`Error::Replaced`] if the name does not lead to the file.
    pub(super) fn check(&self) -> Result<()> {
        if self.is_current()? { Ok(()) } else { Err(Error::Replaced { path: self.path.clone() }) }
    }

    fn is_at(&self, there: &Metadata) -> bool {
        (there.dev(), there.ino()) == (self.device, self.file)
    }
}
