//! JSON lines.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use lath_json::{Error, Rows, infer_schema};

use super::text::{Columns, Origin, Sample, TextOptions, converted, readable};
use super::{Bytes, InputFile, Source};
use crate::failure::{Failure, Result};
use crate::quantity::plural;

const HEAD_BYTES: usize = 4 << 10;

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
    let inferred = |bytes| infer_schema(bytes, sample.max_rows()).map_err(|error| failed(&name, error, ""));
    let (inferred, bytes) = input.inspect(inferred)?;
    let schema = options.wanted(&inferred, before, Columns::Named)?;
    let as_read: Vec<FieldRef> = schema.fields().iter().map(|field| readable(field, as_nested)).collect();
    let hint = match sample {
        Sample::First(rows) if options.like.is_none() => format!(
            "; types were inferred from the first {}: give a type with --type COLUMN=TYPE, or infer from all rows with \
             --infer-rows all",
            plural(rows as u64, "row")
        ),
        _ => "; --type COLUMN=TYPE gives a type".to_owned(),
    };
    // A requested float type takes the nearest float.
    let is_inferred =
        |field: &Field| matches!(options.origin(field, before, sample), Origin::Inferred(_) | Origin::FirstInput);
    let rows = Rows::new(bytes, Arc::new(Schema::new(as_read)), batch_rows, is_inferred);
    let rows = rows.map_err(|error| Failure::Usage(format!("{name}: {error}")))?;
    let target = Arc::clone(&schema);
    let rows = rows.converted(move |batch| converted(batch, &target));
    Ok(Source { schema, batches: Box::new(JsonBatches { rows, name, hint }) })
}

fn failed(name: &str, error: Error, hint: &str) -> Failure {
    match error {
        Error::Io(error) => Failure::Io(format!("{name}: cannot read: {error}")),
        Error::Line { .. } => Failure::Corrupt(format!("{name}: {error}{hint}")),
        other => Failure::Corrupt(format!("{name}: {other}")),
    }
}

/// Batches of objects, whose errors name the file.
struct JsonBatches {
    rows: Rows<Bytes>,
    name: String,
    hint: String,
}

impl Iterator for JsonBatches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.rows.next()?;
        Some(batch.map_err(|error| failed(&self.name, error, &self.hint)))
    }
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
