//! Reads the log of a table.

mod checkpoint;
mod commit;
mod names;
mod parsed_statistics;
mod replay;
mod segment;
mod time_travel;

use lath_parquet::{Error, Result};
use serde::Deserialize;

pub(super) use self::names::{FOLDER, commit_name, commit_version};
use self::segment::Listing;
use crate::lake::At;
use crate::storage::{Entry, Folder};

pub(super) use replay::Snapshot;

/// The file that names the latest checkpoint.
const LAST_CHECKPOINT: &str = "_delta_log/_last_checkpoint";

#[derive(Deserialize)]
struct LastCheckpoint {
    version: i64,
}

/// The table at `at`, or at its latest version. `listed` has the files of the log, if they are known.
pub(super) fn snapshot(folder: &Folder, listed: Option<Vec<Entry>>, at: Option<&At>) -> Result<Snapshot> {
    let version = match at {
        None => None,
        Some(At::Version(version)) => Some(*version),
        Some(At::Time(time)) => {
            let listing = Listing::new(listed.map_or_else(|| folder.list(FOLDER), Ok)?);
            let latest = replay::replay(folder, &listing.segment(None)?)?;
            let version = time_travel::version_at(folder, &listing, &latest.metadata, *time)?;
            if version == latest.version {
                return Ok(latest);
            }
            return replay::replay(folder, &listing.segment(Some(version))?);
        }
        Some(At::Name(name)) => {
            return Err(Error::invalid(format!(
                "{name:?} is neither a version nor a time, and tables of Delta Lake have no branches and tags"
            )));
        }
    };
    let listing = match listed {
        Some(listed) => Listing::new(listed),
        None => match last_checkpoint(folder)? {
            Some(checkpoint) if version.is_none_or(|version| version >= checkpoint) => since(folder, checkpoint)?,
            _ => Listing::new(folder.list(FOLDER)?),
        },
    };
    replay::replay(folder, &listing.segment(version)?)
}

/// The files of the log from a checkpoint on; all files if that checkpoint is gone or incomplete.
fn since(folder: &Folder, checkpoint: i64) -> Result<Listing> {
    // Before all files of this version.
    let after = format!("{checkpoint:020}");
    let listing = Listing::new(folder.list_after(FOLDER, Some(&after))?);
    if listing.has_checkpoint(checkpoint) { Ok(listing) } else { Ok(Listing::new(folder.list(FOLDER)?)) }
}

/// The version of the latest checkpoint, if a hint of the writer says it. A damaged hint has no meaning.
fn last_checkpoint(folder: &Folder) -> Result<Option<i64>> {
    let bytes = folder.read_if_present(&folder.location(LAST_CHECKPOINT)?)?;
    let hint = bytes.and_then(|bytes| serde_json::from_slice::<LastCheckpoint>(&bytes).ok());
    Ok(hint.map(|hint| hint.version).filter(|version| *version >= 0))
}
