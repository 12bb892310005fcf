//! JSON lines, read by Arrow's reader.

use std::cell::Cell;
use std::io::{BufRead, ErrorKind, Read};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_json::ReaderBuilder;
use arrow_json::reader::{Decoder, infer_json_schema_from_iterator};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Schema, SchemaRef};
use serde_json::Value;

use super::text::{Columns, Sample, TextOptions, converted, readable};
use super::{Bytes, InputFile, Source};
use crate::failure::{Failure, Result};
use crate::quantity::plural;

const HEAD_BYTES: usize = 4 << 10;
const CHUNK_BYTES: u64 = 256 << 10;

/// Reads JSON lines.
pub(super) fn read(
    mut input: InputFile,
    options: &TextOptions,
    batch_rows: usize,
    before: Option<&SchemaRef>,
) -> Result<Source> {
    let name = input.name().to_owned();
    if input.peek_text(HEAD_BYTES)?.trim_ascii_start().first() == Some(&b'[') {
        return Err(Failure::Corrupt(format!(
            "{name}: this is a JSON array; convert it to one object per line first, for example with jq -c '.[]'"
        )));
    }
    let sample = input.sample(options.sample);
    let (inferred, bytes) = input.inspect(|bytes| infer(bytes, &name, sample))?;
    let schema = options.wanted(&inferred, before, Columns::Named)?;
    let as_read: Vec<FieldRef> = schema.fields().iter().map(|field| readable(field, as_nested)).collect();
    let format = ObjectFormat {
        as_read: Arc::new(Schema::new(as_read)),
        schema: Arc::clone(&schema),
        hint: match sample {
            Sample::First(rows) if options.like.is_none() => format!(
                "; types were inferred from the first {}: give a type with --type COLUMN=TYPE, or infer from all rows with \
                 --infer-rows all",
                plural(rows as u64, "row")
            ),
            _ => "; --type COLUMN=TYPE gives a type".to_owned(),
        },
        name,
    };
    let decoder = format.decoder(batch_rows)?;
    let objects = JsonBatches { bytes, decoder, format, buffer: Vec::new(), decoded: 0, line: 1 };
    Ok(Source { schema, batches: Box::new(objects) })
}

/// The schema of the first lines.
fn infer(mut bytes: Bytes, name: &str, sample: Sample) -> Result<Schema> {
    let line = Cell::new(0u64);
    let mut text = Vec::new();
    let mut broken = None;
    let values = std::iter::from_fn(|| {
        loop {
            text.clear();
            match bytes.read_until(b'\n', &mut text) {
                Ok(0) => return None,
                Ok(_) => line.set(line.get() + 1),
                Err(error) => {
                    broken = Some(Failure::Io(format!("{name}: cannot read: {error}")));
                    return None;
                }
            }
            if !text.trim_ascii().is_empty() {
                break;
            }
        }
        // The message counts lines within this text, which is one line.
        let at_column = |error: serde_json::Error| {
            let message = error.to_string();
            let what = message.split(" at line ").next().unwrap_or_default().to_owned();
            ArrowError::JsonError(format!("not a JSON object on one line: {what}, column {}", error.column()))
        };
        Some(serde_json::from_slice::<Value>(&text).map_err(at_column))
    });
    let schema = infer_json_schema_from_iterator(values.take(sample.max_rows()));
    match broken {
        Some(failure) => Err(failure),
        None => schema.map_err(|error| malformed(name, line.get(), &error, "")),
    }
}

fn malformed(name: &str, line: u64, error: &ArrowError, hint: &str) -> Failure {
    let message = error.to_string();
    let what = message.strip_prefix("Json error: ").unwrap_or(&message);
    Failure::Corrupt(format!("{name}: line {line}: {what}{hint}"))
}

/// How objects become rows.
struct ObjectFormat {
    name: String,
    /// The types that Arrow's reader is asked for.
    as_read: SchemaRef,
    /// The types of the batches.
    schema: SchemaRef,
    hint: String,
}

