//! `count`: the number of rows, from the footers, or of those that satisfy an expression.

use lath_parquet::Predicate;

use crate::args::CountArgs;
use crate::commands::print;
use crate::explain;
use crate::failure::{Failure, Outcome, Result};
use crate::inputs::Inputs;
use crate::progress::Progress;
use crate::scan::Scan;
use crate::table::{Table, scan_failure};
use crate::watch::Watch;

/// Prints the total number of rows of all files.
pub(super) fn run(args: &CountArgs) -> Result<Outcome> {
    #[cfg(feature = "sql")]
    {
        if let Some(columns) = &args.by {
            return super::count_by::run(args, columns);
        }
        if args.output.format.is_some() || args.output.output.is_some() {
            return Err(Failure::Usage("--format and -o are for the groups of --by".to_owned()));
        }
    }
    if let Some(text) = &args.predicate {
        return count_found(args, text);
    }
    let mut inputs = Inputs::find(&args.inputs)?;
    let mut progress = Progress::new("files", inputs.len() as u64, false);
    let mut count = 0;
    for index in 0..inputs.len() {
        count += inputs.open(index)?.row_count();
        progress.advance(1);
    }
    progress.clear();
    print(&format!("{count}\n"))
}

/// Prints the number of rows that satisfy an expression, or the report of the scan.
fn count_found(args: &CountArgs, text: &str) -> Result<Outcome> {
    let predicate = Predicate::parse(text).map_err(Failure::filtering)?;
    let table = Table::open(&mut Inputs::find(&args.inputs)?, args.table)?;
    let options = Scan { columns: Some(Vec::new()), ..Scan::new(&args.decode, lath_parquet::Strings::Views) };
    let batches = table.search(&predicate, &options, &args.pruning)?.build().map_err(scan_failure)?;
    let progress = batches.progress();
    let watch = Watch::new(progress.clone(), false);
    let count = batches.count_rows().map_err(scan_failure)?;
    drop(watch);
    if args.pruning.explain {
        let report = progress.report();
        return print(&if args.json { explain::as_json(&report) } else { explain::as_text(&report) });
    }
    print(&format!("{count}\n"))
}
