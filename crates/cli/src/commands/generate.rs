//! `gen`: generates data.

use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, SchemaRef};
use clap::ValueEnum;

use crate::args::{DestinationArgs, EventsArgs, Format, Generate, TpchArgs, WriteArgs};
use crate::console::progress::Progress;
use crate::failure::{Failure, Outcome, Result};
use crate::generate::events::Events;
use crate::generate::tpch::Table;
use crate::input::background::BackgroundIterator;
use crate::input::scan::cores;
use crate::output::Output;
use crate::summary::Summary;
use crate::target::{OutputFiles, Target};
use crate::write::ParquetRequest;
use crate::{destination, summary};

const BATCH_ROWS: usize = 8192;

/// Generates data.
pub(super) fn run(what: &Generate) -> Result<Outcome> {
    match what {
        Generate::Events(args) => events(args),
        Generate::Tpch(args) => tpch(args),
    }
}

fn events(args: &EventsArgs) -> Result<Outcome> {
    let rows = Events::new(args.seed, args.rows, BATCH_ROWS as u64);
    let output = settle(args.destination.format, args.destination.output.as_deref(), &args.write)?;
    write(rows, &Events::schema(), args.rows, &output, None, output.path(), &args.destination)
}

fn tpch(args: &TpchArgs) -> Result<Outcome> {
    if let Some(table) = args.table {
        let output = settle(args.destination.format, args.destination.output.as_deref(), &args.write)?;
        return write_table(table, args, &output, None, output.path());
    }
    let Some(directory) = args.destination.output.as_deref() else {
        return Err(Failure::Usage("add -o DIRECTORY for all tables, or --table TABLE for one".to_owned()));
    };
    let (format, extension) = format_of_all(args.destination.format)?;
    let tables: Vec<(Table, PathBuf)> = Table::value_variants()
        .iter()
        .map(|&table| (table, directory.join(format!("{}.{extension}", table.name()))))
        .collect();
    for (_, path) in &tables {
        destination::check(path, args.destination.report.force, None)?;
    }
    let mut files = OutputFiles::create(directory, "tpch")?;
    if !args.destination.report.force {
        files = files.new_names();
    }
    for (table, path) in &tables {
        let name = format!("{}.{extension}", table.name());
        let (temporary, target) = (files.path(&name), files.target(&name)?);
        write_table(*table, args, &settle(Some(format), Some(&temporary), &args.write)?, Some(target), Some(path))?;
    }
    files.finish()?;
    Ok(Outcome::Done)
}

fn settle<'a>(format: Option<Format>, path: Option<&'a Path>, write: &'a WriteArgs) -> Result<Output<'a>> {
    Output::settle(format, path)?.with_parquet(ParquetRequest {
        write,
        sorted_by: &[],
        threads: cores(),
        like: None,
        keeps_rows: false,
    })
}

/// The format of all tables, and the extension of their files.
fn format_of_all(format: Option<Format>) -> Result<(Format, &'static str)> {
    let format = format.unwrap_or(Format::Parquet);
    let extension = match format {
        Format::Parquet => "parquet",
        Format::Csv => "csv",
        Format::Json => "json",
        Format::Jsonl => "jsonl",
        Format::Arrow => "arrow",
        Format::Table | Format::Vertical => {
            return Err(Failure::Usage("this format needs a single --table".to_owned()));
        }
    };
    Ok((format, extension))
}

fn write_table(
    table: Table,
    args: &TpchArgs,
    output: &Output<'_>,
    target: Option<Target>,
    path: Option<&Path>,
) -> Result<Outcome> {
    let rows = table.batches(args.scale, BATCH_ROWS);
    write(rows, &table.schema(), table.row_count(args.scale), output, target, path, &args.destination)
}

/// Writes one output, whose final path is `path`, to `target` if there is one.
fn write(
    rows: impl Iterator<Item = Result<RecordBatch, ArrowError>> + Send + 'static,
    schema: &SchemaRef,
    expected: u64,
    output: &Output<'_>,
    target: Option<Target>,
    path: Option<&Path>,
    args: &DestinationArgs,
) -> Result<Outcome> {
    summary::check(&args.report, path)?;
    if let Some(path) = path {
        destination::check(path, args.report.force, None)?;
    }
    let mut summary = Summary::new(path);
    let mut progress = Progress::new("rows", expected, output.is_terminal());
    let mut sink = match target {
        Some(target) => output.open_on(target, schema)?,
        None => output.open(schema)?,
    };
    for batch in BackgroundIterator::new(rows) {
        let batch = batch.map_err(|error| Failure::encoding(&summary_name(path), error))?;
        sink.write(&batch)?;
        summary.rows += batch.num_rows() as u64;
        progress.advance(batch.num_rows() as u64);
    }
    progress.clear();
    let written = sink.finish()?;
    if output.path().is_some() {
        summary.add_output(output.path(), written.as_ref());
        summary.report(&args.report)?;
    }
    Ok(Outcome::Done)
}

fn summary_name(path: Option<&Path>) -> String {
    path.map_or_else(|| "standard output".to_owned(), |path| path.display().to_string())
}
