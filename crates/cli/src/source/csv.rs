//! Comma-separated values, through Arrow's reader.

use std::sync::Arc;

use arrow_csv::ReaderBuilder;
use arrow_csv::reader::Format;
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};

use super::text::{Columns, TextOptions, converted, look_ahead, readable};
use super::{Bytes, Source};
use crate::failure::Result;

/// Starts to read CSV.
pub(super) fn read(
    bytes: Bytes,
    name: String,
    options: &TextOptions,
    batch_rows: usize,
    before: Option<&SchemaRef>,
) -> Result<Source> {
    let explained = options.explainer(&name);
    let delimiter = options.delimiter.unwrap_or(if name.ends_with(".tsv") { b'\t' } else { b',' });
    let format = Format::default().with_header(options.header).with_delimiter(delimiter);
    let (inferred, bytes) = look_ahead(bytes, |reader| format.infer_schema(reader, options.infer_rows));
    let (inferred, _) = inferred.map_err(&explained)?;
    let schema = options.wanted(&inferred, before, Columns::Placed)?;
    let as_read: Vec<FieldRef> = schema.fields().iter().map(as_read).collect();
    let reader = ReaderBuilder::new(Arc::new(Schema::new(as_read)))
        .with_format(format)
        .with_batch_size(batch_rows)
        .build_buffered(bytes)
        .map_err(&explained)?;
    let wanted = Arc::clone(&schema);
    let batches = reader.map(move |batch| batch.and_then(|batch| converted(&batch, &wanted)).map_err(&explained));
    Ok(Source { schema, batches: Box::new(batches) })
}

/// The type as which a column is read; bytes are text in CSV.
fn as_read(field: &FieldRef) -> FieldRef {
    let plain = readable(field, Arc::clone);
    match plain.data_type() {
        data_type if data_type.is_binary() || matches!(data_type, DataType::FixedSizeBinary(_)) => {
            Arc::new(Field::new(plain.name(), DataType::Utf8, true))
        }
        _ => plain,
    }
}
