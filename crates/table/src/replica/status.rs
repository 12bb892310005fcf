//! Reports how far a follower is: a small file that it replaces, which is not durable and may be one moment old.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::source_folder::{SourceFolder, path_of_store};
use crate::error::{Error, Result};
use crate::follower_marker::Marker;
use crate::records::history::microseconds;
use crate::records::{TableOptions, store_file};

const FILE: &str = "_follower_status";
const PARTIAL: &str = "._follower_status.partial";

/// The distance of a copy from its source.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplicaStatus {
    /// The path or URL of the source.
    pub source: String,
    /// The number of the copy's newest commit, which is also its number in the source.
    pub commit: u64,
    /// The number of the source's newest commit, if the source is on this machine and can be read now.
    pub source_commit: Option<u64>,
    /// When the follower had last copied all commits of the source; `None` if it has never reported.
    pub up_to_date_at: Option<SystemTime>,
}

impl ReplicaStatus {
    /// The number of commits that the copy lacks, if that is known.
    pub fn commits_behind(&self) -> Option<u64> {
        Some(self.source_commit?.saturating_sub(self.commit))
    }

    /// The time for which the copy may lack commits; zero if it is known to lack none.
    pub fn time_behind(&self) -> Option<Duration> {
        match self.commits_behind() {
            Some(0) => Some(Duration::ZERO),
            _ => Some(self.up_to_date_at?.elapsed().unwrap_or_default()),
        }
    }

    pub(crate) fn read(folder: &Path, marker: &Marker, options: &TableOptions) -> Result<Self> {
        let store = store_file::open_store(&path_of_store(folder)?, options, true, false)?;
        let commit = store.snapshot()?.sequence();
        let source_commit = SourceFolder::open(Path::new(&marker.source), options)
            .ok()
            .filter(|source| source.identity() == marker.identity)
            .and_then(|source| source.newest().ok())
            .map(|newest| newest.snapshot.sequence());
        Ok(Self { source: marker.source.clone(), commit, source_commit, up_to_date_at: read_time(folder) })
    }
}

/// Reports that the copy has all commits that there were at `time`.
pub(crate) fn write(folder: &Path, time: SystemTime) -> Result<()> {
    let text = format!("{}\n", json!({ "format": 1, "up_to_date_micros": microseconds(time) }));
    let (partial, path) = (folder.join(PARTIAL), folder.join(FILE));
    fs::write(&partial, text).and_then(|()| fs::rename(&partial, &path)).map_err(Error::io("write", &path))
}

/// Removes the report.
pub(crate) fn remove(folder: &Path) {
    // Nothing reads it in a folder that is no follower.
    let _ = fs::remove_file(folder.join(FILE));
    let _ = fs::remove_file(folder.join(PARTIAL));
}

fn read_time(folder: &Path) -> Option<SystemTime> {
    let value: Value = serde_json::from_slice(&fs::read(folder.join(FILE)).ok()?).ok()?;
    Some(UNIX_EPOCH + Duration::from_micros(value.get("up_to_date_micros")?.as_u64()?))
}
