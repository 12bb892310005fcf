//! Folders whose names are durable.

use std::fs;
use std::io;
use std::path::Path;

use lath_parquet::is_store;

use crate::error::{Error, Result};

/// Creates the folder of a table or database, and the folders above it, if they do not exist.
pub(crate) fn create_folders(folder: &Path) -> Result<()> {
    if folder.to_str().is_some_and(is_store) {
        let what = format!("{}: tables and databases are folders of this machine, not of a bucket", folder.display());
        return Err(lath_parquet::Error::invalid(what).into());
    }
    fs::create_dir_all(folder).map_err(Error::io("create", folder))
}

/// Creates a folder if it does not exist, and makes its name durable.
pub(crate) fn create_folder(folder: &Path) -> Result<()> {
    match fs::create_dir(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(Error::io("create", folder)(error)),
        _ => {}
    }
    match folder.parent() {
        Some(parent) if parent.as_os_str().is_empty() => sync_folder(Path::new(".")),
        Some(parent) => sync_folder(parent),
        None => Ok(()),
    }
}

/// The entries of a folder; `None` if it does not exist.
pub(crate) fn entries(folder: &Path) -> Result<Option<impl Iterator<Item = Result<fs::DirEntry>>>> {
    match fs::read_dir(folder) {
        Ok(entries) => Ok(Some(entries.map(|entry| entry.map_err(Error::io("list", folder))))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io("list", folder)(error)),
    }
}

/// The names in a folder that are UTF-8; none if the folder does not exist.
pub(crate) fn file_names(folder: &Path) -> Result<Vec<String>> {
    let names = entries(folder)?.into_iter().flatten().map(|entry| Ok(entry?.file_name().into_string().ok()));
    names.filter_map(Result::transpose).collect()
}

/// Makes the names in a folder durable.
pub(crate) fn sync_folder(folder: &Path) -> Result<()> {
    #[cfg(unix)]
    fs::File::open(folder).and_then(|open| open.sync_all()).map_err(Error::io("sync", folder))?;
    Ok(())
}
