//! Time zones of timestamps in text.
//!
//! Timestamps with a time zone are written in UTC. Named zones would need a time zone database, and Parquet has UTC only.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType, Field, Schema};

/// UTC, as the formatters of Arrow know it.
pub const UTC: &str = "+00:00";

/// The batch with every time zone replaced by UTC; the instants do not change.
///
/// # Errors
/// If the columns do not form a batch.
pub fn in_utc(batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    let schema = batch.schema();
    let fields: Vec<_> = schema.fields().iter().map(field_in_utc).collect();
    if fields.iter().zip(schema.fields()).all(|(new, old)| new.data_type() == old.data_type()) {
        return Ok(batch.clone());
    }
    let columns = batch.columns().iter().zip(&fields).map(|(column, field)| match field.data_type() {
        same if same == column.data_type() => Ok(Arc::clone(column)),
        other => cast(column, other),
    });
    let columns = columns.collect::<Result<_, _>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    let schema = Schema::new_with_metadata(fields, schema.metadata().clone());
    RecordBatch::try_new_with_options(Arc::new(schema), columns, &options)
}

fn field_in_utc(field: &Arc<Field>) -> Arc<Field> {
    Arc::new(field.as_ref().clone().with_data_type(type_in_utc(field.data_type())))
}

fn type_in_utc(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Timestamp(unit, Some(_)) => DataType::Timestamp(*unit, Some(UTC.into())),
        DataType::List(child) => DataType::List(field_in_utc(child)),
        DataType::LargeList(child) => DataType::LargeList(field_in_utc(child)),
        DataType::FixedSizeList(child, length) => DataType::FixedSizeList(field_in_utc(child), *length),
        DataType::Map(entries, sorted) => DataType::Map(field_in_utc(entries), *sorted),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(field_in_utc).collect()),
        DataType::Dictionary(key, value) => DataType::Dictionary(key.clone(), Box::new(type_in_utc(value))),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::types::Int32Type;
    use arrow_array::{Array, ArrayRef, DictionaryArray, StructArray, TimestampMillisecondArray};
    use arrow_cast::display::array_value_to_string;

    use super::*;

    #[test]
    fn instants_are_shown_in_utc_whatever_their_zone() {
        let timestamps: ArrayRef = Arc::new(TimestampMillisecondArray::from(vec![1500]).with_timezone("Europe/Oslo"));
        let field = Arc::new(Field::new("at", timestamps.data_type().clone(), true));
        let nested: ArrayRef = Arc::new(StructArray::new(vec![field].into(), vec![Arc::clone(&timestamps)], None));
        let keys = arrow_array::Int32Array::from(vec![0]);
        let encoded: ArrayRef = Arc::new(DictionaryArray::<Int32Type>::new(keys, Arc::clone(&timestamps)));
        let batch =
            RecordBatch::try_from_iter([("plain", timestamps), ("nested", nested), ("encoded", encoded)]).unwrap();
        let batch = in_utc(&batch).unwrap();
        let text = |column: usize| array_value_to_string(batch.column(column), 0).unwrap();
        assert_eq!(text(0), "1970-01-01T00:00:01.500Z");
        assert_eq!(text(1), "{at: 1970-01-01T00:00:01.500Z}");
        assert_eq!(text(2), "1970-01-01T00:00:01.500Z");
    }
}
