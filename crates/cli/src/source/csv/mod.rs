//! CSV: `dialect` detects the delimiter, `records` and `fields` split lines, `inference` infers types, and `column` converts text to values.

mod column;
mod datetime;
mod dialect;
mod fields;
mod inference;
mod number;
mod records;

use std::io::BufRead;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Field, FieldRef, Schema, SchemaRef, TimeUnit};

use self::column::{Column, type_option};
use self::dialect::{Dialect, separator_line, sniff_delimiter};
use self::fields::Nulls;
use self::inference::{Inferred, TypeGuess};
use self::records::{Records, Texts};
use super::text::{Columns, Origin, Sample, TextOptions, quoted};
use super::{Bytes, InputFile, Source};
use crate::date_time_format::DateTimeFormat;
use crate::failure::{Failure, Result};

/// Bytes by which the delimiter is detected.
const HEAD_BYTES: usize = 64 << 10;
const SAMPLE_BATCH_ROWS: usize = 1024;

/// Reads CSV.
pub(super) fn read(
    mut input: InputFile,
    options: &TextOptions,
    batch_rows: usize,
    before: Option<&SchemaRef>,
) -> Result<Source> {
    let sample = input.sample(options.sample);
    let quote = options.quote;
    let head = input.peek_text(HEAD_BYTES)?;
    let separator = separator_line(head);
    let sniffed = || separator.unwrap_or_else(|| sniff_delimiter(head, head.len() < HEAD_BYTES, quote));
    let delimiter = options.delimiter.unwrap_or_else(sniffed);
    let open = Format {
        name: input.name().to_owned(),
        dialect: Dialect { delimiter, quote },
        has_separator_line: separator.is_some(),
        header: options.header,
        nulls: Nulls(options.nulls.clone()),
    };
    let (inferred, bytes) = input.inspect(|bytes| infer(open.records(bytes)?, options, sample))?;
    let fields = inferred.iter().map(|(name, inferred)| Field::new(name, inferred.data_type(), true));
    let schema = options.wanted(&Schema::new(fields.collect::<Vec<_>>()), before, Columns::Placed)?;
    let mut columns = Vec::with_capacity(inferred.len());
    for (field, (_, inferred)) in schema.fields().iter().zip(inferred) {
        let origin = options.origin(field, before, sample);
        let column = match (&origin, strict(field, &options.formats)) {
            (Origin::Inferred(_), _) => Column::inferred(Arc::clone(field), inferred, options.point),
            // Values of later files must suit the type that was inferred for the first.
            (Origin::FirstInput, Some(strict)) => Column::inferred(Arc::clone(field), strict, options.point),
            _ => Column::given(Arc::clone(field), &options.formats, options.point)?,
        };
        columns.push((column, origin));
    }
    let mut records = open.records(bytes)?;
    records.keep_quoted(columns.iter().map(|(column, _)| column.is_text()));
    let batches = Batches { records, columns, schema: Arc::clone(&schema), batch_rows, format: open };
    Ok(Source { schema, batches: Box::new(batches) })
}

/// The inferred type of a column of an earlier file, if its Arrow type tells.
fn strict(field: &FieldRef, formats: &[DateTimeFormat]) -> Option<Inferred> {
    let timestamp = |unit, has_offset| Inferred::Timestamp { unit, has_offset };
    // With several formats, the type does not tell which one was inferred.
    let timestamps = [
        Inferred::Date,
        timestamp(TimeUnit::Microsecond, false),
        timestamp(TimeUnit::Microsecond, true),
        timestamp(TimeUnit::Nanosecond, false),
        timestamp(TimeUnit::Nanosecond, true),
    ];
    let others = [Inferred::Boolean, Inferred::Int64, Inferred::UInt64, Inferred::Float64];
    let timestamps = timestamps.into_iter().filter(|_| formats.is_empty());
    others.into_iter().chain(timestamps).find(|inferred| inferred.data_type() == *field.data_type())
}

/// The format of lines.
struct Format {
    name: String,
    dialect: Dialect,
    /// Whether the first line declares the delimiter and is not part of the table.
    has_separator_line: bool,
    header: bool,
    nulls: Nulls,
}

impl Format {
    fn records(&self, mut bytes: Bytes) -> Result<Records> {
        if self.has_separator_line {
            let skipped = bytes.skip_until(b'\n');
            skipped.map_err(|error| Failure::Io(format!("{}: cannot read: {error}", self.name)))?;
        }
        let lines_before = u64::from(self.has_separator_line);
        Records::new(bytes, &self.name, self.dialect, self.header, self.nulls.clone(), lines_before)
    }
}

/// The names of columns, and the types inferred from the sample.
fn infer(mut records: Records, options: &TextOptions, sample: Sample) -> Result<Vec<(String, Inferred)>> {
    let mut guesses = vec![TypeGuess::new(options.point, &options.formats); records.names().len()];
    let mut left = sample.max_rows();
    while left > 0
        && let Some(texts) = records.read(left.min(SAMPLE_BATCH_ROWS))?
    {
        left -= texts.lines.len();
        for (guess, column) in guesses.iter_mut().zip(&texts.columns) {
            column.iter().flatten().for_each(|text| guess.add(text));
        }
    }
    Ok(records.names().iter().cloned().zip(guesses.iter().map(TypeGuess::inferred_type)).collect())
}

struct Batches {
    records: Records,
    columns: Vec<(Column, Origin)>,
    schema: SchemaRef,
    batch_rows: usize,
    format: Format,
}

impl Batches {
    fn decode(&self, texts: &Texts) -> Result<RecordBatch> {
        let mut arrays = Vec::with_capacity(self.columns.len());
        for (index, (column, origin)) in self.columns.iter().enumerate() {
            let decoded = column.decode(&texts.columns[index], &self.format.nulls);
            arrays.push(decoded.map_err(|row| self.misfit(texts, index, row, column, origin))?);
        }
        let failed = |error| Failure::Corrupt(format!("{}: {error}", self.format.name));
        RecordBatch::try_new(Arc::clone(&self.schema), arrays).map_err(failed)
    }

    fn misfit(&self, texts: &Texts, index: usize, row: usize, column: &Column, origin: &Origin) -> Failure {
        let name = column.field.name();
        let formats = if column.field.data_type().is_temporal() { "; --date-format adds formats" } else { "" };
        Failure::Corrupt(format!(
            "{}: line {}, column {name}: {} is not {}; {}{formats}",
            self.format.name,
            texts.line(row, index),
            quoted(texts.columns[index].value(row)),
            column.description(),
            origin.advice(&type_option(name)),
        ))
    }
}

impl Iterator for Batches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let texts = self.records.read(self.batch_rows).transpose()?;
        Some(texts.and_then(|texts| self.decode(&texts)))
    }
}
