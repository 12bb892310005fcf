//! `table import`.

use std::collections::BTreeMap;
use std::fmt::Write;

use lath_parquet::{Dataset, DatasetOptions, OpenOptions};
use lath_table::{Database, ImportOptions, ImportProgress, ImportReport, RewrittenFile, Table};

use super::open::options;
use crate::args::ImportArgs;
use crate::commands::print;
use crate::console::quantity::{grouped, plural};
use crate::failure::{Outcome, Result, scan_failure};
use crate::input::lake;
use crate::input::open_arguments::OpenArguments;
use crate::input::table_failure::table_failure;
use crate::interrupt::GracefulStop;

pub(super) fn run(args: &ImportArgs) -> Result<Outcome> {
    let source = source(args)?;
    let import = ImportOptions::new().copy(args.copy);
    // At a signal the import removes its files.
    let stop = GracefulStop::new();
    let poll = |_: &ImportProgress| stop.poll();
    let imported = match &args.table.table {
        None => Table::import_with(&args.table.folder, &source, &args.key, options(&args.table)?, import, poll),
        Some(name) => Database::open_or_create(&args.table.folder, options(&args.table)?)
            .and_then(|database| database.import_table_with(name, &source, &args.key, import, poll)),
    };
    let (_, report) = imported.map_err(table_failure)?;
    print(&as_text(&report))
}

fn source(args: &ImportArgs) -> Result<Dataset> {
    if let Some(lake) = lake::find(std::slice::from_ref(&args.source), &args.open, None)? {
        return Ok(lake.dataset().clone());
    }
    let open = OpenArguments::of(&args.open)?.add_to(OpenOptions::new());
    // Files with other columns than the first one's are written again.
    let options = DatasetOptions::new().plain_files(args.open.plain_files).open_options(open).union_schemas(true);
    Dataset::open([&args.source], options).map_err(scan_failure)
}

fn as_text(report: &ImportReport) -> String {
    let files = plural(report.files as u64, "file");
    let mut text = format!(
        "{} in {files} taken as they are, {} of them linked\n",
        plural(report.rows - report.rewritten.iter().map(|file| file.rows).sum::<u64>(), "row"),
        grouped(report.linked as u64)
    );
    let mut by_reason: BTreeMap<&str, Vec<&RewrittenFile>> = BTreeMap::new();
    for file in &report.rewritten {
        by_reason.entry(&file.reason).or_default().push(file);
    }
    for (reason, files) in by_reason {
        let rows = plural(files.iter().map(|file| file.rows).sum(), "row");
        let count = plural(files.len() as u64, "file");
        let first = files.first().map_or("", |file| file.location.as_str());
        // Writing to a string does not fail.
        let _ = writeln!(text, "{rows} in {count} written again, such as {first}: {reason}");
    }
    text
}
