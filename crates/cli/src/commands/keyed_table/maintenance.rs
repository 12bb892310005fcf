//! `table compact`, `check`, `repair`, `backup`, `export`, `stats` and `snapshot`.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lath_table::{BackupFile, CheckReport, Database, Error, Publication, Table, TableOptions, TableStatistics};
use serde_json::json;

use super::open::{open, open_for_reading, options, snapshot};
use crate::args::{KeyedTableArgs, SnapshotArgs, TableCopyArgs, TableExportArgs, TableRestoreArgs, TableStatsArgs};
use crate::commands::bucket_backup;
use crate::commands::print;
use crate::console::quantity::{bytes, grouped, plural};
use crate::encryption_key::table_options;
use crate::failure::{Failure, Outcome, Result};
use crate::input::table_failure::table_failure;

pub(super) fn compact(args: &KeyedTableArgs) -> Result<Outcome> {
    let table = open(args)?;
    let flushed = table.flush().map_err(table_failure)?;
    let compacted = table.compact().map_err(table_failure)?;
    let removed = table.vacuum().map_err(table_failure)?;
    let expired = match compacted.expired_rows {
        0 => String::new(),
        rows => format!("{} expired\n", plural(rows, "row")),
    };
    print(&format!(
        "{} moved to {}\n{expired}{} became {}\n{} removed\n",
        plural(flushed.rows, "row"),
        plural(flushed.files as u64, "file"),
        plural(compacted.files_before as u64, "file"),
        grouped(compacted.files_after as u64),
        plural(removed as u64, "file"),
    ))
}

pub(super) fn flush(args: &KeyedTableArgs) -> Result<Outcome> {
    let flushed = open(args)?.flush().map_err(table_failure)?;
    print(&format!("{} moved to {}\n", plural(flushed.rows, "row"), plural(flushed.files as u64, "file")))
}

pub(super) fn drop_table(args: &KeyedTableArgs) -> Result<Outcome> {
    let Some(name) = &args.table else {
        return Err(Failure::Usage(
            "--table names the table of a database to drop; a table alone in its folder is dropped with the folder"
                .to_owned(),
        ));
    };
    let database = Database::open(&args.folder, options(args)?).map_err(table_failure)?;
    database.drop_table(name).map_err(table_failure)?;
    Ok(Outcome::Done)
}

pub(super) fn restore(args: &TableRestoreArgs) -> Result<Outcome> {
    if bucket_backup::url(&args.folder).is_some() {
        return Err(Failure::Usage(
            "a table is restored to a folder of this machine, and its files may be in a bucket".to_owned(),
        ));
    }
    backup(&TableCopyArgs { folder: args.backup.clone(), target: args.folder.clone(), wait: args.wait })?;
    let options = table_options()?.wait(args.wait);
    let reports = match Table::open_read_only(&args.folder, options.clone()) {
        Err(Error::NoTable { .. }) => check_all(&args.folder, options),
        table => table.and_then(|table| table.check()).map(|report| vec![(args.folder.clone(), report)]),
    };
    let reports = reports.map_err(table_failure)?;
    print(&reports.iter().map(|(name, report)| describe(name, report)).collect::<String>())?;
    Ok(if reports.iter().all(|(_, report)| report.is_intact()) { Outcome::Done } else { Outcome::Corrupt })
}

/// Checks the tables of a database, each with its name below the folder.
fn check_all(folder: &Path, options: TableOptions) -> lath_table::Result<Vec<(PathBuf, CheckReport)>> {
    let database = Database::open_read_only(folder, options)?;
    let check = |name: String| {
        let report = database.table(&name)?.check()?;
        Ok((folder.join(name), report))
    };
    database.table_names()?.into_iter().map(check).collect()
}

pub(super) fn check(args: &KeyedTableArgs) -> Result<Outcome> {
    if let Some(url) = bucket_backup::url(&args.folder) {
        if args.table.is_some() {
            return Err(Failure::Usage(
                "--table chooses a table of a folder; a backup in a bucket is checked as a whole".to_owned(),
            ));
        }
        return bucket_backup::check(url);
    }
    let report = open_for_reading(args)?.check().map_err(table_failure)?;
    print(&describe(&args.folder, &report))?;
    Ok(if report.is_intact() { Outcome::Done } else { Outcome::Corrupt })
}

