//! Compares two readings of a file by their values, whatever their Arrow types.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, new_empty_array};
use arrow_schema::{DataType, Field, FieldRef, Schema};

/// The canonical type among all types with the same values: strings and bytes with long offsets, dictionaries and runs
/// replaced by their values. Field metadata is dropped. Nullability is kept or, if values are compared, ignored: the
/// elements that pad the null slots of a fixed-size list may be null whatever the schema says.
fn plain_type(data_type: &DataType, keep_nullability: bool) -> DataType {
    let plain_field = |field: &FieldRef| plain_field(field, keep_nullability);
    match data_type {
        DataType::Utf8 | DataType::Utf8View => DataType::LargeUtf8,
        DataType::Binary | DataType::BinaryView => DataType::LargeBinary,
        DataType::Dictionary(_, value) => plain_type(value, keep_nullability),
        DataType::RunEndEncoded(_, value) => plain_type(value.data_type(), keep_nullability),
        DataType::List(item) => DataType::List(plain_field(item)),
        DataType::LargeList(item) => DataType::LargeList(plain_field(item)),
        DataType::FixedSizeList(item, len) => DataType::FixedSizeList(plain_field(item), *len),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(plain_field).collect()),
        DataType::Map(entries, sorted) => {
            let DataType::Struct(fields) = entries.data_type() else { return data_type.clone() };
            let key = Field::new(fields[0].name(), plain_type(fields[0].data_type(), keep_nullability), false);
            let fields = [Arc::new(key), plain_field(&fields[1])];
            let entries = Field::new(entries.name(), DataType::Struct(fields.into_iter().collect()), false);
            DataType::Map(Arc::new(entries), *sorted)
        }
        other => other.clone(),
    }
}

fn plain_field(field: &FieldRef, keep_nullability: bool) -> FieldRef {
    let nullable = field.is_nullable() || !keep_nullability;
    Arc::new(Field::new(field.name(), plain_type(field.data_type(), keep_nullability), nullable))
}

/// Replaces every type of the schema with its canonical type.
fn plain_schema(schema: &Schema, keep_nullability: bool) -> Schema {
    Schema::new(schema.fields().iter().map(|field| plain_field(field, keep_nullability)).collect::<Vec<_>>())
}

/// Checks every rule of the Arrow format on every array: offsets in range, strings UTF-8, no null in a non-nullable
/// field.
///
/// # Errors
/// The first rule that is broken.
pub fn check_sound(batches: &[RecordBatch]) -> Result<(), String> {
    for (batch, array) in batches.iter().flat_map(|batch| batch.columns().iter().map(move |array| (batch, array))) {
        let sound = array.to_data().validate_full();
        sound.map_err(|error| format!("unsound array in a batch of {} rows: {error}", batch.num_rows()))?;
    }
    Ok(())
}

/// Concatenates the batches, with canonical types and every field nullable.
///
/// # Panics
/// If the batches do not have the schema.
pub fn plain_batch(schema: &Schema, batches: &[RecordBatch]) -> RecordBatch {
    let plain = Arc::new(plain_schema(schema, false));
    let columns = (0..plain.fields().len()).map(|i| {
        let parts: Vec<ArrayRef> = batches.iter().map(|batch| plain_array(batch.column(i))).collect();
        let parts: Vec<&dyn Array> = parts.iter().map(AsRef::as_ref).collect();
        match parts[..] {
            [] => new_empty_array(plain.field(i).data_type()),
            _ => arrow_select::concat::concat(&parts).expect("the parts have one type"),
        }
    });
    let row_count = batches.iter().map(RecordBatch::num_rows).sum();
    let options = RecordBatchOptions::new().with_row_count(Some(row_count));
    RecordBatch::try_new_with_options(plain.clone(), columns.collect(), &options)
        .expect("batches have the schema that was announced")
}

fn plain_array(array: &ArrayRef) -> ArrayRef {
    let data_type = array.data_type();
    arrow_cast::cast(array, &plain_type(data_type, false)).expect("values can be copied out of any type")
}

/// Compares two readings: the schemas' names, nullability and types, except for the layout of strings and for
/// dictionaries and runs, and every value.
///
/// # Errors
/// Says what differs first.
pub fn same_values(
    (expected_schema, expected): (&Schema, &[RecordBatch]),
    (actual_schema, actual): (&Schema, &[RecordBatch]),
) -> Result<(), String> {
    let (expected_plain, actual_plain) = (plain_schema(expected_schema, true), plain_schema(actual_schema, true));
    if expected_plain != actual_plain {
        return Err(format!("the schema is\n{actual_plain}\nand should be\n{expected_plain}"));
    }
    let (expected, actual) = (plain_batch(expected_schema, expected), plain_batch(actual_schema, actual));
    if expected.num_rows() != actual.num_rows() {
        return Err(format!("{} rows, and should be {}", actual.num_rows(), expected.num_rows()));
    }
    for (i, field) in expected.schema().fields().iter().enumerate() {
        same_array(expected.column(i), actual.column(i)).map_err(|what| format!("column {}: {what}", field.name()))?;
    }
    Ok(())
}

fn same_array(expected: &ArrayRef, actual: &ArrayRef) -> Result<(), String> {
    if expected == actual {
        return Ok(());
    }
    let row = (0..expected.len()).find(|&row| expected.slice(row, 1) != actual.slice(row, 1));
    let Some(row) = row else { return Ok(()) };
    Err(format!(
        "row {row} of {} is\n{:?}\nand should be\n{:?}",
        expected.len(),
        actual.slice(row, 1),
        expected.slice(row, 1)
    ))
}
