//! Float keys: both zeros are one key, and so are all NaNs.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch};
use lath_table::{Error, Table, TableOptions};

use crate::old_format::make_old;

fn batch(keys: &[f64], value: i64) -> RecordBatch {
    let columns: [(&str, ArrayRef); 3] = [
        ("key", Arc::new(Float64Array::from(keys.to_vec()))),
        ("value", Arc::new(Int64Array::from(vec![value; keys.len()]))),
        ("other", Arc::new(Float64Array::from(keys.to_vec()))),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

const OTHER_NAN: f64 = f64::from_bits(0xfff0_0000_0000_0007);

/// Keys by their bits, and values.
fn rows(table: &Table) -> Vec<(u64, i64)> {
    let mut rows = Vec::new();
    for batch in table.range::<f64>(..).unwrap().build().unwrap() {
        let batch = batch.unwrap();
        let keys = batch.column(0).as_primitive::<Float64Type>().values().iter().map(|key| key.to_bits());
        rows.extend(keys.zip(batch.column(1).as_primitive::<Int64Type>().values().iter().copied()));
    }
    rows
}

fn value(table: &Table, key: f64) -> Option<i64> {
    let row = table.snapshot().unwrap().get(key).unwrap()?;
    assert!(row.column(0).as_primitive::<Float64Type>().value(0).to_bits() != (-0.0_f64).to_bits());
    Some(row.column(1).as_primitive::<Int64Type>().value(0))
}

fn table(folder: &std::path::Path, bulk_rows: u64) -> Table {
    let options = TableOptions::new().background(false).bulk_rows(bulk_rows);
    let table = Table::create(folder, &batch(&[], 0).schema(), &["key"], options).unwrap();
    table.create_index("other", &["other"], false).unwrap();
    table
}

#[test]
fn both_zeros_and_all_nans_are_one_key_hot_and_in_files() {
    // Rows become hot, or files at once.
    for bulk_rows in [1 << 30, 1] {
        for flushes in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let table = table(folder.path(), bulk_rows);
            let flush = || {
                if flushes {
                    table.flush().map(drop).unwrap();
                }
            };
            table.upsert(&batch(&[-1.0, -0.0, 5.0, f64::NAN, -f64::INFINITY], 1)).unwrap();
            flush();
            table.upsert(&batch(&[0.0, OTHER_NAN], 2)).unwrap();
            flush();
            assert_eq!([0.0, -0.0, f64::NAN, -f64::NAN, OTHER_NAN].map(|key| value(&table, key)), [Some(2); 5]);
            let expected = [(f64::NEG_INFINITY, 1), (-1.0, 1), (0.0, 2), (5.0, 1), (f64::NAN, 2)];
            assert_eq!(rows(&table), expected.map(|(key, value)| (key.to_bits(), value)));
            assert_eq!(table.count().unwrap(), 5);
            let at_zero = table.range(-0.0..=0.0).unwrap().build().unwrap().map(|batch| batch.unwrap().num_rows());
            assert_eq!(at_zero.sum::<usize>(), 1);
            assert!(matches!(table.insert(&batch(&[-0.0], 3)), Err(Error::DuplicateKey { .. })));
            let by_index = |key: f64| table.snapshot().unwrap().get_by_index("other", key).unwrap().num_rows();
            assert_eq!([0.0, -0.0, f64::NAN, OTHER_NAN].map(by_index), [1; 4]);
            table.delete([-0.0, OTHER_NAN]).unwrap();
            flush();
            assert_eq!((table.count().unwrap(), value(&table, 0.0), value(&table, f64::NAN)), (3, None, None));
            assert!(table.check().unwrap().is_intact(), "{:?}", table.check().unwrap());
        }
    }
}

#[test]
fn the_last_of_equal_keys_of_a_batch_stays() {
    let folder = tempfile::tempdir().unwrap();
    let table = table(folder.path(), 1 << 30);
    let keys: ArrayRef = Arc::new(Float64Array::from(vec![0.0, f64::NAN, -0.0, -f64::NAN]));
    let values: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3, 4]));
    let rows = [("key", Arc::clone(&keys)), ("value", values), ("other", keys)];
    table.upsert(&RecordBatch::try_from_iter(rows).unwrap()).unwrap();
    assert_eq!((value(&table, 0.0), value(&table, f64::NAN), table.count().unwrap()), (Some(3), Some(4), 2));
}

