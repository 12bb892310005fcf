//! Scans share limits on memory and other resources, which belong to the runtime that they are given.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::{fs, thread};

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use bytes::Bytes;
use lath_parquet::{
    Dataset, DatasetOptions, FileVersion, KnownFooters, OpenOptions, ParquetFile, Runtime, Scan, column,
};
use lath_writer::{ColumnOptions, ParquetWriter, WriteOptions};

use crate::scan::{collect, numbered_bytes};

fn dataset(folder: &std::path::Path, runtime: &Runtime) -> Dataset {
    for file in 0..4 {
        fs::write(folder.join(format!("{file}.parquet")), numbered_bytes(20_000)).unwrap();
    }
    Dataset::open([folder], DatasetOptions::new().runtime(runtime)).unwrap()
}

#[test]
fn scans_share_the_memory_of_their_runtime_and_none_waits_for_another() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = Runtime::builder().threads(2).memory_budget_bytes(300_000).build();
    let dataset = dataset(folder.path(), &runtime);
    let expected = collect(dataset.scan().build().unwrap()).unwrap();
    // Two scans whose batches are taken alternately, with room for a few batches.
    let scan = || dataset.scan().runtime(&runtime).batch_size(500).build().unwrap();
    let (mut one, mut other) = (scan(), scan());
    let (mut rows, mut most) = (0, 0);
    loop {
        let batches: Vec<RecordBatch> = [one.next(), other.next()].into_iter().flatten().map(Result::unwrap).collect();
        if batches.is_empty() {
            break;
        }
        rows += batches.iter().map(RecordBatch::num_rows).sum::<usize>();
        most = most.max(runtime.memory_in_use());
    }
    assert_eq!(rows, 2 * expected.num_rows());
    // The next requested batch is decoded whatever is in use: one for each scan.
    let bytes_of_batch = expected.slice(0, 500).get_array_memory_size() / expected.num_rows() * 500;
    assert!(most > 0 && most <= 300_000 + 2 * bytes_of_batch.max(200_000), "{most}");
    assert_eq!(runtime.memory_in_use(), 0);
    // Memory decoded for a dropped scan is released.
    let mut dropped = scan();
    dropped.next().unwrap().unwrap();
    drop(dropped);
    for _ in 0..1000 {
        if runtime.memory_in_use() == 0 {
            return;
        }
        thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("{} bytes are never given back", runtime.memory_in_use());
}

#[test]
fn threads_are_started_as_the_runtime_says() {
    let folder = tempfile::tempdir().unwrap();
    let started = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&started);
    let spawn = move |name: String, work: Box<dyn FnOnce() + Send>| {
        counter.fetch_add(1, Ordering::Relaxed);
        thread::Builder::new().name(name).spawn(work).map(|_| ())
    };
    let runtime = Runtime::builder().threads(3).spawn_with(spawn).build();
    let dataset = dataset(folder.path(), &runtime);
    assert_eq!(
        dataset.scan().runtime(&runtime).build().unwrap().map(|batch| batch.unwrap().num_rows()).sum::<usize>(),
        80_000
    );
    assert_eq!(started.load(Ordering::Relaxed), 3);
    let refused = Runtime::builder().threads(2).spawn_with(|_, _| Err(std::io::Error::other("no threads"))).build();
    let error = collect(dataset.scan().runtime(&refused).build().unwrap()).unwrap_err().to_string();
    assert!(error.contains("no threads"), "{error}");
}

#[test]
fn a_runtime_has_caches_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let (one, other) = (Runtime::builder().build(), Runtime::builder().build());
    let dataset = dataset(folder.path(), &one);
    dataset.scan().count().unwrap();
    assert_eq!((one.footer_cache().len(), other.footer_cache().len()), (4, 0));
    let task = &dataset.scan().plan().unwrap().tasks()[0].clone();
    let written: lath_parquet::ScanTask = serde_json::from_str(&serde_json::to_string(task).unwrap()).unwrap();
    assert_eq!(collect(written.execute(&other).unwrap()).unwrap().num_rows(), 1000);
    assert_eq!(other.footer_cache().len(), 1);
}

/// Writes the even numbers below 2,000 in a column without Bloom filters and dictionary.
fn write_even_numbers(path: &std::path::Path) {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values((0..2000).step_by(2)));
    let batch = RecordBatch::try_from_iter([("x", numbers)]).unwrap();
    let options = WriteOptions::default().all_columns(ColumnOptions::new().dictionary(false));
    let mut writer = ParquetWriter::new(fs::File::create(path).unwrap(), &batch.schema(), options).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
}

