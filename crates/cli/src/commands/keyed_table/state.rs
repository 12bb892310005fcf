//! The state of a table that is read.

use std::time::{Duration, UNIX_EPOCH};

use arrow_array::timezone::Tz;
use arrow_cast::parse::string_to_datetime;
use lath_table::{Error, Result, Snapshot, Table};

/// The state of a table that `--at` names: a snapshot, the number of a version, or a time of UTC.
pub(super) fn state(table: &Table, at: &str) -> Result<Snapshot> {
    let newest = table.snapshot()?;
    match newest.snapshot_named(at) {
        Err(Error::NoSuchSnapshot { .. }) => {}
        named => return named,
    }
    if let Ok(version) = at.parse() {
        return newest.at_version(version);
    }
    let utc: Tz = "+00:00".parse().map_err(|_| no_snapshot(at))?;
    // The seconds may be left out.
    let time = string_to_datetime(&utc, at).or_else(|_| string_to_datetime(&utc, &format!("{at}:00")));
    let time = time.map_err(|_| no_snapshot(at))?;
    let since = u64::try_from(time.timestamp_micros()).unwrap_or(0);
    newest.at_time(UNIX_EPOCH + Duration::from_micros(since))
}

fn no_snapshot(at: &str) -> Error {
    Error::NoSuchSnapshot { name: at.to_owned() }
}
