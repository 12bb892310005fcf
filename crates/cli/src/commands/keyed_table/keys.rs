//! Keys as they are typed.

use arrow_schema::{Field, Schema};
use lath_table::{Key, KeyValue, Snapshot};
use lath_text::is_uuid;

use crate::failure::{Failure, Result};
use crate::input::open_arguments::parse_hex;

/// The columns of a table's key.
pub(super) struct KeyFields<'s>(Vec<&'s Field>);

impl<'s> KeyFields<'s> {
    pub(super) fn of(snapshot: &'s Snapshot) -> Self {
        Self(snapshot.key_columns().iter().map(|&column| snapshot.schema().field(column)).collect())
    }

    /// The key that a text stands for: values of the first key columns, separated by commas if the key has several columns.
    pub(super) fn parse(&self, text: &str) -> Result<Key> {
        if let [field] = self.0[..] {
            return Ok(Key::new([parse_key_value(text, field)]));
        }
        let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
        let mut records = reader.records();
        let (Some(Ok(record)), None) = (records.next(), records.next()) else {
            return Err(Failure::Usage(format!(
                "{text:?} is not a key: write the values of its {} columns, separated by commas",
                self.0.len()
            )));
        };
        let fields = self.0.iter().map(Some).chain(std::iter::repeat(None));
        // Values beyond the columns are an error of the table.
        let value = |(value, field): (&str, Option<&&Field>)| match field {
            Some(field) => parse_key_value(value, field),
            None => KeyValue::Text(value.to_owned()),
        };
        Ok(Key::new(record.iter().zip(fields).map(value)))
    }
}

/// A text as a value of a column; one of a type that Arrow cannot parse is left to it.
fn parse_key_value(text: &str, field: &Field) -> KeyValue {
    let uuid = is_uuid(field).then(|| parse_hex(&text.replace('-', ""))).flatten();
    uuid.map_or_else(|| KeyValue::Text(text.to_owned()), KeyValue::Bytes)
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
