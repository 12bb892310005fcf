#![cfg_attr(target_os = "linux", expect(unsafe_code, reason = "renameat2 is a call into the C library"))]
//! The target of a backup or repair: a new store that appears once it is complete.

use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::options::{Durability, Options};
use crate::storage::EncryptionKey;
use crate::store::Store;

/// The suffixes of a store's log files.
const LOG_SUFFIXES: [&str; 2] = ["-log0", "-log1"];

/// The number of temporary names that are searched for leftovers. Higher numbers are used only while that many
/// processes copy to one path.
const LEFTOVERS_SEARCHED: u32 = 4;

/// The maximum number of temporary folders for one path.
const NUMBERS: u32 = 10_000;

/// The progress of a backup or a repair.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyProgress {
    /// The number of bytes of keys and values written so far.
    pub written_bytes: u64,
}

/// Counts the copied bytes, and calls the progress callback.
pub(crate) struct CopyCounter<'p> {
    progress: &'p mut dyn FnMut(&CopyProgress) -> ControlFlow<()>,
    written_bytes: u64,
}

impl<'p> CopyCounter<'p> {
    pub(crate) fn new(progress: &'p mut dyn FnMut(&CopyProgress) -> ControlFlow<()>) -> Self {
        Self { progress, written_bytes: 0 }
    }

    /// Adds copied bytes. Called between transactions.
    ///
    /// # Errors
    /// [`Error::Cancelled`] if the callback stops the copy.
    pub(crate) fn add(&mut self, bytes: usize) -> Result<()> {
        self.written_bytes += bytes as u64;
        match (self.progress)(&CopyProgress { written_bytes: self.written_bytes }) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Error::Cancelled),
        }
    }
}

/// A store in a temporary folder next to its final path. Dropping it unfinished removes the folder.
///
/// The folder is called `.NAME.lath-0.partial`, or has another number, and is locked. The system releases the lock
/// however the process ends, so a folder with a free lock is a leftover of a killed process. The next copy removes it.
#[derive(Debug)]
pub(crate) struct CopyTarget {
    path: PathBuf,
    /// The folder that contains `path`, opened before anything is created.
    parent: File,
    temporary: PathBuf,
    store: Option<Store>,
    /// Held until the temporary folder is gone.
    _lock: File,
}

impl CopyTarget {
    /// # Errors
    /// [`Error::Exists`] if there is a file at `path` or the log of a store next to it, [`Error::Io`].
    pub(crate) fn new(path: &Path, key: Option<&EncryptionKey>) -> Result<Self> {
        let Some(name) = path.file_name() else {
            return Err(Error::Invalid(format!("{} does not name a store", path.display())));
        };
        for suffix in LOG_SUFFIXES {
            let log = with_suffix(path, suffix);
            // The log may be all that is left of a store whose data file is lost.
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
        let mut target = Self { path: path.to_owned(), parent, temporary, store: None, _lock: lock };
        let data = target.temporary.join(name);
        let options = Options::new().durability(Durability::Off);
        let options = key.cloned().into_iter().fold(options, Options::encryption_key);
        target.store = Some(options.open(data)?);
        Ok(target)
    }

    pub(crate) fn store(&self) -> Result<&Store> {
        self.store.as_ref().ok_or(Error::Poisoned)
    }

    /// Moves the store to its final path. The caller has just made a checkpoint.
    ///
    /// # Errors
    /// [`Error::Exists`] if there is a file by now, [`Error::Io`].
    pub(crate) fn finish(mut self) -> Result<()> {
        // After a checkpoint everything is in the data file. Opening the store creates its log and lock files again.
        drop(self.store.take());
        let data = self.temporary.join(self.path.file_name().unwrap_or_default());
        put_in_place(&data, &self.path)?;
        let op = "sync the folder of the copy (which is complete and in place, but a power failure may undo that)";
        self.parent.sync_all().map_err(Error::io(op, &self.path))
    }
}

impl Drop for CopyTarget {
    fn drop(&mut self) {
        if let Some(store) = self.store.take() {
            // A poisoned store writes no checkpoint when it is closed.
            store.engine.poison();
        }
        // If that fails, the next copy removes the folder.
        let _ = fs::remove_dir_all(&self.temporary);
    }
}

/// Renames a file without replacing another.
fn put_in_place(from: &Path, to: &Path) -> Result<()> {
    match rename_new(from, to) {
        Ok(()) => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            return Err(Error::Exists(to.display().to_string()));
        }
        // The system or the file system cannot.
        Err(_) => {}
    }
    let linked = match fs::hard_link(from, to) {
        // Some file systems have no hard links. There, a file that appears between these two steps is replaced.
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists && fs::symlink_metadata(to).is_err() => {
            fs::rename(from, to)
        }
        linked => linked,
    };
    linked.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => Error::Exists(to.display().to_string()),
        _ => Error::io("create", to)(error),
    })?;
    // A store with two names is not opened for writing. If this fails, the other name goes with its folder.
    let _ = fs::remove_file(from);
    Ok(())
}

/// Renames a file in one step, which fails if the new name exists.
#[cfg(target_os = "linux")]
fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    use std::ffi::CString;
    use std::os::unix::ffi::OsStrExt;

    let [from, to] = [CString::new(from.as_os_str().as_bytes())?, CString::new(to.as_os_str().as_bytes())?];
    let (here, flags) = (libc::AT_FDCWD, libc::RENAME_NOREPLACE);
    // SAFETY: both texts end with 0 and live for the call, which only reads them.
    let status = unsafe { libc::syscall(libc::SYS_renameat2, here, from.as_ptr(), here, to.as_ptr(), flags) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(not(target_os = "linux"))]
fn rename_new(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

/// Removes leftovers, and creates a locked folder with a temporary name next to `path`.
fn create_folder(path: &Path) -> io::Result<(PathBuf, File)> {
    let name = |number: u32| {
        let mut name = OsString::from(".");
        name.push(path.file_name().unwrap_or_default());
        name.push(format!(".lath-{number}.partial"));
        path.with_file_name(name)
    };
    for number in 0..LEFTOVERS_SEARCHED {
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
            // Another process took the folder for a leftover before it was locked, and removed it.
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

/// Returns whether the folder is locked and still exists. On file systems without locks, other processes cannot take it
/// for a leftover either.
fn hold(lock: &File, folder: &Path) -> bool {
    !matches!(lock.try_lock(), Err(TryLockError::WouldBlock)) && is_at(lock, folder)
}

fn remove_leftover(folder: &Path) {
    // This crate creates neither links nor files under such names.
    if !fs::symlink_metadata(folder).is_ok_and(|metadata| metadata.is_dir()) {
        return;
    }
    // While the lock is held, no other process removes the folder.
    if let Ok(lock) = File::open(folder)
        && lock.try_lock().is_ok()
        && is_at(&lock, folder)
    {
        let _ = fs::remove_dir_all(folder);
    }
}

/// Returns whether `path` leads to the open `file`.
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
