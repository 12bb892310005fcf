#![expect(unsafe_code, reason = "implements a storage trait, and asks for the user of the process")]
//! A store in files: the data file at a path, and next to it `-log0`, `-log1` and `-lock`.

mod data;
mod encrypted;
#[cfg(target_os = "linux")]
mod futex;
mod limit;
mod lock;
mod log;
mod place;
mod private;
mod shared;
mod table_user;
#[cfg(test)]
mod tests;
mod unfinished;

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use self::data::DataFile;
pub(crate) use self::encrypted::EncryptedStorage;
pub use self::encrypted::{EncryptionKey, is_encrypted};
use self::lock::{Kind, LockedFile};
use self::log::FileLog;
use self::private::PrivateStorage;
use self::shared::SharedFile;
use self::table_user::DataPath;
pub use self::unfinished::is_unfinished;
use super::{Data, Lengths, LogFile, SharedMemory, Storage};
use crate::error::{Error, Result};

/// The default address space of a data file: 1 TiB.
pub const DEFAULT_CAPACITY_BYTES: u64 = 1 << 40;

/// The byte of the data file that the writer locks exclusively, and that readers without a lock file lock shared.
const CONTENTS_BYTE: u64 = 0;

/// The files of a store at a path of the local file system.
///
/// The data file is at the path itself; `-log0`, `-log1` and `-lock` are added to its name. Locks are tied to open
/// files, so they end with the process, however it ends; a child made by `fork` without `exec` keeps them.
///
/// The data file is mapped into memory, and values are slices of it. The locks exclude all processes that open the
/// store with this crate; nothing else may write to the files of an open store or truncate them.
#[derive(Debug, Clone)]
pub struct FileStorage {
    path: PathBuf,
    read_only: bool,
    create: bool,
    capacity_bytes: u64,
}

impl FileStorage {
    /// Describes the store at `path`, for reading and writing, created if it does not exist. Opens nothing yet.
    ///
    /// Symbolic links are followed, so all names of a store lead to the same logs and locks.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if the folder does not exist, [`Error::Invalid`] for a path without a file name.
    pub fn new(path: impl AsRef<Path>) -> Result<Self> {
        let path = resolve(path.as_ref())?;
        Ok(Self { path, read_only: false, create: true, capacity_bytes: DEFAULT_CAPACITY_BYTES })
    }

    /// Sets whether data and logs are opened read-only. Beside a writer the lock file is written all the same, because
    /// readers register there.
    #[must_use]
    pub fn read_only(mut self, read_only: bool) -> Self {
        self.read_only = read_only;
        self
    }

    /// Sets whether a missing data file is created, which is the default, or an error.
    #[must_use]
    pub fn create(mut self, create: bool) -> Self {
        self.create = create;
        self
    }

    /// Sets the address space to map the data file into, beyond which it cannot grow. The default is
    /// [`DEFAULT_CAPACITY_BYTES`]. If the system does not have that much, half of it is tried, and so on, down to what
    /// the file needs.
    #[must_use]
    pub fn capacity_bytes(mut self, bytes: u64) -> Self {
        self.capacity_bytes = bytes;
        self
    }

    /// Returns the path of the data file, with links resolved.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn data_path(&self) -> DataPath<'_> {
        DataPath { path: &self.path, create: self.create, read_only: self.read_only }
    }

    fn sibling(&self, suffix: &str) -> PathBuf {
        let mut name = OsString::from(&self.path);
        name.push(suffix);
        PathBuf::from(name)
    }
}

// SAFETY: the path has no links left in it, so all processes that open the store by any name open the same data and
// lock file. A private view maps its data file privately, under a lock that excludes writers.
unsafe impl Storage for FileStorage {
    fn data(&self) -> Result<Arc<dyn Data>> {
        let file = if self.read_only {
            LockedFile::new(OpenOptions::new().read(true).open(&self.path).map_err(Error::io("open", &self.path))?)
        } else {
            let file = LockedFile::new(open_for_writing(&self.path, self.create)?);
            if !lock::try_lock(&file, CONTENTS_BYTE, Kind::Exclusive).map_err(Error::io("lock", &self.path))? {
                return Err(Error::Busy);
            }
            file
        };
        Ok(Arc::new(DataFile::new(file, &self.path, self.read_only, self.capacity_bytes)?))
    }

    fn log(&self, index: usize) -> Result<Arc<dyn LogFile>> {
        let path = self.sibling(&format!("-log{index}"));
        if !self.read_only {
            return Ok(Arc::new(FileLog::new(Some(open_for_writing(&path, true)?), path, false)?));
        }
        let file = match File::open(&path) {
            Ok(file) => Some(file),
            // A store that was never written to has no log, and reading creates none.
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(Error::io("open", &path)(error)),
        };
        Ok(Arc::new(FileLog::new(file, path, true)?))
    }

