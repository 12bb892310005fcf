//! Damage in the store of a table is found and repaired.

use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use lath_table::{ChangeRetention, Error, Problem, Table, TableOptions};
use xxhash_rust::xxh3::xxh3_64;

fn batch(ids: impl Iterator<Item = i64> + Clone) -> RecordBatch {
    let values: ArrayRef = Arc::new(Int64Array::from_iter_values(ids.clone().map(|id| id * 2)));
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(ids));
    RecordBatch::try_from_iter([("id", ids), ("value", values)]).unwrap()
}

fn options() -> TableOptions {
    TableOptions::new().background(false)
}

/// A table with 4,999 rows in a file, one of which is masked, and 20 hot ones.
fn make(folder: &Path) {
    let table = Table::create(folder, &batch(0..0).schema(), &["id"], options()).unwrap();
    table.keep_changes(ChangeRetention::new()).unwrap();
    table.create_index("by value", &["value"], true).unwrap();
    table.upsert(&batch(0..5000)).unwrap();
    table.flush().unwrap();
    table.delete([17]).unwrap();
    table.flush().unwrap();
    table.upsert(&batch(10_000..10_020)).unwrap();
}

fn ids(table: &Table) -> Vec<i64> {
    let batches = table.range::<i64>(..).unwrap().build().unwrap().map(Result::unwrap);
    batches.flat_map(|batch| batch.column(0).as_primitive::<Int64Type>().values().to_vec()).collect()
}

/// Changes the table's store directly.
fn damage(folder: &Path, change: impl FnOnce(&mut lath_store::Transaction)) {
    let store = lath_store::Options::new().create(false).open(folder.join("_table.lath")).unwrap();
    let mut transaction = store.begin().unwrap();
    change(&mut transaction);
    transaction.commit().unwrap();
}

/// The first key and value of a tree.
fn first(transaction: &mut lath_store::Transaction, tree: &str) -> (Vec<u8>, Vec<u8>) {
    let mut tree = transaction.existing_tree(tree).unwrap().unwrap();
    let tree = tree.as_tree().unwrap();
    let (key, value) = tree.iter().next().unwrap().unwrap();
    (key, value.to_vec())
}

fn repair_finds(folder: &Path, is_it: impl Fn(&Problem) -> bool) -> Table {
    let table = Table::open(folder, options()).unwrap();
    let repaired = table.repair().unwrap();
    assert!(repaired.found.iter().any(is_it), "{repaired:?}");
    assert!(repaired.now.is_intact(), "{repaired:?}");
    assert_eq!(table.repair().unwrap().found, []);
    table
}

fn all_ids() -> Vec<i64> {
    (0..5000).filter(|id| *id != 17).chain(10_000..10_020).collect()
}

#[test]
fn repair_rebuilds_index_entries() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path());
    damage(folder.path(), |transaction| {
        let (key, value) = first(transaction, "table/index/1");
        let mut tree = transaction.tree("table/index/1").unwrap();
        tree.remove(&key).unwrap();
        tree.put(&[&key[..], b"x"].concat(), &value).unwrap();
    });
    let table = repair_finds(folder.path(), |problem| matches!(problem, Problem::Index { name } if name == "by value"));
    assert_eq!(table.snapshot().unwrap().get_by_index("by value", 0).unwrap().num_rows(), 1);
    assert_eq!(ids(&table), all_ids());
}

#[test]
fn file_facts_are_read_from_the_file() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path());
    damage(folder.path(), |transaction| {
        let (key, mut entry) = first(transaction, "table/files");
        transaction.tree("table/fences").unwrap().remove(&key).unwrap();
        // The number of masked rows follows the name, the schema, the level, the rows and the length; the last key
        // precedes the number of columns of another order, which precedes whether there are checksums.
        let masked = 4 + u32::from_le_bytes(entry[..4].try_into().unwrap()) as usize + 4 + 4 + 8 + 8;
        entry[masked] = 9;
        let end = entry.len() - 4;
        entry[end - 9] ^= 1;
        let checksum = (xxh3_64(&entry[..end]) as u32).to_le_bytes();
        entry[end..].copy_from_slice(&checksum);
        transaction.tree("table/files").unwrap().put(&key, &entry).unwrap();
    });
    let table = repair_finds(folder.path(), |problem| matches!(problem, Problem::File { .. }));
    assert_eq!(ids(&table), all_ids());
    assert_eq!(table.get_many([16, 17, 4999]).unwrap().places(), [Some(0), None, Some(1)]);
}

#[test]
fn the_later_of_a_hot_row_and_its_deletion_stays() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path());
    damage(folder.path(), |transaction| {
        let (key, value) = first(transaction, "table/hot");
        let stamp = u64::from_le_bytes(value[..8].try_into().unwrap());
        let mut hot = transaction.tree("table/hot").unwrap();
        let second = hot.as_tree().unwrap().iter().nth(1).unwrap().unwrap().0;
        let mut tombstones = transaction.tree("table/tombstones").unwrap();
        tombstones.put(&key, &(stamp - 1).to_le_bytes()).unwrap();
        tombstones.put(&second, &(stamp + 1).to_le_bytes()).unwrap();
    });
    let table = repair_finds(folder.path(), |problem| matches!(problem, Problem::Rows { .. }));
    assert_eq!(ids(&table), all_ids().into_iter().filter(|id| *id != 10_001).collect::<Vec<_>>());
}

#[test]
fn unreadable_changes_restart_the_history() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path());
    damage(folder.path(), |transaction| {
        let (key, mut value) = first(transaction, "table/changes");
        value[20] ^= 1;
        transaction.tree("table/changes").unwrap().put(&key, &value).unwrap();
    });
    let table = repair_finds(folder.path(), |problem| matches!(problem, Problem::Changes { .. }));
    let since = table.snapshot().unwrap().version();
    assert!(matches!(table.snapshot().unwrap().changes(since - 1), Err(Error::NoChanges { kept_since: Some(_), .. })));
    table.upsert(&batch(7..9)).unwrap();
    let changes = table.snapshot().unwrap().changes(since).unwrap();
    assert_eq!(changes.map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 2);
}

#[test]
fn unrepairable_problems_stay_in_the_report() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path());
    let names = || std::fs::read_dir(folder.path().join("_data")).unwrap().map(|entry| entry.unwrap().path());
    let file = names().find(|path| path.extension().is_some_and(|end| end == "pq")).unwrap();
    let table = Table::open(folder.path(), options()).unwrap();
    std::fs::write(folder.path().join("0000009999-0123456789abcdef.parquet"), b"left").unwrap();
    std::fs::remove_file(file).unwrap();
    let repaired = table.repair().unwrap();
    assert!(repaired.found.iter().any(|problem| matches!(problem, Problem::Orphan { .. })), "{repaired:?}");
    assert!(matches!(&repaired.now.problems[..], [Problem::File { .. }]), "{repaired:?}");
    // The remaining rows are found.
    assert_eq!(table.get(10_003).unwrap().unwrap().num_rows(), 1);
    drop(table);
    let beside = Table::open_read_only(folder.path(), options()).unwrap();
    assert!(matches!(beside.repair(), Err(Error::Store { .. })));
}
