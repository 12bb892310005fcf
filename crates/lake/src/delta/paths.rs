//! The paths of actions: URIs, relative to the table's folder or absolute.

use std::borrow::Cow;

use lath_parquet::{Error, Result};

use crate::storage::{Folder, local_path, percent_decoded};

/// The path or URL of the file that an action names.
pub(super) fn resolve(folder: &Folder, path: &str) -> Result<String> {
    resolve_below(folder, "", path)
}

/// As [`resolve`], for a path that is relative to a folder within the table's.
pub(super) fn resolve_below(folder: &Folder, below: &str, path: &str) -> Result<String> {
    match scheme(path) {
        Some("file") => {
            let path = local_path(path)?;
            path.into_os_string().into_string().map_err(|_| Error::corrupt("a path that is not Unicode"))
        }
        // Keys of stores are literal in Lath's URLs.
        Some(_) => percent_decoded(path),
        None if path.is_empty() => Err(Error::corrupt("an action names no file")),
        None => {
            let path = percent_decoded(path)?;
            if path.starts_with('/') && folder.local().is_some() {
                return Ok(path);
            }
            folder.location(&if below.is_empty() { path } else { format!("{below}/{path}") })
        }
    }
}

/// One text for all paths of the same file: relative to the table's folder, if it is there, and decoded.
pub(super) fn canonical<'p>(folder: &Folder, path: &'p str) -> Result<Cow<'p, str>> {
    if !path.bytes().any(|byte| byte == b'%' || byte == b':') && !path.starts_with('/') {
        return Ok(Cow::Borrowed(path));
    }
    let found = resolve(folder, path)?;
    let table = folder.location("")?;
    let below = found.strip_prefix(table.trim_end_matches('/')).and_then(|rest| rest.strip_prefix('/'));
    Ok(Cow::Owned(below.unwrap_or(&found).to_owned()))
}

/// The scheme of an absolute URI. A colon in a relative path is encoded, or behind a slash.
fn scheme(path: &str) -> Option<&str> {
    let (scheme, rest) = path.split_once(':')?;
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'));
    (is_scheme && rest.starts_with('/')).then_some(scheme)
}