#[test]
fn floats_that_are_no_keys_keep_their_bits() {
    let folder = tempfile::tempdir().unwrap();
    let table = table(folder.path(), 1 << 30);
    table.upsert(&batch(&[-0.0, OTHER_NAN], 1)).unwrap();
    table.flush().unwrap();
    let row = table.snapshot().unwrap().get(0.0).unwrap().unwrap();
    assert_eq!(row.column(2).as_primitive::<Float64Type>().value(0).to_bits(), (-0.0_f64).to_bits());
}

#[test]
fn an_update_by_either_zero_changes_one_row() {
    let folder = tempfile::tempdir().unwrap();
    let table = table(folder.path(), 1 << 30);
    table.upsert(&batch(&[0.0, 1.0], 1)).unwrap();
    table.flush().unwrap();
    let mut transaction = table.begin().unwrap();
    assert_eq!(transaction.update(&batch(&[-0.0], 9).project(&[0, 1]).unwrap()).unwrap().rows, 1);
    transaction.commit().unwrap();
    assert_eq!(rows(&table), [(0.0_f64.to_bits(), 9), (1.0_f64.to_bits(), 1)]);
}

/// A table that distinguishes floats by their bits, with rows in two files, a hot one and a deleted one, and a
/// snapshot.
fn by_bits(folder: &std::path::Path, bulk_rows: u64) -> Table {
    drop(table(folder, bulk_rows));
    make_old(folder, true);
    let table = Table::open(folder, TableOptions::new().background(false).bulk_rows(bulk_rows)).unwrap();
    table.keep_changes(lath_table::ChangeRetention::new()).unwrap();
    table.upsert(&batch(&[-1.0, 0.0, 5.0, OTHER_NAN, -f64::INFINITY], 1)).unwrap();
    table.flush().unwrap();
    table.upsert(&batch(&[-0.0, 7.0], 2)).unwrap();
    table.flush().unwrap();
    table.keep_snapshot("before").unwrap();
    table.upsert(&batch(&[5.0, 9.0], 3)).unwrap();
    table.delete([7.0]).unwrap();
    table
}

#[test]
fn a_repair_makes_keys_by_bits_keys_by_value() {
    for bulk_rows in [1 << 30, 1] {
        let folder = tempfile::tempdir().unwrap();
        let table = by_bits(folder.path(), bulk_rows);
        assert_eq!(table.count().unwrap(), 7);
        // Both zeros are keys: the report names them, and nothing changes.
        let repaired = table.repair().unwrap();
        let [problem] = &repaired.now.problems[..] else { panic!("{repaired:?}") };
        let text = problem.to_string();
        assert!(text.contains("key = -0.0 and key = 0.0"), "{text}");
        assert_eq!(table.count().unwrap(), 7);

        table.delete([0.0]).unwrap();
        let repaired = table.repair().unwrap();
        assert!(repaired.now.is_intact(), "{repaired:?}");
        let expected = [(f64::NEG_INFINITY, 1), (-1.0, 1), (0.0, 2), (5.0, 3), (9.0, 3), (f64::NAN, 1)];
        let expected = expected.map(|(key, value)| (key.to_bits(), value));
        assert_eq!(rows(&table), expected);
        assert_eq!(
            [0.0, -0.0, f64::NAN, OTHER_NAN, 7.0].map(|key| value(&table, key)),
            [Some(2), Some(2), Some(1), Some(1), None]
        );
        let by_index = |key: f64| table.snapshot().unwrap().get_by_index("other", key).unwrap().num_rows();
        assert_eq!([0.0, -0.0, f64::NAN, -f64::NAN, 5.0].map(by_index), [1; 5]);
        table.upsert(&batch(&[0.0, f64::NAN], 8)).unwrap();
        assert_eq!((table.count().unwrap(), value(&table, -0.0)), (6, Some(8)));
        // A second repair does nothing, and earlier snapshots are unchanged.
        assert!(table.repair().unwrap().found.is_empty());
        let before = table.snapshot().unwrap().snapshot_named("before").unwrap();
        assert_eq!(before.count().unwrap(), 7);
        drop((before, table));
        let table = Table::open_read_only(folder.path(), TableOptions::new()).unwrap();
        assert!(table.check().unwrap().is_intact(), "{:?}", table.check().unwrap());
        assert_eq!(table.count().unwrap(), 6);
    }
}
