//! Large batches become files directly.

use std::collections::BTreeMap;
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use lath_table::{Database, Durability, Error, Table, TableOptions, Transaction};
use lath_testkit::Seeded;

use crate::rows::id_values as batch;

fn options() -> TableOptions {
    TableOptions::new().background(false).durability(Durability::Off).bulk_rows(100).merge_files(2)
}

fn table(folder: &Path) -> Table {
    Table::create(folder, &batch([]).schema(), &["id"], options()).unwrap()
}

fn file_count(folder: &Path) -> usize {
    let names = std::fs::read_dir(folder.join("_data")).into_iter().flatten().map(|entry| entry.unwrap().file_name());
    names.filter(|name| name.to_str().unwrap().contains(".pq")).count()
}

fn single_value(row: Option<RecordBatch>) -> Option<i64> {
    row.map(|row| row.column(1).as_primitive::<Int64Type>().value(0))
}

fn read_rows(table: &Table) -> BTreeMap<i64, i64> {
    let mut rows = BTreeMap::new();
    for batch in table.scan().unwrap().build().unwrap() {
        let batch = batch.unwrap();
        let column = |at: usize| batch.column(at).as_primitive::<Int64Type>().values().to_vec();
        for (id, value) in column(0).into_iter().zip(column(1)) {
            assert!(rows.insert(id, value).is_none(), "{id} twice");
        }
    }
    assert_eq!(table.count().unwrap(), rows.len() as u64);
    let report = table.check().unwrap();
    assert!(report.is_intact() && report.rows == rows.len() as u64, "{report:?}");
    rows
}

#[test]
fn a_large_batch_becomes_a_file_and_a_small_one_is_hot() {
    let folder = tempfile::tempdir().unwrap();
    let table = table(folder.path());
    table.upsert(&batch((0..99).map(|id| (id, 1)))).unwrap();
    let statistics = table.snapshot().unwrap().statistics().unwrap();
    assert_eq!((statistics.hot_rows, statistics.files.len()), (99, 0));
    table.delete([98]).unwrap();
    // It replaces hot rows, and then rows of a file.
    table.upsert(&batch((50..150).map(|id| (id, 2)))).unwrap();
    let statistics = table.snapshot().unwrap().statistics().unwrap();
    assert_eq!((statistics.hot_rows, statistics.files.len(), statistics.files[0].rows), (50, 1, 100));
    table.delete([100]).unwrap();
    table.upsert(&batch((100..200).rev().map(|id| (id, 3)))).unwrap();
    let statistics = table.snapshot().unwrap().statistics().unwrap();
    assert_eq!((statistics.deleted_keys, statistics.files.len(), statistics.files[0].masked_rows), (0, 2, 50));
    let value = |id: i64| {
        if id < 50 {
            1
        } else if id < 100 {
            2
        } else {
            3
        }
    };
    assert!(read_rows(&table).into_iter().eq((0..200).map(|id| (id, value(id)))));
    // Files without rows are removed by the next merge.
    table.upsert(&batch((0..200).map(|id| (id, 4)))).unwrap();
    assert_eq!(table.snapshot().unwrap().statistics().unwrap().files.len(), 3);
    table.compact().unwrap();
    assert_eq!((table.vacuum().unwrap(), file_count(folder.path())), (2, 1));
    assert!(read_rows(&table).into_values().all(|value| value == 4));
}

#[test]
fn batches_of_a_transaction_become_one_file_and_the_last_row_of_a_key_stays() {
    let folder = tempfile::tempdir().unwrap();
    let table = table(folder.path());
    let mut transaction = table.begin().unwrap();
    for round in 0..10 {
        transaction.upsert(&batch((0..30).map(|id| (id * 7 % 30 + round * 10, round)))).unwrap();
    }
    transaction.commit().unwrap();
    let statistics = table.snapshot().unwrap().statistics().unwrap();
    assert_eq!((statistics.hot_rows, statistics.files.len(), statistics.files[0].rows), (0, 1, 120));
    assert!(read_rows(&table).into_iter().eq((0..120).map(|id| (id, (id / 10).min(9)))));
}

#[test]
fn a_transaction_reads_what_it_has_put() {
    let folder = tempfile::tempdir().unwrap();
    let table = table(folder.path());
    let mut transaction = table.begin().unwrap();
    let mut model = BTreeMap::new();
    let mut random = Seeded::new("a transaction reads what it has put");
    for round in 0..40 {
        for _ in 0..random.usize(1..4) {
            let rows: Vec<_> = (0..random.usize(1..200)).map(|_| (random.i64(0..500), round)).collect();
            transaction.upsert(&batch(rows.clone())).unwrap();
            model.extend(rows);
        }
        let id = random.i64(0..500);
        match random.u8(..5) {
            0 => assert_eq!(transaction.count().unwrap(), model.len() as u64),
            1 => assert_eq!(single_value(transaction.get(id).unwrap()), model.get(&id).copied()),
            2 => {
                transaction.delete([id]).unwrap();
                model.remove(&id);
            }
            3 => {
                let batches = transaction.scan().build().unwrap();
                assert_eq!(batches.map(|batch| batch.unwrap().num_rows()).sum::<usize>(), model.len());
            }
            _ => {
                let found = transaction.get_many([id, id + 1]).unwrap();
                assert_eq!(found.places()[0].is_some(), model.contains_key(&id));
            }
        }
    }
    transaction.commit().unwrap();
    assert!(read_rows(&table) == model);
    while table.compact().unwrap().merges > 0 {}
    assert!(read_rows(&table) == model);
}

