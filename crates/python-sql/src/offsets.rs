//! Converts string views to strings with offsets, for older libraries.

use std::sync::Arc;

use arrow_cast::cast;
use lath::arrow::array::{RecordBatch, RecordBatchOptions};
use lath::arrow::schema::{ArrowError, DataType, Field, FieldRef, Schema, SchemaRef};

/// The schema with offsets.
pub(crate) fn schema_with_offsets(schema: &Schema) -> SchemaRef {
    let fields: Vec<FieldRef> = schema.fields().iter().map(with_offsets).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

/// The batch with `schema`, which has offsets instead of views.
pub(crate) fn batch_with_offsets(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    let columns = batch.columns().iter().zip(schema.fields());
    let columns = columns.map(|(column, field)| match column.data_type() == field.data_type() {
        true => Ok(Arc::clone(column)),
        false => cast(column, field.data_type()),
    });
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns.collect::<Result<_, _>>()?, &options)
}

fn with_offsets(field: &FieldRef) -> FieldRef {
    let data_type = type_with_offsets(field.data_type());
    Arc::new(Field::clone(field).with_data_type(data_type))
}

fn type_with_offsets(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Utf8View => DataType::Utf8,
        DataType::BinaryView => DataType::Binary,
        DataType::List(item) => DataType::List(with_offsets(item)),
        DataType::LargeList(item) => DataType::LargeList(with_offsets(item)),
        DataType::FixedSizeList(item, len) => DataType::FixedSizeList(with_offsets(item), *len),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(with_offsets).collect()),
        DataType::Map(entries, sorted) => DataType::Map(with_offsets(entries), *sorted),
        DataType::Dictionary(key, value) => DataType::Dictionary(key.clone(), Box::new(type_with_offsets(value))),
        other => other.clone(),
    }
}
