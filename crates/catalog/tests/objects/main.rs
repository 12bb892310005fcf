//! Counts the requests that searches through a catalog send to a web server.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use bytes::Bytes;
use lath_catalog::{AddOptions, Catalog};
use lath_parquet::{Dataset, DatasetOptions, FooterCache, Predicate};
use lath_testkit::server::{Fault, Server};
use lath_writer::{BloomFilter, ColumnOptions, ParquetWriter, WriteOptions};

/// A file with the ids `first`, `first + step`, and so on, so that only filters distinguish files.
fn file(first: i64, step: i64, rows: i64) -> Bytes {
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values((0..rows).map(|row| first + row * step)));
    let text = (0..rows).map(|row| format!("row {} of file {first}", row.wrapping_mul(0x9e37_79b9)));
    let names: ArrayRef = Arc::new(StringArray::from_iter_values(text));
    let batch = RecordBatch::try_from_iter([("id", ids), ("name", names)]).unwrap();
    let id = ColumnOptions::new().bloom_filter(BloomFilter::FalsePositiveRate(0.001));
    let mut bytes = Vec::new();
    let options = WriteOptions::default().column("id", id);
    let mut writer = ParquetWriter::new(&mut bytes, &batch.schema(), options).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    bytes.into()
}

fn options() -> DatasetOptions {
    DatasetOptions::new().footer_cache(FooterCache::new(0))
}

fn count(catalog: &Catalog, predicate: &str) -> (usize, u64) {
    let predicate = Predicate::parse(predicate).unwrap();
    let files = catalog.select(&predicate, &options()).unwrap();
    let count = files.files().len();
    let found = files.scan().threads(files.concurrency()).build().unwrap();
    (count, found.map(|batch| batch.unwrap().num_rows() as u64).sum())
}

#[test]
fn a_key_takes_two_requests_of_each_file_that_may_have_it_and_one_for_other_columns() {
    let file_count: i64 = if std::env::var_os("LATH_FULL").is_some() { 1000 } else { 200 };
    let files: Vec<(String, Bytes)> =
        (0..file_count).map(|number| (format!("{number:04}.parquet"), file(number, file_count, 1000))).collect();
    let is_slow = Arc::new(AtomicBool::new(false));
    let slow = Arc::clone(&is_slow);
    let server = Server::with_faults(files, move |_, _| match slow.load(Ordering::Relaxed) {
        true => Fault::Delay(Duration::from_millis(20)),
        false => Fault::None,
    });
    let folder = tempfile::tempdir().unwrap();
    let urls: Vec<String> = (0..file_count).map(|number| server.url(&format!("{number:04}.parquet"))).collect();
    let catalog = Catalog::create(folder.path().join("catalog")).unwrap();
    assert_eq!(catalog.add(&urls, &AddOptions::new()).unwrap().added, file_count as u64);
    drop(catalog);

    is_slow.store(true, Ordering::Relaxed);
    for (key, rows) in [(file_count * 500 + 77, 1), (file_count * 1001, 0)] {
        let before = server.requests().len();
        let started = Instant::now();
        let catalog = Catalog::open_read_only(folder.path().join("catalog")).unwrap();
        let (opened, found) = count(&catalog, &format!("id = {key}"));
        let (elapsed, requests) = (started.elapsed(), server.requests().len() - before);
        println!("id = {key}: {found} rows in {opened} files, {requests} requests of 20 ms, {elapsed:?}");
        assert_eq!(found, rows);
        assert!(opened <= 3, "{opened} files");
        // Each file takes a request for its version and one for the pages of the key; the file with the key one more for the other column.
        assert!(requests <= 2 * opened + found as usize, "{:?} for {opened} files", &server.requests()[before..]);
    }
}

#[test]
fn an_object_that_was_replaced_is_read_as_it_is() {
    let server = Server::of([("a.parquet".to_owned(), file(0, 1, 1000)), ("b.parquet".to_owned(), file(5000, 1, 10))]);
    let folder = tempfile::tempdir().unwrap();
    let catalog = Catalog::create(folder.path().join("catalog")).unwrap();
    let urls = [server.url("a.parquet"), server.url("b.parquet")];
    catalog.add(&urls, &AddOptions::new()).unwrap();
    assert_eq!(count(&catalog, "id BETWEEN 500 AND 600"), (1, 101));
    server.replace("a.parquet", file(590, 1, 2000));
    assert_eq!(count(&catalog, "id BETWEEN 500 AND 600"), (1, 11));
    assert_eq!(catalog.stale_file_count(), 1);
    let all = Dataset::open(&urls, options()).unwrap();
    assert_eq!(catalog.refresh().unwrap().updated, 1);
    for predicate in ["id = 2500", "id > 2000", "id < 595"] {
        let expected = all.scan().filter(predicate).unwrap().count().unwrap();
        assert_eq!(count(&catalog, predicate).1, expected, "{predicate}");
    }
}