pub(super) fn repair(args: &KeyedTableArgs) -> Result<Outcome> {
    let repaired = open(args)?.repair().map_err(table_failure)?;
    let mut text: String = repaired.found.iter().map(|problem| format!("found: {problem}\n")).collect();
    text.push_str(&describe(&args.folder, &repaired.now));
    print(&text)?;
    Ok(if repaired.now.is_intact() { Outcome::Done } else { Outcome::Corrupt })
}

/// A line for each problem, or one for a table without problems.
pub(crate) fn describe(folder: &Path, report: &CheckReport) -> String {
    if report.problems.is_empty() {
        let (rows, files) = (plural(report.rows, "row"), plural(report.files as u64, "file"));
        return format!("{}: intact: {rows}, {files}\n", folder.display());
    }
    report.problems.iter().map(|problem| format!("{problem}\n")).collect()
}

pub(super) fn backup(args: &TableCopyArgs) -> Result<Outcome> {
    match (bucket_backup::url(&args.folder), bucket_backup::url(&args.target)) {
        (None, None) => {}
        (None, Some(url)) => return back_up_to_bucket(&args.folder, url, args.wait),
        (Some(url), None) => return bucket_backup::restore(url, &args.target),
        (Some(_), Some(_)) => return Err(bucket_backup::both_remote()),
    }
    let options = table_options()?.wait(args.wait);
    let made = match Table::open_read_only(&args.folder, options.clone()) {
        Err(Error::NoTable { .. }) => {
            Database::open_read_only(&args.folder, options).and_then(|database| database.backup(&args.target))
        }
        table => table.and_then(|table| table.backup(&args.target)),
    };
    let made = made.map_err(table_failure)?;
    eprintln!("{}, {} of them linked", plural(made.files as u64, "file"), grouped(made.links as u64));
    Ok(Outcome::Done)
}

fn back_up_to_bucket(folder: &Path, url: &str, wait: Duration) -> Result<Outcome> {
    let scratch = bucket_backup::scratch(folder)?;
    let send = |files: &[BackupFile]| bucket_backup::send(url, files);
    let options = table_options()?.wait(wait);
    let sent = match Table::open_read_only(folder, options.clone()) {
        Err(Error::NoTable { .. }) => {
            Database::open_read_only(folder, options).and_then(|database| database.backup_files(scratch.path(), send))
        }
        table => table.and_then(|table| table.backup_files(scratch.path(), send)),
    };
    sent.map_err(table_failure)?
}

pub(super) fn export(args: &TableExportArgs) -> Result<Outcome> {
    let snapshot = snapshot(&args.read)?;
    if args.position_deletes {
        let exported = snapshot.export_with_deletes(&args.target, args.location.as_deref()).map_err(table_failure)?;
        let (rows, files) = (plural(exported.rows, "row"), plural(exported.files as u64, "file"));
        let (deleted, lists) = (plural(exported.deleted, "row"), plural(exported.delete_files as u64, "file"));
        eprintln!("{rows} in {files}, {} of them linked\n{deleted} deleted in {lists}", grouped(exported.links as u64));
        return Ok(Outcome::Done);
    }
    let exported = snapshot.export(&args.target).map_err(table_failure)?;
    eprintln!("{} in {}", plural(exported.rows, "row"), plural(exported.files as u64, "file"));
    Ok(Outcome::Done)
}

pub(super) fn stats(args: &TableStatsArgs) -> Result<Outcome> {
    // The published snapshot belongs to the newest commit.
    let table = open_for_reading(&args.read.table)?;
    let publication = match args.read.at {
        None => table.publication().map_err(table_failure)?,
        Some(_) => None,
    };
    let place = (table.location() != table.folder()).then(|| table.location().display().to_string());
    let is_encrypted = table.is_encrypted();
    drop(table);
    let snapshot = snapshot(&args.read)?;
    let statistics = snapshot.statistics().map_err(table_failure)?;
    let snapshots = snapshot.snapshot_names().map_err(table_failure)?;
    let name = |&column: &usize| snapshot.schema().field(column).name().clone();
    let key: Vec<String> = snapshot.key_columns().iter().map(name).collect();
    let publication = publication.as_ref();
    print(&match args.json {
        true => as_json(&statistics, is_encrypted, &key, &snapshots, place.as_deref(), publication),
        false => as_text(&statistics, is_encrypted, &key, &snapshots, place.as_deref(), publication),
    })
}

