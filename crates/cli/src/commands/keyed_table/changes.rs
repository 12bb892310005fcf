//! `table changes`.

use lath_table::{ChangeRetention, Error};

use super::open::{open, open_for_reading};
use crate::args::ChangesArgs;
use crate::failure::{Failure, Outcome, Result};
use crate::input::table_failure::table_failure;
use crate::output::Output;

pub(super) fn run(args: &ChangesArgs) -> Result<Outcome> {
    if let Some(rows) = args.keep {
        open(&args.table)?.keep_changes(ChangeRetention::new().rows(rows)).map_err(table_failure)?;
        return Ok(Outcome::Done);
    }
    if args.stop {
        open(&args.table)?.drop_changes().map_err(table_failure)?;
        return Ok(Outcome::Done);
    }
    let output = Output::new(&args.output)?;
    let snapshot = open_for_reading(&args.table)?.snapshot().map_err(table_failure)?;
    let since = match args.since {
        Some(since) => since,
        None => snapshot.statistics().map_err(table_failure)?.changes.map_or(0, |(_, since)| since),
    };
    let mut changes = snapshot.changes(since).map_err(|error| match error {
        Error::NoChanges { kept_since: None, .. } => {
            Failure::Usage("the table keeps no changes; add --keep to keep them from now on".to_owned())
        }
        other => table_failure(other),
    })?;
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
