//! Repairs a store whose data file is missing or empty: its log may have some or all of its commits.

use super::RepairReport;
use crate::copy::CopyCounter;
use crate::error::{Error, Result};
use crate::inspect::Problem;
use crate::log::unverified_records;
use crate::options::Durability;
use crate::records::record;
use crate::storage::Storage;
use crate::store::Store;

/// Replays all commits of the log on `target`, which is empty.
pub(super) fn salvage_store(
    storage: &dyn Storage,
    target: &Store,
    counter: &mut CopyCounter<'_>,
) -> Result<RepairReport> {
    let mut report = RepairReport::default();
    let mut last = 0;
    unverified_records(storage, |sequence, bytes| {
        if sequence <= last {
            report.problems.push(problem(format!("the log has commit {sequence} twice: the second is left out")));
            return Ok(());
        }
        if sequence != last + 1 {
            let lost = match (last + 1, sequence - 1) {
                (first, end) if first == end => format!("commit {first} is lost"),
                (first, end) => format!("commits {first} to {end} are lost"),
            };
            report.problems.push(problem(format!("{lost}: the log lacks it")));
        }
        last = sequence;
        match redo(bytes, target) {
            Ok(()) => report.commits += 1,
            Err(error @ (Error::Io { .. } | Error::Poisoned)) => return Err(error),
            Err(error) => report.problems.push(problem(format!("commit {sequence} cannot be replayed: {error}"))),
        }
        counter.add(bytes.len())
    })?;
    if report.commits == 0 {
        return Err(Error::corrupt(
            "the data file is missing or empty, and the log has no commit that can be done again",
        ));
    }
    let what = "the data file is missing or empty: checksums of the log could not be compared without it";
    report.problems.insert(0, problem(what.to_owned()));
    target.checkpoint()?;
    Ok(report)
}

fn problem(what: String) -> Problem {
    Problem { offset: None, what }
}

fn redo(bytes: &[u8], target: &Store) -> Result<()> {
    // No operation is applied unless all can be read.
    record::replay(bytes, |_| Ok(()))?;
    let mut transaction = target.begin()?;
    record::replay(bytes, |operation| transaction.apply(operation))?;
    transaction.commit_with(Durability::Off)
}
