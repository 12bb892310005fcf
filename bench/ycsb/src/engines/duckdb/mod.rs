//! DuckDB through its C interface: a connection for each client, prepared statements, and a primary key. It syncs its log
//! at each commit; an update that conflicts with another one fails, and is repeated.

mod api;
mod connection;

use std::path::Path;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU64, Ordering};

pub use api::api;
use api::{Api, Handle, c_text, message};
use connection::{Connection, Parameter, Statement};

use crate::engine::{Client, Engine, FIELDS, Row};

/// Rows of a commit of the load.
const LOAD_ROWS: usize = 100_000;

pub struct DuckDb {
    api: &'static Api,
    database: Handle,
    conflicts: AtomicU64,
}

// SAFETY: many threads may connect to a database at once.
unsafe impl Sync for DuckDb {}

impl Engine for DuckDb {
    type Client<'e> = DuckClient<'e>;

    fn open(folder: &Path, _is_synced: bool) -> Self {
        let api = api().expect("engines with an obstacle are left out");
        let path = folder.join("duckdb").into_os_string().into_string().expect("the path is Unicode");
        let mut database = null_mut();
        // SAFETY: the path ends with a zero.
        assert_eq!(unsafe { (api.duckdb_open)(c_text(&path).as_ptr(), &mut database) }, 0, "DuckDB opens {path}");
        let fields: String = (0..FIELDS).map(|place| format!(", field{place} VARCHAR NOT NULL")).collect();
        Connection::open(api, database).run(&format!("CREATE TABLE rows (key VARCHAR PRIMARY KEY{fields})"));
        Self { api, database, conflicts: AtomicU64::new(0) }
    }

    fn load(&self, rows: &mut dyn Iterator<Item = (String, Row)>) {
        let connection = Connection::open(self.api, self.database);
        let mut rows = rows.peekable();
        while rows.peek().is_some() {
            connection.append("rows", rows.by_ref().take(LOAD_ROWS));
        }
        connection.run("CHECKPOINT");
    }

    fn client(&self) -> DuckClient<'_> {
        let connection = Connection::open(self.api, self.database);
        let update = |place| connection.prepare(&format!("UPDATE rows SET field{place} = ? WHERE key = ?"));
        DuckClient {
            engine: self,
            read: connection.prepare("SELECT * FROM rows WHERE key = ?"),
            updates: (0..FIELDS).map(update).collect(),
            insert: connection.prepare(&format!("INSERT INTO rows VALUES (?{})", ", ?".repeat(FIELDS))),
            scan: connection.prepare("SELECT * FROM rows WHERE key >= ? ORDER BY key LIMIT ?"),
            _connection: connection,
        }
    }

    fn note(&self) -> Option<String> {
        // SAFETY: the version ends with a zero.
        let version = unsafe { message((self.api.duckdb_library_version)()) };
        let conflicts = self.conflicts.load(Ordering::Relaxed);
        Some(format!(
            "DuckDB: {version}, through its C interface in the benchmark's process; {conflicts} commits were repeated after a conflict with another client"
        ))
    }
}

impl Drop for DuckDb {
    fn drop(&mut self) {
        // SAFETY: nothing uses the database any more.
        unsafe { (self.api.duckdb_close)(&mut self.database) };
    }
}

pub struct DuckClient<'e> {
    engine: &'e DuckDb,
    read: Statement,
    updates: Vec<Statement>,
    insert: Statement,
    scan: Statement,
    _connection: Connection,
}

impl DuckClient<'_> {
    /// Changes one row.
    fn change(&self, statement: &Statement, parameters: &[Parameter<'_>]) {
        let mut rows = 0;
        while let Err(message) = statement.execute(parameters, |chunk| rows += chunk.numbers(0).iter().sum::<i64>()) {
            assert!(message.to_lowercase().contains("conflict"), "DuckDB: {message}");
            self.engine.conflicts.fetch_add(1, Ordering::Relaxed);
            std::thread::yield_now();
        }
        assert_eq!(rows, 1, "DuckDB changes one row");
    }
}

impl Client for DuckClient<'_> {
    fn read(&mut self, key: &str, row: &mut Vec<u8>) {
        row.clear();
        let append = |chunk: &connection::Chunk| {
            for text in (1..=FIELDS).flat_map(|place| chunk.texts(place)) {
                row.extend_from_slice(text.bytes());
            }
        };
        self.read.execute(&[Parameter::Text(key.as_bytes())], append).expect("DuckDB reads");
    }

    fn update(&mut self, key: &str, field: usize, value: &[u8]) {
        self.change(&self.updates[field], &[Parameter::Text(value), Parameter::Text(key.as_bytes())]);
    }

    fn insert(&mut self, key: &str, row: &Row) {
        let fields = row.iter().map(|field| Parameter::Text(field));
        let parameters: Vec<_> = std::iter::once(Parameter::Text(key.as_bytes())).chain(fields).collect();
        self.change(&self.insert, &parameters);
    }

    fn scan(&mut self, key: &str, count: usize) -> usize {
        let mut rows = 0;
        let parameters = [Parameter::Text(key.as_bytes()), Parameter::Number(count as i64)];
        let visit = |chunk: &connection::Chunk| {
            for place in 1..=FIELDS {
                std::hint::black_box(chunk.texts(place).iter().map(|text| text.bytes().len()).sum::<usize>());
            }
            rows += chunk.len();
        };
        self.scan.execute(&parameters, visit).expect("DuckDB scans");
        rows
    }
}
