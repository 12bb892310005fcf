//! A new store that is a copy of something, and appears when it is finished.

use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::options::{Durability, Options};
use crate::store::Store;

/// What [`FileStorage`](crate::FileStorage) adds to the path for the logs of a store.
const LOG_SUFFIXES: [&str; 2] = ["-log0", "-log1"];

/// Leftovers are looked for under the first numbers; higher ones are in use only while as many processes copy to one path.
const NUMBERS_SEARCHED: u32 = 4;

/// More temporary folders of one name than anyone has.
const NUMBERS: u32 = 10_000;

/// How far a copy of a store has got.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyProgress {
    /// Bytes of the keys and values that were written so far.
    pub written_bytes: u64,
}

/// Counts what is copied, and asks whether to go on.
pub(crate) struct Counter<'p> {
    progress: &'p mut dyn FnMut(&CopyProgress) -> ControlFlow<()>,
    written_bytes: u64,
}

impl<'p> Counter<'p> {
    pub(crate) fn new(progress: &'p mut dyn FnMut(&CopyProgress) -> ControlFlow<()>) -> Self {
        Self { progress, written_bytes: 0 }
    }

    /// Called between transactions.
    ///
    /// # Errors
    /// [`Error::Cancelled`] if the caller does not want to go on.
    pub(crate) fn add(&mut self, bytes: usize) -> Result<()> {
        self.written_bytes += bytes as u64;
        match (self.progress)(&CopyProgress { written_bytes: self.written_bytes }) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Error::Cancelled),
        }
    }
}

/// A store in a temporary folder beside the path at which it will be. Dropped before it is finished, it takes the folder with it.
///
/// The folder is called `.NAME.lath-0.partial`, or has another number, and is locked: the system drops the lock however the
/// process ends, so that a folder whose lock is free is a leftover of a killed process, and is removed by the next copy.
#[derive(Debug)]
pub(crate) struct Unfinished {
    path: PathBuf,
    /// The folder of `path`, opened before anything is created.
    parent: File,
    temporary: PathBuf,
    store: Option<Store>,
    /// Held until the temporary folder is gone.
    _lock: File,
}

impl Unfinished {
    /// # Errors
    /// [`Error::Exists`] if there is a file at `path` or the log of a store beside it, [`Error::Io`].
    pub(crate) fn new(path: &Path) -> Result<Self> {
        let Some(name) = path.file_name() else {
            return Err(Error::Invalid(format!("{} is no name for a store", path.display())));
        };
        for suffix in LOG_SUFFIXES {
            let log = with_suffix(path, suffix);
            // The log of a store whose data file is gone is not for this one to remove.
            if log.metadata().is_ok_and(|metadata| metadata.len() > 0) {
                return Err(Error::Exists(log.display().to_string()));
            }
        }
        if fs::symlink_metadata(path).is_ok() {
            return Err(Error::Exists(path.display().to_string()));
        }
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let parent = File::open(parent).map_err(Error::io("open", parent))?;
        let (temporary, lock) = create_folder(path).map_err(Error::io("create a folder beside", path))?;
        let mut unfinished = Self { path: path.to_owned(), parent, temporary, store: None, _lock: lock };
        let data = unfinished.temporary.join(name);
        unfinished.store = Some(Options::new().durability(Durability::Off).open(data)?);
        Ok(unfinished)
    }

    pub(crate) fn store(&self) -> Result<&Store> {
        self.store.as_ref().ok_or(Error::Poisoned)
    }

    /// Puts the store, which was checkpointed, where it will be.
    ///
    /// # Errors
    /// [`Error::Exists`] if there is a file by now, [`Error::Io`].
    pub(crate) fn finish(mut self) -> Result<()> {
        // After a checkpoint all is in the data file; log and lock are created when it is opened again.
        drop(self.store.take());
        let data = self.temporary.join(self.path.file_name().unwrap_or_default());
        put_in_place(&data, &self.path)?;
        let op = "sync the folder of the copy (which is complete and in place, but a power failure may undo that)";
        self.parent.sync_all().map_err(Error::io(op, &self.path))
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Some(store) = self.store.take() {
            // Closing would write a checkpoint of what is thrown away.
            store.engine.poison();
        }
        // What cannot be removed is told of by the error that led here, and removed by the next copy.
        let _ = fs::remove_dir_all(&self.temporary);
    }
}

/// Renames a file, but replaces none.
fn put_in_place(from: &Path, to: &Path) -> Result<()> {
    let linked = match fs::hard_link(from, to) {
        // Not all file systems have links; there somebody could create a file between these two steps.
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists && fs::symlink_metadata(to).is_err() => {
            fs::rename(from, to)
        }
        linked => linked,
    };
    match linked {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(Error::Exists(to.display().to_string())),
        linked => linked.map_err(Error::io("create", to)),
    }
}

/// Removes leftovers, and creates a locked folder with a temporary name beside `path`.
fn create_folder(path: &Path) -> io::Result<(PathBuf, File)> {
    let name = |number: u32| {
        let mut name = OsString::from(".");
        name.push(path.file_name().unwrap_or_default());
        name.push(format!(".lath-{number}.partial"));
        path.with_file_name(name)
    };
    for number in 0..NUMBERS_SEARCHED {
        remove_leftover(&name(number));
    }
    for number in 0..NUMBERS {
        let folder = name(number);
        match fs::create_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            created => created?,
        }
        match File::open(&folder) {
            Ok(lock) if hold(&lock, &folder) => return Ok((folder, lock)),
            // Another process took it for a leftover before it was locked, and removes it.
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                let _ = fs::remove_dir(&folder);
                return Err(error);
            }
        }
    }
    Err(io::Error::from(io::ErrorKind::AlreadyExists))
}

/// Whether the lock was got, and the folder is still there. Without locks nobody takes it for a leftover either.
fn hold(lock: &File, folder: &Path) -> bool {
    !matches!(lock.try_lock(), Err(TryLockError::WouldBlock)) && is_at(lock, folder)
}

fn remove_leftover(folder: &Path) {
    // A link or a file is none of ours.
    if !fs::symlink_metadata(folder).is_ok_and(|metadata| metadata.is_dir()) {
        return;
    }
    // While the lock is held, nobody else removes it.
    if let Ok(lock) = File::open(folder)
        && lock.try_lock().is_ok()
        && is_at(&lock, folder)
    {
        let _ = fs::remove_dir_all(folder);
    }
}

/// Whether `path` leads to the open `file`, rather than to nothing or to another one.
fn is_at(file: &File, path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let (Ok(file), Ok(there)) = (file.metadata(), fs::symlink_metadata(path)) else { return false };
        (file.dev(), file.ino()) == (there.dev(), there.ino())
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        path.exists()
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
