//! Temporary files and folders, and the leftovers of killed processes.
//!
//! The temporary name of `NAME` is `.NAME.lath-0.partial`, or has the next number if that name is taken. Its process holds a lock
//! (`flock`) on it, which the system drops however the process ends. So a temporary file without a lock is a leftover, and the
//! next process that writes `NAME` removes it. A process ID in the name would not do: IDs are reused, and are valid on one host
//! only. Small numbers are found without listing a folder that may have a million files.
//!
//! | step | the file at the name | its lock |
//! | --- | --- | --- |
//! | created | empty | free for a moment: another process may mistake it for a leftover, which the creator notices |
//! | written | grows | held by the creator |
//! | committed or given up | removed or renamed | held until then |
//! | the creator was killed | stays | free; the process that removes it takes it |
//!
//! Linux has files without a name (`O_TMPFILE`), which not even SIGKILL leaves behind. They are not used: to replace a file they
//! need a temporary name in the end; not all file systems have them (NFS, FUSE), so that the code here would still be needed;
//! linking them can fail after everything was written; and neither `ls` nor `du` shows what fills the disk.

use std::ffi::OsString;
use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::folder::Folder;

/// Leftovers are searched under the first numbers; higher ones are in use only while that many processes write one file.
const NUMBERS_SEARCHED: u32 = 4;

/// Maximum number of temporary files of one name.
const NUMBERS: u32 = 10_000;

/// If locks of other hosts may not be visible, a file is a leftover if it was not written to for this long.
const REMOTE_AGE: Duration = Duration::from_secs(24 * 60 * 60);

/// A file or folder with a temporary name.
#[derive(Debug)]
pub(super) struct Temporary {
    pub(super) path: PathBuf,
    kind: Kind,
    identity: Identity,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    File,
    Folder,
}

/// Identity of a file, which tells it from a later file of the same name: the numbers of its device and inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Identity(u64, u64);

impl Temporary {
    /// Whether its name still belongs to it: a host that does not see the lock may have given it to another file.
    pub(super) fn is_there(&self) -> bool {
        fs::symlink_metadata(&self.path).is_ok_and(|metadata| Identity::of(&metadata) == self.identity)
    }

    /// Removes it; a folder with its contents.
    pub(super) fn remove(&self) {
        if self.is_there() {
            // A file that cannot be removed stays: a destructor cannot return an error.
            let _ = match self.kind {
                Kind::File => fs::remove_file(&self.path),
                Kind::Folder => fs::remove_dir_all(&self.path),
            };
        }
    }
}

impl Identity {
    #[cfg(unix)]
    fn of(metadata: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self(metadata.dev(), metadata.ino())
    }

    /// All are treated as the same.
    #[cfg(not(unix))]
    fn of(_metadata: &Metadata) -> Self {
        Self(0, 0)
    }
}

/// Creates a temporary file for `target` in `folder`. It is locked while it is open.
pub(super) fn create_file(target: &Path, folder: &Folder) -> io::Result<(File, Temporary)> {
    create(target, folder, |path| {
        let file = OpenOptions::new().write(true).create_new(true).open(path)?;
        Ok(hold(&file, path, Kind::File)?.map(|temporary| (file, temporary)))
    })
}

/// Creates a temporary folder for `target` in `folder`. It is locked while the returned file is open; if folders cannot be
/// opened, there is none.
pub(super) fn create_folder(target: &Path, folder: &Folder) -> io::Result<(Option<File>, Temporary)> {
    create(target, folder, |path| {
        fs::create_dir(path)?;
        if cfg!(not(unix)) {
            let identity = Identity::of(&fs::symlink_metadata(path)?);
            return Ok(Some((None, Temporary { path: path.to_owned(), kind: Kind::Folder, identity })));
        }
        match File::open(path) {
            Ok(file) => Ok(hold(&file, path, Kind::Folder)?.map(|temporary| (Some(file), temporary))),
            // Mistaken for a leftover, because it was not locked yet.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => {
                let _ = fs::remove_dir(path);
                Err(error)
            }
        }
    })
}

/// Removes leftovers, then calls `try_create` with one name after another, until one is free.
fn create<T>(
    target: &Path,
    folder: &Folder,
    try_create: impl Fn(&Path) -> io::Result<Option<(T, Temporary)>>,
) -> io::Result<(T, Temporary)> {
    for number in 0..NUMBERS_SEARCHED {
        remove_leftover(&temporary_path(target, number), folder);
    }
    for number in 0..NUMBERS {
        match try_create(&temporary_path(target, number)) {
            Ok(Some(created)) => return Ok(created),
            Ok(None) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::from(io::ErrorKind::AlreadyExists))
}

fn temporary_path(target: &Path, number: u32) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(target.file_name().unwrap_or_default());
    name.push(format!(".lath-{number}.partial"));
    target.with_file_name(name)
}

/// Locks the file just created at `path`; `None` if another process has removed it as a leftover.
fn hold(file: &File, path: &Path, kind: Kind) -> io::Result<Option<Temporary>> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => return Ok(None),
        // Without locks no process mistakes it for a leftover either.
        Ok(()) | Err(TryLockError::Error(_)) => {}
    }
    let temporary = Temporary { path: path.to_owned(), kind, identity: Identity::of(&file.metadata()?) };
    Ok(temporary.is_there().then_some(temporary))
}

/// Removes a leftover of a killed process at `path`. Files that cannot be removed, another user's for example, stay.
fn remove_leftover(path: &Path, folder: &Folder) {
    let Ok(metadata) = fs::symlink_metadata(path) else { return };
    // Links and pipes are never ours.
    let kind = match metadata.file_type() {
        kind if kind.is_file() => Kind::File,
        kind if kind.is_dir() => Kind::Folder,
        _ => return,
    };
    if folder.may_be_remote() && !is_old(&metadata) {
        return;
    }
    let Ok(file) = open_to_lock(path, kind) else { return };
    // While the lock is held, no other process removes or renames it.
    if file.try_lock().is_ok()
        && let Ok(metadata) = file.metadata()
    {
        Temporary { path: path.to_owned(), kind, identity: Identity::of(&metadata) }.remove();
    }
}

/// NFS requires locked files to be open for writing; elsewhere reading is enough.
fn open_to_lock(path: &Path, kind: Kind) -> io::Result<File> {
    match kind {
        Kind::File => OpenOptions::new().read(true).write(true).open(path).or_else(|_| File::open(path)),
        Kind::Folder => File::open(path),
    }
}

fn is_old(metadata: &Metadata) -> bool {
    let age = metadata.modified().ok().and_then(|modified| modified.elapsed().ok());
    age.is_some_and(|age| age > REMOTE_AGE)
}
