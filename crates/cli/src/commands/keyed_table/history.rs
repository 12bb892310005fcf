//! `table history`: the earlier states of tables that can be read.

use std::time::{SystemTime, UNIX_EPOCH};

use arrow_array::temporal_conversions::as_datetime;
use arrow_array::types::TimestampMicrosecondType;
use lath_table::{HistoryRetention, KeptCommit};
use serde_json::json;

use super::open::{open, open_for_reading};
use crate::args::HistoryArgs;
use crate::commands::print;
use crate::failure::{Outcome, Result};
use crate::input::table_failure::table_failure;

pub(super) fn run(args: &HistoryArgs) -> Result<Outcome> {
    if args.stop {
        open(&args.table)?.drop_history().map_err(table_failure)?;
        return Ok(Outcome::Done);
    }
    if args.keep.is_some() || args.commits.is_some() {
        let retention = HistoryRetention::new();
        let retention = args.keep.into_iter().fold(retention, HistoryRetention::age);
        let retention = args.commits.into_iter().fold(retention, HistoryRetention::commits);
        open(&args.table)?.keep_history(retention).map_err(table_failure)?;
        return Ok(Outcome::Done);
    }
    let table = open_for_reading(&args.table)?;
    let commits = table.snapshot().and_then(|newest| newest.history()).map_err(table_failure)?;
    print(&commits.iter().map(|commit| line(commit, args.json)).collect::<String>())
}

fn line(commit: &KeptCommit, is_json: bool) -> String {
    let time = text(commit.time);
    match is_json {
        true => format!("{}\n", json!({"version": commit.version, "time": time})),
        false => format!("{}  {time}\n", commit.version),
    }
}

/// A time in UTC, to the microsecond.
fn text(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let since = i64::try_from(since.as_micros()).unwrap_or(i64::MAX);
    as_datetime::<TimestampMicrosecondType>(since)
        .map_or_else(String::new, |time| time.format("%Y-%m-%dT%H:%M:%S%.6fZ").to_string())
}
