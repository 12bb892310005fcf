//! Lath's ordered store.

use std::path::Path;

use lath_store::{Durability, Options, Store};

use crate::engine::{Client, Engine, Row, joined, with_field};

const TREE: &str = "rows";
/// Rows of a commit of the load.
const LOAD_ROWS: usize = 10_000;

pub struct LathStore {
    store: Store,
    durability: Durability,
}

impl Engine for LathStore {
    type Client<'e> = &'e Self;

    fn open(folder: &Path, is_synced: bool) -> Self {
        let durability = if is_synced { Durability::Sync } else { Durability::Deferred };
        Self { store: Options::new().open(folder.join("store")).expect("Lath opens"), durability }
    }

    fn load(&self, rows: &mut dyn Iterator<Item = (String, Row)>) {
        let mut rows = rows.peekable();
        while rows.peek().is_some() {
            let mut transaction = self.store.begin().expect("Lath begins");
            let mut tree = transaction.tree(TREE).expect("Lath has a tree");
            for (key, row) in rows.by_ref().take(LOAD_ROWS) {
                tree.put(key.as_bytes(), &joined(&row)).expect("Lath puts");
            }
            transaction.commit_with(Durability::Deferred).expect("Lath commits");
        }
        self.store.checkpoint().expect("Lath syncs");
    }

    fn client(&self) -> &Self {
        self
    }
}

impl Client for &LathStore {
    fn read(&mut self, key: &str, row: &mut Vec<u8>) {
        row.clear();
        let snapshot = self.store.snapshot().expect("Lath reads");
        let tree = snapshot.tree(TREE).expect("Lath reads").expect("the tree is there");
        row.extend_from_slice(tree.get(key.as_bytes()).expect("Lath gets").unwrap_or_default());
    }

    fn update(&mut self, key: &str, field: usize, value: &[u8]) {
        let mut transaction = self.store.begin().expect("Lath begins");
        let mut tree = transaction.tree(TREE).expect("Lath has a tree");
        let row = with_field(tree.get(key.as_bytes()).expect("Lath gets").expect("the row is there"), field, value);
        tree.put(key.as_bytes(), &row).expect("Lath puts");
        transaction.commit_with(self.durability).expect("Lath commits");
    }

    fn insert(&mut self, key: &str, row: &Row) {
        let mut transaction = self.store.begin().expect("Lath begins");
        let mut tree = transaction.tree(TREE).expect("Lath has a tree");
        tree.put(key.as_bytes(), &joined(row)).expect("Lath puts");
        transaction.commit_with(self.durability).expect("Lath commits");
    }

    fn scan(&mut self, key: &str, count: usize) -> usize {
        let snapshot = self.store.snapshot().expect("Lath reads");
        let tree = snapshot.tree(TREE).expect("Lath reads").expect("the tree is there");
        let mut cursor = tree.cursor();
        let mut found = cursor.lower_bound(key.as_bytes()).expect("Lath seeks");
        let mut rows = 0;
        let mut bytes = 0;
        while found && rows < count {
            bytes += cursor.value().expect("Lath reads").map_or(0, <[u8]>::len);
            rows += 1;
            found = cursor.next().expect("Lath iterates");
        }
        std::hint::black_box(bytes);
        rows
    }
}