#[test]
fn files_of_dropped_transaction_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    let table = table(folder.path());
    table.upsert(&batch((0..100).map(|id| (id, 1)))).unwrap();
    let mut transaction = table.begin().unwrap();
    transaction.upsert(&batch((50..250).map(|id| (id, 2)))).unwrap();
    // Reading writes the file.
    assert_eq!((transaction.count().unwrap(), file_count(folder.path())), (250, 2));
    drop(transaction);
    assert_eq!((table.vacuum().unwrap(), file_count(folder.path())), (0, 1));
    assert!(read_rows(&table).into_iter().eq((0..100).map(|id| (id, 1))));
}

#[test]
fn an_error_of_one_change_keeps_those_before_it() {
    let folder = tempfile::tempdir().unwrap();
    let table = table(folder.path());
    table.upsert(&batch((0..10).map(|id| (id, 1)))).unwrap();
    let mut transaction = table.begin().unwrap();
    transaction.upsert(&batch((100..300).map(|id| (id, 2)))).unwrap();
    let twice = transaction.insert(&batch((250..450).map(|id| (id, 3)))).unwrap_err();
    assert!(matches!(twice, Error::DuplicateKey { row: 0, .. }), "{twice}");
    transaction.insert(&batch((300..500).map(|id| (id, 3)))).unwrap();
    transaction.commit().unwrap();
    let value = |id: i64| {
        if id < 10 {
            1
        } else if id < 300 {
            2
        } else {
            3
        }
    };
    assert!(read_rows(&table).into_iter().eq((0..10).chain(100..500).map(|id| (id, value(id)))));
}

#[test]
fn a_transaction_outlives_the_handle_of_its_table() {
    let folder = tempfile::tempdir().unwrap();
    let table = Table::create(folder.path(), &batch([]).schema(), &["id"], options().background(true)).unwrap();
    let mut transaction = table.begin().unwrap();
    drop(table);
    transaction.upsert(&batch((0..500).map(|id| (id, 1)))).unwrap();
    transaction.commit().unwrap();
    assert_eq!(read_rows(&Table::open(folder.path(), options()).unwrap()).len(), 500);
}

#[test]
fn tables_of_a_database_get_files_together_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::create(folder.path(), options()).unwrap();
    for name in ["a", "b"] {
        database.create_table(name, &batch([]).schema(), &["id"]).unwrap();
    }
    let put = |part: &mut Transaction, value| part.upsert(&batch((0..120).map(|id| (id, value)))).unwrap();
    for (value, is_committed) in [(1, false), (2, true), (3, false), (4, true)] {
        let mut transaction = database.begin().unwrap();
        for name in ["a", "b", "a"] {
            put(transaction.table(name).unwrap(), value);
            if value > 2 {
                assert_eq!(transaction.table(name).unwrap().count().unwrap(), 120);
            }
        }
        match is_committed {
            true => transaction.commit().unwrap(),
            false => drop(transaction),
        }
        let value = if is_committed { value } else { value - 1 };
        for name in ["a", "b"] {
            let table = database.table(name).unwrap();
            table.compact().unwrap();
            table.vacuum().unwrap();
            assert_eq!(file_count(table.folder()), usize::from(value > 0));
            assert!(read_rows(&table).values().all(|other| *other == value));
            assert_eq!(table.count().unwrap(), if value > 0 { 120 } else { 0 });
        }
    }
}

#[test]
fn rows_become_files_while_others_are_flushed_and_merged() {
    let mut random = Seeded::new("rows become files while others are flushed and merged");
    for _ in 0..4 {
        let folder = tempfile::tempdir().unwrap();
        let table = table(folder.path());
        let mut model = BTreeMap::new();
        let is_over = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            let (table, is_over) = (&table, &is_over);
            let working = scope.spawn(move || {
                let mut done = 0;
                while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                    done += table.flush().unwrap().files + table.compact().unwrap().merges + table.vacuum().unwrap();
                    let report = table.check().unwrap();
                    assert!(report.is_intact(), "{report:?}");
                }
                done
            });
            for round in 0..150 {
                // As many rows are hot.
                let count = if round % 2 == 0 { 150 } else { random.usize(1..60) };
                let start = random.i64(0..2000);
                let rows: Vec<_> = (0..count as i64).map(|at| (start + at * 3, round)).collect();
                table.upsert(&batch(rows.clone())).unwrap();
                model.extend(rows);
                let gone: Vec<i64> = (0..20).map(|_| random.i64(0..2500)).collect();
                model.retain(|id, _| !gone.contains(id));
                table.delete(gone).unwrap();
            }
            is_over.store(true, std::sync::atomic::Ordering::Relaxed);
            assert!(working.join().unwrap() > 0);
        });
        assert!(read_rows(&table) == model);
        table.flush().unwrap();
        table.compact().unwrap();
        assert!(read_rows(&table) == model);
    }
}
