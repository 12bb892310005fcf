//! `convert`: converts rows from one format to another.

use std::fs;

use arrow_schema::SchemaRef;
use lath_parquet::{Alignment, DatasetOptions, Partitions};

use crate::args::{ConvertArgs, FileFormat, SchemaChoice};
use crate::console::progress::Progress;
use crate::console::watch::Watch;
use crate::failure::{Failure, Outcome, Result, scan_failure};
use crate::input::background::BackgroundIterator;
use crate::input::input_rows::{InputRows, differs, table_schema};
use crate::input::inputs::Inputs;
use crate::input::scan::{Scan, threads};
use crate::input::table::Table;
use crate::output::{Output, RowSink};
use crate::source::{self, text_options};
use crate::summary::Summary;
use crate::write::ParquetRequest;
use crate::{destination, summary};

/// Reads all inputs, and writes them as one table.
pub(super) fn run(args: &ConvertArgs) -> Result<Outcome> {
    let (write, sorted_by, threads) = (&args.write, &args.sort.sort_by, threads(&args.decode));
    let inputs = Inputs::find(&args.inputs)?;
    let keeps_rows = inputs.len() == 1 && inputs.lake().is_none();
    let request = ParquetRequest { write, sorted_by, threads, like: None, keeps_rows };
    let output = Output::settle(args.destination.format, args.destination.output.as_deref())?
        .with_parquet(request)?
        .with_csv(&args.csv, &args.text)?;
    let rows = InputRows {
        inputs,
        format: args.from,
        text: text_options(&args.text)?,
        scan: Scan::new(&args.decode, output.strings(args.decode.strings)),
        table: args.table,
        first: None,
    };
    let mut conversion = Conversion { args, rows };
    summary::check(&args.destination.report, output.path())?;
    if let Some(path) = output.path() {
        destination::check(path, args.destination.report.force, Some(&conversion.rows.inputs))?;
    }
    let mut summary = Summary::new(output.path());
    summary.bytes_before = conversion.rows.byte_len();
    let sink = if conversion.is_all_parquet()? {
        conversion.write_table(&output, &mut summary)?
    } else {
        conversion.write_sources(&output, &mut summary)?
    };
    let written = sink.map(RowSink::finish).transpose()?.flatten();
    if output.path().is_some() {
        summary.add_output(output.path(), written.as_ref());
        summary.report(&args.destination.report)?;
    }
    Ok(Outcome::Done)
}

/// The inputs of a conversion.
struct Conversion<'a> {
    args: &'a ConvertArgs,
    rows: InputRows,
}

impl Conversion<'_> {
    fn is_all_parquet(&self) -> Result<bool> {
        let inputs = &self.rows.inputs;
        for index in 0..inputs.len() {
            let format = match (self.rows.known_format(index), inputs.path(index)) {
                (None, Some(path)) if fs::metadata(path).is_ok_and(|metadata| metadata.is_file()) => {
                    source::sniff(&mut source::open(Some(path), &inputs.name(index))?)?
                }
                (format, _) => format,
            };
            if format != Some(FileFormat::Parquet) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Writes inputs that are all Parquet.
    fn write_table(&mut self, output: &Output<'_>, summary: &mut Summary) -> Result<Option<Box<dyn RowSink>>> {
        let table = Table::open(&mut self.rows.inputs, self.args.table)?;
        let batches = table.scan(&self.rows.scan)?.build().map_err(scan_failure)?;
        for index in 0..table.len() {
            summary.add_input(&table.file(index)?);
        }
        summary.add_partitions(table.partitions(), &batches.schema(), None);
        let mut sink = output.open(&batches.schema())?;
        let watch = Watch::new(batches.progress(), output.is_terminal());
        for batch in BackgroundIterator::new(batches) {
            let batch = batch.map_err(scan_failure)?;
            sink.write(&batch)?;
            summary.rows += batch.num_rows() as u64;
        }
        drop(watch);
        Ok(Some(sink))
    }

    /// Writes inputs of several formats one after another, with the columns of the first.
    fn write_sources(&mut self, output: &Output<'_>, summary: &mut Summary) -> Result<Option<Box<dyn RowSink>>> {
        if self.args.table.schema == SchemaChoice::Union {
            return Err(Failure::Usage("--schema union needs inputs that are all Parquet".to_owned()));
        }
        let names: Vec<String> = (0..self.rows.inputs.len()).map(|index| self.rows.inputs.name(index)).collect();
        let locations: Vec<&str> = names.iter().map(String::as_str).collect();
        let options = DatasetOptions::new().partitions(!self.args.table.no_partitions);
        let partitions = Partitions::of(&locations, &options).map_err(scan_failure)?;
        let mut progress = Progress::new_bytes(summary.bytes_before.unwrap_or(0), output.is_terminal());
        let mut sink: Option<(Box<dyn RowSink>, SchemaRef)> = None;
        for (index, name) in names.iter().enumerate() {
            let input = self.rows.open(index)?;
            if let Some(file) = &input.parquet {
                summary.add_input(file);
            }
            let columns = &input.rows.schema;
            let (sink, schema) = match &mut sink {
                Some(sink) => sink,
                None => {
                    let schema = table_schema(columns, &partitions, names.len() > 1, self.rows.scan.strings);
                    summary.add_partitions(partitions.columns(), &schema, None);
                    sink.insert((output.open(&schema)?, schema))
                }
            };
            let alignment = Alignment::from_source(schema, columns, &partitions.values(index));
            let alignment = alignment.map_err(|error| differs(name, &names[0], error))?;
            input.each_batch(&mut progress, |batch| {
                sink.write(&alignment.apply(&batch).map_err(|error| Failure::reading(name, error))?)?;
                summary.rows += batch.num_rows() as u64;
                Ok(())
            })?;
        }
        progress.clear();
        Ok(sink.map(|(sink, _)| sink))
    }
}
