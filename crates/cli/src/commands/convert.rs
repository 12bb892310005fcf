//! `convert`: converts rows from one format to another.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use lath_parquet::{Alignment, DatasetOptions, Error, Partitions, Strings};

use crate::args::{ConvertArgs, FileFormat, SchemaChoice};
use crate::background::BackgroundIterator;
use crate::failure::{Failure, Outcome, Result};
use crate::inputs::Inputs;
use crate::output::{Output, RowSink};
use crate::progress::Progress;
use crate::scan::{Scan, threads};
use crate::source::{InputFile, Source, TextOptions, format_of};
use crate::summary::Summary;
use crate::table::{Table, scan_failure};
use crate::watch::Watch;
use crate::write::ParquetRequest;
use crate::{destination, summary};

/// Reads all inputs, and writes them as one table.
pub(super) fn run(args: &ConvertArgs) -> Result<Outcome> {
    let (write, sorted_by, threads) = (&args.write, &args.sort.sort_by, threads(&args.decode));
    let request = ParquetRequest { write, sorted_by, threads, like: None };
    let output = Output::settle(args.destination.format, args.destination.output.as_deref())?
        .with_parquet(request)?
        .with_csv(&args.csv, &args.text)?;
    let mut conversion = Conversion {
        args,
        inputs: Inputs::find(&args.inputs)?,
        options: TextOptions::of(&args.text)?,
        scan: Scan::new(&args.decode, output.strings(args.decode.strings)),
        first: None,
    };
    summary::check(&args.destination.report, output.path())?;
    if let Some(path) = output.path() {
        destination::check(path, args.destination.report.force, Some(&conversion.inputs))?;
    }
    let mut summary = Summary::new(output.path());
    let sizes = (0..conversion.inputs.len()).map(|index| conversion.inputs.byte_len(index));
    summary.bytes_before = sizes.sum();
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

/// The inputs of a conversion, and how they are read.
struct Conversion<'a> {
    args: &'a ConvertArgs,
    inputs: Inputs,
    options: TextOptions,
    scan: Scan,
    /// Columns of the first file, whose types later text files must have.
    first: Option<SchemaRef>,
}

