//! Rows as they travel: in types that every client reads.
//!
//! Strings of Lath are views, and categories dictionaries, which several drivers (JDBC's among them) cannot read.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Schema, SchemaRef, TimeUnit};

/// The schema in which rows travel.
pub(crate) fn wire_schema(schema: &Schema) -> SchemaRef {
    let fields: Vec<FieldRef> = schema.fields().iter().map(wire_field).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

/// A batch with the columns of [`wire_schema`].
pub(crate) fn wire_batch(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    let columns = batch.columns().iter().zip(schema.fields()).map(|(column, field)| {
        if column.data_type() == field.data_type() { Ok(Arc::clone(column)) } else { cast(column, field.data_type()) }
    });
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)
}

/// The types of parameters as clients see them: moments and times of day are in milliseconds.
///
/// Drivers of JDBC (18.3) put their milliseconds into a vector of whatever unit the server names. Clients that send another unit are understood.
pub(crate) fn parameter_schema(parameters: &Schema) -> SchemaRef {
    let announced = |field: &FieldRef| {
        let data_type = match wire_type(field.data_type()) {
            DataType::Timestamp(_, zone) => DataType::Timestamp(TimeUnit::Millisecond, zone),
            DataType::Time32(_) | DataType::Time64(_) => DataType::Time32(TimeUnit::Millisecond),
            other => other,
        };
        Arc::new(Field::clone(field).with_data_type(data_type))
    };
    Arc::new(Schema::new(parameters.fields().iter().map(announced).collect::<Vec<_>>()))
}

fn wire_field(field: &FieldRef) -> FieldRef {
    let data_type = wire_type(field.data_type());
    if data_type == *field.data_type() {
        return Arc::clone(field);
    }
    Arc::new(Field::clone(field).with_data_type(data_type))
}

fn wire_type(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Utf8View => DataType::Utf8,
        DataType::BinaryView => DataType::Binary,
        DataType::Dictionary(_, values) => wire_type(values),
        DataType::RunEndEncoded(_, values) => wire_type(values.data_type()),
        DataType::List(item) | DataType::ListView(item) => DataType::List(wire_field(item)),
        DataType::LargeList(item) | DataType::LargeListView(item) => DataType::LargeList(wire_field(item)),
        DataType::FixedSizeList(item, length) => DataType::FixedSizeList(wire_field(item), *length),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(wire_field).collect()),
        DataType::Map(entries, is_sorted) => DataType::Map(wire_field(entries), *is_sorted),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::builder::{ListBuilder, StringViewBuilder};
    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;
    use arrow_array::{Array, ArrayRef, Int64Array, StringArray, StringViewArray, StructArray};

    use super::*;

    #[test]
    fn views_travel_as_strings_also_within_lists_and_structs() {
        let views: ArrayRef = Arc::new(StringViewArray::from(vec!["a", "a string that is not inlined"]));
        let mut list = ListBuilder::new(StringViewBuilder::new());
        list.append_value([Some("a")]);
        list.append_value([Some("a string that is not inlined")]);
        let list = list.finish();
        let fields =
            vec![Field::new("text", DataType::Utf8View, true), Field::new("list", list.data_type().clone(), true)];
        let nested = StructArray::new(fields.into(), vec![Arc::clone(&views), Arc::new(list)], None);
        let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
        let batch = RecordBatch::try_from_iter([("n", numbers), ("nested", Arc::new(nested) as ArrayRef)]).unwrap();
        let schema = wire_schema(batch.schema_ref());
        let wire = wire_batch(&batch, &schema).unwrap();
        assert_eq!(wire.column(0).as_primitive::<Int64Type>().values(), &[1, 2]);
        let nested = wire.column(1).as_struct();
        let expected = StringArray::from(vec!["a", "a string that is not inlined"]);
        assert_eq!(nested.column(0).as_string::<i32>(), &expected);
        assert_eq!(nested.column(1).as_list::<i32>().values().as_string::<i32>(), &expected);
    }
}
