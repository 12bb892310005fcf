//! Several files that appear together.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::folder::Folder;
use super::temporary;
use super::uncommitted::{Begun, Entry, Uncommitted, remove_empty};
use super::{UNSYNCED, located};
use crate::error::{Error, Result};

/// Files that are written into a temporary folder, and appear together in the folder that they are for in
/// [`commit`](Self::commit). Dropped before, the temporary folder goes with all that is in it.
///
/// A folder below that is not there yet appears with all that is in it. Other than that, the renames of a commit follow one
/// another: a process that is killed among them leaves some of the files in place. All else leaves all or none.
#[derive(Debug)]
pub struct AtomicFiles {
    // Before the lock, so that the temporary folder is removed while it is held.
    entry: Entry,
    /// The lock on the temporary folder.
    _lock: Option<File>,
    temporary: PathBuf,
    folder: PathBuf,
    /// To be written to the disk: the folder itself, and those in which folders were made.
    opened: Vec<Folder>,
    /// Relative to the folder.
    files: BTreeSet<PathBuf>,
    name: Arc<str>,
}

impl AtomicFiles {
    /// Begins files in `folder`, which is made if it is not there, and goes again if nothing is committed. The temporary
    /// folder in it is named after `name`; what a killed process has left under it is removed.
    ///
    /// # Errors
    /// [`Error::Io`] if a folder cannot be created or opened, [`Error::Cancelled`] if `uncommitted` was abandoned.
    pub fn create_with(folder: impl AsRef<Path>, name: impl AsRef<OsStr>, uncommitted: &Uncommitted) -> Result<Self> {
        let folder = folder.as_ref();
        let called: Arc<str> = folder.display().to_string().into();
        let (entry, (lock, path, opened)) = uncommitted.begin(|| {
            let mut opened = Vec::new();
            let mut made = Vec::new();
            let created = make_folders(folder, &mut made, &mut opened)
                .and_then(|()| temporary::create_folder(&folder.join(name.as_ref()), &opened[0]));
            match created {
                Ok((lock, temporary)) => {
                    let path = temporary.path.clone();
                    Ok((Begun { temporary, made }, (lock, path, opened)))
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

    /// Where to write the file that will be called `name`. It has to be there when all are committed.
    pub fn path(&mut self, name: impl AsRef<OsStr>) -> PathBuf {
        self.files.insert(name.as_ref().into());
        self.temporary.join(name.as_ref())
    }

    /// As [`path`](Self::path), for a file in folders below, such as `city=Berlin/part.parquet`; they are made where they are not
    /// there, and appear with the files.
    ///
    /// # Errors
    /// [`Error::Invalid`] if `path` does not lead downwards; [`Error::Io`] if a folder cannot be made.
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

    /// Renames all files to where they belong, replacing what is there, and writes the folder to the disk. The files themselves
    /// have to be on the disk already, as those of [`AtomicFile`](super::AtomicFile) are.
    ///
    /// # Errors
    /// [`Error::Io`], which says in what state things are; [`Error::Cancelled`] if the files were abandoned.
    pub fn commit(self) -> Result<()> {
        let Self { entry, _lock, folder, opened, files, name, .. } = self;
        let mut changed = BTreeSet::new();
        entry.commit(|temporary| {
            put_in_place(&temporary.path, &folder, &files, &mut changed).map_err(|error| {
                let op = "rename all files (none that is new was left, but some may have been replaced)";
                located(Error::io(op, error), &name)
            })?;
            // Nothing but empty folders; those that stay are removed by the next run.
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

/// Makes a folder and those above it, where they are not there. Adds those to `made`, and to `opened` the folder and all
/// in which one was made.
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

/// Moves files from one folder to the other; a folder that is not there yet is moved as a whole. Adds to `changed` the folders below in
/// which something changed. All are relative to the folder.
fn put_in_place<'a>(
    temporary: &Path,
    folder: &Path,
    files: &'a BTreeSet<PathBuf>,
    changed: &mut BTreeSet<&'a Path>,
) -> io::Result<()> {
    // Only new ones.
    let mut moved: Vec<&Path> = Vec::new();
    let put = files.iter().try_for_each(|name| {
        // They come in order, all files of a folder one after the other.
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
        // The error is about the file that could not be renamed.
        for name in moved {
            let _ = fs::rename(folder.join(name), temporary.join(name));
        }
    }
    put
}

/// Writes the names in a folder to the disk, and in all folders below. A file has nothing to be written.
fn sync_folders(path: &Path) -> io::Result<()> {
    if !fs::symlink_metadata(path)?.is_dir() {
        return Ok(());
    }
    for entry in fs::read_dir(path)? {
        sync_folders(&entry?.path())?;
    }
    Folder::open(path)?.sync()
}

/// As for a single file: a link stays and its file is replaced, which keeps its permissions.
fn rename(from: &Path, to: &Path) -> io::Result<()> {
    if let Ok(existing) = fs::metadata(to) {
        fs::set_permissions(from, existing.permissions())?;
    }
    fs::rename(from, fs::canonicalize(to).as_deref().unwrap_or(to))
}
