//! One key in many files, whose filters are read whole and cached the third time.

use std::fs;
use std::path::Path;

use arrow_array::RecordBatch;

use super::{directory, int64, write};
use crate::ScanReport;
use crate::dataset::{Dataset, DatasetOptions};
use crate::error::Result;
use crate::footer_cache::FooterCache;
use lath_writer::{BloomFilter, ColumnOptions, ParquetWriter, WriteOptions};

/// Writes the multiples of 3 below 3,000, the even ones in one row group and the odd ones in another, with Bloom filters.
fn write_filtered(path: &Path) {
    fs::create_dir_all(path.parent().expect("a file's path")).expect("a directory");
    let column = ColumnOptions::new().bloom_filter(BloomFilter::Bytes(1 << 13)).dictionary(false);
    let options = WriteOptions::default().all_columns(column).row_group_rows(500);
    let batch = RecordBatch::try_from_iter([("x", int64((0..3000).step_by(6).chain((3..3000).step_by(6))))])
        .expect("one column");
    let file = fs::File::create(path).expect("a file");
    let mut writer = ParquetWriter::new(file, &batch.schema(), options).expect("a schema that can be written");
    writer.write(&batch).expect("a batch");
    writer.finish().expect("a footer");
}

/// Replaces a file, so that another is at its path.
fn replace(path: &Path, by: &Path) {
    fs::rename(by, path).expect("two files");
}

fn cached(cache: &FooterCache) -> DatasetOptions {
    DatasetOptions::new().footer_cache(cache.clone())
}

/// The number of rows that satisfy a condition, and the report of the scan.
fn find(dataset: &Dataset, condition: &str, threads: usize) -> Result<(usize, ScanReport)> {
    let batches = dataset.scan().filter(condition)?.threads(threads).build()?;
    let progress = batches.progress();
    let mut rows = 0;
    for batch in batches {
        rows += batch?.num_rows();
    }
    Ok((rows, progress.report()))
}

/// The counters of a report.
fn counts(report: &ScanReport) -> [u64; 10] {
    let pruned = &report.pruned;
    let by_filters = (pruned.bloom.row_groups, pruned.bloom.rows);
    let by_statistics = (pruned.statistics.row_groups, pruned.statistics.rows);
    let looked_at = [report.files_pruned, report.files_opened, report.row_groups, report.rows];
    let ruled_out = [pruned.row_groups, pruned.rows, by_filters.0, by_filters.1, by_statistics.0, by_statistics.1];
    let mut all = [0; 10];
    all[..4].copy_from_slice(&looked_at);
    all[4..].copy_from_slice(&ruled_out);
    all
}

#[test]
fn filters_are_read_block_by_block_then_whole_then_no_more() {
    let (_guard, path) = directory();
    (0..40).for_each(|file| write_filtered(&path.join(format!("{file:02}.parquet"))));
    for threads in [1, 2] {
        let dataset = Dataset::open([&path], cached(&FooterCache::new(1 << 20))).expect("files");
        for requests in [160, 80, 80, 0, 0] {
            let (rows, report) = find(&dataset, "x = 1000", threads).expect("rows");
            assert_eq!((rows, report.requests, report.files_opened, report.row_groups), (0, requests, 40, 0));
            assert_eq!((report.pruned.bloom.row_groups, report.pruned.bloom.rows), (80, 40_000));
        }
        assert_eq!(find(&dataset, "x = 999", threads).expect("rows").0, 40);
    }
}

#[test]
fn files_that_are_probed_together_are_reported_as_if_probed_alone() {
    let (_guard, path) = directory();
    for file in 0..60 {
        // Runs of files of one partition, and some in which the values of two follow each other.
        let part = if file < 40 { file / 20 } else { file % 2 };
        write_filtered(&path.join(format!("{file:02}/part={part}/a.parquet")));
    }
    write(&path.join("30/part=0/0.parquet"), vec![("x", int64(0..2000))]);
    let cache = FooterCache::new(1 << 20);
    let all = Dataset::open([&path], cached(&cache)).expect("files");
    let alone: Vec<Dataset> =
        all.files().iter().map(|file| Dataset::open([file.location()], cached(&cache)).expect("a file")).collect();
    let conditions =
        ["x = 1000", "x IN (1000)", "x = 999", "x = 1000 AND part = 1", "part = 0 AND x = 999", "x = 5000"];
    for condition in conditions.iter().cycle().take(18) {
        find(&all, condition, 1).expect("rows");
    }
    for condition in conditions {
        let mut expected = (0, [0; 10]);
        for dataset in &alone {
            let (rows, report) = find(dataset, condition, 1).expect("rows");
            expected.0 += rows;
            expected.1.iter_mut().zip(counts(&report)).for_each(|(sum, count)| *sum += count);
        }
        for threads in [1, 2] {
            let (rows, report) = find(&all, condition, threads).expect("rows");
            assert_eq!((rows, counts(&report)), expected, "{condition}, {threads} threads");
            assert!(condition != "x = 5000" || report.requests == 0, "filters are in memory");
        }
    }
}

