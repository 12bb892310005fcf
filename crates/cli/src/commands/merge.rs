//! `merge`: several Parquet files become one.

use std::path::Path;

use lath_parquet::{Error, RowSelection, ScanBatches, Strings};
use lath_writer::MergedBatches;

use crate::args::{Format, MergeArgs};
use crate::commands::rewrite::Rewriting;
use crate::console::progress::Progress;
use crate::failure::{Failure, Outcome, Result, scan_failure};
use crate::input::background::BackgroundIterator;
use crate::input::inputs::Inputs;
use crate::input::scan::Scan;
use crate::input::table::Table;
use crate::output::Output;
use crate::summary::Summary;
use crate::write::ParquetRequest;
use crate::{destination, summary};

/// Writes all inputs to one file, merged in order if `--sort-by` is given.
pub(super) fn run(args: &MergeArgs) -> Result<Outcome> {
    let inputs = Inputs::find(&args.inputs)?;
    inputs.refuse_lake()?;
    let scan = Scan::new(&args.decode, Strings::Offsets);
    if args.sort.sort_by.is_empty() {
        let (table, write, report) = (args.table, &args.write, &args.report);
        let mut rewriting = Rewriting { inputs, predicate: None, scan, table, write, sort_by: &[], report };
        return rewriting.write_to(Some(&args.output));
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
    let first = if inputs.len() > 0 { Some(inputs.open(0)?) } else { None };
    let like = first.as_ref();
    let (write, sorted_by, threads) = (&args.write, args.sort.sort_by.as_slice(), scan.threads);
    let request = ParquetRequest { write, sorted_by, threads, like, keeps_rows: false };
    let output = Output::settle(Some(Format::Parquet), path)?.with_parquet(request)?;
    let mut summary = Summary::new(path);
    summary.bytes_before = (0..inputs.len()).map(|index| inputs.byte_len(index)).sum();
    let mut progress = Progress::new("rows", 0, false);
    // All inputs are read at once, so each gets one thread.
    let scan = Scan { threads: 1, ..scan.clone() };
    let table = Table::open(&mut inputs, args.table)?;
    let mut sources = Vec::with_capacity(table.len());
    for index in 0..table.len() {
        let file = table.file(index)?;
        summary.add_input(&file);
        progress.grow(file.row_count());
        let all_rows = std::iter::once(0..u64::MAX).collect();
        sources
            .push(table.scan(&scan)?.rows(RowSelection::in_files([(index, all_rows)])).build().map_err(scan_failure)?);
    }
    let Some(schema) = sources.first().map(ScanBatches::schema) else { return Ok(()) };
    summary.add_partitions(table.partitions(), &schema, None);
    let mut rows = output.open_presorted(&schema)?;
    let failed = |error: Error| merge_failure(error, &table);
    let merged = MergedBatches::new(&schema, &args.sort.sort_by, sources).map_err(failed)?;
    for batch in BackgroundIterator::new(merged) {
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

/// Names the input that is not sorted.
fn merge_failure(error: Error, table: &Table) -> Failure {
    let Error::Invalid { what } = &error else { return scan_failure(error) };
    let unsorted = what.strip_prefix("input ").and_then(|rest| rest.strip_suffix(" is not sorted"));
    if let Some(index) = unsorted.and_then(|index| index.parse().ok()).filter(|&index| index < table.len()) {
        let name = table.name(index);
        return Failure::Usage(format!(
            "{name} is not sorted by the columns of --sort-by; sort it first with lath rewrite --sort-by, or sort all rows \
             together with lath rewrite instead of lath merge"
        ));
    }
    Failure::Usage(format!("merging: {what}"))
}
