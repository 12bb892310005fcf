//! Lath's ordered store.

use std::path::Path;

use lath_store::{Durability, Options, Store, Tree};

use crate::engine::{Batch, Engine, Mode, Reader, value};
use crate::keys::Key;

const TREE: &str = "entries";

pub struct Lath {
    store: Store,
    durability: Durability,
}

impl Lath {
    fn write(&self, batch: &Batch) {
        let mut transaction = self.store.begin().expect("Lath begins");
        let mut entries = transaction.tree(TREE).expect("Lath has a tree");
        for (key, value) in batch.entries() {
            entries.put(key, value).expect("Lath puts");
        }
        transaction.commit_with(self.durability).expect("Lath commits");
    }
}

impl Engine for Lath {
    type Reader<'a> = Tree<'a>;

    const NAME: &'static str = "Lath";

    fn open(folder: &Path, mode: Mode) -> Self {
        let store = Options::new().open(folder.join("lath")).expect("Lath opens");
        // Like with the peers, commits survive a kill, and unsynced ones are lost with the power.
        let durability = match mode {
            Mode::NoSync => Durability::Deferred,
            Mode::Durable => Durability::Sync,
        };
        let engine = Self { store, durability };
        if engine.store.snapshot().expect("Lath reads").tree(TREE).expect("Lath reads").is_none() {
            engine.write(&Batch::default());
        }
        engine
    }

    fn commit(&self, batch: &Batch) {
        self.write(batch);
    }

    fn remove_range(&self, from: &[u8], to: &[u8]) {
        let mut transaction = self.store.begin().expect("Lath begins");
        let mut entries = transaction.tree(TREE).expect("Lath has a tree");
        entries.remove_range(from, Some(to)).expect("Lath removes");
        transaction.commit_with(self.durability).expect("Lath commits");
    }

    fn read<T>(&self, work: impl FnOnce(&Tree<'_>) -> T) -> T {
        let snapshot = self.store.snapshot().expect("Lath reads");
        work(&snapshot.tree(TREE).expect("Lath reads").expect("the tree is there"))
    }

    fn close(self) {
        self.store.checkpoint().expect("Lath syncs");
    }
}

impl Reader for Tree<'_> {
    fn get(&self, key: &[u8]) -> Option<u64> {
        Tree::get(self, key).expect("Lath gets").map(value)
    }

    fn get_many(&self, keys: &[Key], values: &mut Vec<Option<u64>>) {
        let found = Tree::get_many(self, keys).expect("Lath gets");
        values.extend(found.into_iter().map(|bytes| bytes.map(value)));
    }

    fn lower_bound(&self, key: &[u8]) -> Option<u64> {
        let mut cursor = self.cursor();
        cursor.lower_bound(key).expect("Lath seeks");
        cursor.value().expect("Lath reads").map(value)
    }

    fn scan(&self, mut visit: impl FnMut(&[u8], &[u8])) {
        let mut cursor = self.cursor();
        while cursor.next().expect("Lath iterates") {
            let value = cursor.value().expect("Lath reads");
            if let (Some(key), Some(value)) = (cursor.key(), value) {
                visit(key, value);
            }
        }
    }

    fn count(&self, from: &[u8], to: &[u8]) -> u64 {
        Tree::count(self, from..to).expect("Lath counts")
    }
}
