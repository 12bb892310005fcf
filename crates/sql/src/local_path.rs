//! Locations in the local file system.

use std::path::Path;

/// The path of a location in the local file system; `None` for one in an object store.
pub(crate) fn local_path(location: &str) -> Option<&Path> {
    match location.split_once("://") {
        None => Some(Path::new(location)),
        Some(("file", path)) if path.starts_with('/') => Some(Path::new(path)),
        Some(_) => None,
    }
}
