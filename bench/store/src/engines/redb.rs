//! redb, with its defaults.

use std::path::Path;

use redb::{Database, Durability, ReadOnlyTable, ReadableDatabase, ReadableTable, TableDefinition};

use crate::engine::{Batch, Engine, Mode, Reader, value};

const ENTRIES: TableDefinition<&[u8], &[u8]> = TableDefinition::new("entries");

pub struct Redb {
    database: Database,
    mode: Mode,
}

impl Redb {
    fn durability(&self) -> Durability {
        match self.mode {
            // A kill loses such commits too; redb has nothing in between.
            Mode::NoSync => Durability::None,
            Mode::Durable => Durability::Immediate,
        }
    }

    fn write(&self, batch: &Batch, durability: Durability) {
        let mut transaction = self.database.begin_write().expect("redb begins");
        transaction.set_durability(durability).expect("redb takes a durability");
        {
            let mut entries = transaction.open_table(ENTRIES).expect("redb has a table");
            for (key, value) in batch.entries() {
                entries.insert(key, value).expect("redb inserts");
            }
        }
        transaction.commit().expect("redb commits");
    }
}

impl Engine for Redb {
    type Reader<'a> = ReadOnlyTable<&'static [u8], &'static [u8]>;

    const NAME: &'static str = "redb";

    fn open(folder: &Path, mode: Mode) -> Self {
        let engine = Self { database: Database::create(folder.join("redb")).expect("redb opens"), mode };
        let is_there = engine.database.begin_read().expect("redb reads").open_table(ENTRIES).is_ok();
        if !is_there {
            engine.write(&Batch::default(), Durability::Immediate);
        }
        engine
    }

    fn commit(&self, batch: &Batch) {
        self.write(batch, self.durability());
    }

    fn remove_range(&self, from: &[u8], to: &[u8]) {
        let mut transaction = self.database.begin_write().expect("redb begins");
        transaction.set_durability(self.durability()).expect("redb takes a durability");
        {
            let mut entries = transaction.open_table(ENTRIES).expect("redb has a table");
            entries.retain_in(from..to, |_, _| false).expect("redb removes");
        }
        transaction.commit().expect("redb commits");
    }

    fn read<T>(&self, work: impl FnOnce(&Self::Reader<'_>) -> T) -> T {
        work(&self.database.begin_read().expect("redb reads").open_table(ENTRIES).expect("redb has the table"))
    }

    fn close(self) {
        self.write(&Batch::default(), Durability::Immediate);
    }
}

impl Reader for ReadOnlyTable<&'static [u8], &'static [u8]> {
    fn get(&self, key: &[u8]) -> Option<u64> {
        ReadableTable::get(self, key).expect("redb gets").map(|found| value(found.value()))
    }

    fn lower_bound(&self, key: &[u8]) -> Option<u64> {
        let first = ReadableTable::range(self, key..).expect("redb iterates").next();
        first.map(|entry| value(entry.expect("redb iterates").1.value()))
    }

    fn scan(&self, mut visit: impl FnMut(&[u8], &[u8])) {
        for entry in self.iter().expect("redb iterates") {
            let (key, value) = entry.expect("redb iterates");
            visit(key.value(), value.value());
        }
    }

    fn count(&self, from: &[u8], to: &[u8]) -> u64 {
        ReadableTable::range(self, from..to).expect("redb iterates").count() as u64
    }
}
