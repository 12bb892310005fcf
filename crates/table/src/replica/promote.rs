//! Makes a follower's copy an independent table or database.

use std::path::Path;

use super::absolute;
use super::source_folder::path_of_store;
use super::status;
use super::work_folder::WorkFolder;
use crate::error::{Error, Result};
use crate::follower_marker::Marker;
use crate::records::{TableOptions, store_file};

/// Returns the number of the copy's newest commit. If this is interrupted, the copy is still a follower, and can be promoted again.
pub(super) fn promote(folder: &Path, options: &TableOptions) -> Result<u64> {
    let folder = absolute(folder)?;
    let path = path_of_store(&folder)?;
    let Some(marker) = Marker::read(&folder)? else {
        let what = "is no follower: it can be changed as it is";
        return Err(Error::replica(format!("{} {what}", folder.display())));
    };
    // No follower works here, and none begins.
    let _work = WorkFolder::beside(&folder, options)?;
    let store = store_file::open_store(&path, options, false, false)?;
    // All commits of the copy are in the data file from here on, and later ones in the log.
    store.checkpoint()?;
    let commit = store.snapshot()?.sequence();
    drop(store);
    let _ = marker;
    Marker::remove(&folder)?;
    status::remove(&folder);
    Ok(commit)
}
