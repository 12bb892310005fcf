//! `table changes`.

use std::time::Duration;

use lath_table::{ChangeRetention, Error, Snapshot, Table};

use super::open::{open, open_for_reading};
use crate::args::{ChangesArgs, Format};
use crate::failure::{Failure, Outcome, Result};
use crate::input::table_failure::table_failure;
use crate::output::Output;

/// Time of one wait for a commit, after which the table is opened again.
const WAIT: Duration = Duration::from_millis(200);

pub(super) fn run(args: &ChangesArgs) -> Result<Outcome> {
    if let Some(rows) = args.keep {
        open(&args.table)?.keep_changes(ChangeRetention::new().rows(rows)).map_err(table_failure)?;
        return Ok(Outcome::Done);
    }
    if args.stop {
        open(&args.table)?.drop_changes().map_err(table_failure)?;
        return Ok(Outcome::Done);
    }
    let format = if args.follow { args.output.format.or(Some(Format::Jsonl)) } else { args.output.format };
    let output = Output::settle(format, args.output.output.as_deref())?;
    let table = open_for_reading(&args.table)?;
    let snapshot = table.snapshot().map_err(table_failure)?;
    let since = match args.since {
        Some(since) => since,
        None => snapshot.statistics().map_err(table_failure)?.changes.map_or(0, |(_, since)| since),
    };
    if args.follow {
        return follow(args, table, snapshot, since, &output);
    }
    let mut changes = snapshot.changes(since).map_err(no_changes)?;
    let mut sink = output.open(&changes.schema())?;
    let mut found = 0;
    for batch in changes.by_ref() {
        let batch = batch.map_err(table_failure)?;
        found += batch.num_rows();
        sink.write(&batch)?;
    }
    sink.finish()?;
    eprintln!("go on with --since {}", changes.resume_at());
    Ok(if found == 0 { Outcome::Nothing } else { Outcome::Done })
}

/// Prints the changes of each commit when it is made, until the process ends.
fn follow(
    args: &ChangesArgs,
    mut table: Table,
    mut snapshot: Snapshot,
    mut since: u64,
    output: &Output<'_>,
) -> Result<Outcome> {
    if !output.is_stream_of_lines() {
        return Err(Failure::Usage(
            "--follow prints JSON lines to standard output; leave out --format and -o".to_owned(),
        ));
    }
    loop {
        let mut changes = snapshot.changes(since).map_err(no_changes)?;
        let mut sink = output.open(&changes.schema())?;
        for batch in changes.by_ref() {
            sink.write(&batch.map_err(table_failure)?)?;
        }
        sink.finish()?;
        since = changes.resume_at();
        let seen = snapshot.version();
        snapshot = loop {
            if let Some(newer) = table.wait_for_commit(seen, WAIT).map_err(table_failure)? {
                break newer;
            }
            // A table that was opened while no process wrote does not see later ones.
            table = open_for_reading(&args.table)?;
        };
    }
}

fn no_changes(error: Error) -> Failure {
    match error {
        Error::NoChanges { kept_since: None, .. } => {
            Failure::Usage("the table keeps no changes; add --keep to keep them from now on".to_owned())
        }
        other => table_failure(other),
    }
}
