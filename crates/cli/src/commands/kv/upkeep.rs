//! `kv check`, `stats`, `backup` and `repair`: what is done with a store as a whole.

use std::fmt::Write;

use lath_store::Holder;

use super::{explain, open, open_for_reading};
use crate::args::{CopyArgs, StoreArgs};
use crate::failure::{Outcome, Result};
use crate::quantity::{bytes, grouped};

pub(super) fn check(args: &StoreArgs) -> Result<Outcome> {
    let report = open(args, false)?.check().map_err(explain)?;
    let mut text: String = report.problems.iter().map(|problem| format!("{problem}\n")).collect();
    if report.omitted > 0 {
        text.push_str(&format!("and {} more\n", report.omitted));
    }
    if report.is_sound() {
        text = format!(
            "{}: sound: {} keys, {} nodes of {} bytes\n",
            args.store.display(),
            report.keys,
            report.nodes,
            report.node_bytes
        );
    }
    crate::commands::print(&text)?;
    Ok(if report.is_sound() { Outcome::Done } else { Outcome::Corrupt })
}

pub(super) fn stats(args: &StoreArgs) -> Result<Outcome> {
    let stats = open(args, false)?.stats().map_err(explain)?;
    let mut text = String::new();
    let mut line = |what: &str, value: String| {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{what:<22}{value}");
    };
    line("newest commit", grouped(stats.sequence));
    line("data file", bytes(stats.file_bytes));
    line("  free in it", bytes(stats.free_bytes));
    line("  free at its end", bytes(stats.trailing_free_bytes));
    line("  dead, not yet free", bytes(stats.dead_bytes));
    line("log", bytes(stats.log_bytes));
    if let Some(commit) = stats.oldest_reader {
        line("oldest reader", format!("has commit {}", grouped(commit)));
    }
    for held in &stats.held {
        let holder = match &held.by {
            Holder::Checkpoint => "the last checkpoint".to_owned(),
            Holder::Reader => "a reader".to_owned(),
            Holder::Snapshot(name) => format!("the snapshot {name:?}"),
            _ => "another holder".to_owned(),
        };
        line("held", format!("{} by {holder}, at commit {}", bytes(held.bytes), grouped(held.sequence)));
    }
    crate::commands::print(&text)
}

pub(super) fn backup(args: &CopyArgs) -> Result<Outcome> {
    let snapshot = open_for_reading(&args.store)?.snapshot().map_err(explain)?;
    snapshot.backup(&args.target).map_err(explain)?;
    Ok(Outcome::Done)
}

pub(super) fn repair(args: &CopyArgs) -> Result<Outcome> {
    let report = lath_store::repair(&args.store.store, &args.target).map_err(explain)?;
    let mut text: String = report.problems.iter().map(|problem| format!("{problem}\n")).collect();
    let _ = writeln!(text, "{}: {} keys brought over", args.target.display(), grouped(report.keys));
    crate::commands::print(&text)?;
    Ok(if report.problems.is_empty() { Outcome::Done } else { Outcome::Corrupt })
}
