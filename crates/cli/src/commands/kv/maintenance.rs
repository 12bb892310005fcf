//! `kv check`, `stats`, `compact`, `backup` and `repair`: operations on a whole store.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};
use std::{fs, io};

use lath_store::{CheckReport, Error, HeldSpace, Holder};
use tempfile::TempDir;

use super::{open, open_failure, open_for_reading, store_failure};
use crate::args::{CopyArgs, StoreArgs};
use crate::commands::bucket_backup;
use crate::console::progress::Progress;
use crate::console::quantity::{bytes, grouped, plural};
use crate::encryption_key::key_for;
use crate::failure::{Failure, Outcome, Result};
use crate::interrupt::GracefulStop;

pub(super) fn check(args: &StoreArgs) -> Result<Outcome> {
    if let Some(url) = bucket_backup::url(&args.store) {
        let folder = TempDir::new().map_err(|error| Failure::Io(format!("cannot make a temporary folder: {error}")))?;
        return print_check(&args.store, &fetch(url, &folder, args)?.1);
    }
    print_check(&args.store, &open_for_reading(args)?.check().map_err(store_failure)?)
}

/// Copies the backup at a URL to a folder, and checks it.
fn fetch(url: &str, folder: &TempDir, args: &StoreArgs) -> Result<(PathBuf, CheckReport)> {
    let store = folder.path().join("store");
    bucket_backup::fetch_object(url, &store)?;
    let copy = StoreArgs { store: store.clone(), wait: args.wait };
    let report = open_for_reading(&copy).and_then(|store| store.check().map_err(store_failure));
    let report = report.map_err(|error| match error {
        Failure::Corrupt(_) => Failure::Corrupt(format!("{url} is not a store, or it is damaged")),
        other => other,
    })?;
    Ok((store, report))
}

fn print_check(name: &Path, report: &CheckReport) -> Result<Outcome> {
    let mut text: String = report.problems.iter().map(|problem| format!("{problem}\n")).collect();
    if report.omitted > 0 {
        text.push_str(&format!("and {} more\n", report.omitted));
    }
    if report.is_sound() {
        text = format!(
            "{}: intact: {} keys, {} nodes of {} bytes\n",
            name.display(),
            report.keys,
            report.nodes,
            report.node_bytes
        );
    }
    crate::commands::print(&text)?;
    Ok(if report.is_sound() { Outcome::Done } else { Outcome::Corrupt })
}

pub(super) fn stats(args: &StoreArgs) -> Result<Outcome> {
    let store = open_for_reading(args)?;
    let is_encrypted = store.is_encrypted();
    let stats = match store.stats() {
        // Only a process that writes knows the free space.
        Err(Error::ReadOnly) => {
            drop(store);
            open(args, false)?.stats()
        }
        known => known,
    };
    let stats = stats.map_err(|error| open_failure(args, error))?;
    let mut text = String::new();
    let mut line = |what: &str, value: String| {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{what:<22}{value}");
    };
    line("newest commit", grouped(stats.sequence));
    line("encrypted", if is_encrypted { "yes" } else { "no" }.to_owned());
    line("data file", bytes(stats.file_bytes));
    line("  free in it", bytes(stats.free_bytes));
    line("  free at its end", bytes(stats.trailing_free_bytes));
    line("  dead, not yet free", bytes(stats.dead_bytes));
    if stats.removed_subtrees > 0 {
        line("  removed, not counted", format!("{} subtrees", grouped(stats.removed_subtrees)));
    }
    line("log", bytes(stats.log_bytes));
    if let Some(commit) = stats.oldest_reader {
        line("oldest reader", format!("has commit {}", grouped(commit)));
    }
    for held in &stats.held {
        line("held", describe(held));
    }
    crate::commands::print(&text)
}

/// Waits a little for another process; `false` once the time for that is over.
fn waits(args: &StoreArgs, started: Instant) -> bool {
    let left = args.wait.saturating_sub(started.elapsed());
    thread::sleep(left.min(Duration::from_millis(10)));
    !left.is_zero()
}

fn describe(held: &HeldSpace) -> String {
    let holder = match &held.by {
        Holder::Checkpoint => "the last checkpoint".to_owned(),
        Holder::Reader => "a reader".to_owned(),
        Holder::Snapshot(name) => format!("the snapshot {name:?}"),
        _ => "another holder".to_owned(),
    };
    format!("{} by {holder}, at commit {}", bytes(held.bytes), grouped(held.sequence))
}

