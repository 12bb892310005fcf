//! The schema of a table for the rows of a dataset, and whether a file has it.

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Schema};
use lath_parquet::{ParquetFile, Precision};

use crate::error::Result;
use crate::row::{TableSchema, field_id, has_floats, nested_ids};

/// The columns of a dataset, whose text and bytes have offsets, and which have no dictionaries. Fields keep their numbers if all have one.
pub(super) fn table_schema<S: AsRef<str>>(schema: &Schema, key_columns: &[S]) -> Result<TableSchema> {
    let fields: Vec<FieldRef> = schema.fields().iter().map(plain_field).collect();
    TableSchema::create_numbered(&Schema::new_with_metadata(fields, schema.metadata().clone()), key_columns)
}

fn plain_field(field: &FieldRef) -> FieldRef {
    Arc::new(field.as_ref().clone().with_data_type(plain_type(field.data_type())))
}

fn plain_type(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Utf8View => DataType::Utf8,
        DataType::BinaryView => DataType::Binary,
        DataType::Dictionary(_, values) => plain_type(values),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(plain_field).collect()),
        DataType::List(element) => DataType::List(plain_field(element)),
        DataType::LargeList(element) => DataType::LargeList(plain_field(element)),
        DataType::FixedSizeList(element, length) => DataType::FixedSizeList(plain_field(element), *length),
        DataType::Map(entries, is_sorted) => DataType::Map(plain_field(entries), *is_sorted),
        other => other.clone(),
    }
}

/// The reason for which a file with these columns cannot be a file of the table as it is; `None` if it can.
pub(super) fn difference(file: &Schema, schema: &TableSchema) -> Option<String> {
    let (own, columns) = (file.fields(), schema.arrow().fields());
    if let Some(float) = schema.key().fields().iter().find(|field| has_floats(field.data_type())) {
        return Some(format!("the key column {} has floats, which have one form as keys", float.name()));
    }
    for (found, column) in own.iter().zip(columns) {
        if found.name() != column.name() {
            return Some(format!("it has column {} where the table has {}", found.name(), column.name()));
        }
        if !is_same_type(found.data_type(), column.data_type()) {
            let (name, found, wanted) = (column.name(), found.data_type(), column.data_type());
            return Some(format!("its column {name} is {found}, and the table's {wanted}"));
        }
    }
    if own.len() != columns.len() {
        return Some(format!("it has {} columns, and the table has {}", own.len(), columns.len()));
    }
    let numbers = |field: &FieldRef| (field_id(field).ok(), nested_ids(field));
    let has_none = own.iter().map(numbers).all(|(id, nested)| id.is_none() && nested.iter().all(Option::is_none));
    if !has_none && !own.iter().map(numbers).eq(schema.file_schema().fields().iter().map(numbers)) {
        return Some("its fields have other numbers than the table's".to_owned());
    }
    None
}

/// A column that has no nulls in the table, and may have some in the file. Nulls of key columns are looked for in the rows.
pub(super) fn column_with_nulls<'s>(file: &ParquetFile, schema: &'s TableSchema) -> Option<&'s str> {
    let columns = schema.arrow().fields();
    let may_have_nulls = |at: usize| file.schema().field(at).is_nullable() && !columns[at].is_nullable();
    let not_in_key = |at: &usize| !schema.key().columns().contains(at);
    let suspects: Vec<usize> = (0..columns.len()).filter(|&at| may_have_nulls(at)).filter(not_in_key).collect();
    if suspects.is_empty() {
        return None;
    }
    let statistics = file.statistics().map(|found| found.columns).unwrap_or_default();
    let has_none = |at: usize| statistics.get(at).is_some_and(|column| column.null_count == Precision::Exact(0));
    suspects.into_iter().find(|&at| !has_none(at)).map(|at| columns[at].name().as_str())
}

/// Whether values of a file have a type of the table, apart from the form of text, bytes and lists.
fn is_same_type(file: &DataType, table: &DataType) -> bool {
    use DataType as D;
    let is_same_field = |file: &Field, table: &Field| {
        file.name() == table.name()
            && file.is_nullable() == table.is_nullable()
            && is_same_type(file.data_type(), table.data_type())
    };
    match (file, table) {
        (D::Dictionary(_, values), _) => is_same_type(values, table),
        (D::Utf8 | D::LargeUtf8 | D::Utf8View, D::Utf8 | D::LargeUtf8 | D::Utf8View) => true,
        (D::Binary | D::LargeBinary | D::BinaryView, D::Binary | D::LargeBinary | D::BinaryView) => true,
        // The name of an element is the writer's.
        (D::List(file) | D::LargeList(file), D::List(table) | D::LargeList(table)) => {
            file.is_nullable() == table.is_nullable() && is_same_type(file.data_type(), table.data_type())
        }
        (D::Struct(file), D::Struct(table)) => {
            file.len() == table.len() && file.iter().zip(table).all(|(file, table)| is_same_field(file, table))
        }
        // So are the names of entries, keys and values.
        (D::Map(file, _), D::Map(table, _)) => match (file.data_type(), table.data_type()) {
            (D::Struct(file), D::Struct(table)) => {
                file.len() == table.len()
                    && file.iter().zip(table).all(|(file, table)| {
                        file.is_nullable() == table.is_nullable() && is_same_type(file.data_type(), table.data_type())
                    })
            }
            _ => false,
        },
        _ => file == table,
    }
}
