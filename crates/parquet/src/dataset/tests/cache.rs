use std::fs;
use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;

use super::{directory, int64, options, write};
use crate::dataset::{Dataset, DatasetOptions};
use crate::file::{DecryptionKeys, OpenOptions};
use crate::footer_cache::FooterCache;
use lath_writer::{BloomFilter, ColumnOptions, ParquetWriter, WriteOptions};

fn cached(cache: &FooterCache) -> DatasetOptions {
    DatasetOptions::new().footer_cache(cache.clone())
}

#[test]
fn datasets_share_footers_and_drop_those_of_files_that_changed() {
    let (_guard, path) = directory();
    let (a, b) = (path.join("a.parquet"), path.join("b.parquet"));
    write(&a, vec![("x", int64(0..10))]);
    write(&b, vec![("x", int64(0..20))]);
    let cache = FooterCache::new(1 << 20);
    let dataset = Dataset::open([&path], cached(&cache)).unwrap();
    let first = dataset.files()[0].open().unwrap();
    assert_eq!(cache.len(), 1);
    let again = Dataset::open([&path], cached(&cache)).unwrap().files()[0].open().unwrap();
    assert!(Arc::ptr_eq(first.metadata(), again.metadata()));

    write(&path.join("new"), vec![("x", int64(0..30))]);
    fs::rename(path.join("new"), &a).unwrap();
    assert_eq!(dataset.files()[0].open().unwrap().row_count(), 30);
    write(&a, vec![("x", int64(0..40))]);
    assert_eq!(dataset.files()[0].open().unwrap().row_count(), 40);
    fs::remove_file(&a).unwrap();
    assert!(dataset.files()[0].open().is_err());
    assert_eq!(dataset.files()[1].open().unwrap().row_count(), 20);
}

#[test]
fn without_revalidation_a_cached_footer_is_used_as_it_is() {
    let (_guard, path) = directory();
    write(&path.join("a.parquet"), vec![("x", int64(0..10))]);
    let dataset = Dataset::open([&path], cached(&FooterCache::new(1 << 20)).revalidate(false)).unwrap();
    let file = dataset.files()[0].open().unwrap();
    write(&path.join("new"), vec![("x", int64(0..30))]);
    fs::rename(path.join("new"), path.join("a.parquet")).unwrap();
    let again = dataset.files()[0].open().unwrap();
    assert!(Arc::ptr_eq(file.metadata(), again.metadata()));
    // The descriptor is still open on the old file.
    assert_eq!(again.scan().build().unwrap().map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 10);
}

#[test]
fn the_budget_bounds_what_is_kept_and_the_oldest_goes_first() {
    let (_guard, path) = directory();
    for file in 0..40 {
        write(&path.join(format!("{file:02}.parquet")), vec![("x", int64(0..10))]);
    }
    let probe = FooterCache::new(1 << 20);
    Dataset::open([path.join("00.parquet")], cached(&probe)).unwrap();
    let one = probe.byte_count();
    assert!(one > 500, "{one}");

    let cache = FooterCache::new(one * 16);
    let dataset = Dataset::open([&path], cached(&cache)).unwrap();
    for file in dataset.files() {
        // The first is used all the time, and stays cached.
        let kept = dataset.files()[0].open().unwrap();
        file.open().unwrap();
        assert!(Arc::ptr_eq(kept.metadata(), dataset.files()[0].open().unwrap().metadata()));
        assert!(cache.byte_count() <= one * 16 + 64, "{} of {}", cache.byte_count(), one * 16);
    }
    assert!((10..=16).contains(&cache.len()), "{cache:?}");
    cache.clear();
    assert!(cache.is_empty() && cache.byte_count() == 0);

    let nothing = FooterCache::new(0);
    let dataset = Dataset::open([&path], cached(&nothing)).unwrap();
    assert_eq!(dataset.files()[0].open().unwrap().row_count(), 10);
    assert!(nothing.is_empty());
}

#[test]
fn page_indexes_that_are_read_later_count() {
    let (_guard, path) = directory();
    write(&path.join("a.parquet"), vec![("x", int64(0..10))]);
    let cache = FooterCache::new(1 << 20);
    let dataset = Dataset::open([&path], cached(&cache)).unwrap();
    let before = cache.byte_count();
    dataset.files()[0].open().unwrap().page_index().unwrap();
    dataset.files()[0].open().unwrap();
    assert!(cache.byte_count() > before);
}