pub(super) fn compact(args: &StoreArgs) -> Result<Outcome> {
    let length = || fs::metadata(&args.store).map(|metadata| metadata.len());
    let explain_length = |error| Failure::Io(format!("cannot read the length of {}: {error}", args.store.display()));
    let store = open(args, false)?;
    let before = length().map_err(explain_length)?;
    let mut progress = Progress::new_bytes(0, false);
    let (mut done, mut expected) = (0, 0);
    // Before the first step, while this waits for other processes, a signal ends it at once.
    let mut stop = None;
    let report = store.compact_with(|now| {
        progress.grow(now.expected_bytes.saturating_sub(expected));
        progress.advance(now.moved_bytes - done);
        (done, expected) = (now.moved_bytes, expected.max(now.expected_bytes));
        stop.get_or_insert_with(GracefulStop::new).poll()
    });
    drop(progress);
    let report = report.map_err(|error| open_failure(args, error))?;
    // Closing the store writes the map of free space to the file.
    drop(store);
    let after = length().map_err(explain_length)?;
    let mut text = String::new();
    let mut line = |what: &str, value: String| {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{what:<22}{value}");
    };
    line("data file before", bytes(before));
    line("data file after", bytes(after));
    line("moved", format!("{} in {} nodes", bytes(report.moved_bytes), grouped(report.moved_nodes)));
    for held in &report.held {
        line("held", describe(held));
    }
    crate::commands::print(&text)?;
    if report.is_complete { Ok(Outcome::Done) } else { Err(Failure::Interrupted) }
}

pub(super) fn backup(args: &CopyArgs) -> Result<Outcome> {
    match (bucket_backup::url(&args.store.store), bucket_backup::url(&args.target)) {
        (None, None) => copy_store(args, &args.target)?,
        (None, Some(url)) => {
            let scratch = bucket_backup::scratch(&args.store.store)?;
            let copy = scratch.path().join("store");
            copy_store(args, &copy)?;
            bucket_backup::send_object(&copy, url)?;
        }
        (Some(url), None) => {
            let exists =
                || Failure::Usage(format!("{} exists; give the new store another name", args.target.display()));
            if args.target.exists() {
                return Err(exists());
            }
            let scratch = bucket_backup::scratch(&args.target)?;
            let (copy, report) = fetch(url, &scratch, &args.store)?;
            if !report.is_sound() {
                return print_check(&args.store.store, &report);
            }
            // Unlike a rename, it replaces nothing.
            fs::hard_link(&copy, &args.target).or_else(|error| match error.kind() {
                io::ErrorKind::AlreadyExists => Err(exists()),
                _ => fs::rename(&copy, &args.target).map_err(|error| Failure::reaching(&args.target, &error)),
            })?;
            // A store with two names is not opened for writing. If this fails, the other name goes with its folder.
            let _ = fs::remove_file(&copy);
        }
        (Some(_), Some(_)) => return Err(bucket_backup::both_remote()),
    }
    Ok(Outcome::Done)
}

fn copy_store(args: &CopyArgs, target: &Path) -> Result<()> {
    let snapshot = open_for_reading(&args.store)?.snapshot().map_err(store_failure)?;
    // An interrupted copy is removed.
    let stop = GracefulStop::new();
    snapshot.backup_with(target, |_| stop.poll()).map_err(store_failure)
}

pub(super) fn repair(args: &CopyArgs) -> Result<Outcome> {
    let stop = GracefulStop::new();
    let started = Instant::now();
    let key = key_for(&args.store.store)?;
    let report = loop {
        match lath_store::repair_with_key(&args.store.store, &args.target, key.as_ref(), |_| stop.poll()) {
            Err(Error::Busy) if stop.poll().is_continue() && waits(&args.store, started) => {}
            other => break other.map_err(|error| open_failure(&args.store, error))?,
        }
    };
    let mut text: String = report.problems.iter().map(|problem| format!("{problem}\n")).collect();
    let target = args.target.display();
    let _ = writeln!(text, "{target}: {} keys copied", grouped(report.keys));
    if report.commits > 0 {
        let _ = writeln!(text, "{target}: {} replayed from the log", plural(report.commits, "commit"));
    }
    crate::commands::print(&text)?;
    Ok(if report.problems.is_empty() { Outcome::Done } else { Outcome::Corrupt })
}