#[test]
fn filters_are_computed_unless_the_runtime_of_the_scan_or_of_its_dataset_says_no() {
    let folder = tempfile::tempdir().unwrap();
    write_even_numbers(&folder.path().join("even.parquet"));
    let runtime = |computed_filters| Runtime::builder().threads(2).computed_filters(computed_filters).build();
    let in_tasks = |scan: Scan| scan.plan().unwrap().scan().unwrap();
    for [of_dataset, of_scan] in [[true, true], [true, false], [false, true], [false, false]] {
        let [of_files, of_scans] = [of_dataset, of_scan].map(runtime);
        let dataset = Dataset::open([folder.path()], DatasetOptions::new().runtime(&of_files)).unwrap();
        let memory = || of_files.footer_cache().byte_count();
        let scan = || dataset.scan().filter("x = 999").unwrap();
        let rows_tested = |scan: Scan| {
            let mut batches = scan.build().unwrap();
            assert!(batches.by_ref().all(|batch| batch.unwrap().num_rows() == 0));
            batches.report().rows_tested
        };
        rows_tested(scan().runtime(&of_scans));
        let before = memory();
        let tested: Vec<u64> = (0..4).map(|_| rows_tested(scan().runtime(&of_scans))).collect();
        let expected = if of_dataset && of_scan { [1000, 0, 0, 0] } else { [1000; 4] };
        assert_eq!(tested, expected, "dataset {of_dataset}, scan {of_scan}");
        // A filter has a byte a row; entries of the cache take some bytes too.
        let expected = if of_dataset && of_scan { 1024..1536 } else { 0..512 };
        assert!(expected.contains(&(memory() - before)), "{} bytes", memory() - before);
        // Tasks run with the runtime that they are given.
        if !(of_dataset && of_scan) {
            (0..4).for_each(|_| assert_eq!(rows_tested(in_tasks(scan()).runtime(&of_scans)), 1000));
        }
    }
}

/// Footers kept in memory, and the number of hits.
#[derive(Debug, Default)]
struct KeptFooters {
    ends: Mutex<HashMap<String, (FileVersion, Bytes)>>,
    found: AtomicUsize,
}

impl KnownFooters for KeptFooters {
    fn get(&self, location: &str, version: &FileVersion) -> Option<Bytes> {
        let (known, end) = self.ends.lock().unwrap().get(location)?.clone();
        (known == *version).then(|| {
            self.found.fetch_add(1, Ordering::Relaxed);
            end
        })
    }

    fn put(&self, location: &str, version: &FileVersion, end: Bytes) {
        self.ends.lock().unwrap().insert(location.to_owned(), (version.clone(), end));
    }
}

#[test]
fn footers_that_are_known_are_not_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let kept = Arc::new(KeptFooters::default());
    let open = || {
        let options = DatasetOptions::new().runtime(&Runtime::builder().build()).known_footers(kept.clone());
        Dataset::open([folder.path()], options).unwrap()
    };
    dataset(folder.path(), &Runtime::builder().build());
    let expected = collect(open().scan().build().unwrap()).unwrap();
    assert_eq!((kept.ends.lock().unwrap().len(), kept.found.load(Ordering::Relaxed)), (4, 0));
    assert_eq!(collect(open().scan().build().unwrap()).unwrap(), expected);
    assert_eq!(kept.found.load(Ordering::Relaxed), 4);
    // A file that has changed has another footer.
    fs::write(folder.path().join("2.parquet"), numbered_bytes(10)).unwrap();
    assert_eq!(open().scan().count().unwrap(), 60_010);
    assert_eq!(kept.found.load(Ordering::Relaxed), 7);

    // Any contents in place of a file's end are harmless.
    let bytes = numbered_bytes(2000);
    let file = ParquetFile::from_bytes(bytes.clone()).unwrap();
    let end = file.read_end().unwrap();
    for given in [end.clone(), end.slice(5..), end.slice(end.len() - 3..), Bytes::new(), bytes.clone()] {
        let file = OpenOptions::new().end(given).from_bytes(bytes.clone()).unwrap();
        assert_eq!(file.row_count(), 2000);
    }
    for given in [vec![7; end.len()], vec![7; bytes.len() + 1]] {
        let opened = OpenOptions::new().end(given.into()).from_bytes(bytes.clone());
        assert!(opened.is_err() || opened.is_ok_and(|file| file.row_count() == 2000));
    }
}

#[test]
fn conditions_add_up() {
    let file = ParquetFile::from_bytes(numbered_bytes(2000)).unwrap();
    let scan = file
        .scan()
        .filter("number < 100")
        .unwrap()
        .predicate(column("key").is_in([1, 2]))
        .filter("number >= 50")
        .unwrap();
    let expected = (50..100).filter(|row| row % 5 > 0 && [1, 2].contains(&(row % 7))).count();
    assert_eq!(scan.count().unwrap(), expected as u64);
}

#[test]
fn no_number_of_threads_is_one_for_each_core() {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    assert_eq!(Runtime::builder().threads(0).build().threads(), cores);
    assert_eq!(Runtime::builder().build().threads(), cores);
    assert_eq!(Runtime::builder().threads(3).build().threads(), 3);
    let file = ParquetFile::from_bytes(numbered_bytes(5000)).unwrap();
    assert_eq!(file.scan().filter("number < 10").unwrap().threads(0).count().unwrap(), 10);
}
