//! Folders whose names are durable.

use std::fs;
use std::io;
use std::path::Path;

use crate::error::{Error, Result};

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

/// Makes the names in a folder durable.
pub(crate) fn sync_folder(folder: &Path) -> Result<()> {
    #[cfg(unix)]
    fs::File::open(folder).and_then(|open| open.sync_all()).map_err(Error::io("sync", folder))?;
    Ok(())
}