impl ObjectFormat {
    fn decoder(&self, batch_rows: usize) -> Result<Decoder> {
        let builder = ReaderBuilder::new(Arc::clone(&self.as_read)).with_batch_size(batch_rows);
        // A field that the inferred schema lacks is an error.
        let decoder = builder.with_strict_mode(true).build_decoder();
        decoder.map_err(|error| Failure::Usage(format!("{}: {error}", self.name)))
    }

    fn flush(&self, decoder: &mut Decoder) -> std::result::Result<Option<RecordBatch>, ArrowError> {
        decoder.flush()?.map(|batch| converted(&batch, &self.schema)).transpose()
    }
}

/// Reads batches of objects.
struct JsonBatches {
    bytes: Bytes,
    decoder: Decoder,
    format: ObjectFormat,
    /// The text of the current batch, and what has been read after it.
    buffer: Vec<u8>,
    /// The number of bytes of `buffer` that are decoded.
    decoded: usize,
    /// The line at which `buffer` starts.
    line: u64,
}

impl JsonBatches {
    fn read(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if self.decoded == self.buffer.len() && !self.fill()? {
                break;
            }
            match self.decoder.decode(&self.buffer[self.decoded..]) {
                Ok(count) => self.decoded += count,
                Err(error) => return Err(self.explain(&error)),
            }
            if self.decoded < self.buffer.len() {
                break;
            }
        }
        let batch = self.format.flush(&mut self.decoder).map_err(|error| self.explain(&error))?;
        self.line += line_feeds(&self.buffer[..self.decoded]);
        self.buffer.drain(..self.decoded);
        self.decoded = 0;
        Ok(batch)
    }

    fn fill(&mut self) -> Result<bool> {
        loop {
            match self.bytes.by_ref().take(CHUNK_BYTES).read_to_end(&mut self.buffer) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(Failure::Io(format!("{}: cannot read: {error}", self.format.name))),
                Ok(count) => return Ok(count > 0),
            }
        }
    }

    /// Decodes the batch again, one object at a time, to find the one that failed.
    fn explain(&self, error: &ArrowError) -> Failure {
        let Ok(mut decoder) = self.format.decoder(1) else { return malformed(&self.format.name, self.line, error, "") };
        let mut start = 0;
        loop {
            let blank = self.buffer[start..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            let line = self.line + line_feeds(&self.buffer[..start + blank]);
            let decoded = decoder.decode(&self.buffer[start..]);
            let count = match decoded.and_then(|count| self.format.flush(&mut decoder).map(|_| count)) {
                Ok(count) => count,
                // `buffer` may end within an object.
                Err(found) => {
                    let found = if decoder.has_partial_record() { error } else { &found };
                    return malformed(&self.format.name, line, found, &self.format.hint);
                }
            };
            if count == 0 {
                return malformed(&self.format.name, line, error, &self.format.hint);
            }
            start += count;
        }
    }
}

impl Iterator for JsonBatches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}

fn line_feeds(text: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', text).count() as u64
}

fn as_nested(field: &FieldRef) -> FieldRef {
    let below = |child: &FieldRef| readable(child, as_nested);
    let required = |child: &FieldRef| Arc::new(below(child).as_ref().clone().with_nullable(child.is_nullable()));
    let data_type = match field.data_type() {
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(below).collect()),
        DataType::List(element) => DataType::List(below(element)),
        DataType::LargeList(element) => DataType::LargeList(below(element)),
        DataType::FixedSizeList(element, length) => DataType::FixedSizeList(below(element), *length),
        DataType::Map(entries, sorted) => match entries.data_type() {
            DataType::Struct(fields) => {
                let entries_type = DataType::Struct(fields.iter().map(required).collect());
                let entries = Field::new(entries.name(), entries_type, false);
                DataType::Map(Arc::new(entries), *sorted)
            }
            other => other.clone(),
        },
        other => other.clone(),
    };
    Arc::new(Field::new(field.name(), data_type, true))
}
