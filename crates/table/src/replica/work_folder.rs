//! The folder next to a copy in which a whole copy is made before it takes the place of the old one.
//!
//! | file | what it is |
//! | --- | --- |
//! | `lock` | locked as long as a follower works: a second one for the same copy is refused |
//! | `new` | a copy that is not whole yet, or the old copy after both have changed their names |
//! | `store` | the store that a follower in a bucket was made of |

use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use super::source_folder::path_of_store;
use crate::error::{Error, Result};
use crate::file::{create_folders, sync_folder};
use crate::records::{TableOptions, store_file};

/// A locked folder, which is removed when this is dropped.
#[derive(Debug)]
pub(crate) struct WorkFolder {
    folder: PathBuf,
    options: TableOptions,
    _lock: File,
}

impl WorkFolder {
    /// Makes and locks the folder for the copy at `target`.
    ///
    /// # Errors
    /// [`Error::Replica`] if another follower has it.
    pub(crate) fn beside(target: &Path, options: &TableOptions) -> Result<Self> {
        let name = target.file_name().ok_or_else(|| {
            Error::replica(format!("{} names no folder: choose the path of a folder", target.display()))
        })?;
        let mut work = OsString::from(".");
        work.push(name);
        work.push(".lath-follow");
        Self::at(&target.with_file_name(work), target, options)
    }

    /// Makes and locks the folder at `folder` for the copy at `target`.
    pub(crate) fn at(folder: &Path, target: &Path, options: &TableOptions) -> Result<Self> {
        create_folders(folder)?;
        let path = folder.join("lock");
        let lock =
            File::options().create(true).truncate(false).write(true).open(&path).map_err(Error::io("open", &path))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let what = format!("another process follows into {}: end it first", target.display());
                return Err(Error::replica(what));
            }
            Err(TryLockError::Error(error)) => return Err(Error::io("lock", &path)(error)),
        }
        let work = Self { folder: folder.to_owned(), options: options.clone(), _lock: lock };
        work.clear()?;
        Ok(work)
    }

    /// The path of a file or folder in it.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The new copy.
    pub(crate) fn new_copy(&self) -> PathBuf {
        self.path("new")
    }

    /// Removes what a follower has left that was killed.
    pub(crate) fn clear(&self) -> Result<()> {
        let old = self.new_copy();
        // It may be the old copy, which processes still read.
        if let Ok(path) = path_of_store(&old)
            && let Ok(store) = store_file::open_store(&path, &self.options, false, false)
        {
            empty(&store)?;
        }
        for name in fs::read_dir(&self.folder).map_err(Error::io("list", &self.folder))? {
            let entry = name.map_err(Error::io("list", &self.folder))?;
            if entry.file_name() != "lock" {
                remove(&entry.path())?;
            }
        }
        Ok(())
    }

    /// Gives the new copy the name `target`. The folder that had this name becomes the new copy's, which the caller clears.
    pub(crate) fn put_in_place(&self, target: &Path) -> Result<()> {
        let new = self.new_copy();
        exchange(&new, target).map_err(Error::io("replace", target))?;
        sync_folder(&self.folder)?;
        match target.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => sync_folder(parent),
            _ => sync_folder(Path::new(".")),
        }
    }
}

impl Drop for WorkFolder {
    fn drop(&mut self) {
        // While it is locked. The next follower removes the rest.
        if self.clear().is_ok() {
            let _ = fs::remove_file(self.folder.join("lock"));
            let _ = fs::remove_dir(&self.folder);
        }
    }
}

/// Removes all trees of a store that was replaced, so that processes that have it open find no table, rather than the old rows.
pub(crate) fn empty(store: &lath_store::Store) -> Result<()> {
    let snapshot = store.snapshot()?;
    let mut transaction = store.begin()?;
    for name in snapshot.snapshot_names()? {
        transaction.drop_snapshot(&name)?;
    }
    for name in snapshot.tree_names()? {
        transaction.drop_tree(&name)?;
    }
    drop(snapshot);
    Ok(transaction.commit()?)
}

fn remove(path: &Path) -> Result<()> {
    let is_folder = fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir());
    let removed = if is_folder { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::io("remove", path)(error)),
        _ => Ok(()),
    }
}

/// Exchanges the names of two folders in one step, or renames the first one if there is no other.
fn exchange(new: &Path, target: &Path) -> io::Result<()> {
    match fs::rename(new, target) {
        // The folder is there, and not empty.
        Err(error) if target.is_dir() => {
            #[cfg(target_os = "linux")]
            {
                use rustix::fs::{CWD, RenameFlags, renameat_with};
                let _ = error;
                Ok(renameat_with(CWD, new, CWD, target, RenameFlags::EXCHANGE)?)
            }
            #[cfg(not(target_os = "linux"))]
            {
                let _ = error;
                let old = new.with_file_name("old");
                fs::rename(target, &old)?;
                fs::rename(new, target)?;
                fs::rename(&old, new)
            }
        }
        renamed => renamed,
    }
}
