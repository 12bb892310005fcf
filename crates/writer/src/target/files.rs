//! Files that appear together.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use lath_parquet::{Error, Result};

use super::folder::Folder;
use super::temporary;
use super::uncommitted::{BegunOutput, Entry, UncommittedFiles, remove_empty};
use super::{UNSYNCED, located, store_url};

/// Files that are written into a temporary folder, and appear together in their target folder in [`commit`](Self::commit).
/// Dropping them before removes the temporary folder with its files.
///
/// A new folder appears with all its files. Otherwise the renames of a commit follow one another: a process that is killed
/// between them leaves some of the files in place. In all other cases all files appear, or none.
#[derive(Debug)]
pub struct AtomicFiles {
    // Before the lock, so that the temporary folder is removed while it is held.
    entry: Entry,
    /// The lock on the temporary folder.
    _lock: Option<File>,
    temporary: PathBuf,
    folder: PathBuf,
    /// Folders to sync: the folder itself, and folders in which others were created.
    opened: Vec<Folder>,
    /// Relative to the folder.
    files: BTreeSet<PathBuf>,
    name: Arc<str>,
}

impl AtomicFiles {
    /// Begins files in `folder`, which is created if it does not exist, and removed again if nothing is committed. The temporary
    /// folder in it is named after `name`; leftovers of killed processes with this name are removed.
    ///
    /// # Errors
    /// [`Error::Io`] if a folder cannot be created or opened, [`Error::Invalid`] if it is a URL of an object store,
    /// [`Error::Cancelled`] if `uncommitted` was abandoned.
    pub fn create_with(
        folder: impl AsRef<Path>,
        name: impl AsRef<OsStr>,
        uncommitted: &UncommittedFiles,
    ) -> Result<Self> {
        let folder = folder.as_ref();
        if store_url(folder).is_some() {
            let what = format!("{}: files that appear together are written to local folders only", folder.display());
            return Err(Error::invalid(what));
        }
        let called: Arc<str> = folder.display().to_string().into();
        let (entry, (lock, path, opened)) = uncommitted.begin(|| {
            let mut opened = Vec::new();
            let mut made = Vec::new();
            let created = make_folders(folder, &mut made, &mut opened)
                .and_then(|()| temporary::create_folder(&folder.join(name.as_ref()), &opened[0]));
            match created {
                Ok((lock, temporary)) => {
                    let path = temporary.path.clone();
                    Ok((BegunOutput::Local { temporary, made }, (lock, path, opened)))
                }
                Err(error) => {
                    remove_empty(&made);
                    Err(located(Error::io("create a folder for the files", error), &called))
                }
            }
        })?;
        let files = BTreeSet::new();
        Ok(Self { entry, _lock: lock, temporary: path, folder: folder.to_owned(), opened, files, name: called })
    }

    /// The path to write the file `name` to. The file must exist when all are committed.
    pub fn path(&mut self, name: impl AsRef<OsStr>) -> PathBuf {
        self.files.insert(name.as_ref().into());
        self.temporary.join(name.as_ref())
    }

    /// As [`path`](Self::path), for a file in folders below, such as `city=Berlin/part.parquet`; missing folders are created, and
    /// appear with the files.
    ///
    /// # Errors
    /// [`Error::Invalid`] if `path` leaves the folder; [`Error::Io`] if a folder cannot be created.
    pub fn path_below(&mut self, path: impl AsRef<Path>) -> Result<PathBuf> {
        let path = path.as_ref();
        if path.file_name().is_none() || !path.components().all(|part| matches!(part, Component::Normal(_))) {
            return Err(Error::invalid(format!("{} is not the name of a file below the folder", path.display())));
        }
        let temporary = self.temporary.join(path);
        if let Some(folder) = temporary.parent() {
            let made = fs::create_dir_all(folder);
            made.map_err(|error| located(Error::io("create a folder for the files", error), &self.name))?;
        }
        self.files.insert(path.to_owned());
        Ok(temporary)
    }

