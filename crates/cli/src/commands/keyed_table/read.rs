//! `table get`, `scan` and `count`.

use std::ops::Bound;

use arrow_array::{RecordBatch, UInt64Array};
use arrow_schema::SchemaRef;
use arrow_select::take::take_record_batch;
use lath_parquet::Predicate;
use lath_table::{Key, RangeScan, Snapshot, TableBatches, TableScan};

use super::keys::{KeyFields, project};
use super::open::snapshot;
#[cfg(feature = "sql")]
use super::order;
use crate::args::{Format, KeyRangeArgs, TableCountArgs, TableGetArgs, TableScanArgs};
use crate::commands::print;
use crate::explain;
use crate::failure::{Failure, Outcome, Result};
use crate::input::table_failure::table_failure;
use crate::output::Output;

pub(super) fn get(args: &TableGetArgs) -> Result<Outcome> {
    let snapshot = snapshot(&args.read)?;
    let output = Output::new(&args.output)?;
    let fields = KeyFields::of(&snapshot);
    let keys = args.keys.iter().map(|key| fields.parse(key)).collect::<Result<Vec<_>>>()?;
    let found = snapshot.get_many(keys).map_err(table_failure)?;
    // In the order in which the keys were given.
    let places: UInt64Array = found.places().iter().flatten().map(|&place| place as u64).collect::<Vec<_>>().into();
    let columns = match &args.select {
        Some(columns) => project(snapshot.schema(), columns)?,
        None => (0..snapshot.schema().fields().len()).collect(),
    };
    let rows = found.rows().project(&columns).and_then(|rows| take_record_batch(&rows, &places));
    let rows = rows.map_err(|error| Failure::internal("get", &error.to_string()))?;
    let mut sink = output.open(&rows.schema())?;
    sink.write(&rows)?;
    sink.finish()?;
    Ok(if found.places().iter().all(Option::is_some) { Outcome::Done } else { Outcome::Nothing })
}

pub(super) fn scan(args: &TableScanArgs) -> Result<Outcome> {
    let snapshot = snapshot(&args.read)?;
    let predicate = args.predicate.as_deref().map(Predicate::parse).transpose().map_err(Failure::filtering)?;
    if args.explain {
        return explain_scan(args, &snapshot, predicate);
    }
    #[cfg(feature = "sql")]
    if let Some(order) = &args.order_by {
        return order::run(args, predicate, order);
    }
    let output = Output::new(&args.output)?;
    if args.ordered || is_range(&args.range) {
        let mut scan = ordered(&snapshot, &args.range, predicate)?.limit(args.limit.unwrap_or(u64::MAX));
        if let Some(columns) = &args.select {
            scan = scan.select(columns);
        }
        let batches = scan.build().map_err(table_failure)?;
        write(&output, &batches.schema(), batches)
    } else {
        let batches = start_scan(args, &snapshot, predicate).build().map_err(table_failure)?;
        write(&output, &batches.schema(), batches)
    }
}

/// Writes rows; nothing is found if there are none.
pub(in crate::commands) fn write(
    output: &Output<'_>,
    schema: &SchemaRef,
    batches: impl Iterator<Item = lath_table::Result<RecordBatch>>,
) -> Result<Outcome> {
    let mut sink = output.open(schema)?;
    let mut found = 0;
    for batch in batches {
        let batch = batch.map_err(table_failure)?;
        found += batch.num_rows();
        sink.write(&batch)?;
    }
    sink.finish()?;
    Ok(if found == 0 { Outcome::Nothing } else { Outcome::Done })
}

pub(super) fn count(args: &TableCountArgs) -> Result<Outcome> {
    let snapshot = snapshot(&args.read)?;
    let predicate = args.predicate.as_deref().map(Predicate::parse).transpose().map_err(Failure::filtering)?;
    let count = if is_range(&args.range) {
        ordered(&snapshot, &args.range, predicate)?.count()
    } else {
        unordered(&snapshot, predicate).count()
    };
    let count = count.map_err(table_failure)?;
    print(&format!("{count}\n"))
}

fn explain_scan(args: &TableScanArgs, snapshot: &Snapshot, predicate: Option<Predicate>) -> Result<Outcome> {
    let batches = start_scan(args, snapshot, predicate).build().map_err(table_failure)?;
    explain_batches(batches, matches!(args.output.format, Some(Format::Json | Format::Jsonl)))
}

/// Reads all rows of a scan, and prints the report.
pub(in crate::commands) fn explain_batches(mut batches: TableBatches<'_>, is_json: bool) -> Result<Outcome> {
    let found: usize = batches
        .by_ref()
        .try_fold(0, |found, batch| batch.map(|batch| found + batch.num_rows()))
        .map_err(table_failure)?;
    let reports = batches.reports();
    let in_files: u64 = reports.iter().map(|report| report.rows_found).sum();
    let mut text: String = reports.iter().map(if is_json { explain::as_json } else { explain::as_text }).collect();
    if !is_json {
        text.push_str(&format!("found in the store: {}\n", (found as u64).saturating_sub(in_files)));
    }
    print(&text)?;
    Ok(if found == 0 { Outcome::Nothing } else { Outcome::Done })
}

fn start_scan(args: &TableScanArgs, snapshot: &Snapshot, predicate: Option<Predicate>) -> TableScan<'static> {
    let scan = unordered(snapshot, predicate).limit(args.limit.unwrap_or(u64::MAX));
    match &args.select {
        Some(columns) => scan.select(columns),
        None => scan,
    }
}

pub(in crate::commands) fn unordered(snapshot: &Snapshot, predicate: Option<Predicate>) -> TableScan<'static> {
    match predicate {
        Some(predicate) => snapshot.scan().predicate(predicate),
        None => snapshot.scan(),
    }
}

fn ordered(snapshot: &Snapshot, range: &KeyRangeArgs, predicate: Option<Predicate>) -> Result<RangeScan<'static>> {
    let scan = snapshot.range(bounds(snapshot, range)?).map_err(table_failure)?;
    Ok(match predicate {
        Some(predicate) => scan.predicate(predicate),
        None => scan,
    })
}

fn is_range(range: &KeyRangeArgs) -> bool {
    range.from.is_some() || range.to.is_some()
}

fn bounds(snapshot: &Snapshot, range: &KeyRangeArgs) -> Result<(Bound<Key>, Bound<Key>)> {
    let fields = KeyFields::of(snapshot);
    let key = |text: &Option<String>| text.as_ref().map(|text| fields.parse(text)).transpose();
    let from = key(&range.from)?.map_or(Bound::Unbounded, Bound::Included);
    Ok((from, key(&range.to)?.map_or(Bound::Unbounded, Bound::Excluded)))
}