/// Writes a file of multiples of 3 up to 3,000 with a Bloom filter of `filter_bytes` bytes.
fn write_filtered(path: &Path, filter_bytes: usize) {
    let batch = RecordBatch::try_from_iter([("x", int64((0..1000).map(|number| number * 3)))]).expect("one column");
    let column = ColumnOptions::new().bloom_filter(BloomFilter::Bytes(filter_bytes)).dictionary(false);
    let file = fs::File::create(path).expect("a file");
    let options = WriteOptions::default().all_columns(column);
    let mut writer = ParquetWriter::new(file, &batch.schema(), options).expect("a schema that can be written");
    writer.write(&batch).expect("a batch");
    writer.finish().expect("a footer");
}

/// The number of rows with one of the keys, the requests that it took, and the bytes read.
fn find(dataset: &Dataset, keys: &str) -> (usize, u64, u64) {
    let batches = dataset.scan().filter(&format!("x IN ({keys})")).expect("a condition").build().expect("a scan");
    let progress = batches.progress();
    let rows = batches.map(|batch| batch.expect("rows").num_rows()).sum();
    let report = progress.report();
    (rows, report.requests, report.bytes_read)
}

#[test]
fn filters_that_are_asked_again_are_kept_with_the_footer() {
    let (_guard, path) = directory();
    write_filtered(&path.join("a.parquet"), 1 << 13);
    write_filtered(&path.join("b.parquet"), 1 << 15);
    let cache = FooterCache::new(1 << 20);
    let find = |keys: &str| find(&Dataset::open([&path], cached(&cache)).expect("two files"), keys);
    // Keys that are in no file, and that no filter lets pass: header and block, another block, then the smaller filter and a
    // block of the other.
    assert_eq!(find("1000"), (0, 4, 2 * (64 + 32)));
    assert_eq!(find("1000"), (0, 2, 2 * 32));
    let before = cache.byte_count();
    assert_eq!(find("1000"), (0, 2, (1 << 13) + 32));
    assert_eq!(cache.byte_count(), before + (1 << 13));
    // After five more keys the larger one has been probed often enough.
    assert_eq!(find("1000, 1300"), (0, 2, 2 * 32));
    assert_eq!(find("1000, 1300"), (0, 2, 2 * 32));
    assert_eq!(find("1000"), (0, 1, 32));
    assert_eq!(find("1000"), (0, 1, 1 << 15));
    assert_eq!(find("1000, 1300, 1600"), (0, 0, 0));
    assert_eq!(cache.byte_count(), before + (1 << 13) + (1 << 15));
    assert_eq!(find("999, 1300").0, 2);

    // A changed file evicts its filter.
    write_filtered(&path.join("new"), 1 << 10);
    fs::rename(path.join("new"), path.join("b.parquet")).expect("two files");
    assert_eq!(find("999, 1300").0, 2);
    assert!(cache.byte_count() < before + (1 << 14), "{cache:?}");
    cache.clear();
    assert_eq!(cache.byte_count(), 0);
}

#[test]
fn filters_that_are_read_whole_are_kept_the_second_time() {
    let (_guard, path) = directory();
    write_filtered(&path.join("a.parquet"), 1 << 12);
    write_filtered(&path.join("b.parquet"), 1 << 15);
    let cache = FooterCache::new(1 << 20);
    let find = |keys: &str| find(&Dataset::open([&path], cached(&cache)).expect("two files"), keys);
    find("1000");
    // Opening files again counts the parts of their footers decoded since.
    Dataset::open([&path], cached(&cache)).expect("two files").files().iter().for_each(|file| drop(file.open()));
    let before = cache.byte_count();
    // One filter is as short as a block is worth; of the other a block is read.
    assert_eq!(find("1000"), (0, 2, (1 << 12) + 32));
    assert_eq!(cache.byte_count(), before + (1 << 12));
    // More keys than a filter is worth.
    let keys = ["1000", "1300", "1600", "1900", "2200", "2500", "2800", "1003"].join(", ");
    assert_eq!(find(&keys).1, 1);
    assert_eq!(find(&keys).1, 1);
    assert_eq!(cache.byte_count(), before + (1 << 12) + (1 << 15));
    assert_eq!(find(&keys), (0, 0, 0));
}

