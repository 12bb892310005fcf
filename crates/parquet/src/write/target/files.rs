//! Several files that appear together.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::folder::Folder;
use super::temporary;
use super::uncommitted::{Begun, Entry, Uncommitted, remove_empty};
use super::{UNSYNCED, located};
use crate::error::{Error, Result};

/// Files that are written into a temporary folder, and appear together in the folder that they are for in
/// [`commit`](Self::commit). Dropped before, the temporary folder goes with all that is in it.
///
/// The renames of a commit follow one another: a process that is killed among them leaves some of the files in place. All
/// else leaves all or none.
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
    files: BTreeSet<OsString>,
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
        self.files.insert(name.as_ref().to_owned());
        self.temporary.join(name.as_ref())
    }

    /// Renames all files to where they belong, replacing what is there, and writes the folder to the disk. The files themselves
    /// have to be on the disk already, as those of [`AtomicFile`](super::AtomicFile) are.
    ///
    /// # Errors
    /// [`Error::Io`], which says in what state things are; [`Error::Cancelled`] if the files were abandoned.
    pub fn commit(self) -> Result<()> {
        let Self { entry, _lock, folder, opened, files, name, .. } = self;
        entry.commit(|temporary| {
            put_in_place(&temporary.path, &folder, &files).map_err(|error| {
                let op = "rename all files (none that is new was left, but some may have been replaced)";
                located(Error::io(op, error), &name)
            })?;
            // An empty folder that stays is removed by the next run.
            let _ = fs::remove_dir(&temporary.path);
            Ok(())
        })?;
        opened.iter().try_for_each(Folder::sync).map_err(|error| located(Error::io(UNSYNCED, error), &name))
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

fn put_in_place(temporary: &Path, folder: &Path, files: &BTreeSet<OsString>) -> io::Result<()> {
    let mut new = Vec::new();
    for name in files {
        let target = folder.join(name);
        let is_new = !target.exists();
        if let Err(error) = rename(&temporary.join(name), &target) {
            for path in new {
                // The error is about the file that could not be renamed.
                let _ = fs::remove_file(path);
            }
            return Err(error);
        }
        if is_new {
            new.push(target);
        }
    }
    Ok(())
}

/// As for a single file: a link stays and its file is replaced, which keeps its permissions.
fn rename(from: &Path, to: &Path) -> io::Result<()> {
    if let Ok(existing) = fs::metadata(to) {
        fs::set_permissions(from, existing.permissions())?;
    }
    fs::rename(from, fs::canonicalize(to).as_deref().unwrap_or(to))
}