impl Conversion<'_> {
    /// The format of an input, if it is known before the input is read.
    fn format(&self, index: usize) -> Option<FileFormat> {
        let by_name = self.args.from.or_else(|| self.inputs.path(index).and_then(format_of));
        by_name.or_else(|| self.inputs.is_remote(index).then_some(FileFormat::Parquet))
    }

    fn is_all_parquet(&self) -> Result<bool> {
        for index in 0..self.inputs.len() {
            let format = match (self.format(index), self.inputs.path(index)) {
                (None, Some(path)) if fs::metadata(path).is_ok_and(|metadata| metadata.is_file()) => {
                    InputFile::open(Some(path), self.inputs.name(index))?.sniff()?
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
        let table = Table::open(&mut self.inputs, self.args.table)?;
        let batches = table.read(&self.scan)?.build().map_err(scan_failure)?;
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
            return Err(Failure::Usage("--schema union is for inputs that are all Parquet".to_owned()));
        }
        let names: Vec<String> = (0..self.inputs.len()).map(|index| self.inputs.name(index)).collect();
        let locations: Vec<&str> = names.iter().map(String::as_str).collect();
        let options = DatasetOptions::new().partitions(!self.args.table.no_partitions);
        let partitions = Partitions::of(&locations, &options).map_err(scan_failure)?;
        let mut progress = Progress::of_bytes(summary.bytes_before.unwrap_or(0), output.is_terminal());
        let mut sink: Option<(Box<dyn RowSink>, SchemaRef)> = None;
        for (index, name) in names.iter().enumerate() {
            let (source, position) = self.open(index, summary)?;
            let (sink, schema) = match &mut sink {
                Some(sink) => sink,
                None => {
                    let schema = table_schema(&source.schema, &partitions, names.len() > 1, self.scan.strings);
                    summary.add_partitions(partitions.columns(), &schema, None);
                    sink.insert((output.open(&schema)?, schema))
                }
            };
            let alignment = Alignment::from_source(schema, &source.schema, &partitions.values(index));
            let alignment = alignment.map_err(|error| differs(name, &names[0], error))?;
            let mut seen = 0;
            for batch in BackgroundIterator::new(source.batches) {
                let batch = batch?;
                sink.write(&alignment.apply(&batch).map_err(|error| Failure::reading(name, error))?)?;
                summary.rows += batch.num_rows() as u64;
                let now = position.load(Ordering::Relaxed);
                progress.advance(now - seen);
                seen = now;
            }
        }
        progress.clear();
        Ok(sink.map(|(sink, _)| sink))
    }

    /// Opens an input. The counter is the number of its bytes that have been read.
    fn open(&mut self, index: usize, summary: &mut Summary) -> Result<(Source, Arc<AtomicU64>)> {
        let name = self.inputs.name(index);
        let by_name = self.format(index);
        if by_name == Some(FileFormat::Parquet) {
            return self.open_parquet(index, summary);
        }
        if self.inputs.is_remote(index) {
            return Err(Failure::Usage(format!("{name}: only Parquet is read from a URL; download the file first")));
        }
        let path = self.inputs.path(index).map(Path::to_owned);
        let mut input = InputFile::open(path.as_deref(), name.clone())?;
        let format = match by_name {
            Some(format) => format,
            None => input.sniff()?.ok_or_else(|| {
                Failure::Usage(format!("{name}: unknown format; add --from csv, jsonl, arrow or parquet"))
            })?,
        };
        if format == FileFormat::Parquet {
            return match path {
                Some(_) => self.open_parquet(index, summary),
                // Its first bytes have been read from the pipe.
                None => Err(Failure::Usage("standard input is Parquet; add --from parquet".to_owned())),
            };
        }
        let position = input.position();
        let source = input.read(format, &self.options, self.scan.batch_size, self.first.as_ref())?;
        self.first.get_or_insert_with(|| Arc::clone(&source.schema));
        Ok((source, position))
    }

    fn open_parquet(&mut self, index: usize, summary: &mut Summary) -> Result<(Source, Arc<AtomicU64>)> {
        let table = Table::open_one(&mut self.inputs, index, self.args.table)?;
        let file = table.file(0)?;
        summary.add_input(&file);
        let batches = table.read(&self.scan)?.build().map_err(scan_failure)?;
        let schema = batches.schema();
        let position = Arc::new(AtomicU64::new(0));
        let (rows, bytes) = (file.row_count().max(1), self.inputs.byte_len(index).unwrap_or(0));
        let reached = Arc::clone(&position);
        let mut done = 0;
        let batches = batches.map(move |batch| {
            let batch = batch.map_err(scan_failure)?;
            done += batch.num_rows() as u64;
            let share = u128::from(bytes) * u128::from(done) / u128::from(rows);
            reached.store(u64::try_from(share).unwrap_or(bytes), Ordering::Relaxed);
            Ok(batch)
        });
        Ok((Source { schema, batches: Box::new(batches) }, position))
    }
}

/// The columns of the first input, then partition columns, which replace columns of the same name.
fn table_schema(first: &Schema, partitions: &Partitions, several: bool, strings: Strings) -> SchemaRef {
    let columns = partitions.columns();
    let is_partition = |field: &&FieldRef| columns.iter().any(|column| column.field().name() == field.name());
    // A column that is required here may be optional in another file.
    let set_nullable = |field: &FieldRef| Arc::new(Field::clone(field).with_nullable(several || field.is_nullable()));
    let mut fields: Vec<FieldRef> =
        first.fields().iter().filter(|field| !is_partition(field)).map(set_nullable).collect();
    fields.extend(columns.iter().map(|column| match (column.field().data_type(), strings) {
        (DataType::Utf8View, Strings::Offsets) => Arc::new(Field::clone(column.field()).with_data_type(DataType::Utf8)),
        _ => Arc::clone(column.field()),
    }));
    Arc::new(Schema::new_with_metadata(fields, first.metadata().clone()))
}

/// The error for a file whose columns differ from those of the first.
fn differs(name: &str, first: &str, error: Error) -> Failure {
    match error {
        Error::Invalid { what } => Failure::Usage(format!("{name}: {what}, unlike in {first}")),
        other => Failure::reading(name, other),
    }
}
