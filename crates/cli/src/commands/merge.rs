//! `merge`: several Parquet files as one.

use std::path::Path;

use arrow_array::RecordBatch;
use lath_parquet::{Error, MergedBatches, Strings};

use crate::ahead::Ahead;
use crate::args::{Format, MergeArgs};
use crate::commands::rewrite::Rewriting;
use crate::failure::{Failure, Outcome, Result};
use crate::inputs::Inputs;
use crate::output::{Output, ParquetWish};
use crate::progress::Progress;
use crate::scan::{Alignment, Scan};
use crate::summary::Summary;
use crate::{destination, summary};

/// The rows of one input.
type Batches = Box<dyn Iterator<Item = lath_parquet::Result<RecordBatch>> + Send>;

/// Writes all inputs as one file, in order if their order is named.
pub(super) fn run(args: &MergeArgs) -> Result<Outcome> {
    let inputs = Inputs::find(&args.inputs)?;
    let scan = Scan::new(&args.decode, Strings::Offsets);
    if args.sort.sort_by.is_empty() {
        let (write, report) = (&args.write, &args.report);
        return Rewriting { inputs, predicate: None, scan, write, sort_by: &[], report }.write_to(Some(&args.output));
    }
    merge(args, inputs, &scan)?;
    Ok(Outcome::Done)
}

fn merge(args: &MergeArgs, mut inputs: Inputs, scan: &Scan) -> Result<()> {
    let path = Some(args.output.as_path()).filter(|path| *path != Path::new("-"));
    if let Some(path) = path {
        destination::check(path, args.report.force, Some(&inputs))?;
    }
    summary::check(&args.report, path)?;
    let wish = ParquetWish { write: &args.write, sorted_by: &args.sort.sort_by, threads: scan.threads };
    let output = Output::settle(Some(Format::Parquet), path)?.with_parquet(wish)?;
    let mut summary = Summary::new(path);
    summary.bytes_before = (0..inputs.len()).map(|index| inputs.byte_len(index)).sum();
    let mut progress = Progress::new("rows", 0, false);
    // All inputs are read at the same time: threads for each would be too many.
    let scan = Scan { threads: 1, ..scan.clone() };
    let names: Vec<String> = (0..inputs.len()).map(|index| inputs.name(index)).collect();
    let mut alignment: Option<Alignment> = None;
    let mut sources: Vec<Batches> = Vec::with_capacity(inputs.len());
    for (index, name) in names.iter().enumerate() {
        let file = inputs.open(index)?;
        summary.add_input(&file);
        progress.grow(file.row_count());
        let batches = scan.read(&file, name, None)?;
        let schema = batches.schema();
        let alignment = alignment.get_or_insert_with(|| Alignment::new(&schema, None, name, names.len() > 1)).clone();
        let places = alignment.sources(&schema, name)?;
        sources.push(Box::new(batches.map(move |batch| {
            let aligned = alignment.align(&batch?, &places);
            aligned.map_err(|failure| Error::Invalid { what: failure.to_string() })
        })));
    }
    let Some(alignment) = alignment else { return Ok(()) };
    let mut rows = output.open_for_ordered(alignment.schema())?;
    let failed = |error: Error| explain(error, &names);
    let merged = MergedBatches::new(alignment.schema(), &args.sort.sort_by, sources).map_err(failed)?;
    for batch in Ahead::new(merged) {
        let batch = batch.map_err(failed)?;
        rows.write(&batch)?;
        summary.rows += batch.num_rows() as u64;
        progress.advance(batch.num_rows() as u64);
    }
    progress.clear();
    let written = rows.finish()?;
    if path.is_some() {
        summary.add_output(path, written.as_ref());
        summary.report(&args.report)?;
    }
    Ok(())
}

/// Names the input that an error is about.
fn explain(error: Error, names: &[String]) -> Failure {
    if let Error::Invalid { what } = &error {
        let unsorted = what.strip_prefix("input ").and_then(|rest| rest.strip_suffix(" is not sorted"));
        if let Some(name) = unsorted.and_then(|index| names.get(index.parse::<usize>().ok()?)) {
            return Failure::Usage(format!(
                "{name} is not sorted by the columns of --sort-by; sort it first with lath rewrite --sort-by, or sort all rows \
                 together with lath rewrite instead of lath merge"
            ));
        }
        return Failure::Usage(format!("merging: {what}"));
    }
    let file = match &error {
        Error::Corrupt { at, .. } | Error::Unsupported { at, .. } | Error::Limit { at, .. } | Error::Io { at, .. } => {
            at.file.clone()
        }
        _ => None,
    };
    Failure::reading(file.as_deref().unwrap_or("an input"), error)
}