#[test]
fn a_file_that_changed_is_looked_at_again() {
    let (_guard, path) = directory();
    (0..40).for_each(|file| write_filtered(&path.join(format!("{file:02}.parquet"))));
    let cache = FooterCache::new(1 << 20);
    let dataset = Dataset::open([&path], cached(&cache)).expect("files");
    let unchecked = Dataset::open([&path], cached(&cache).revalidate(false)).expect("files");
    (0..3).for_each(|_| assert_eq!(find(&dataset, "x = 1000", 2).expect("rows").0, 0));
    write(&path.join("new"), vec![("x", int64(1000..1002))]);
    replace(&path.join("25.parquet"), &path.join("new"));
    for threads in [1, 2] {
        assert_eq!(find(&unchecked, "x = 1000", threads).expect("rows").0, 0);
    }
    for threads in [1, 2, 2, 1] {
        assert_eq!(find(&dataset, "x = 1000", threads).expect("rows").0, 1);
        assert_eq!(find(&dataset, "x = 999", threads).expect("rows").0, 39);
    }
    assert_eq!(find(&unchecked, "x = 1000", 1).expect("rows").0, 1);
}

#[test]
fn errors_come_behind_the_rows_of_earlier_files() {
    let (_guard, path) = directory();
    (0..40).for_each(|file| write_filtered(&path.join(format!("{file:02}.parquet"))));
    let dataset = Dataset::open([&path], cached(&FooterCache::new(1 << 20))).expect("files");
    (0..3).for_each(|_| assert_eq!(find(&dataset, "x = 1000", 2).expect("rows").0, 0));
    // One that has the key, one that cannot be opened, and one of another schema.
    write(&path.join("new"), vec![("x", int64(1000..1001))]);
    replace(&path.join("20.parquet"), &path.join("new"));
    fs::remove_file(path.join("30.parquet")).expect("a file");
    write(&path.join("new"), vec![("y", int64(1000..1001))]);
    replace(&path.join("31.parquet"), &path.join("new"));
    for threads in [1, 2] {
        let mut batches =
            dataset.scan().filter("x = 1000").expect("a condition").threads(threads).build().expect("a scan");
        assert_eq!(batches.next().expect("a batch").expect("rows").num_rows(), 1);
        let error = batches.next().expect("an error").expect_err("no file").to_string();
        assert!(error.contains("30.parquet"), "{error}");
        let limited = dataset.scan().filter("x = 1000").expect("a condition").threads(threads).limit(1);
        assert_eq!(limited.build().expect("a scan").map(|batch| batch.expect("rows").num_rows()).sum::<usize>(), 1);
    }
    write_filtered(&path.join("30.parquet"));
    for threads in [1, 2] {
        let error = find(&dataset, "x = 1000", threads).expect_err("another schema").to_string();
        assert!(error.contains("31.parquet"), "{error}");
    }
}

#[test]
fn files_of_another_schema_are_probed_by_their_own() {
    let (_guard, path) = directory();
    (0..40).for_each(|file| write_filtered(&path.join(format!("{file:02}.parquet"))));
    for file in [17, 29] {
        write(&path.join(format!("{file}.parquet")), vec![("y", int64(0..2)), ("x", int64(1000..1002))]);
    }
    write(&path.join("35.parquet"), vec![("y", int64(0..2))]);
    let dataset = Dataset::open([&path], cached(&FooterCache::new(1 << 20)).union_schemas(true)).expect("files");
    for threads in [1, 2, 1, 2] {
        assert_eq!(find(&dataset, "x = 1000", threads).expect("rows").0, 2);
        assert_eq!(find(&dataset, "x = 999", threads).expect("rows").0, 37);
    }
}
