//! Consumers of `table changes`.

use std::time::Duration;

use lath_table::{Changes, Consumer, ConsumerOptions, Table};

use super::open::open_for_reading;
use crate::args::ChangesArgs;
use crate::commands::print;
use crate::failure::{Failure, Outcome, Result};
use crate::input::table_failure::table_failure;
use crate::output::Output;

/// Time of one wait for a commit, after which the table is opened again.
const WAIT: Duration = Duration::from_millis(200);

/// Prints the changes that a consumer has not acknowledged, and then acknowledges them; with `--follow`, commit by commit.
pub(super) fn consume(
    args: &ChangesArgs,
    name: &str,
    output: &Output<'_>,
    explain: impl FnOnce(lath_table::Error) -> Failure,
) -> Result<Outcome> {
    if args.bootstrap.as_ref().is_some_and(|snapshot| !snapshot.is_empty()) {
        return Err(Failure::Usage(
            "the bootstrap of a consumer has the rows of the last commit; leave out the name of the snapshot"
                .to_owned(),
        ));
    }
    let mut table = open_for_reading(&args.table)?;
    if !table.consumers().map_err(table_failure)?.iter().any(|consumer| consumer.name == name) {
        let options = ConsumerOptions::new().bootstrap(args.bootstrap.is_some());
        table.add_consumer(name, options).map_err(explain)?;
    }
    loop {
        let changes = table.consume(name).map_err(table_failure)?;
        let (found, done) = deliver(changes, output)?;
        // All of it is written.
        table.acknowledge(name, done).map_err(table_failure)?;
        if !args.follow {
            return Ok(if found == 0 { Outcome::Nothing } else { Outcome::Done });
        }
        while table.wait_for_commit(done, WAIT).map_err(table_failure)?.is_none() {
            // A table that was opened while no process wrote does not see later ones.
            table = open_for_reading(&args.table)?;
        }
    }
}

/// Writes changes, and returns their number and the sequence to go on with.
pub(super) fn deliver(mut changes: Changes, output: &Output<'_>) -> Result<(usize, u64)> {
    let mut sink = output.open(&changes.schema())?;
    let mut found = 0;
    for batch in changes.by_ref() {
        let batch = batch.map_err(table_failure)?;
        found += batch.num_rows();
        sink.write(&batch)?;
    }
    sink.finish()?;
    Ok((found, changes.resume_at()))
}

/// Lists the consumers: name, position, and whether rows of the bootstrap are left.
pub(super) fn list(table: &Table) -> Result<Outcome> {
    let newest = table.snapshot().map_err(table_failure)?.version();
    let line = |consumer: &Consumer| {
        let state = match (consumer.is_bootstrapping, newest.saturating_sub(consumer.sequence)) {
            (true, _) => "bootstraps".to_owned(),
            (false, 0) => "is up to date".to_owned(),
            (false, 1) => "1 commit behind".to_owned(),
            (false, behind) => format!("{behind} commits behind"),
        };
        format!("{} {} {state}\n", consumer.name, consumer.sequence)
    };
    let consumers = table.consumers().map_err(table_failure)?;
    print(&consumers.iter().map(line).collect::<String>())?;
    Ok(if consumers.is_empty() { Outcome::Nothing } else { Outcome::Done })
}