#[test]
fn filters_take_what_footers_leave_and_go_with_theirs() {
    const FILTER: usize = 1 << 13;
    const BUDGET: usize = 10 * FILTER;
    let (_guard, path) = directory();
    for file in 0..40 {
        write_filtered(&path.join(format!("{file:02}.parquet")), FILTER);
    }
    let cache = FooterCache::new(BUDGET);
    let mut kept = 0;
    for file in 0..40 {
        let location = path.join(format!("{file:02}.parquet"));
        for keys in ["1000", "1000", "999"] {
            let dataset = Dataset::open([&location], cached(&cache)).expect("a file");
            assert_eq!(find(&dataset, keys).0, usize::from(keys == "999"));
            assert!(cache.byte_count() <= BUDGET, "{cache:?}");
        }
        let dataset = Dataset::open([&location], cached(&cache)).expect("a file");
        kept += usize::from(find(&dataset, "1000").1 == 0);
    }
    // No filter is computed where a footer leaves no room for it.
    assert!((20..=40).contains(&kept), "{kept}");
    assert!((2..=16).contains(&cache.len()), "{cache:?}");

    // With more files than fit, filters are not read again and again.
    let cache = FooterCache::new(BUDGET);
    let dataset = Dataset::open([&path], cached(&cache)).expect("files");
    for _ in 0..3 {
        assert_eq!(find(&dataset, "999").0, 40);
        assert!(cache.byte_count() <= BUDGET, "{cache:?}");
    }
    drop(dataset);
    cache.clear();
    assert_eq!(cache.byte_count(), 0);
}

#[test]
fn options_that_change_what_is_read_do_not_share() {
    let (_guard, path) = directory();
    write(&path.join("a.parquet"), vec![("x", int64(0..10))]);
    let cache = FooterCache::new(1 << 20);
    let open = |open: OpenOptions| Dataset::open([&path], cached(&cache).open_options(open)).unwrap();
    let first = open(OpenOptions::new()).files()[0].open().unwrap();
    let other = open(OpenOptions::new().arrow_schema_hint(false)).files()[0].open().unwrap();
    assert!(!Arc::ptr_eq(first.metadata(), other.metadata()));
    #[expect(unsafe_code, reason = "files of a test's own folder are mapped")]
    // SAFETY: the test writes its file once, before this.
    let mapping = unsafe { OpenOptions::new().memory_map(true) };
    let mapped = open(mapping).files()[0].open().unwrap();
    assert_eq!(mapped.scan().build().unwrap().map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 10);
    let len = cache.len();
    open(OpenOptions::new().decryption(DecryptionKeys::new(vec![0; 16])));
    assert_eq!(cache.len(), len);
}

#[test]
fn files_are_opened_whatever_the_footers_before_had_for_length() {
    let (_directory, path) = directory();
    // Shorter and longer than the first read, and than the threads' buffers.
    let notes = [0, 3_000, 10, 9_000, 100_000, 0, 200_000, 70_000, 1];
    for (file, &len) in notes.iter().enumerate() {
        let batch = RecordBatch::try_from_iter([("n", int64([file as i64]))]).expect("one column");
        let with_note = WriteOptions::default().key_value_metadata("note", "x".repeat(len));
        let target = fs::File::create(path.join(format!("{file}.parquet"))).expect("a file");
        let mut writer = ParquetWriter::new(target, &batch.schema(), with_note).expect("a schema that can be written");
        writer.write(&batch).expect("a batch");
        writer.finish().expect("a footer");
    }
    let dataset = Dataset::open([&path], options()).expect("the files just written");
    for (file, &len) in dataset.files().iter().zip(&notes) {
        let open = file.open().expect("a file just written");
        let key_values = open.metadata().key_value_metadata();
        let note = key_values.iter().find(|pair| pair.key == "note").and_then(|pair| pair.value.as_ref());
        assert_eq!(note.map(String::len), Some(len));
    }
}
