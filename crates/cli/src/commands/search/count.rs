//! `count`: the number of rows, from the footers, or of rows that satisfy an expression.

use lath_parquet::Predicate;

use crate::args::CountArgs;
use crate::commands::keyed_table::read::{explain_batches, unordered};
use crate::commands::print;
use crate::console::progress::Progress;
use crate::console::watch::Watch;
use crate::explain;
use crate::failure::{Failure, Outcome, Result, scan_failure};
use crate::input::catalog::{Search, open_table};
use crate::input::inputs::Inputs;
use crate::input::keyed_input::KeyedInput;
use crate::input::scan::Scan;
use crate::input::table_failure::table_failure;

/// Prints the total number of rows of all files.
pub(in crate::commands) fn run(args: &CountArgs) -> Result<Outcome> {
    #[cfg(feature = "sql")]
    {
        if let Some(columns) = &args.by {
            return super::count_by::run(args, columns);
        }
        if args.output.format.is_some() || args.output.output.is_some() {
            return Err(Failure::Usage("--format and -o need --by".to_owned()));
        }
    }
    if let Some(keyed) = KeyedInput::find(&args.inputs.files, &args.inputs.open)? {
        return count_keyed(&keyed, args);
    }
    if let Some(text) = &args.predicate {
        return count_found(args, Predicate::parse(text).map_err(Failure::filtering)?);
    }
    if args.inputs.catalog.is_some() {
        return count_found(args, Predicate::TRUE);
    }
    let mut inputs = Inputs::find_in(&args.inputs.files, &args.inputs.open)?.with_text(&args.text, None)?;
    if let Some(lake) = inputs.lake() {
        let count = lake.dataset().scan().count().map_err(scan_failure)?;
        return print(&format!("{count}\n"));
    }
    let mut progress = Progress::new("files", inputs.len() as u64, false);
    let mut count = 0;
    for index in 0..inputs.len() {
        count += inputs.open(index)?.row_count();
        progress.advance(1);
    }
    progress.clear();
    print(&format!("{count}\n"))
}

/// Prints the number of rows of a table with a primary key, or the report of the scan.
fn count_keyed(keyed: &KeyedInput, args: &CountArgs) -> Result<Outcome> {
    keyed.refuse("--no-prune", !args.pruning.no_prune.is_empty())?;
    let predicate = args.predicate.as_deref().map(Predicate::parse).transpose().map_err(Failure::filtering)?;
    let scan = unordered(&keyed.snapshot, predicate);
    if args.pruning.explain {
        let columns: [String; 0] = [];
        explain_batches(scan.select(columns).build().map_err(table_failure)?, args.json)?;
        return Ok(Outcome::Done);
    }
    let count = scan.count().map_err(table_failure)?;
    print(&format!("{count}\n"))
}

/// Prints the number of rows that satisfy an expression, or the report of the scan.
fn count_found(args: &CountArgs, predicate: Predicate) -> Result<Outcome> {
    let prunes_files = args.pruning.no_prune.is_empty();
    let search = Search {
        table: args.table,
        text: &args.text,
        columns: Some(&[]),
        predicate,
        prunes_files,
        needs_all_files: false,
        explains: args.pruning.explain,
    };
    let table = open_table(&args.inputs, search)?;
    let options = Scan { columns: Some(Vec::new()), ..Scan::new(&args.decode, lath_parquet::Strings::Views) };
    let batches = table.scan(&options)?.pruning(args.pruning.pruning()).build().map_err(scan_failure)?;
    let progress = batches.progress();
    let watch = Watch::new(progress.clone(), false);
    let count = batches.count_rows().map_err(scan_failure)?;
    drop(watch);
    table.close();
    if args.pruning.explain {
        let report = progress.report();
        return print(&if args.json { explain::as_json(&report) } else { explain::as_text(&report) });
    }
    print(&format!("{count}\n"))
}