    fn shared(&self, len: usize) -> Result<Arc<dyn SharedMemory>> {
        if !self.create
            && let Err(error) = std::fs::metadata(&self.path)
        {
            // If processes have it open, it was removed. Otherwise there is no store, which gets no lock file either.
            self.shared_with_others(len)?;
            return Err(Error::io("open", &self.path)(error));
        }
        let path = self.sibling("-lock");
        loop {
            let shared = SharedFile::new(open_for_writing(&path, true)?, &path, len, &self.data_path())?;
            // Otherwise it was removed after it was opened, before it was locked.
            if shared.has_name()? {
                return Ok(Arc::new(shared));
            }
        }
    }

    fn shared_with_others(&self, len: usize) -> Result<Option<Arc<dyn SharedMemory>>> {
        let path = self.sibling("-lock");
        match OpenOptions::new().read(true).write(true).open(&path) {
            Ok(file) => {
                let shared = SharedFile::join(file, &path, len, &self.data_path())?;
                Ok(shared.map(|shared| Arc::new(shared) as Arc<dyn SharedMemory>))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            // A process that may not write to the lock file cannot share it. A process that writes to the store makes
            // its data area busy.
            Err(error) if is_refused(&error) => Ok(None),
            Err(error) => Err(Error::io("open", &path)(error)),
        }
    }

    fn shared_for_readers(&self, len: usize) -> Result<Option<Arc<dyn SharedMemory>>> {
        let path = self.sibling("-lock");
        // A lock file owned by another user would keep the owner of the store from writing.
        let Ok(file) = open_for_writing(&path, owns(&self.path)?) else { return Ok(None) };
        match SharedFile::new(file, &path, len, &self.data_path()) {
            Ok(shared) if shared.has_name()? => Ok(Some(Arc::new(shared))),
            Ok(_) | Err(Error::Replaced { .. } | Error::Busy) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn private(&self) -> Result<Arc<dyn Storage>> {
        Ok(Arc::new(PrivateStorage::new(self)?))
    }

    fn file_name(&self, place: usize) -> PathBuf {
        place.checked_sub(1).map_or_else(|| self.path.clone(), |log| self.sibling(&format!("-log{log}")))
    }

    fn has_other_name(&self) -> Result<bool> {
        match std::fs::metadata(&self.path) {
            Ok(metadata) => Ok(metadata.is_file() && metadata.nlink() > 1),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(Error::io("count the names of", &self.path)(error)),
        }
    }

    fn lengths(&self) -> Result<Lengths> {
        let len = |path: &Path| match std::fs::metadata(path) {
            Ok(metadata) => Ok(metadata.len()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
            Err(error) => Err(Error::io("read the length of", path)(error)),
        };
        Ok(Lengths { logs: [len(&self.sibling("-log0"))?, len(&self.sibling("-log1"))?], data: len(&self.path)? })
    }
}

fn is_refused(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

/// Returns whether a file belongs to the user of this process.
fn owns(path: &Path) -> Result<bool> {
    let metadata = std::fs::metadata(path).map_err(Error::io("read the owner of", path))?;
    // SAFETY: the call takes no arguments and always succeeds.
    Ok(metadata.uid() == unsafe { libc::geteuid() })
}

/// Resolves the links of the path, even if the file itself does not exist yet.
fn resolve(path: &Path) -> Result<PathBuf> {
    match path.canonicalize() {
        Ok(path) => return Ok(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(Error::io("open", path)(error)),
    }
    if let Ok(target) = path.read_link() {
        let (path, target) = (path.display(), target.display());
        return Err(Error::Invalid(format!(
            "{path} is a symbolic link to {target}, which does not exist: make the link lead to a store, or remove it"
        )));
    }
    let Some(name) = path.file_name() else {
        return Err(Error::Invalid(format!("{} does not name a store", path.display())));
    };
    let folder = parent_folder(path);
    let folder = folder.canonicalize().map_err(Error::io("find the folder of", path))?;
    Ok(folder.join(name))
}

fn parent_folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Opens the file for reading and writing. If the file had to be created, its entry in the folder is durable when this
/// returns.
fn open_for_writing(path: &Path, create: bool) -> Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    loop {
        match options.open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && create => {}
            opened => return opened.map_err(Error::io("open", path)),
        }
        // Open the folder first, so that nothing is created if that fails.
        let folder = parent_folder(path);
        let opened = File::open(folder).map_err(Error::io("open", folder))?;
        match options.clone().create_new(true).open(path) {
            // Another process was faster, or the name is a link that leads nowhere.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && !path.is_symlink() => {}
            Err(error) => return Err(Error::io("create", path)(error)),
            Ok(file) => {
                opened.sync_all().map_err(Error::io("sync", folder))?;
                return Ok(file);
            }
        }
    }
}
