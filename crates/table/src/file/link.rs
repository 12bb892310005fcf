//! Gives a file a second name.

use std::fs;
use std::io;
use std::path::Path;

use crate::error::{Error, Result};

/// Gives a file an additional, unused name: by a hard link, or by a synced copy if the file system has no links. Returns whether it is a
/// link.
pub(crate) fn link_or_copy(from: &Path, to: &Path) -> Result<bool> {
    if fs::hard_link(from, to).is_ok() {
        return Ok(true);
    }
    copy_file(from, to).map_err(Error::io("copy", from))?;
    Ok(false)
}

/// Makes a synced copy of a file under an unused name.
pub(crate) fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    let mut target = fs::File::create_new(to)?;
    io::copy(&mut fs::File::open(from)?, &mut target)?;
    target.sync_all()
}
