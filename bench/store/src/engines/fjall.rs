//! fjall, with a cache that fits all blocks: with the default of 32 MiB it takes a millisecond to find one of 20
//! million keys.

use std::path::Path;

use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode, Readable, Snapshot};

use super::CACHE_BYTES;
use crate::engine::{Batch, Engine, Mode, Reader, value};

pub struct Fjall {
    database: Database,
    entries: Keyspace,
    mode: Mode,
}

impl Fjall {
    fn durability(&self) -> PersistMode {
        match self.mode {
            // Without a mode a batch stays in the process, and is lost if it is killed.
            Mode::NoSync => PersistMode::Buffer,
            Mode::Durable => PersistMode::SyncData,
        }
    }
}

impl Engine for Fjall {
    type Reader<'a> = FjallReader<'a>;

    const NAME: &'static str = "fjall";

    fn open(folder: &Path, mode: Mode) -> Self {
        let database = Database::builder(folder).cache_size(CACHE_BYTES as u64).open().expect("fjall opens");
        let entries = database.keyspace("entries", KeyspaceCreateOptions::default).expect("fjall has a keyspace");
        Self { database, entries, mode }
    }

    fn commit(&self, batch: &Batch) {
        let mut transaction = self.database.batch().durability(Some(self.durability()));
        for (key, value) in batch.entries() {
            transaction.insert(&self.entries, key, value);
        }
        transaction.commit().expect("fjall commits");
    }

    fn remove_range(&self, from: &[u8], to: &[u8]) {
        let snapshot = self.database.snapshot();
        let mut transaction = self.database.batch().durability(Some(self.durability()));
        for entry in snapshot.range::<&[u8], _>(&self.entries, from..to) {
            transaction.remove(&self.entries, entry.key().expect("fjall iterates"));
        }
        transaction.commit().expect("fjall commits");
    }

    fn read<T>(&self, work: impl FnOnce(&FjallReader<'_>) -> T) -> T {
        work(&FjallReader { entries: &self.entries, snapshot: self.database.snapshot() })
    }

    fn close(self) {
        self.database.persist(PersistMode::SyncAll).expect("fjall syncs");
    }
}

pub struct FjallReader<'a> {
    entries: &'a Keyspace,
    snapshot: Snapshot,
}

impl Reader for FjallReader<'_> {
    fn get(&self, key: &[u8]) -> Option<u64> {
        self.snapshot.get(self.entries, key).expect("fjall gets").map(|bytes| value(&bytes))
    }

    fn lower_bound(&self, key: &[u8]) -> Option<u64> {
        let first = self.snapshot.range::<&[u8], _>(self.entries, key..).next();
        first.map(|entry| value(&entry.value().expect("fjall iterates")))
    }

    fn scan(&self, mut visit: impl FnMut(&[u8], &[u8])) {
        for entry in self.snapshot.iter(self.entries) {
            let (key, value) = entry.into_inner().expect("fjall iterates");
            visit(&key, &value);
        }
    }

    fn count(&self, from: &[u8], to: &[u8]) -> u64 {
        let keys = self.snapshot.range::<&[u8], _>(self.entries, from..to);
        // Every key is fetched, which may fail.
        keys.fold(0, |count, entry| {
            entry.key().expect("fjall iterates");
            count + 1
        })
    }
}
