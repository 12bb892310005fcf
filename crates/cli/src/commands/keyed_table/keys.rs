//! Keys as they are typed.

use arrow_schema::{Field, Schema};
use lath_table::{Key, KeyValue};

use crate::failure::{Failure, Result};

/// The key that a text stands for: values of the first key columns, separated by commas if the key has several columns.
pub(super) fn parse_key(text: &str, key_columns: usize) -> Result<Key> {
    if key_columns == 1 {
        return Ok(Key::new([KeyValue::Text(text.to_owned())]));
    }
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
    let mut records = reader.records();
    let record = match (records.next(), records.next()) {
        (Some(Ok(record)), None) => record,
        _ => {
            return Err(Failure::Usage(format!(
                "{text:?} is no key: write the values of its {key_columns} columns, separated by commas"
            )));
        }
    };
    Ok(Key::new(record.iter().map(|value| KeyValue::Text(value.to_owned()))))
}

/// The columns of a schema with these names.
pub(super) fn project(schema: &Schema, names: &[String]) -> Result<Vec<usize>> {
    let place = |name: &String| {
        schema.column_with_name(name).map(|(at, _)| at).ok_or_else(|| {
            let known: Vec<&str> = schema.fields().iter().map(|field| Field::name(field).as_str()).collect();
            Failure::Usage(format!("there is no column {name:?}; the columns are {}", known.join(", ")))
        })
    };
    names.iter().map(place).collect()
}
