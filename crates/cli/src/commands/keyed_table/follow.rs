//! `table follow`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use lath_table::{CatchUp, Error, Replica, ReplicaStatus, TableOptions};
use serde_json::json;

use super::super::print;
use crate::args::FollowArgs;
use crate::console::quantity::{bytes, grouped, plural};
use crate::encryption_key::table_options;
use crate::failure::{Failure, Outcome, Result};
use crate::input::table_failure::table_failure;
use crate::interrupt::{self, GracefulStop};
use crate::output::layout::printable;

/// Time between two looks for a source that does not exist yet.
const LOOK: Duration = Duration::from_millis(200);

pub(super) fn run(args: &FollowArgs) -> Result<Outcome> {
    let options = table_options()?.wait(args.wait).uncommitted(interrupt::uncommitted());
    if let Some(copy) = &args.status {
        return status(copy, args.json, options);
    }
    if let Some(copy) = &args.promote {
        let commit = Replica::promote(copy, options).map_err(table_failure)?;
        eprintln!("{} is independent now, at commit {}", copy.display(), grouped(commit));
        return Ok(Outcome::Done);
    }
    let (Some(source), Some(copy)) = (&args.source, &args.copy) else {
        return Err(Failure::Usage("name a source, and the folder of its copy".to_owned()));
    };
    let stop = GracefulStop::new();
    let Some(mut replica) = open(args, source, copy, &options, &stop)? else { return Ok(Outcome::Done) };
    if args.once {
        let result = replica.catch_up().map_err(table_failure)?;
        report(copy, &result);
        return Ok(Outcome::Done);
    }
    let mut told = None;
    let followed = replica.follow(|round| {
        match round {
            Ok(result) => {
                if let Some(problem) = told.take() {
                    let _: String = problem;
                    eprintln!("{}: goes on at commit {}", copy.display(), grouped(result.commit));
                }
                if result.whole_copy.is_some() {
                    report(copy, result);
                }
            }
            Err(error) => {
                let text = error.to_string();
                if told.as_ref() != Some(&text) {
                    eprintln!("{}; trying again", printable(text.clone()));
                    told = Some(text);
                }
            }
        }
        stop.poll()
    });
    followed.map_err(table_failure)?;
    Ok(Outcome::Done)
}

/// Opens the follower once its source exists; `None` if it was stopped before.
fn open(
    args: &FollowArgs,
    source: &Path,
    copy: &Path,
    options: &TableOptions,
    stop: &GracefulStop,
) -> Result<Option<Replica>> {
    let mut is_told = false;
    loop {
        let error = match Replica::open(source, copy, options.clone()) {
            Ok(replica) => return Ok(Some(replica)),
            Err(error) if is_absent(source, &error) => error,
            Err(error) => return Err(table_failure(error)),
        };
        if !args.await_source {
            return Err(Failure::Usage(format!("{error}; --await-source waits until there is one")));
        }
        if !std::mem::replace(&mut is_told, true) {
            eprintln!("{}; waiting", printable(error.to_string()));
        }
        if stop.poll().is_break() {
            return Ok(None);
        }
        std::thread::sleep(LOOK);
    }
}

/// Whether a follower was not opened because its source does not exist.
fn is_absent(source: &Path, error: &Error) -> bool {
    match error {
        Error::NoTable { .. } | Error::NoDatabase { .. } => true,
        Error::Io { .. } => fs::metadata(source).is_err_and(|error| error.kind() == io::ErrorKind::NotFound),
        _ => false,
    }
}

fn report(copy: &Path, result: &CatchUp) {
    let copy = copy.display();
    let (commits, files) = (plural(result.commits, "commit"), plural(result.files, "file"));
    let sizes = format!("{files}, {} of them linked, {}", grouped(result.links), bytes(result.bytes));
    match &result.whole_copy {
        Some(why) => eprintln!("{copy}: a whole copy at commit {}, because {why}: {sizes}", grouped(result.commit)),
        None => eprintln!("{copy}: at commit {} after {commits}: {sizes}", grouped(result.commit)),
    }
}

fn status(copy: &PathBuf, as_json: bool, options: TableOptions) -> Result<Outcome> {
    let Some(status) = Replica::status(copy, options).map_err(table_failure)? else {
        return Err(Failure::Usage(format!("{} is no follower's copy: it can be changed as it is", copy.display())));
    };
    print(&if as_json { to_json(&status) } else { to_text(&status) })?;
    Ok(Outcome::Done)
}

fn to_json(status: &ReplicaStatus) -> String {
    let micros = status.up_to_date_at.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let value = json!({
        "source": status.source,
        "commit": status.commit,
        "source_commit": status.source_commit,
        "commits_behind": status.commits_behind(),
        "up_to_date_at": micros.map(|since| since.as_secs_f64()),
        "seconds_behind": status.time_behind().map(|behind| behind.as_secs_f64()),
    });
    format!("{value}\n")
}

fn to_text(status: &ReplicaStatus) -> String {
    let seconds = |behind: Duration| format!("{:.1} s", behind.as_secs_f64());
    let mut lines = vec![("source", printable(status.source.clone())), ("commit", grouped(status.commit))];
    lines.extend(status.source_commit.map(|commit| ("commit of the source", grouped(commit))));
    lines.extend(status.commits_behind().map(|behind| ("commits behind", grouped(behind))));
    lines.extend(status.time_behind().map(|behind| ("at most behind", seconds(behind))));
    lines.into_iter().map(|(what, value)| format!("{what:<22}{value}\n")).collect()
}
