//! `count`: how many rows, by the footers, or by an expression.

use lath_parquet::Predicate;

use crate::args::CountArgs;
use crate::commands::print;
use crate::failure::{Failure, Outcome, Result};
use crate::inputs::Inputs;
use crate::progress::Progress;
use crate::scan::Scan;
use crate::search::Search;

/// Prints the number of rows of all files together.
pub(super) fn run(args: &CountArgs) -> Result<Outcome> {
    let predicate = args.predicate.as_deref().map(Predicate::parse).transpose().map_err(Failure::filtering)?;
    let mut inputs = Inputs::find(&args.inputs)?;
    let mut progress = Progress::new(if predicate.is_some() { "rows" } else { "files" }, 0, false);
    let mut count = 0;
    for index in 0..inputs.len() {
        let file = inputs.open(index)?;
        match &predicate {
            None => {
                count += file.row_count();
                progress.grow((inputs.len() as u64) * u64::from(index == 0));
                progress.advance(1);
            }
            Some(predicate) => {
                let name = inputs.name(index);
                let scan = Scan::new(&args.decode, lath_parquet::Strings::Views);
                count += Search::new(&file, &name, predicate, &scan)?.count(&mut progress)?;
            }
        }
    }
    progress.clear();
    print(&format!("{count}\n"))
}
