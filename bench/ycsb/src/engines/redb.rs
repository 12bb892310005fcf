//! redb, with its defaults.

use std::path::Path;

use lath_bench_record::machine::locked_version;
use redb::{Database, Durability, ReadableDatabase, ReadableTable, TableDefinition};

use crate::engine::{Client, Engine, Row, joined, with_field};

const ROWS: TableDefinition<&str, &[u8]> = TableDefinition::new("rows");
const LOAD_ROWS: usize = 10_000;

pub struct Redb {
    database: Database,
    durability: Durability,
}

impl Redb {
    fn put(&self, rows: &mut dyn Iterator<Item = (String, Vec<u8>)>, durability: Durability) {
        let mut transaction = self.database.begin_write().expect("redb begins");
        transaction.set_durability(durability).expect("redb takes a durability");
        {
            let mut table = transaction.open_table(ROWS).expect("redb has a table");
            for (key, row) in rows {
                table.insert(key.as_str(), row.as_slice()).expect("redb inserts");
            }
        }
        transaction.commit().expect("redb commits");
    }
}

impl Engine for Redb {
    type Client<'e> = &'e Self;

    fn open(folder: &Path, is_synced: bool) -> Self {
        let durability = if is_synced { Durability::Immediate } else { Durability::None };
        Self { database: Database::create(folder.join("redb")).expect("redb opens"), durability }
    }

    fn load(&self, rows: &mut dyn Iterator<Item = (String, Row)>) {
        let mut rows = rows.map(|(key, row)| (key, joined(&row))).peekable();
        while rows.peek().is_some() {
            self.put(&mut rows.by_ref().take(LOAD_ROWS), Durability::Immediate);
        }
    }

    fn client(&self) -> &Self {
        self
    }

    fn note(&self) -> Option<String> {
        Some(format!("redb: {}", locked_version("redb")))
    }
}

impl Client for &Redb {
    fn read(&mut self, key: &str, row: &mut Vec<u8>) {
        row.clear();
        let table = self.database.begin_read().expect("redb reads").open_table(ROWS).expect("redb has the table");
        if let Some(found) = table.get(key).expect("redb gets") {
            row.extend_from_slice(found.value());
        }
    }

    fn update(&mut self, key: &str, field: usize, value: &[u8]) {
        let mut transaction = self.database.begin_write().expect("redb begins");
        transaction.set_durability(self.durability).expect("redb takes a durability");
        {
            let mut table = transaction.open_table(ROWS).expect("redb has a table");
            let row = with_field(table.get(key).expect("redb gets").expect("the row is there").value(), field, value);
            table.insert(key, row.as_slice()).expect("redb inserts");
        }
        transaction.commit().expect("redb commits");
    }

    fn insert(&mut self, key: &str, row: &Row) {
        self.put(&mut std::iter::once((key.to_owned(), joined(row))), self.durability);
    }

    fn scan(&mut self, key: &str, count: usize) -> usize {
        let table = self.database.begin_read().expect("redb reads").open_table(ROWS).expect("redb has the table");
        let rows = table.range(key..).expect("redb iterates").take(count);
        rows.map(|row| row.expect("redb iterates").1.value().len()).filter(|bytes| *bytes > 0).count()
    }
}
