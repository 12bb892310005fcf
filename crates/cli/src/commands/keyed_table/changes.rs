//! `table changes`.

use std::time::Duration;

use lath_table::{ChangeRetention, Changes, Error, Snapshot, Table};

use super::consumers;
use super::open::{open, open_existing, open_for_reading};
use crate::args::{ChangesArgs, Format};
use crate::failure::{Failure, Outcome, Result};
use crate::input::table_failure::table_failure;
use crate::output::Output;
use crate::output::layout::printable;

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
    if args.consumers {
        return consumers::list(&open_for_reading(&args.table)?);
    }
    if let Some(name) = &args.drop_consumer {
        open_for_reading(&args.table)?.drop_consumer(name).map_err(table_failure)?;
        return Ok(Outcome::Done);
    }
    let format = if args.follow { args.output.format.or(Some(Format::Jsonl)) } else { args.output.format };
    let output = Output::settle(format, args.output.output.as_deref())?;
    if args.follow {
        check_is_stream(&output)?;
        await_source(args)?;
    }
    if let Some(name) = &args.consumer {
        return consumers::consume(args, name, &output, no_changes);
    }
    let table = open_for_reading(&args.table)?;
    let snapshot = table.snapshot().map_err(table_failure)?;
    let since = match args.since {
        Some(since) => since,
        None => snapshot.statistics().map_err(table_failure)?.changes.map_or(0, |(_, since)| since),
    };
    let changes = match args.bootstrap.as_deref() {
        None => snapshot.changes(since),
        Some("") => snapshot.changes_from(&snapshot),
        Some(name) => snapshot.snapshot_named(name).and_then(|first| snapshot.changes_from(&first)),
    };
    let changes = changes.map_err(no_changes)?;
    if args.follow {
        return follow(args, table, snapshot, changes, &output);
    }
    let (found, since) = consumers::deliver(changes, &output)?;
    eprintln!("go on with --since {since}");
    Ok(if found == 0 { Outcome::Nothing } else { Outcome::Done })
}

/// Waits until the table exists and keeps changes, if the arguments say so.
fn await_source(args: &ChangesArgs) -> Result<()> {
    let mut is_told = false;
    loop {
        let table = open_existing(&args.table)?;
        let problem = match &table {
            Some(table) => {
                let statistics = table.snapshot().and_then(|snapshot| snapshot.statistics()).map_err(table_failure)?;
                if statistics.changes.is_some() || !args.await_source {
                    return Ok(());
                }
                "the table keeps no changes yet"
            }
            None if !args.await_source => {
                return match open_for_reading(&args.table) {
                    Err(Failure::Usage(text)) => Err(Failure::Usage(format!("{text}; --await-source waits for it"))),
                    opened => opened.map(drop),
                };
            }
            None => "there is no such table yet",
        };
        if !std::mem::replace(&mut is_told, true) {
            eprintln!("{}: {problem}; waiting", printable(args.table.folder.display().to_string()));
        }
        std::thread::sleep(WAIT);
    }
}

/// Prints the changes of each commit when it is made, until the process ends.
fn follow(
    args: &ChangesArgs,
    mut table: Table,
    mut snapshot: Snapshot,
    mut changes: Changes,
    output: &Output<'_>,
) -> Result<Outcome> {
    check_is_stream(output)?;
    loop {
        let (_, since) = consumers::deliver(changes, output)?;
        let seen = snapshot.version();
        snapshot = loop {
            if let Some(newer) = table.wait_for_commit(seen, WAIT).map_err(table_failure)? {
                break newer;
            }
            // A table that was opened while no process wrote does not see later ones.
            table = open_for_reading(&args.table)?;
        };
        changes = snapshot.changes(since).map_err(no_changes)?;
    }
}

/// Refuses an output in which the changes of later commits have no place.
fn check_is_stream(output: &Output<'_>) -> Result<()> {
    match output.is_stream_of_lines() {
        true => Ok(()),
        false => {
            Err(Failure::Usage("--follow prints JSON lines to standard output; leave out --format and -o".to_owned()))
        }
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
