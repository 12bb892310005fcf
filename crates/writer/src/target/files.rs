//! Files or objects that appear together.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use lath_parquet::{Error, Result};

use super::local_files::LocalFiles;
use super::objects::AtomicObjects;
use super::uncommitted::UncommittedFiles;
use super::{AtomicFile, store_url};

/// Files that are written into a temporary folder, and appear together in their target folder in [`commit`](Self::commit).
/// Dropping them before removes the temporary folder with its files.
///
/// A new folder appears with all its files. Otherwise the renames of a commit follow one another: a process that is killed
/// between them leaves some of the files in place. In all other cases all files appear, or none.
///
/// The folder can be a URL of an object store. Its objects are sent while they are written, and become visible in the commit, within
/// the time of a few requests. A process that is killed before it leaves parts that are not visible; one that is killed within it leaves some of
/// the objects.
#[derive(Debug)]
pub struct AtomicFiles {
    pub(super) place: Place,
}

#[derive(Debug)]
pub(super) enum Place {
    Local(LocalFiles),
    Store(AtomicObjects),
}

impl AtomicFiles {
    /// Begins files in `folder`, which is created if it does not exist, and removed again if nothing is committed. The temporary
    /// folder in it is named after `name`; leftovers of killed processes with this name are removed.
    ///
    /// # Errors
    /// [`Error::Io`] if a folder cannot be created or opened, [`Error::Invalid`] for a malformed URL,
    /// [`Error::Cancelled`] if `uncommitted` was abandoned.
    pub fn create_with(
        folder: impl AsRef<Path>,
        name: impl AsRef<OsStr>,
        uncommitted: &UncommittedFiles,
    ) -> Result<Self> {
        let folder = folder.as_ref();
        let place = match store_url(folder) {
            Some(url) => Place::Store(AtomicObjects::create(url, uncommitted)?),
            None => Place::Local(LocalFiles::create(folder, name.as_ref(), uncommitted)?),
        };
        Ok(Self { place })
    }

    /// Says that no files have the names of these, so that objects which were completed are deleted again if another cannot be. Local files
    /// need not be told.
    #[must_use]
    pub fn new_names(self) -> Self {
        let place = match self.place {
            Place::Store(objects) => Place::Store(objects.new_names()),
            local @ Place::Local(_) => local,
        };
        Self { place }
    }

    /// Begins a file. It may be in folders below, such as `city=Berlin/part.parquet`; missing folders are created, and appear with the files.
    /// The file has to be committed before all are.
    ///
    /// # Errors
    /// [`Error::Invalid`] if `path` leaves the folder; [`Error::Io`] if a file or folder cannot be created.
    pub fn file(&mut self, path: impl AsRef<Path>) -> Result<AtomicFile> {
        match &mut self.place {
            Place::Local(files) => files.file(path.as_ref()),
            Place::Store(objects) => objects.file(path.as_ref()),
        }
    }

    /// As [`file`](Self::file), but returns the path to write the file to. The file must exist when all are committed.
    ///
    /// # Errors
    /// As [`file`](Self::file), and [`Error::Invalid`] for a URL of an object store.
    pub fn path(&mut self, path: impl AsRef<Path>) -> Result<PathBuf> {
        match &mut self.place {
            Place::Local(files) => files.path(path.as_ref()),
            Place::Store(_) => {
                let what = format!("{}: these files are written to local folders only", path.as_ref().display());
                Err(Error::invalid(what))
            }
        }
    }

    /// Renames all files to their targets, replacing existing files, and syncs the folder. The files themselves must be synced
    /// already, as files of [`AtomicFile`] are. Completes objects.
    ///
    /// # Errors
    /// [`Error::Io`], which describes the resulting state; [`Error::Cancelled`] if the files were abandoned.
    pub fn commit(self) -> Result<()> {
        match self.place {
            Place::Local(files) => files.commit(),
            Place::Store(objects) => objects.commit(),
        }
    }
}
