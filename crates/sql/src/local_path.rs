//! Locations in the local file system, and folders in object stores.

use std::path::Path;

use lath_parquet::{DatasetOptions, Error, Result};

/// The path of a location in the local file system; `None` for one in an object store.
pub(crate) fn local_path(location: &str) -> Option<&Path> {
    match location.split_once("://") {
        None => Some(Path::new(location)),
        Some(("file", path)) if path.starts_with('/') => Some(Path::new(path)),
        Some(_) => None,
    }
}

/// Whether there are objects below the folder at a URL.
pub(crate) fn has_objects(url: &str) -> Result<bool> {
    let store = DatasetOptions::new().object_store(url)?;
    let found = store.find(&[store.key().trim_end_matches('/').to_owned()], |_| true);
    let found = found.map_err(|error| Error::io("list", error).locate(|at| at.file = Some(url.into())))?;
    Ok(found.is_some())
}
