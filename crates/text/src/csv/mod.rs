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
use arrow_schema::{ArrowError, Field, FieldRef, Schema, SchemaRef, TimeUnit};

use self::column::Column;
pub(crate) use self::dialect::DELIMITERS;
use self::dialect::{Dialect, separator_line, sniff_delimiter};
use self::fields::Nulls;
use self::inference::{InferredType, TypeGuess};
use self::records::{Records, Texts};
use crate::compression::Bytes;
use crate::date_time_format::DateTimeFormat;
use crate::error::{Error, Result};
use crate::file::{TextFile, TextRows};
use crate::options::{Columns, TextOptions};
use crate::origin::{InferRows, Origin};

/// Bytes by which the delimiter is detected.
const HEAD_BYTES: usize = 64 << 10;
const SAMPLE_BATCH_ROWS: usize = 1024;

/// Reads CSV.
pub(crate) fn read(
    mut input: TextFile,
    options: &TextOptions,
    batch_rows: usize,
    before: Option<&SchemaRef>,
) -> Result<TextRows> {
    let sample = input.sample(options.infer_rows);
    let (quote, escape) = (options.quote, options.escape);
    if quote.is_some() && options.delimiter == quote {
        let what = "the delimiter and the quote character have to differ".to_owned();
        return Err(Error::Options { what, as_text: None });
    }
    let all = input.peek_text(HEAD_BYTES)?;
    let mut head = all;
    for _ in 0..options.skip_lines {
        let Some(end) = head.iter().position(|&byte| byte == b'\n') else {
            head = &[];
            break;
        };
        head = &head[end + 1..];
    }
    let separator = separator_line(head);
    let sniffed = || separator.unwrap_or_else(|| sniff_delimiter(head, all.len() < HEAD_BYTES, quote, escape));
    let delimiter = options.delimiter.unwrap_or_else(sniffed);
    let open = Format {
        name: input.name().to_owned(),
        dialect: Dialect { delimiter, quote, escape },
        lines_before: options.skip_lines + u64::from(separator.is_some()),
        header: options.header,
        nulls: Nulls { tokens: options.nulls.clone(), has_empty: options.empty_is_null },
    };
    if let Some(schema) = &options.columns {
        return read_declared(input, options, open, schema, batch_rows);
    }
    let (inferred, bytes) = input.inspect(|bytes| infer(open.records(bytes)?, options, sample))?;
    let fields = inferred.iter().map(|(name, inferred)| Field::new(name, inferred.data_type(), true));
    let schema = options.wanted(&Schema::new(fields.collect::<Vec<_>>()), before, Columns::Placed)?;
    let mut columns = Vec::with_capacity(inferred.len());
    for (field, (_, inferred)) in schema.fields().iter().zip(inferred) {
        let origin = options.origin(field, before, sample);
        let column = match (&origin, strict(field, &options.date_formats)) {
            (Origin::Inferred(_), _) => Column::inferred(Arc::clone(field), inferred, options.decimal_point),
            // Values of later files must suit the type that was inferred for the first.
            (Origin::FirstFile, Some(strict)) => Column::inferred(Arc::clone(field), strict, options.decimal_point),
            _ => Column::given(Arc::clone(field), &options.date_formats, options.decimal_point)?,
        };
        columns.push((column, origin));
    }
    let mut records = open.records(bytes)?;
    records.keep_quoted(columns.iter().map(|(column, _)| column.is_text()));
    let batches = Batches { records, columns, schema: Arc::clone(&schema), batch_rows, format: open };
    Ok(TextRows { schema, batches: Box::new(batches) })
}

/// Reads CSV that has to have these columns.
fn read_declared(
    input: TextFile,
    options: &TextOptions,
    format: Format,
    schema: &SchemaRef,
    batch_rows: usize,
) -> Result<TextRows> {
    let mut records = format.records(input.into_bytes())?;
    let names = records.names();
    let is_named = |(name, field): (&String, &FieldRef)| {
        !options.header || name.trim().to_lowercase() == field.name().trim().to_lowercase()
    };
    // A file without a record has no columns, and no rows that lack any.
    let fits =
        names.is_empty() || names.len() == schema.fields().len() && names.iter().zip(schema.fields()).all(is_named);
    if !fits {
        let declared: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        let what = format!(
            "{}: the columns are {}, where {} were declared",
            format.name,
            names.join(", "),
            declared.join(", ")
        );
        return Err(Error::Options { what, as_text: None });
    }
    let column = |field: &FieldRef| Column::given(Arc::clone(field), &options.date_formats, options.decimal_point);
    let columns = schema.fields().iter().map(|field| Ok((column(field)?, Origin::Given)));
    let columns: Vec<_> = columns.collect::<Result<_>>()?;
    records.keep_quoted(columns.iter().map(|(column, _)| column.is_text()));
    let batches = Batches { records, columns, schema: Arc::clone(schema), batch_rows, format };
    Ok(TextRows { schema: Arc::clone(schema), batches: Box::new(batches) })
}

/// The inferred type of a column of an earlier file, if its Arrow type tells.
fn strict(field: &FieldRef, formats: &[DateTimeFormat]) -> Option<InferredType> {
    let timestamp = |unit, has_offset| InferredType::Timestamp { unit, has_offset };
    // With several formats, the type does not tell which one was inferred.
    let timestamps = [
        InferredType::Date,
        timestamp(TimeUnit::Microsecond, false),
        timestamp(TimeUnit::Microsecond, true),
        timestamp(TimeUnit::Nanosecond, false),
        timestamp(TimeUnit::Nanosecond, true),
    ];
    let others = [InferredType::Boolean, InferredType::Int64, InferredType::UInt64, InferredType::Float64];
    let timestamps = timestamps.into_iter().filter(|_| formats.is_empty());
    others.into_iter().chain(timestamps).find(|inferred| inferred.data_type() == *field.data_type())
}

/// The dialect of a file, and the records that follow from it.
struct Format {
    name: String,
    dialect: Dialect,
    /// The lines before the first record: lines to skip, and the line that says the delimiter.
    lines_before: u64,
    header: bool,
    nulls: Nulls,
}

impl Format {
    fn records(&self, mut bytes: Bytes) -> Result<Records> {
        for _ in 0..self.lines_before {
            let skipped = bytes.skip_until(b'\n').map_err(|error| Error::reading(&self.name, error))?;
            if skipped == 0 {
                break;
            }
        }
        Records::new(bytes, &self.name, self.dialect, self.header, self.nulls.clone(), self.lines_before)
    }
}

/// The names of columns, and the types inferred from the sample.
fn infer(mut records: Records, options: &TextOptions, sample: InferRows) -> Result<Vec<(String, InferredType)>> {
    let mut guesses = vec![TypeGuess::new(options.decimal_point, &options.date_formats); records.names().len()];
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
        let failed = |error: ArrowError| Error::malformed(&self.format.name, error.to_string());
        RecordBatch::try_new(Arc::clone(&self.schema), arrays).map_err(failed)
    }

    fn misfit(&self, texts: &Texts, index: usize, row: usize, column: &Column, origin: &Origin) -> Error {
        Error::Value {
            file: self.format.name.clone(),
            line: texts.line(row, index),
            column: column.field.name().clone(),
            value: texts.columns[index].value(row).into(),
            expected: column.description().into(),
            origin: origin.clone(),
            is_temporal: column.field.data_type().is_temporal(),
        }
    }
}

impl Iterator for Batches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let texts = self.records.read(self.batch_rows).transpose()?;
        Some(texts.and_then(|texts| self.decode(&texts)))
    }
}
