//! Lath's keyed tables.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use lath_table::{Durability, Table, TableOptions};

use crate::engine::{Client, Engine, FIELDS, Row};

/// Rows of a commit of the load, which become files at once.
const LOAD_ROWS: usize = 100_000;

pub struct LathTable {
    table: Table,
    schema: SchemaRef,
}

impl LathTable {
    fn batch<'r>(&self, rows: impl Iterator<Item = (&'r str, &'r Row)> + Clone) -> RecordBatch {
        let keys: ArrayRef = Arc::new(StringArray::from_iter_values(rows.clone().map(|(key, _)| key)));
        let fields = (0..FIELDS).map(|place| -> ArrayRef {
            let texts = rows.clone().map(|(_, row)| std::str::from_utf8(&row[place]).expect("fields are text"));
            Arc::new(StringArray::from_iter_values(texts))
        });
        let columns = std::iter::once(keys).chain(fields).collect();
        RecordBatch::try_new(Arc::clone(&self.schema), columns).expect("rows fit the schema")
    }
}

impl Engine for LathTable {
    type Client<'e> = &'e Self;

    fn open(folder: &Path, is_synced: bool) -> Self {
        let field = |place| Field::new(format!("field{place}"), DataType::Utf8, false);
        let fields = std::iter::once(Field::new("key", DataType::Utf8, false)).chain((0..FIELDS).map(field));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let durability = if is_synced { Durability::Sync } else { Durability::Deferred };
        let options = TableOptions::new().durability(durability);
        let table = Table::create(folder.join("table"), &schema, &["key"], options).expect("Lath makes a table");
        Self { table, schema }
    }

    fn load(&self, rows: &mut dyn Iterator<Item = (String, Row)>) {
        loop {
            let part: Vec<(String, Row)> = (&mut *rows).take(LOAD_ROWS).collect();
            if part.is_empty() {
                break;
            }
            self.table.upsert(&self.batch(part.iter().map(|(key, row)| (key.as_str(), row)))).expect("Lath upserts");
        }
        self.table.compact().expect("Lath compacts");
    }

    fn client(&self) -> &Self {
        self
    }
}

impl Client for &LathTable {
    fn read(&mut self, key: &str, row: &mut Vec<u8>) {
        row.clear();
        let Some(found) = self.table.get(key).expect("Lath gets") else { return };
        for place in 1..=FIELDS {
            row.extend_from_slice(text(found.column(place)).as_bytes());
        }
    }

    fn update(&mut self, key: &str, field: usize, value: &[u8]) {
        let keys: ArrayRef = Arc::new(StringArray::from_iter_values([key]));
        let text: ArrayRef = Arc::new(StringArray::from_iter_values([std::str::from_utf8(value).expect("text")]));
        let batch = RecordBatch::try_from_iter([("key", keys), (self.schema.field(field + 1).name().as_str(), text)]);
        let counts = self.table.update(&batch.expect("two columns")).expect("Lath updates");
        assert_eq!(counts.rows, 1);
    }

    fn insert(&mut self, key: &str, row: &Row) {
        self.table.upsert(&self.batch(std::iter::once((key, row)))).expect("Lath upserts");
    }

    fn scan(&mut self, key: &str, count: usize) -> usize {
        let range = self.table.range(key..).expect("Lath scans").limit(count as u64);
        range.build().expect("Lath scans").map(|batch| batch.expect("Lath scans").num_rows()).sum()
    }
}

/// The text of a column of one row.
fn text(column: &ArrayRef) -> &str {
    use arrow_array::cast::AsArray;
    match column.data_type() {
        DataType::Utf8View => column.as_string_view().value(0),
        _ => column.as_string::<i32>().value(0),
    }
}
