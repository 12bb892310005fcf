//! A new store that is a copy of something, and goes again unless the copy is finished.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::options::{Durability, Options};
use crate::store::Store;

/// What [`FileStorage`](crate::FileStorage) adds to the path for the store's files.
const SUFFIXES: [&str; 4] = ["", "-log0", "-log1", "-lock"];
const LOG_SUFFIXES: [&str; 2] = ["-log0", "-log1"];

/// A store at a path where no file was. Dropped before it is finished, it takes its files with it.
#[derive(Debug)]
pub(crate) struct Unfinished {
    path: PathBuf,
    store: Option<Store>,
    /// Whether the files stay.
    stays: bool,
}

impl Unfinished {
    /// # Errors
    /// [`Error::Exists`] if there is a file at `path` or the log of a store beside it, [`Error::Io`].
    pub(crate) fn new(path: &Path) -> Result<Self> {
        for suffix in LOG_SUFFIXES {
            let log = with_suffix(path, suffix);
            // The log of a store whose data file is gone is not for this one to remove.
            if log.metadata().is_ok_and(|metadata| metadata.len() > 0) {
                return Err(Error::Exists(log.display().to_string()));
            }
        }
        // Made here rather than by opening, so that of two that make a copy at one path only one removes it.
        match OpenOptions::new().write(true).create_new(true).open(path) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(Error::Exists(path.display().to_string()));
            }
            Err(error) => return Err(Error::io("create", path)(error)),
        }
        let mut unfinished = Self { path: path.to_owned(), store: None, stays: false };
        let opened = Options::new().durability(Durability::Off).open(path);
        // Who was faster to open what was made here has it.
        unfinished.stays = matches!(opened, Err(Error::Busy));
        unfinished.store = Some(opened?);
        Ok(unfinished)
    }

    pub(crate) fn store(&self) -> Result<&Store> {
        self.store.as_ref().ok_or(Error::Poisoned)
    }

    /// Leaves the store where it is.
    pub(crate) fn finish(mut self) {
        self.stays = true;
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if self.stays {
            return;
        }
        if let Some(store) = self.store.take() {
            // Closing would write a checkpoint of what is thrown away.
            store.inner.poison();
        }
        for suffix in SUFFIXES {
            // A file that was not made yet is not there; one that cannot be removed is told of by the error that led here.
            let _ = fs::remove_file(with_suffix(&self.path, suffix));
        }
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
