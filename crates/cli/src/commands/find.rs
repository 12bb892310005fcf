//! `find`: the rows for which an expression holds.

use lath_parquet::Predicate;

use crate::args::FindArgs;
use crate::failure::{Failure, Outcome, Result};
use crate::inputs::Inputs;
use crate::output::{Output, Rows};
use crate::progress::Progress;
use crate::scan::{Alignment, Scan};
use crate::search::Search;

/// Writes the rows that are found, up to the limit.
pub(super) fn run(args: &FindArgs) -> Result<Outcome> {
    let predicate = Predicate::parse(&args.predicate).map_err(Failure::filtering)?;
    let output = Output::new(&args.output)?;
    let mut inputs = Inputs::find(&args.inputs)?;
    let strings = output.strings(args.decode.strings);
    let scan = Scan { row_groups: args.row_groups.clone(), ..Scan::new(&args.decode, strings) };
    let mut progress = Progress::new("rows", 0, output.is_terminal());
    let mut sink: Option<(Box<dyn Rows>, Alignment)> = None;
    let mut left = args.limit.unwrap_or(u64::MAX);
    let mut found = 0;
    for index in 0..inputs.len() {
        let (file, name) = (inputs.open(index)?, inputs.name(index));
        let search = Search::new(&file, &name, &predicate, &scan)?.select(args.select.as_deref());
        let schema = search.schema()?;
        let (sink, alignment) = match &mut sink {
            Some(sink) => sink,
            None => {
                let alignment = Alignment::new(&schema, Some(search.selected()), &name, inputs.len() > 1);
                sink.insert((output.open(alignment.schema())?, alignment))
            }
        };
        let sources = alignment.sources(&schema, &name)?;
        let here = search.run(left, &mut progress, |batch| sink.write(&alignment.align(batch, &sources)?))?;
        found += here;
        left -= here;
        if left == 0 {
            break;
        }
    }
    progress.clear();
    if let Some((sink, _)) = sink {
        sink.finish()?;
    }
    Ok(if found == 0 { Outcome::Nothing } else { Outcome::Done })
}
