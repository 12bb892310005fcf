//! Finds the version of a table at a time.

use lath_parquet::{Error, Result};

use super::commit::parse;
use super::names::FOLDER;
use super::segment::Listing;
use crate::delta::actions::Metadata;
use crate::storage::{Entry, Folder};

/// The latest version that is not younger than `time`, in microseconds since 1970.
///
/// The time of a commit is the one that it has recorded, if the table keeps such times; else the time of the last change of its file, and
/// at least a millisecond after the commit before.
///
/// # Errors
/// [`Error::Invalid`] if all commits that the log still has are younger.
pub(super) fn version_at(folder: &Folder, listing: &Listing, latest: &Metadata, time: i64) -> Result<i64> {
    // Delta Lake counts milliseconds.
    let time = time.div_euclid(1000);
    let commits: Vec<(i64, &Entry)> = listing.commits().collect();
    let recorded = recorded_since(latest)?;
    let first_recorded = commits.partition_point(|(version, _)| recorded.is_none_or(|(since, _)| *version < since));
    let (by_file, by_record) = commits.split_at(first_recorded);
    let uses_records = match recorded {
        Some((_, Some(since))) => time >= since,
        Some((_, None)) => true,
        None => false,
    };
    if uses_records && !by_record.is_empty() {
        let (mut low, mut high) = (0, by_record.len());
        while low < high {
            let middle = low.midpoint(high);
            if recorded_time(folder, by_record[middle].1)? <= time {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        if let Some(found) = low.checked_sub(1) {
            return Ok(by_record[found].0);
        }
    }
    let mut found = None;
    let mut before = i64::MIN;
    for (version, entry) in by_file {
        before = (folder.modified(FOLDER, entry)?.div_euclid(1000)).max(before.saturating_add(1));
        if before > time {
            break;
        }
        found = Some(*version);
    }
    found.ok_or_else(|| match commits.first() {
        Some((version, _)) => {
            Error::invalid(format!("there is no version at that time: the first one in the log, {version}, is younger"))
        }
        None => Error::invalid("there is no version at that time: the log has no commits"),
    })
}

/// The first version whose commit has recorded its time, and that time; `None` if commits do not.
fn recorded_since(metadata: &Metadata) -> Result<Option<(i64, Option<i64>)>> {
    if !metadata.property("delta.enableInCommitTimestamps").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
        return Ok(None);
    }
    let number = |name: &str| {
        let parse = |text: &str| text.parse().map_err(|_| Error::corrupt(format!("{name} is {text:?}, not a number")));
        metadata.property(name).map(parse).transpose()
    };
    let version = number("delta.inCommitTimestampEnablementVersion")?;
    Ok(Some((version.unwrap_or(0), number("delta.inCommitTimestampEnablementTimestamp")?)))
}

/// The time that a commit has recorded.
fn recorded_time(folder: &Folder, entry: &Entry) -> Result<i64> {
    let location = folder.location(&format!("{FOLDER}/{}", entry.name))?;
    let actions = parse(&location, &folder.read(&location)?)?;
    let time = actions.iter().find_map(|action| action.commit_info.as_ref()?.in_commit_timestamp);
    time.ok_or_else(|| {
        Error::corrupt("a commit without the time that it should have recorded")
            .locate(|at| at.file = Some(location.into()))
    })
}