    /// Renames all files to their targets, replacing existing files, and syncs the folder. The files themselves must be synced
    /// already, as files of [`AtomicFile`](super::AtomicFile) are.
    ///
    /// # Errors
    /// [`Error::Io`], which describes the resulting state; [`Error::Cancelled`] if the files were abandoned.
    pub fn commit(self) -> Result<()> {
        let Self { entry, _lock, folder, opened, files, name, .. } = self;
        let mut changed = BTreeSet::new();
        entry.commit(|temporary| {
            put_in_place(&temporary.path, &folder, &files, &mut changed).map_err(|error| {
                let op = "rename all files (none that is new was left, but some may have been replaced)";
                located(Error::io(op, error), &name)
            })?;
            // Only empty folders are left; if removing them fails, the next run does it.
            temporary.remove();
            Ok(())
        })?;
        let below = || changed.iter().try_for_each(|below| Folder::open(&folder.join(below))?.sync());
        opened
            .iter()
            .try_for_each(Folder::sync)
            .and_then(|()| below())
            .map_err(|error| located(Error::io(UNSYNCED, error), &name))
    }
}

/// Creates a folder and missing folders above it. Adds created folders to `made`, and to `opened` the folder and all in which one
/// was created.
fn make_folders(folder: &Path, made: &mut Vec<PathBuf>, opened: &mut Vec<Folder>) -> io::Result<()> {
    let is_missing = |path: &&Path| !path.as_os_str().is_empty() && !path.exists();
    let missing: Vec<&Path> = folder.ancestors().take_while(is_missing).collect();
    for path in missing.into_iter().rev() {
        match fs::create_dir(path) {
            Ok(()) => {
                made.push(path.to_owned());
                opened.push(Folder::of(path)?);
            }
            // Another process was faster.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    opened.insert(0, Folder::open(folder)?);
    Ok(())
}

/// Moves files from one folder to the other; a new folder is moved as a whole. Adds changed folders to `changed`. All paths are
/// relative to the folder.
fn put_in_place<'a>(
    temporary: &Path,
    folder: &Path,
    files: &'a BTreeSet<PathBuf>,
    changed: &mut BTreeSet<&'a Path>,
) -> io::Result<()> {
    // Only new ones.
    let mut moved: Vec<&Path> = Vec::new();
    let put = files.iter().try_for_each(|name| {
        // They are sorted, all files of a folder one after another.
        if moved.last().is_some_and(|last| name.starts_with(last)) {
            return Ok(());
        }
        let is_missing = |path: &&Path| !path.as_os_str().is_empty() && !folder.join(path).exists();
        let place = match name.ancestors().filter(is_missing).last() {
            Some(new) => {
                sync_folders(&temporary.join(new))?;
                fs::rename(temporary.join(new), folder.join(new))?;
                moved.push(new);
                new
            }
            None => {
                rename(&temporary.join(name), &folder.join(name))?;
                name
            }
        };
        changed.extend(place.parent().filter(|parent| !parent.as_os_str().is_empty()));
        Ok(())
    });
    if put.is_err() {
        // The error belongs to the file that could not be renamed.
        for name in moved {
            let _ = fs::rename(folder.join(name), temporary.join(name));
        }
    }
    put
}

/// Syncs a folder, and all folders below. Does nothing for a file.
fn sync_folders(path: &Path) -> io::Result<()> {
    if !fs::symlink_metadata(path)?.is_dir() {
        return Ok(());
    }
    for entry in fs::read_dir(path)? {
        sync_folders(&entry?.path())?;
    }
    Folder::open(path)?.sync()
}

/// As for a single file: a link stays and its target is replaced, which keeps its permissions.
fn rename(from: &Path, to: &Path) -> io::Result<()> {
    if let Ok(existing) = fs::metadata(to) {
        fs::set_permissions(from, existing.permissions())?;
    }
    fs::rename(from, fs::canonicalize(to).as_deref().unwrap_or(to))
}
