//! Scans of some columns of hot rows: the same as scans of all columns, and in key order.

use std::sync::Arc;

use arrow_array::builder::{Int32Builder, ListBuilder};
use arrow_array::{ArrayRef, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray, StringViewArray};
use arrow_schema::{DataType, Field};
use arrow_select::concat::concat_batches;
use arrow_select::filter::filter_record_batch;
use lath_parquet::Predicate;
use lath_table::{Table, TableOptions};

const COLUMNS: [&str; 8] = ["name", "number", "town", "tags", "price", "at", "note", "added"];

/// The key is `town` and `number`; a list is between the value columns.
fn rows(numbers: std::ops::Range<i64>, has_added: bool) -> RecordBatch {
    let text = |salt: i64| move |n: i64| ((n + salt) % 5 != 2).then(|| "text ".repeat(((n ^ salt) % 13) as usize));
    let mut tags = ListBuilder::new(Int32Builder::new());
    numbers.clone().for_each(|n| tags.append_option((n % 3 > 0).then(|| (0..n as i32 % 4).map(Some))));
    let each = || numbers.clone();
    let mut columns: Vec<(&str, ArrayRef)> = vec![
        ("name", Arc::new(each().map(text(1)).collect::<StringArray>())),
        ("number", Arc::new(Int64Array::from_iter_values(each()))),
        ("town", Arc::new(StringArray::from_iter_values(each().map(|n| ["Oslo", "", "Bergen"][n as usize % 3])))),
        ("tags", Arc::new(tags.finish())),
        ("price", Arc::new(each().map(|n| (n % 7 > 0).then_some(n as f64 / 4.0)).collect::<Float64Array>())),
        ("at", Arc::new(Int32Array::from_iter_values(each().map(|n| n as i32 % 100)))),
        ("note", Arc::new(each().map(text(2)).collect::<StringViewArray>())),
    ];
    if has_added {
        columns.push(("added", Arc::new(each().map(|n| (n % 2 > 0).then_some(n)).collect::<Int64Array>())));
    }
    let is_nullable = |name| !["number", "town"].contains(&name);
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, is_nullable(name))))
        .unwrap()
}

/// This many hot rows of two schemas, without files.
fn table(folder: &std::path::Path, count: i64) -> Table {
    let first = rows(0..count, false);
    let options = TableOptions::new().background(false).bulk_rows(u64::MAX);
    let table = Table::create(folder, &first.schema(), &["town", "number"], options).unwrap();
    table.upsert(&first).unwrap();
    table.add_column(&Field::new("added", DataType::Int64, true), Some(5.into())).unwrap();
    table.upsert(&rows(count / 2..count + count / 3, true)).unwrap();
    table
}

fn read(table: &Table, columns: Option<&[&str]>, condition: Option<&str>, threads: usize) -> RecordBatch {
    let mut scan = table.scan().unwrap().threads(threads);
    if let Some(columns) = columns {
        scan = scan.select(columns.iter().copied());
    }
    if let Some(condition) = condition {
        scan = scan.filter(condition).unwrap();
    }
    let batches = scan.build().unwrap();
    let schema = batches.schema();
    let batches: Vec<RecordBatch> = batches.map(Result::unwrap).collect();
    assert!(batches.iter().all(|batch| batch.num_rows() > 0));
    concat_batches(&schema, &batches).unwrap()
}

fn project(all: &RecordBatch, columns: &[&str]) -> RecordBatch {
    let places: Vec<usize> = columns.iter().map(|name| all.schema().index_of(name).unwrap()).collect();
    all.project(&places).unwrap()
}

#[test]
fn scan_of_some_columns_equals_them_in_full_scan() {
    let folder = tempfile::tempdir().unwrap();
    let table = table(folder.path(), 3000);
    let all = read(&table, None, None, 1);
    assert_eq!(all.num_rows(), 4000);
    let mut random = fastrand::Rng::with_seed(7);
    let mut chosen: Vec<Vec<&str>> = COLUMNS.iter().map(|name| vec![*name]).collect();
    chosen.push(Vec::new());
    for _ in 0..40 {
        let count = random.usize(2..COLUMNS.len());
        chosen.push(random.choose_multiple(COLUMNS, count));
    }
    for columns in chosen {
        assert_eq!(read(&table, Some(&columns), None, 1), project(&all, &columns), "{columns:?}");
        for condition in ["at < 50 AND price > 10", "town = '' OR added IS NULL", "number >= 2000", "true"] {
            let filter = Predicate::parse(condition).unwrap().filter(&all.schema()).unwrap();
            let passing = filter_record_batch(&all, &filter.evaluate(&all).unwrap()).unwrap();
            assert!(passing.num_rows() > 0);
            let found = read(&table, Some(&columns), Some(condition), 1);
            assert_eq!(found, project(&passing, &columns), "{columns:?} where {condition}");
        }
    }
}

#[test]
fn several_threads_read_what_one_reads() {
    let folder = tempfile::tempdir().unwrap();
    // More than all threads read at a time, and not a multiple of it.
    let table = table(folder.path(), 150_000);
    let one = read(&table, Some(&["number", "town", "at", "added"]), None, 1);
    assert_eq!(one.num_rows(), 200_000);
    for threads in [0, 2, 3, usize::MAX] {
        assert_eq!(read(&table, Some(&["number", "town", "at", "added"]), None, threads), one, "{threads} threads");
        let few = read(&table, Some(&["number"]), Some("number IN (7, 50007, 100007, 150007)"), threads);
        assert_eq!(few.num_rows(), 4);
    }
    let limited: usize =
        table.scan().unwrap().limit(70_001).build().unwrap().map(|batch| batch.unwrap().num_rows()).sum();
    assert_eq!(limited, 70_001);
}
