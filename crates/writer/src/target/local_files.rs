//! Files in a local folder that appear together.

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
use super::{AtomicFile, UNSYNCED, located};

/// Files in a temporary folder, which appear together in their folder. Dropping them before removes the temporary folder.
#[derive(Debug)]
pub(super) struct LocalFiles {
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

impl LocalFiles {
    /// Begins files in `folder`, which is created if it does not exist.
    pub(super) fn create(folder: &Path, name: &OsStr, uncommitted: &UncommittedFiles) -> Result<Self> {
        let called: Arc<str> = folder.display().to_string().into();
        let (entry, (lock, path, opened)) = uncommitted.begin(|| {
            let mut opened = Vec::new();
            let mut made = Vec::new();
            let created = make_folders(folder, &mut made, &mut opened)
                .and_then(|()| temporary::create_folder(&folder.join(name), &opened[0]));
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

    /// Begins a file.
    pub(super) fn file(&mut self, path: &Path) -> Result<AtomicFile> {
        let temporary = self.path(path)?;
        if temporary.exists() {
            return Err(Error::invalid(format!(
                "{}: another of these files has the same name on this file system, which ignores case or forms of Unicode",
                path.display()
            )));
        }
        // In the same list: while the temporary folder is removed, no file may come into it.
        AtomicFile::create_with(temporary, self.entry.list())
    }

    /// The path to write a file to; missing folders are created.
    pub(super) fn path(&mut self, path: &Path) -> Result<PathBuf> {
        if path.file_name().is_none() || !path.components().all(|part| matches!(part, Component::Normal(_))) {
            return Err(Error::invalid(format!("{} is not the name of a file below the folder", path.display())));
        }
        let temporary = self.temporary.join(path);
        if let Some(folder) = temporary.parent() {
            self.entry.while_begun(|| {
                let made = fs::create_dir_all(folder);
                made.map_err(|error| located(Error::io("create a folder for the files", error), &self.name))
            })?;
        }
        self.files.insert(path.to_owned());
        Ok(temporary)
    }

    /// Renames all files to their targets, and syncs the folder.
    pub(super) fn commit(self) -> Result<()> {
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
