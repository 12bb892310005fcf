//! Files of a table that were replaced or changed: gets and lookups detect them, like scans.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use lath_parquet::ParquetFile;
use lath_table::{Table, TableOptions};

use crate::damage::copy_folder;
use crate::old_format::make_old;

const ROWS: i64 = 4000;

fn options() -> TableOptions {
    TableOptions::new().background(false)
}

fn batch(first: i64) -> RecordBatch {
    let ids = first..first + ROWS;
    let columns: [(&str, ArrayRef); 2] = [
        ("id", Arc::new(Int64Array::from_iter_values(ids.clone()))),
        ("code", Arc::new(StringArray::from_iter_values(ids.map(|id| format!("code {id}"))))),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

/// Builds a table with two files of 4,000 rows each, and returns the paths of the files.
fn build(folder: &Path) -> Vec<PathBuf> {
    let table = Table::create(folder, &batch(0).schema(), &["id"], options()).unwrap();
    for first in [0, 10_000] {
        table.upsert(&batch(first)).unwrap();
        table.flush().unwrap();
    }
    drop(table);
    files(folder)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(folder.join("_data")).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = paths.filter(|path| path.extension().is_some_and(|name| name == "pq")).collect();
    files.sort();
    files
}

/// Checks that all gets return correct rows or errors, and counts the errors.
fn count_errors(folder: &Path, what: &str) -> usize {
    let table = Table::open_read_only(folder, options()).unwrap();
    let snapshot = table.snapshot().unwrap();
    let mut errors = 0;
    for id in (0..ROWS).step_by(97) {
        match snapshot.get(id) {
            Ok(Some(row)) => {
                let code = arrow_cast::display::array_value_to_string(row.column(1), 0).unwrap();
                assert_eq!(code, format!("code {id}"), "{what}");
            }
            Ok(None) => panic!("{what}: {id} is absent"),
            Err(_) => errors += 1,
        }
    }
    errors
}

#[test]
fn get_of_any_damaged_byte_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let paths = build(folder.path());
    let whole = fs::read(&paths[0]).unwrap();
    assert_eq!(count_errors(folder.path(), "intact"), 0);
    let step = whole.len() / 60;
    for at in (0..whole.len()).step_by(step) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        // In another folder, because data read of a file is cached by its path.
        let copy = tempfile::tempdir().unwrap();
        copy_folder(folder.path(), copy.path());
        fs::write(copy.path().join("_data").join(paths[0].file_name().unwrap()), &bytes).unwrap();
        assert!(count_errors(copy.path(), &format!("byte {at}")) > 0, "byte {at}");
    }
}

#[test]
fn another_file_in_the_place_of_one_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let paths = build(folder.path());
    fs::copy(&paths[1], &paths[0]).unwrap();
    assert!(count_errors(folder.path(), "swapped") > 0);
    let scan = Table::open_read_only(folder.path(), options()).unwrap().scan().unwrap().build();
    assert!(scan.is_err() || scan.is_ok_and(|mut batches| batches.any(|batch| batch.is_err())));
}

#[test]
fn a_file_of_another_length_is_an_error_of_gets_and_counts_of_ranges() {
    let folder = tempfile::tempdir().unwrap();
    let paths = build(folder.path());
    let mut bytes = fs::read(&paths[0]).unwrap();
    bytes.extend_from_slice(b"more");
    fs::write(&paths[0], bytes).unwrap();
    let table = Table::open_read_only(folder.path(), options()).unwrap();
    let error = table.snapshot().unwrap().get(5).unwrap_err();
    assert!(error.to_string().contains("expected a file of"), "{error}");
    assert!(table.range(7..99).unwrap().count().is_err());
}

#[test]
fn files_are_plain_parquet_and_checksums_cost_little() {
    let folder = tempfile::tempdir().unwrap();
    let paths = build(folder.path());
    for path in paths {
        assert_eq!(ParquetFile::open(&path).unwrap().row_count(), ROWS as u64);
    }
}