fn as_json(
    statistics: &TableStatistics,
    is_encrypted: bool,
    key: &[String],
    snapshots: &[String],
    place: Option<&str>,
    publication: Option<&Publication>,
) -> String {
    let files: Vec<_> = statistics
        .files
        .iter()
        .map(|file| {
            json!({
                "name": file.name,
                "bytes": file.bytes,
                "rows": file.rows,
                "masked_rows": file.masked_rows,
                "in_order": file.is_in_order,
            })
        })
        .collect();
    let value = json!({
        "version": statistics.version,
        "encrypted": is_encrypted,
        "key": key,
        "clustered_by": statistics.cluster_columns,
        "rows": statistics.rows,
        "store": {
            "rows": statistics.hot_rows,
            "deleted_keys": statistics.deleted_keys,
            "bytes": statistics.hot_bytes,
        },
        "files": files,
        "files_below": place,
        "ttl": statistics.ttl.as_ref().map(|ttl| json!({ "column": ttl.column, "seconds": ttl.lifetime.as_secs_f64() })),
        "changes": statistics.changes.map(|(count, since)| json!({ "count": count, "since": since })),
        "snapshots": snapshots,
        "published": publication.map(|publication| json!({
            "version": publication.version,
            "snapshots": publication.snapshots,
            "metadata": publication.metadata,
            "mapped": publication.mapped.iter().map(|mapped| json!({
                "column": mapped.column,
                "from": mapped.from.to_string(),
                "to": mapped.to.to_string(),
            })).collect::<Vec<_>>(),
            "unpublished_rows": statistics.hot_rows,
            "unpublished_deleted_keys": statistics.deleted_keys,
        })),
    });
    format!("{value}\n")
}

fn as_text(
    statistics: &TableStatistics,
    is_encrypted: bool,
    key: &[String],
    snapshots: &[String],
    place: Option<&str>,
    publication: Option<&Publication>,
) -> String {
    let mut text = String::new();
    let mut line = |what: &str, value: String| {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{what:<22}{value}");
    };
    let files = &statistics.files;
    line("last commit", grouped(statistics.version));
    line("encrypted", if is_encrypted { "yes" } else { "no" }.to_owned());
    line("key", key.join(", "));
    if !statistics.cluster_columns.is_empty() {
        line("clustered by", statistics.cluster_columns.join(", "));
    }
    line("rows", grouped(statistics.rows));
    line("  in the store", format!("{}, {}", grouped(statistics.hot_rows), bytes(statistics.hot_bytes)));
    line("deleted keys", grouped(statistics.deleted_keys));
    line("files", format!("{}, {}", grouped(files.len() as u64), bytes(files.iter().map(|file| file.bytes).sum())));
    if let Some(place) = place {
        line("  below", place.to_owned());
    }
    line("  rows", grouped(files.iter().map(|file| file.rows).sum()));
    line("  masked rows", grouped(files.iter().map(|file| file.masked_rows).sum()));
    let others = files.iter().filter(|file| !file.is_in_order).count();
    if others > 0 {
        line("  in another order", grouped(others as u64));
    }
    if let Some(ttl) = &statistics.ttl {
        line("time to live", ttl.to_string());
    }
    if let Some((count, since)) = statistics.changes {
        line("changes", format!("{} since {}", grouped(count), grouped(since)));
    }
    for name in snapshots {
        line("snapshot", name.clone());
    }
    if let Some(publication) = publication {
        line("published commit", grouped(publication.version));
        let (rows, deleted) = (plural(statistics.hot_rows, "row"), plural(statistics.deleted_keys, "deleted key"));
        line("  not published", format!("{rows}, {deleted}"));
        for mapped in &publication.mapped {
            line("  in a wider type", format!("{}: {} as {}", mapped.column, mapped.from, mapped.to));
        }
    }
    text
}

pub(super) fn run_snapshot(args: &SnapshotArgs) -> Result<Outcome> {
    match &args.name {
        None => {
            let names = open_for_reading(&args.table)?.snapshot_names().map_err(table_failure)?;
            print(&names.iter().map(|name| format!("{name}\n")).collect::<String>())
        }
        Some(name) => {
            let table = open(&args.table)?;
            let done = if args.drop { table.drop_snapshot(name) } else { table.keep_snapshot(name) };
            done.map_err(table_failure)?;
            Ok(Outcome::Done)
        }
    }
}
