//! JSON lines, through Arrow's reader.

use std::io::BufReader;
use std::sync::Arc;

use arrow_json::ReaderBuilder;
use arrow_json::reader::infer_json_schema;
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};

use super::text::{Columns, TextOptions, converted, look_ahead, readable};
use super::{Bytes, Source};
use crate::failure::{Failure, Result};

/// Starts to read JSON lines.
pub(super) fn read(
    mut bytes: Bytes,
    name: String,
    options: &TextOptions,
    batch_rows: usize,
    before: Option<&SchemaRef>,
) -> Result<Source> {
    let head = bytes.fill_buf().map_err(|error| Failure::Io(format!("{name}: cannot read: {error}")))?;
    if head.trim_ascii_start().first() == Some(&b'[') {
        return Err(Failure::Corrupt(format!(
            "{name}: this is a JSON array; make an object a line of it first, for example with jq -c '.[]'"
        )));
    }
    let explained = options.explainer(&name);
    let (inferred, bytes) = look_ahead(bytes, |reader| infer_json_schema(BufReader::new(reader), options.infer_rows));
    let (inferred, _) = inferred.map_err(&explained)?;
    let schema = options.wanted(&inferred, before, Columns::Named)?;
    let as_read: Vec<FieldRef> = schema.fields().iter().map(|field| readable(field, as_nested)).collect();
    let reader = ReaderBuilder::new(Arc::new(Schema::new(as_read)))
        .with_batch_size(batch_rows)
        // A field that the first rows did not have is an error, not left out.
        .with_strict_mode(true)
        .build(bytes)
        .map_err(&explained)?;
    let wanted = Arc::clone(&schema);
    let batches = reader.map(move |batch| batch.and_then(|batch| converted(&batch, &wanted)).map_err(&explained));
    Ok(Source { schema, batches: Box::new(batches) })
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
