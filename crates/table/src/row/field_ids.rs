//! Numbers of columns, and of the fields within them.
//!
//! Readers of Iceberg find fields at any depth by their numbers. The types of a table have numbers for columns alone, because the type of an array
//! contains the metadata of nested fields, and the batches of programs have none there. So a schema keeps these numbers next to the types, and the schema
//! with which files are written has both.

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef};

use crate::error::{Error, Result};

/// The key of a field's metadata that has its number, as in Parquet files.
const FIELD_ID: &str = "PARQUET:field_id";

/// The extension whose parts have no numbers.
const VARIANT: &str = "arrow.parquet.variant";

/// The number of a column.
pub(crate) fn field_id(field: &Field) -> Result<u32> {
    let id = field.metadata().get(FIELD_ID).and_then(|id| id.parse().ok());
    id.ok_or_else(|| Error::corrupt(format!("column {:?} has no number", field.name())))
}

/// The field with a number.
pub(crate) fn with_id(field: &Field, id: u32) -> Field {
    let mut metadata = field.metadata().clone();
    metadata.insert(FIELD_ID.to_owned(), id.to_string());
    field.clone().with_metadata(metadata)
}

/// Numbers from `next_id` on for the fields within a column, each before the fields within it.
pub(crate) fn new_nested_ids(field: &Field, next_id: &mut u32) -> Vec<u32> {
    let ids: Vec<u32> = (*next_id..).take(nested_ids(field).len()).collect();
    *next_id += ids.len() as u32;
    ids
}

/// The numbers in the metadata of the fields within a column.
pub(crate) fn nested_ids(field: &Field) -> Vec<Option<u32>> {
    let mut found = Vec::new();
    for child in children(field) {
        // The struct of the entries of a map is no field of Parquet.
        if !is_map(field) {
            found.push(field_id(child).ok());
        }
        found.extend(nested_ids(child));
    }
    found
}

/// The column with these numbers for the fields within it. Text and bytes within it have offsets: pyiceberg (0.12) cannot unite files that lack the
/// column with files that say that they have views.
pub(crate) fn with_nested_ids(field: &Field, ids: &mut dyn Iterator<Item = u32>) -> Field {
    let is_numbered = !is_map(field);
    let mut numbered = |child: &FieldRef| {
        let own = is_numbered.then(|| ids.next()).flatten();
        let child = match child.data_type() {
            DataType::Utf8View => child.as_ref().clone().with_data_type(DataType::LargeUtf8),
            DataType::BinaryView => child.as_ref().clone().with_data_type(DataType::LargeBinary),
            _ => with_nested_ids(child, ids),
        };
        Arc::new(own.map_or_else(|| child.clone(), |id| with_id(&child, id)))
    };
    let data_type = match field.data_type() {
        _ if is_variant(field) => return field.clone(),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(numbered).collect()),
        DataType::List(element) => DataType::List(numbered(element)),
        DataType::LargeList(element) => DataType::LargeList(numbered(element)),
        DataType::FixedSizeList(element, length) => DataType::FixedSizeList(numbered(element), *length),
        DataType::Map(entries, is_sorted) => DataType::Map(numbered(entries), *is_sorted),
        _ => return field.clone(),
    };
    field.clone().with_data_type(data_type)
}

/// The fields directly within a field.
fn children(field: &Field) -> Vec<&FieldRef> {
    match field.data_type() {
        _ if is_variant(field) => Vec::new(),
        DataType::Struct(fields) => fields.iter().collect(),
        DataType::List(child)
        | DataType::LargeList(child)
        | DataType::FixedSizeList(child, _)
        | DataType::Map(child, _) => vec![child],
        _ => Vec::new(),
    }
}

fn is_map(field: &Field) -> bool {
    matches!(field.data_type(), DataType::Map(..))
}

fn is_variant(field: &Field) -> bool {
    field.extension_type_name() == Some(VARIANT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_within_columns_are_numbered_before_those_within_them() {
        let int = |name: &str| Field::new(name, DataType::Int64, true);
        let entries = DataType::Struct(vec![int("key"), int("value")].into());
        let map = DataType::Map(Arc::new(Field::new("entries", entries, false)), false);
        let inner = DataType::Struct(vec![int("x"), Field::new("m", map, true)].into());
        let list = DataType::List(Arc::new(Field::new("item", inner, true)));
        let field = Field::new("a", DataType::Struct(vec![int("first"), Field::new("l", list, true)].into()), true);
        let mut next_id = 10;
        let ids = new_nested_ids(&field, &mut next_id);
        assert_eq!((ids.clone(), next_id), ((10..17).collect::<Vec<u32>>(), 17));
        assert!(nested_ids(&field).iter().all(Option::is_none));
        let numbered = with_nested_ids(&field, &mut ids.iter().copied());
        assert_eq!(nested_ids(&numbered), ids.iter().copied().map(Some).collect::<Vec<_>>());
        // first, l, its element, x, m, its key and value
        let DataType::Struct(fields) = numbered.data_type() else { panic!("{numbered}") };
        assert_eq!(fields.iter().map(|field| field_id(field).ok()).collect::<Vec<_>>(), [Some(10), Some(11)]);
        assert!(nested_ids(&int("n")).is_empty());
    }
}
