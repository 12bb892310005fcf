//! The rows of a commit, in the model and in a table.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use lath_table::Snapshot;

/// The columns after key, value and text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) is_wide: bool,
}

/// The rows of a commit, and the names of its columns.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Contents {
    pub(super) columns: Vec<Column>,
    pub(super) rows: BTreeMap<i64, Vec<Option<i64>>>,
}

impl Contents {
    pub(crate) fn schema(&self) -> Schema {
        let mut fields = vec![
            Field::new("id", DataType::Int64, false),
            Field::new("value", DataType::Int64, true),
            Field::new("text", DataType::Utf8, true),
        ];
        fields.extend(self.columns.iter().map(|column| Field::new(&column.name, column.data_type(), true)));
        Schema::new(fields)
    }

    pub(super) fn batch(&self, rows: &BTreeMap<i64, Vec<Option<i64>>>) -> RecordBatch {
        let column = |at: usize| rows.values().map(move |row| row[at]);
        let mut columns: Vec<ArrayRef> = vec![
            Arc::new(Int64Array::from_iter_values(rows.keys().copied())),
            Arc::new(column(0).collect::<Int64Array>()),
            Arc::new(rows.iter().map(|(id, row)| text(*id, row[0])).collect::<StringArray>()),
        ];
        for (at, of) in self.columns.iter().enumerate() {
            columns.push(if of.is_wide {
                Arc::new(column(at + 1).collect::<Int64Array>())
            } else {
                Arc::new(column(at + 1).map(|value| value.map(|value| value as i32)).collect::<Int32Array>())
            });
        }
        RecordBatch::try_new(Arc::new(self.schema()), columns).unwrap()
    }

    /// Reads the contents of a snapshot.
    pub(super) fn of(snapshot: &Snapshot, what: &str) -> Self {
        let schema = Arc::clone(snapshot.schema());
        let columns = schema.fields().iter().skip(3);
        let columns: Vec<Column> = columns
            .map(|field| Column { name: field.name().clone(), is_wide: *field.data_type() == DataType::Int64 })
            .collect();
        let mut rows = BTreeMap::new();
        for batch in snapshot.range::<i64>(..).unwrap().build().unwrap() {
            let batch = batch.unwrap_or_else(|error| panic!("{what}: {error}"));
            let long = |at: usize| batch.column(at).as_primitive::<Int64Type>();
            let texts = arrow_cast::cast(batch.column(2), &DataType::Utf8).unwrap();
            let texts = texts.as_string::<i32>();
            for row in 0..batch.num_rows() {
                let id = long(0).value(row);
                let mut values = vec![long(1).is_valid(row).then(|| long(1).value(row))];
                let text_found = texts.is_valid(row).then(|| texts.value(row).to_owned());
                assert_eq!(text_found, text(id, values[0]), "{what}: text of row {id}");
                for (at, column) in columns.iter().enumerate() {
                    let array = batch.column(at + 3);
                    values.push(array.is_valid(row).then(|| {
                        if column.is_wide {
                            array.as_primitive::<Int64Type>().value(row)
                        } else {
                            array.as_primitive::<Int32Type>().value(row).into()
                        }
                    }));
                }
                assert!(rows.insert(id, values).is_none(), "{what}: key {id} twice");
            }
        }
        Self { columns, rows }
    }
}

impl Column {
    fn data_type(&self) -> DataType {
        if self.is_wide { DataType::Int64 } else { DataType::Int32 }
    }
}

/// A text derived from key and value.
fn text(id: i64, value: Option<i64>) -> Option<String> {
    value.map(|value| format!("{id}:{value} ").repeat(1 + (id % 5) as usize * 4))
}
