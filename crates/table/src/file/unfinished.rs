//! A folder that is being filled by a copy. If the copy is interrupted, the next copy into the folder starts over.
//!
//! A marker file says that the contents are incomplete. The store is renamed to its final name last, so the folder is no
//! table before that.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::folder::{create_folders, sync_folder};
use crate::error::{Error, Result};

/// The marker file, which exists until the folder is complete, and its contents.
const MARKER: &str = "unfinished-backup";
const CONTENTS: &[u8] =
    b"A backup was begun here and has not ended. The next one into this folder removes what is here.\n";

/// Name of the store until all other files are complete.
const STORE: &str = "unfinished.lath";

/// A folder that is not complete yet.
#[derive(Debug)]
pub(crate) struct UnfinishedCopy {
    folder: PathBuf,
}

impl UnfinishedCopy {
    /// Creates the folder, whose store will be at `store`, or removes what an interrupted process left in it.
    pub(crate) fn begin(folder: &Path, store: &Path) -> Result<Self> {
        create_folders(folder)?;
        let marker = folder.join(MARKER);
        let is_unfinished = fs::read(&marker).is_ok_and(|contents| CONTENTS.starts_with(&contents));
        if is_unfinished && !store.exists() {
            clear(folder, &marker)?;
        } else if fs::read_dir(folder).map_err(Error::io("list", folder))?.next().is_some() {
            return Err(Error::NotEmpty { folder: folder.to_owned() });
        }
        fs::write(&marker, CONTENTS)
            .and_then(|()| fs::File::open(&marker)?.sync_all())
            .map_err(Error::io("write", &marker))?;
        sync_folder(folder)?;
        Ok(Self { folder: folder.to_owned() })
    }

    /// The path at which to create the store.
    pub(crate) fn store(&self) -> PathBuf {
        self.folder.join(STORE)
    }

    /// Renames the closed store to its final name.
    pub(crate) fn finish(self, store: &Path) -> Result<()> {
        let made = self.store();
        fs::rename(&made, store).map_err(Error::io("rename", &made))?;
        sync_folder(&self.folder)?;
        for name in [format!("{STORE}-log0"), format!("{STORE}-log1"), format!("{STORE}-lock"), MARKER.to_owned()] {
            let path = self.folder.join(name);
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(Error::io("remove", &path)(error)),
                _ => {}
            }
        }
        sync_folder(&self.folder)
    }
}

/// Removes everything in a folder, the marker last.
fn clear(folder: &Path, marker: &Path) -> Result<()> {
    for entry in fs::read_dir(folder).map_err(Error::io("list", folder))? {
        let path = entry.map_err(Error::io("list", folder))?.path();
        if path == marker {
            continue;
        }
        let removed =
            if path.is_dir() && !path.is_symlink() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        removed.map_err(Error::io("remove", &path))?;
    }
    Ok(())
}
