//! `catalog`: metadata of many files in one file.

use std::fmt::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use lath_catalog::{AddOptions, Catalog, Changes};

use crate::args::{CatalogAddArgs, CatalogArgs, CatalogCommand, CatalogRemoveArgs, CatalogWatchArgs};
use crate::console::quantity::{bytes, grouped, plural};
use crate::failure::{Failure, Outcome, Result};
use crate::input::catalog::{catalog_failure, catalog_path};
use crate::interrupt::GracefulStop;
use crate::output::layout::printable;

/// Interval at which signals are checked between two refreshes.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Runs a command on a catalog.
pub(super) fn run(command: &CatalogCommand) -> Result<Outcome> {
    match command {
        CatalogCommand::Add(args) => add(args),
        CatalogCommand::Refresh(args) => refresh(args),
        CatalogCommand::List(args) => list(args),
        CatalogCommand::Remove(args) => remove(args),
        CatalogCommand::Stats(args) => stats(args),
        CatalogCommand::Check(args) => check(args),
        CatalogCommand::Watch(args) => watch(args),
    }
}

fn add(args: &CatalogAddArgs) -> Result<Outcome> {
    let path = match (&args.catalog, args.files.as_slice()) {
        (Some(path), _) => catalog_path(path),
        (None, [folder]) if folder.is_dir() => folder.join(Catalog::FILE_NAME),
        _ => {
            return Err(Failure::Usage("say where the catalog is to be: --catalog FILE".to_owned()));
        }
    };
    let mut options = AddOptions::new();
    for key in &args.keys {
        options = options.key(key.split(','));
    }
    if let Some(bytes) = args.filter_budget {
        options = options.filter_budget_bytes(bytes);
    }
    let catalog = Catalog::create(&path).map_err(|error| catalog_failure(&path, error))?;
    let files = args.files.iter().map(PathBuf::as_path);
    let changes = catalog.add(files, &options).map_err(|error| catalog_failure(&path, error))?;
    report(&path, &changes)
}

fn open(catalog: &Path) -> Result<(Catalog, PathBuf)> {
    let path = catalog_path(catalog);
    let catalog = Catalog::open(&path).map_err(|error| catalog_failure(&path, error))?;
    Ok((catalog, path))
}

fn open_read_only(args: &CatalogArgs) -> Result<(Catalog, PathBuf)> {
    let path = catalog_path(args.path());
    let catalog = Catalog::open_read_only(&path).map_err(|error| catalog_failure(&path, error))?;
    Ok((catalog, path))
}

fn refresh(args: &CatalogArgs) -> Result<Outcome> {
    let (catalog, path) = open(args.path())?;
    report(&path, &catalog.refresh().map_err(|error| catalog_failure(&path, error))?)
}

fn remove(args: &CatalogRemoveArgs) -> Result<Outcome> {
    let (catalog, locations) = match (&args.catalog, args.arguments.as_slice()) {
        (Some(catalog), locations) => (catalog.as_path(), locations),
        (None, [catalog, locations @ ..]) if !locations.is_empty() => (Path::new(catalog), locations),
        _ => {
            return Err(Failure::Usage(
                "name the catalog and the locations to remove: lath catalog remove LOCATION --catalog FILE".to_owned(),
            ));
        }
    };
    let (catalog, path) = open(catalog)?;
    report(&path, &catalog.remove(locations).map_err(|error| catalog_failure(&path, error))?)
}

/// Says what has changed, and which files cannot be read.
fn report(path: &Path, changes: &Changes) -> Result<Outcome> {
    for why in &changes.unreadable {
        eprintln!("cannot be read: {why}");
    }
    super::print(&format!("{}: {}\n", path.display(), summary(changes)))?;
    Ok(if changes.unreadable.is_empty() { Outcome::Done } else { Outcome::Corrupt })
}

fn summary(changes: &Changes) -> String {
    format!(
        "{} added, {} updated, {} removed, {} unchanged",
        grouped(changes.added),
        grouped(changes.updated),
        grouped(changes.removed),
        grouped(changes.unchanged)
    )
}

fn list(args: &CatalogArgs) -> Result<Outcome> {
    let (catalog, path) = open_read_only(args)?;
    let mut text = String::new();
    for file in catalog.files().map_err(|error| catalog_failure(&path, error))? {
        let rows = file.row_count.map_or_else(|| "?".to_owned(), |rows| rows.to_string());
        // Writing to a string does not fail.
        let _ = writeln!(text, "{rows}\t{}\t{}", file.len_bytes, file.location);
    }
    super::print(&text)?;
    Ok(if text.is_empty() { Outcome::Nothing } else { Outcome::Done })
}

fn stats(args: &CatalogArgs) -> Result<Outcome> {
    let (catalog, path) = open_read_only(args)?;
    let stats = catalog.stats().map_err(|error| catalog_failure(&path, error))?;
    let mut text = String::new();
    let mut line = |what: &str, value: String| {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{what:<22}{value}");
    };
    for location in &stats.locations {
        line("location", location.clone());
    }
    if let Some(table) = &stats.table {
        line("table", format!("{} at version {}", table.format, table.version));
    }
    for key in &stats.keys {
        line("key", key.join(","));
    }
    line("files", grouped(stats.files));
    if stats.unreadable_files > 0 {
        line("  cannot be read", grouped(stats.unreadable_files));
    }
    line("  bytes", bytes(stats.file_bytes));
    line("  rows", grouped(stats.rows));
    line("footers", bytes(stats.footer_bytes));
    line("page indexes", bytes(stats.page_index_bytes));
    line("Bloom filters", bytes(stats.filter_bytes));
    super::print(&text)
}

fn check(args: &CatalogArgs) -> Result<Outcome> {
    let (catalog, path) = open_read_only(args)?;
    let check = catalog.check().map_err(|error| catalog_failure(&path, error))?;
    let shown = path.display();
    let mut text: String =
        check.problems.iter().map(|problem| format!("{}\n", printable(problem.to_string()))).collect();
    let (advice, outcome) = match (check.problems.is_empty(), check.is_damaged()) {
        (true, _) => (format!("sound: {}", plural(check.files, "file")), Outcome::Done),
        (false, false) => (format!("bring it up to date with: lath catalog refresh {shown}"), Outcome::Nothing),
        (false, true) => {
            ("it is damaged: remove it, and make it anew with lath catalog add".to_owned(), Outcome::Corrupt)
        }
    };
    text.push_str(&format!("{shown}: {advice}\n"));
    super::print(&text)?;
    Ok(outcome)
}

/// Refreshes the catalog until a signal comes.
fn watch(args: &CatalogWatchArgs) -> Result<Outcome> {
    let path = catalog_path(args.catalog.path());
    let stop = GracefulStop::new();
    loop {
        // Opened each time, so that other processes can write to the catalog in between.
        let changes = Catalog::open(&path).and_then(|catalog| catalog.refresh());
        let changes = match changes {
            // Searches have it open; the next refresh catches up.
            Err(lath_catalog::Error::Store { source: lath_store::Error::Busy }) => Changes::default(),
            changes => changes.map_err(|error| catalog_failure(&path, error))?,
        };
        for why in &changes.unreadable {
            eprintln!("cannot be read: {why}");
        }
        if !changes.is_empty() {
            super::print(&format!("{}: {}\n", path.display(), summary(&changes)))?;
        }
        let looked = Instant::now();
        while looked.elapsed() < Duration::from_secs(args.every.into()) {
            if let ControlFlow::Break(()) = stop.poll() {
                return Ok(Outcome::Done);
            }
            thread::sleep(POLL_INTERVAL);
        }
    }
}
