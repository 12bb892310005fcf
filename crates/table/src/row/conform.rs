//! Converts the arrays of a batch to the schema of a table.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, new_null_array};
use arrow_cast::display::array_value_to_string;
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};

use crate::error::{Error, Result};

/// Converts the columns of a batch to the types of `schema`, which has the same number of columns, so that
/// [`Table::upsert`](crate::Table::upsert) takes the rows unchanged. Numbers, dates and times are cast if no value is lost.
///
/// # Errors
/// [`Error::Batch`] names the first value that is lost, [`Error::Null`] the first null of a column without nulls.
pub fn conform_batch(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    if batch.num_columns() != schema.fields().len() {
        return Err(Error::batch(format!(
            "the batch has {} columns, and the table has {}",
            batch.num_columns(),
            schema.fields().len()
        )));
    }
    let columns = batch.columns().iter().zip(schema.fields()).map(|(array, field)| conform_column(array, field));
    // Whether the order of a dictionary has a meaning is up to the batch.
    let own = batch.schema_ref().fields().iter();
    let field = |(field, own): (&FieldRef, &FieldRef)| {
        Field::clone(field).with_dict_is_ordered(own.dict_is_ordered() == Some(true))
    };
    let fields: Vec<Field> = schema.fields().iter().zip(own).map(field).collect();
    let schema = Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()));
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    Ok(RecordBatch::try_new_with_options(schema, columns.collect::<Result<_>>()?, &options)?)
}

/// Converts the array to the type of `field`.
pub(crate) fn conform_column(array: &ArrayRef, field: &Field) -> Result<ArrayRef> {
    check_nulls(array, field)?;
    if array.data_type() == field.data_type() {
        return Ok(ArrayRef::clone(array));
    }
    let options = CastOptions { safe: false, ..CastOptions::default() };
    if has_same_values(array.data_type(), field.data_type()) {
        return Ok(cast_with_options(array, field.data_type(), &options)?);
    }
    if let DataType::Dictionary(_, values) = array.data_type() {
        return conform_column(&cast_with_options(array, values, &options)?, field);
    }
    if !may_be_cast(array.data_type(), field.data_type()) {
        return Err(Error::batch(format!(
            "column {:?} is {}, and in the table it is {}: cast it",
            field.name(),
            array.data_type(),
            field.data_type()
        )));
    }
    cast_exactly(array, field)
}

/// Returns an error if the array has a null that the field does not allow.
pub(crate) fn check_nulls(array: &ArrayRef, field: &Field) -> Result<()> {
    if !field.is_nullable()
        && let Some(nulls) = array.logical_nulls()
        && let Some(row) = (0..array.len()).find(|&row| nulls.is_null(row))
    {
        return Err(Error::Null { column: field.name().clone(), row });
    }
    Ok(())
}

/// The values in the type of the field, if it can represent all of them.
fn cast_exactly(array: &ArrayRef, field: &Field) -> Result<ArrayRef> {
    if array.data_type() == &DataType::Null {
        return Ok(new_null_array(field.data_type(), array.len()));
    }
    // A value that does not fit becomes null, in either direction.
    let options = CastOptions { safe: true, ..CastOptions::default() };
    let typed = cast_with_options(array, field.data_type(), &options)?;
    let back = cast_with_options(&typed, array.data_type(), &options)?;
    if back.to_data() == array.to_data() {
        return Ok(typed);
    }
    let differs = |&row: &usize| back.slice(row, 1).to_data() != array.slice(row, 1).to_data();
    let Some(row) = (0..array.len()).find(differs) else { return Ok(typed) };
    Err(Error::batch(format!(
        "column {:?} is {}, and in the table it is {}, which does not have the value {} (row {row} of the batch) exactly: cast it",
        field.name(),
        array.data_type(),
        field.data_type(),
        shown(array, row),
    )))
}

fn shown(array: &ArrayRef, row: usize) -> String {
    array_value_to_string(array, row).unwrap_or_else(|error| error.to_string())
}

/// Whether values of a type may be ones of another: numbers, dates and times, durations, and nothing but nulls.
fn may_be_cast(given: &DataType, wanted: &DataType) -> bool {
    use DataType::{Date32, Date64, Duration, Null, Time32, Time64, Timestamp};
    match (given, wanted) {
        (Null, _) | (Date32, Date64) | (Date64, Date32) | (Duration(_), Duration(_)) => true,
        (Time32(_) | Time64(_), Time32(_) | Time64(_)) => true,
        (Timestamp(_, zone), Timestamp(_, wanted)) => zone.is_some() == wanted.is_some(),
        _ => given.is_numeric() && wanted.is_numeric(),
    }
}

/// Whether types differ only in the layout of their arrays and in the names of nested fields.
fn has_same_values(given: &DataType, wanted: &DataType) -> bool {
    use DataType::{
        Binary, BinaryView, Dictionary, FixedSizeList, LargeBinary, LargeList, LargeUtf8, List, Map, Struct, Utf8,
        Utf8View,
    };
    match (given, wanted) {
        (Utf8 | LargeUtf8 | Utf8View, Utf8 | LargeUtf8 | Utf8View)
        | (Binary | LargeBinary | BinaryView, Binary | LargeBinary | BinaryView) => true,
        (Dictionary(_, given), wanted) => has_same_values(given, wanted),
        (given, Dictionary(_, wanted)) => has_same_values(given, wanted),
        (List(given) | LargeList(given), List(wanted) | LargeList(wanted)) | (Map(given, _), Map(wanted, _)) => {
            has_same_values(given.data_type(), wanted.data_type())
        }
        (FixedSizeList(given, len), FixedSizeList(wanted, wanted_len)) => {
            len == wanted_len && has_same_values(given.data_type(), wanted.data_type())
        }
        (Struct(given), Struct(wanted)) => {
            let is_same = |(given, wanted): (&FieldRef, &FieldRef)| {
                given.name() == wanted.name() && has_same_values(given.data_type(), wanted.data_type())
            };
            given.len() == wanted.len() && given.iter().zip(wanted).all(is_same)
        }
        _ => given == wanted,
    }
}
