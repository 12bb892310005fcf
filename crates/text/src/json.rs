//! JSON lines.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use lath_json::{Rows, infer_schema};

use crate::compression::Bytes;
use crate::error::{Error, Result, Setting};
use crate::file::{TextFile, TextRows};
use crate::options::{Columns, TextOptions, converted, readable};
use crate::origin::{InferRows, Origin};

const HEAD_BYTES: usize = 4 << 10;

/// Reads JSON lines.
pub(crate) fn read(
    mut input: TextFile,
    options: &TextOptions,
    batch_rows: usize,
    before: Option<&SchemaRef>,
) -> Result<TextRows> {
    let name = input.name().to_owned();
    if input.peek_text(HEAD_BYTES)?.trim_ascii_start().first() == Some(&b'[') {
        let what = "this is a JSON array; convert it to one object per line first, for example with jq -c '.[]'";
        return Err(Error::malformed(&name, what));
    }
    let sample = input.sample(options.infer_rows);
    let inferred = |bytes| infer_schema(bytes, sample.max_rows()).map_err(|error| failed(&name, error, None));
    let (inferred, bytes) = input.inspect(inferred)?;
    let schema = options.wanted(&inferred, options.columns.as_ref().or(before), Columns::Named)?;
    let as_read: Vec<FieldRef> = schema.fields().iter().map(|field| readable(field, as_nested)).collect();
    let inferred_rows = match sample {
        InferRows::First(rows) if options.types_of.is_none() && options.columns.is_none() => Some(rows),
        _ => None,
    };
    // A requested type takes the nearest float.
    let is_inferred = |field: &Field| {
        options.columns.is_none()
            && matches!(options.origin(field, before, sample), Origin::Inferred(_) | Origin::FirstFile)
    };
    let rows = Rows::new(bytes, Arc::new(Schema::new(as_read)), batch_rows, is_inferred);
    let rows = rows.map_err(|error| Error::Options { what: format!("{name}: {error}"), as_text: None })?;
    let (target, declared) = (Arc::clone(&schema), options.columns.clone());
    let rows = rows.converted(move |batch| {
        let batch = converted(batch, &target)?;
        // The declared columns are the first.
        match &declared {
            Some(declared) => RecordBatch::try_new_with_options(
                Arc::clone(declared),
                batch.columns()[..declared.fields().len()].to_vec(),
                &RecordBatchOptions::new().with_row_count(Some(batch.num_rows())),
            ),
            None => Ok(batch),
        }
    });
    let schema = options.columns.clone().unwrap_or(schema);
    let setting = Some(Setting::Type { inferred_rows });
    Ok(TextRows { schema, batches: Box::new(JsonBatches { rows, name, setting }) })
}

/// `setting` is the option that helps if a value does not fit.
fn failed(name: &str, error: lath_json::Error, setting: Option<Setting>) -> Error {
    let malformed = |line, what, setting| Error::Malformed { file: name.to_owned(), line, what, setting };
    match error {
        lath_json::Error::Io(error) => Error::reading(name, error),
        lath_json::Error::Line { line, what } => malformed(Some(line), what, setting),
        other => malformed(None, other.to_string(), None),
    }
}

/// Batches of objects, whose errors name the file.
struct JsonBatches {
    rows: Rows<Bytes>,
    name: String,
    setting: Option<Setting>,
}

impl Iterator for JsonBatches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.rows.next()?;
        Some(batch.map_err(|error| failed(&self.name, error, self.setting)))
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