/// Sets 1,024 bytes of the first Bloom filter of a file to zero, so that it reports keys as absent.
fn empty_bloom_filter(path: &Path) {
    const REST_OF_HEADER: &[u8] = b"\x1c\x1c\0\0\x1c\x1c\0\0\x1c\x1c\0\0\0";
    let mut bytes = fs::read(path).unwrap();
    let header = bytes.windows(REST_OF_HEADER.len()).position(|found| found == REST_OF_HEADER).unwrap();
    bytes[header + REST_OF_HEADER.len()..][..1024].fill(0);
    fs::write(path, bytes).unwrap();
}

/// A closed table with a damaged Bloom filter, before 500 of its rows are replaced.
fn with_damaged_filter(folder: &Path, is_old: bool) -> Table {
    let paths = build(folder);
    if is_old {
        make_old(folder, false);
    }
    empty_bloom_filter(&paths[0]);
    let table = Table::open(folder, options()).unwrap();
    table.upsert(&batch(1000).slice(0, 500)).unwrap();
    table
}

#[test]
fn a_damaged_bloom_filter_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let table = with_damaged_filter(folder.path(), false);
    let error = table.count().unwrap_err();
    assert!(error.to_string().contains("have changed since they were written"), "{error}");
    let found = table.scan().unwrap().filter("id = 1").unwrap().build();
    assert!(found.is_err() || found.is_ok_and(|mut batches| batches.any(|batch| batch.is_err())));
    assert!(table.snapshot().unwrap().get(1).is_err());
    assert!(!table.check().unwrap().is_intact());
}

#[test]
fn bloom_filters_of_files_without_checksums_hide_no_rows() {
    let folder = tempfile::tempdir().unwrap();
    let table = with_damaged_filter(folder.path(), true);
    assert_eq!(table.count().unwrap(), 2 * ROWS as u64);
    assert_eq!(table.range(900..1100).unwrap().count().unwrap(), 200);
    for id in [1, 999, 1000, 1001, 1499, 1500] {
        let rows = table.scan().unwrap().filter(&format!("id = {id}")).unwrap().build().unwrap();
        assert_eq!(rows.map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 1, "{id}");
        assert!(table.snapshot().unwrap().get(id).unwrap().is_some(), "{id}");
    }
    let all = table.scan().unwrap().build().unwrap().map(|batch| batch.unwrap().num_rows());
    assert_eq!(all.sum::<usize>(), 2 * ROWS as usize);
    // A repair rewrites the files with checksums.
    let repaired = table.repair().unwrap();
    assert!(repaired.found.is_empty() && repaired.now.is_intact(), "{repaired:?}");
    assert_eq!(table.count().unwrap(), 2 * ROWS as u64);
    table.vacuum().unwrap();
    drop(table);
    for path in files(folder.path()) {
        let mut bytes = fs::read(&path).unwrap();
        let at = bytes.len() / 2;
        bytes[at] ^= 1;
        fs::write(&path, bytes).unwrap();
    }
    assert!(count_errors(folder.path(), "damaged after a repair") > 0);
}

#[test]
fn a_count_that_differs_from_the_entries_of_an_index_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    build(folder.path());
    let table = Table::open(folder.path(), options()).unwrap();
    table.create_index("by code", &["code"], false).unwrap();
    assert_eq!(table.count().unwrap(), 2 * ROWS as u64);
    drop(table);
    let store = lath_store::Store::open(folder.path().join("_table.lath")).unwrap();
    let mut transaction = store.begin().unwrap();
    let first = transaction.tree("table/index/1").unwrap().as_tree().unwrap().first().unwrap().unwrap().0;
    transaction.tree("table/index/1").unwrap().remove(&first).unwrap();
    transaction.commit().unwrap();
    drop(store);
    let table = Table::open_read_only(folder.path(), options()).unwrap();
    let error = table.count().unwrap_err();
    assert!(error.to_string().contains("7999 entries"), "{error}");
    assert!(!table.check().unwrap().is_intact());
    assert_eq!(table.scan().unwrap().build().unwrap().map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 8000);
}
