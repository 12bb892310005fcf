//! Stores whose creation was interrupted.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use super::encrypted::ENVELOPE_AREA;
use super::{FileStorage, encrypted};
use crate::error::{Error, Result};
use crate::extent::FIRST_LEN;

/// Returns whether the file at `path` is a store whose creation was interrupted before it had a header: a file that is empty or has only zeros, behind
/// its keys if it is encrypted, without a log. Opened with [`Options::create`](crate::Options::create), it becomes a store. `false` if there is no file.
///
/// # Errors
/// [`Error::Io`] if the file cannot be read.
pub fn is_unfinished(path: impl AsRef<Path>) -> Result<bool> {
    let path = path.as_ref();
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(Error::io("open", path)(error)),
    };
    let longest = ENVELOPE_AREA + FIRST_LEN;
    if file.metadata().map_err(Error::io("read the length of", path))?.len() > longest {
        return Ok(false);
    }
    let mut bytes = Vec::new();
    file.take(longest).read_to_end(&mut bytes).map_err(Error::io("read", path))?;
    let files = FileStorage::new(path)?;
    let has_log = |index| fs::metadata(files.sibling(&format!("-log{index}"))).is_ok_and(|log| log.len() > 0);
    if has_log(0) || has_log(1) {
        return Ok(false);
    }
    let keys = bytes.len().min(ENVELOPE_AREA as usize);
    let data = if encrypted::has_keys(&bytes[..keys]) { &bytes[keys..] } else { &bytes };
    Ok(data.iter().all(|byte| *byte == 0))
}
