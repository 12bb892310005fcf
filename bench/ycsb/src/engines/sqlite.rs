//! SQLite with a write-ahead log: a connection for each client, prepared statements, `synchronous = FULL` for synced commits.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, params_from_iter};

use crate::engine::{Client, Engine, FIELDS, Row};

const LOAD_ROWS: usize = 10_000;

pub struct Sqlite {
    path: PathBuf,
    is_synced: bool,
}

impl Sqlite {
    fn connect(&self) -> Connection {
        let connection = Connection::open(&self.path).expect("SQLite opens");
        let synchronous = if self.is_synced { "FULL" } else { "OFF" };
        connection.busy_timeout(Duration::from_secs(60)).expect("SQLite waits");
        connection.set_prepared_statement_cache_capacity(64);
        let settings = format!(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = {synchronous}; PRAGMA cache_size = -262144; PRAGMA mmap_size = 4294967296"
        );
        connection.execute_batch(&settings).expect("SQLite has these settings");
        connection
    }
}

impl Engine for Sqlite {
    type Client<'e> = Connection;

    fn open(folder: &Path, is_synced: bool) -> Self {
        let engine = Self { path: folder.join("sqlite"), is_synced };
        let fields: String = (0..FIELDS).map(|place| format!(", field{place} TEXT NOT NULL")).collect();
        let create = format!("CREATE TABLE rows (key TEXT PRIMARY KEY{fields}) WITHOUT ROWID");
        engine.connect().execute_batch(&create).expect("SQLite makes a table");
        engine
    }

    fn load(&self, rows: &mut dyn Iterator<Item = (String, Row)>) {
        let mut connection = self.connect();
        let mut rows = rows.peekable();
        while rows.peek().is_some() {
            let transaction = connection.transaction().expect("SQLite begins");
            for (key, row) in rows.by_ref().take(LOAD_ROWS) {
                insert(&transaction, &key, &row);
            }
            transaction.commit().expect("SQLite commits");
        }
    }

    fn client(&self) -> Connection {
        self.connect()
    }

    fn note(&self) -> Option<String> {
        Some(format!("SQLite: {}", rusqlite::version()))
    }
}

fn insert(connection: &Connection, key: &str, row: &Row) {
    let places = ", ?".repeat(FIELDS);
    let mut statement =
        connection.prepare_cached(&format!("INSERT INTO rows VALUES (?{places})")).expect("SQLite plans");
    let fields = row.iter().map(|field| std::str::from_utf8(field).expect("fields are text"));
    statement.execute(params_from_iter(std::iter::once(key).chain(fields))).expect("SQLite inserts");
}

fn bytes(row: &rusqlite::Row<'_>) -> rusqlite::Result<usize> {
    (1..=FIELDS).map(|place| Ok(row.get_ref(place)?.as_str()?.len())).sum()
}

impl Client for Connection {
    fn read(&mut self, key: &str, row: &mut Vec<u8>) {
        row.clear();
        let mut statement = self.prepare_cached("SELECT * FROM rows WHERE key = ?").expect("SQLite plans");
        let append = |found: &rusqlite::Row<'_>| {
            for place in 1..=FIELDS {
                row.extend_from_slice(found.get_ref(place)?.as_str()?.as_bytes());
            }
            Ok(())
        };
        statement.query_row([key], append).optional().expect("SQLite reads");
    }

    fn update(&mut self, key: &str, field: usize, value: &[u8]) {
        let text = format!("UPDATE rows SET field{field} = ? WHERE key = ?");
        let mut statement = self.prepare_cached(&text).expect("SQLite plans");
        let value = std::str::from_utf8(value).expect("fields are text");
        assert_eq!(statement.execute([value, key]).expect("SQLite updates"), 1);
    }

    fn insert(&mut self, key: &str, row: &Row) {
        insert(self, key, row);
    }

    fn scan(&mut self, key: &str, count: usize) -> usize {
        let mut statement =
            self.prepare_cached("SELECT * FROM rows WHERE key >= ? ORDER BY key LIMIT ?").expect("SQLite plans");
        let rows = statement.query_map((key, count as i64), bytes).expect("SQLite reads");
        rows.map(|row| row.expect("SQLite reads")).filter(|bytes| *bytes > 0).count()
    }
}
