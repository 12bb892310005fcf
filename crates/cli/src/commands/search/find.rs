//! `find`: the rows that satisfy an expression.

use lath_parquet::Predicate;

use crate::args::{FindArgs, Format};
use crate::commands::keyed_table::read::{explain_batches, unordered, write};
use crate::commands::print;
use crate::console::watch::Watch;
use crate::explain;
use crate::failure::{Failure, Outcome, Result, scan_failure};
use crate::input::catalog::{Search, open_table};
use crate::input::keyed_input::KeyedInput;
use crate::input::scan::Scan;
use crate::input::table_failure::table_failure;
use crate::output::Output;

/// Writes the rows that are found, up to the limit.
pub(in crate::commands) fn run(args: &FindArgs) -> Result<Outcome> {
    #[cfg(feature = "sql")]
    if let Some(order) = &args.order_by {
        return super::find_ordered::run(args, order);
    }
    let predicate = Predicate::parse(&args.predicate).map_err(Failure::filtering)?;
    if let Some(keyed) = KeyedInput::find(&args.inputs.files, &args.inputs.open)? {
        return find_keyed(&keyed, args, predicate);
    }
    // With --explain no rows are written, so any format is accepted.
    let output = (!args.pruning.explain).then(|| Output::new(&args.output)).transpose()?;
    let strings = output.as_ref().map_or_else(Default::default, |output| output.strings(args.decode.strings));
    let search = Search {
        table: args.table,
        columns: args.select.as_deref(),
        predicate,
        prunes_files: args.pruning.no_prune.is_empty(),
        needs_all_files: args.row_groups.is_some(),
        text: &args.text,
        explains: args.pruning.explain,
    };
    let table = open_table(&args.inputs, search)?;
    let (columns, row_groups) = (args.select.clone(), args.row_groups.clone());
    let options = Scan { columns, row_groups, ..Scan::new(&args.decode, strings) };
    let mut scan = table.scan(&options)?.pruning(args.pruning.pruning()).unordered(args.unordered);
    if let Some(name) = &args.file_name {
        scan = scan.file_name_column(name);
    }
    if let Some(name) = &args.row_number {
        scan = scan.row_number_column(name);
    }
    if let Some(limit) = args.limit {
        scan = scan.limit(limit);
    }
    let mut batches = scan.build().map_err(scan_failure)?;
    let watch = Watch::new(batches.progress(), output.as_ref().is_some_and(Output::is_terminal));
    let mut sink = output.as_ref().map(|output| output.open(&batches.schema())).transpose()?;
    let mut found = 0;
    for batch in batches.by_ref() {
        let batch = batch.map_err(scan_failure)?;
        found += batch.num_rows() as u64;
        if let Some(sink) = &mut sink {
            sink.write(&batch)?;
        }
    }
    drop(watch);
    match sink {
        Some(sink) => {
            sink.finish()?;
        }
        None => {
            let report = batches.report();
            let is_json = matches!(args.output.format, Some(Format::Json | Format::Jsonl));
            print(&if is_json { explain::as_json(&report) } else { explain::as_text(&report) })?;
        }
    }
    drop(batches);
    table.close();
    Ok(if found == 0 { Outcome::Nothing } else { Outcome::Done })
}

/// Writes the rows of a table with a primary key, in any order.
fn find_keyed(keyed: &KeyedInput, args: &FindArgs, predicate: Predicate) -> Result<Outcome> {
    keyed.refuse("--row-groups", args.row_groups.is_some())?;
    keyed.refuse("--file-name", args.file_name.is_some())?;
    keyed.refuse("--row-number", args.row_number.is_some())?;
    keyed.refuse("--no-prune", !args.pruning.no_prune.is_empty())?;
    let mut scan = unordered(&keyed.snapshot, Some(predicate)).limit(args.limit.unwrap_or(u64::MAX));
    if let Some(columns) = &args.select {
        scan = scan.select(columns);
    }
    if let Some(threads) = args.decode.threads {
        scan = scan.threads(threads.into());
    }
    let output = (!args.pruning.explain).then(|| Output::new(&args.output)).transpose()?;
    let batches = scan.build().map_err(table_failure)?;
    match output {
        Some(output) => write(&output, &batches.schema(), batches),
        None => explain_batches(batches, matches!(args.output.format, Some(Format::Json | Format::Jsonl))),
    }
}
