//! LMDB through heed: a writable map without syncs, or its plain write calls for durable commits.

use std::ops::Bound;
use std::path::Path;

use heed::types::Bytes;
use heed::{CommitOrAbort, Database, Env, EnvFlags, EnvOpenOptions, RoTxn, WithTls};

use crate::engine::{Batch, Engine, Mode, Reader, value};

/// The map is sparse: unwritten parts take no space.
const MAP_BYTES: usize = 1 << 37;

pub struct Lmdb {
    env: Env,
    entries: Database<'static, Bytes, Bytes>,
}

impl Engine for Lmdb {
    type Reader<'a> = LmdbReader<'a>;

    const NAME: &'static str = "LMDB";

    fn open(folder: &Path, mode: Mode) -> Self {
        let mut options = EnvOpenOptions::new();
        options.map_size(MAP_BYTES).max_readers(64);
        if mode == Mode::NoSync {
            // SAFETY: a store left by a crash of the machine is never opened.
            unsafe { options.flags(EnvFlags::WRITE_MAP | EnvFlags::NO_SYNC) };
        }
        // SAFETY: the folder belongs to this run: no other program changes the file.
        let env = unsafe { options.open(folder) }.expect("LMDB opens");
        let transaction = env.write_txn().expect("LMDB begins");
        let created = env.create_databases_and_commit(transaction, |opener, transaction| {
            let entries = opener.create_database(transaction, None)?;
            Ok::<_, heed::Error>(CommitOrAbort::<_, ()>::Commit(entries))
        });
        let entries = created.expect("LMDB commits").unwrap_commit();
        Self { env, entries }
    }

    fn commit(&self, batch: &Batch) {
        let mut transaction = self.env.write_txn().expect("LMDB begins");
        for (key, value) in batch.entries() {
            self.entries.put(&mut transaction, key, value).expect("LMDB puts");
        }
        transaction.commit().expect("LMDB commits");
    }

    fn remove_range(&self, from: &[u8], to: &[u8]) {
        let mut transaction = self.env.write_txn().expect("LMDB begins");
        let range = (Bound::Included(from), Bound::Excluded(to));
        self.entries.delete_range(&mut transaction, &range).expect("LMDB removes");
        transaction.commit().expect("LMDB commits");
    }

    fn read<T>(&self, work: impl FnOnce(&LmdbReader<'_>) -> T) -> T {
        work(&LmdbReader { entries: self.entries, transaction: self.env.read_txn().expect("LMDB reads") })
    }

    fn close(self) {
        self.env.force_sync().expect("LMDB syncs");
        self.env.prepare_for_closing().wait();
    }
}

pub struct LmdbReader<'a> {
    entries: Database<'static, Bytes, Bytes>,
    transaction: RoTxn<'a, WithTls>,
}

impl Reader for LmdbReader<'_> {
    fn get(&self, key: &[u8]) -> Option<u64> {
        self.entries.get(&self.transaction, key).expect("LMDB gets").map(value)
    }

    fn lower_bound(&self, key: &[u8]) -> Option<u64> {
        let found = self.entries.get_greater_than_or_equal_to(&self.transaction, key).expect("LMDB gets");
        found.map(|(_, bytes)| value(bytes))
    }

    fn scan(&self, mut visit: impl FnMut(&[u8], &[u8])) {
        for entry in self.entries.iter(&self.transaction).expect("LMDB iterates") {
            let (key, value) = entry.expect("LMDB iterates");
            visit(key, value);
        }
    }

    fn count(&self, from: &[u8], to: &[u8]) -> u64 {
        let range = (Bound::Included(from), Bound::Excluded(to));
        self.entries.range(&self.transaction, &range).expect("LMDB iterates").count() as u64
    }
}
