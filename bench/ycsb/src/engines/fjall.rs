//! fjall, a log-structured merge tree, with a cache for all rows.

use std::path::Path;

use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode, Readable};
use lath_bench_record::machine::locked_version;

use crate::engine::{Client, Engine, Row, joined, with_field};

const CACHE_BYTES: u64 = 2 << 30;

pub struct Fjall {
    database: Database,
    rows: Keyspace,
    mode: PersistMode,
}

impl Fjall {
    fn put(&self, key: &str, row: &[u8], mode: PersistMode) {
        let mut batch = self.database.batch().durability(Some(mode));
        batch.insert(&self.rows, key, row);
        batch.commit().expect("fjall commits");
    }
}

impl Engine for Fjall {
    type Client<'e> = &'e Self;

    fn open(folder: &Path, is_synced: bool) -> Self {
        let database = Database::builder(folder).cache_size(CACHE_BYTES).open().expect("fjall opens");
        let rows = database.keyspace("rows", KeyspaceCreateOptions::default).expect("fjall has a keyspace");
        let mode = if is_synced { PersistMode::SyncData } else { PersistMode::Buffer };
        Self { database, rows, mode }
    }

    fn load(&self, rows: &mut dyn Iterator<Item = (String, Row)>) {
        for (key, row) in rows {
            self.put(&key, &joined(&row), PersistMode::Buffer);
        }
        self.database.persist(PersistMode::SyncAll).expect("fjall syncs");
    }

    fn client(&self) -> &Self {
        self
    }

    fn note(&self) -> Option<String> {
        Some(format!("fjall: {}", locked_version("fjall")))
    }
}

impl Client for &Fjall {
    fn read(&mut self, key: &str, row: &mut Vec<u8>) {
        row.clear();
        row.extend_from_slice(self.rows.get(key).expect("fjall gets").as_deref().unwrap_or_default());
    }

    /// Two clients may update one row at a time, of which one is lost: batches have no locks.
    fn update(&mut self, key: &str, field: usize, value: &[u8]) {
        let row = with_field(&self.rows.get(key).expect("fjall gets").expect("the row is there"), field, value);
        self.put(key, &row, self.mode);
    }

    fn insert(&mut self, key: &str, row: &Row) {
        self.put(key, &joined(row), self.mode);
    }

    fn scan(&mut self, key: &str, count: usize) -> usize {
        let snapshot = self.database.snapshot();
        let rows = snapshot.range::<&[u8], _>(&self.rows, key.as_bytes()..).take(count);
        rows.map(|row| row.value().expect("fjall iterates").len()).filter(|bytes| *bytes > 0).count()
    }
}
