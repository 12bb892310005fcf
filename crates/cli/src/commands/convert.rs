//! `convert`: rows of one format in another.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use crate::ahead::Ahead;
use crate::args::{ConvertArgs, FileFormat};
use crate::failure::{Failure, Outcome, Result};
use crate::inputs::Inputs;
use crate::output::{Output, ParquetWish, Rows};
use crate::progress::Progress;
use crate::scan::{Alignment, Scan, threads};
use crate::source::{Opened, Source, TextOptions, format_of};
use crate::summary::Summary;
use crate::{destination, summary};

/// Reads all inputs, and writes them as one table.
pub(super) fn run(args: &ConvertArgs) -> Result<Outcome> {
    let wish = ParquetWish { write: &args.write, sorted_by: &args.sort.sort_by, threads: threads(&args.decode) };
    let output = Output::settle(args.destination.format, args.destination.output.as_deref())?.with_parquet(wish)?;
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
    let mut progress = Progress::of_bytes(summary.bytes_before.unwrap_or(0), output.is_terminal());
    let mut sink: Option<(Box<dyn Rows>, Alignment)> = None;
    for index in 0..conversion.inputs.len() {
        let name = conversion.inputs.name(index);
        let (source, position) = conversion.open(index, &mut summary)?;
        let (sink, alignment) = match &mut sink {
            Some(sink) => sink,
            None => {
                let alignment = Alignment::new(&source.schema, None, &name, conversion.inputs.len() > 1);
                sink.insert((output.open(alignment.schema())?, alignment))
            }
        };
        let places = alignment.sources(&source.schema, &name)?;
        let mut seen = 0;
        for batch in Ahead::new(source.batches) {
            let batch = batch?;
            sink.write(&alignment.align(&batch, &places)?)?;
            summary.rows += batch.num_rows() as u64;
            let now = position.load(Ordering::Relaxed);
            progress.advance(now - seen);
            seen = now;
        }
    }
    progress.clear();
    let written = sink.map(|(sink, _)| sink.finish()).transpose()?.flatten();
    if output.path().is_some() {
        summary.add_output(output.path(), written.as_ref());
        summary.report(&args.destination.report)?;
    }
    Ok(Outcome::Done)
}

/// What is converted, and how its files are read.
struct Conversion<'a> {
    args: &'a ConvertArgs,
    inputs: Inputs,
    options: TextOptions,
    scan: Scan,
    /// Columns of the first file: files of text after it have the same types.
    first: Option<SchemaRef>,
}

impl Conversion<'_> {
    /// Starts to read an input. The counter says how many of its bytes have been read.
    fn open(&mut self, index: usize, summary: &mut Summary) -> Result<(Source, Arc<AtomicU64>)> {
        let name = self.inputs.name(index);
        let path = self.inputs.path(index).map(Path::to_owned);
        let by_name = self.args.from.or_else(|| path.as_deref().and_then(format_of));
        let is_remote = self.inputs.is_remote(index);
        if by_name == Some(FileFormat::Parquet) || by_name.is_none() && is_remote {
            return self.open_parquet(index, &name, summary);
        }
        if is_remote {
            return Err(Failure::Usage(format!("{name}: only Parquet is read from a URL; download the file first")));
        }
        let mut opened = Opened::open(path.as_deref(), name.clone())?;
        let format = match by_name {
            Some(format) => format,
            None => opened.sniff()?.ok_or_else(|| {
                Failure::Usage(format!(
                    "{name}: neither name nor content tell the format; add --from csv, jsonl, arrow or parquet"
                ))
            })?,
        };
        if format == FileFormat::Parquet {
            return match path {
                Some(_) => self.open_parquet(index, &name, summary),
                // Its first bytes have been taken from the pipe.
                None => Err(Failure::Usage("standard input is Parquet; add --from parquet".to_owned())),
            };
        }
        let position = opened.position();
        let source = opened.read(format, &self.options, self.scan.batch_size, self.first.as_ref())?;
        self.first.get_or_insert_with(|| Arc::clone(&source.schema));
        Ok((source, position))
    }

    fn open_parquet(&mut self, index: usize, name: &str, summary: &mut Summary) -> Result<(Source, Arc<AtomicU64>)> {
        let file = self.inputs.open(index)?;
        summary.add_input(&file);
        let batches = self.scan.read(&file, name, None)?;
        let schema = batches.schema();
        let position = Arc::new(AtomicU64::new(0));
        let (rows, bytes) = (file.row_count().max(1), self.inputs.byte_len(index).unwrap_or(0));
        let (name, reached) = (name.to_owned(), Arc::clone(&position));
        let mut done = 0;
        let batches = batches.map(move |batch: lath_parquet::Result<RecordBatch>| {
            let batch = batch.map_err(|error| Failure::reading(&name, error))?;
            done += batch.num_rows() as u64;
            let share = u128::from(bytes) * u128::from(done) / u128::from(rows);
            reached.store(u64::try_from(share).unwrap_or(bytes), Ordering::Relaxed);
            Ok(batch)
        });
        Ok((Source { schema, batches: Box::new(batches) }, position))
    }
}
