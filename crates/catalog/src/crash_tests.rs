//! Loses power while a catalog is changed. Afterwards it has the state before or after the change.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::path::Path;
use std::sync::{Arc, Mutex};

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use lath_parquet::{DatasetOptions, Predicate};
use lath_store::{Options, SimulatedStorage};
use lath_testkit::Seeded;
use lath_writer::{ParquetWriter, WriteOptions};

use crate::catalog::Catalog;
use crate::records::Folder;
use crate::update::AddOptions;

const CAPACITY: u64 = 1 << 30;

/// The number of images that are opened for each change.
const MAX_IMAGES: usize = 40;

fn write(path: &Path, ids: std::ops::Range<i64>) {
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(ids));
    let batch = RecordBatch::try_from_iter([("id", ids)]).unwrap();
    let mut writer = ParquetWriter::create(path, &batch.schema(), WriteOptions::default()).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
}

fn open(storage: &SimulatedStorage, folder: &Path) -> Catalog {
    let store = Options::new().background_checkpoints(false).open_storage(Arc::new(storage.clone())).unwrap();
    let path = folder.join("catalog");
    Catalog::from_store(store, Folder::containing(&path).unwrap(), path).unwrap()
}

/// The ids that a search by the catalog finds.
fn found(catalog: &Catalog, predicate: &str) -> u64 {
    let predicate = Predicate::parse(predicate).unwrap();
    let files = catalog.select(&predicate, &DatasetOptions::new()).unwrap();
    files.scan().predicate(predicate).count().unwrap()
}

#[test]
fn a_change_is_made_completely_or_not_at_all() {
    let mut random = Seeded::new("a_change_is_made_completely_or_not_at_all");
    let folder = tempfile::tempdir().unwrap();
    let path = |file: i64| folder.path().join(format!("{file}.parquet"));
    (0..4).for_each(|file| write(&path(file), file * 100..file * 100 + 100));
    let storage = SimulatedStorage::new(CAPACITY).unwrap();
    let catalog = open(&storage, folder.path());
    catalog.add([folder.path()], &AddOptions::new().key(["id"])).unwrap();
    for step in 0..3i64 {
        let before = catalog.files().unwrap().len();
        let first = 4 + step * 10;
        (first..first + 10).for_each(|file| write(&path(file), file * 100..file * 100 + 100));
        let images = Arc::new(Mutex::new(Vec::new()));
        let (taken, seed) = (Arc::clone(&images), random.u64(..));
        let choices = Mutex::new(fastrand::Rng::with_seed(seed));
        storage.watch(move |storage, _| {
            taken.lock().unwrap().push(storage.crash(&mut choices.lock().unwrap()).unwrap());
        });
        match step {
            0 => drop(catalog.refresh().unwrap()),
            1 => drop(catalog.add([folder.path()], &AddOptions::new().key(["id"])).unwrap()),
            _ => catalog.add([folder.path()], &AddOptions::new()).map(drop).unwrap(),
        }
        catalog.store.checkpoint().unwrap();
        storage.unwatch();
        let images = std::mem::take(&mut *images.lock().unwrap());
        assert!(!images.is_empty());
        let mut outcomes = [0, 0];
        for image in images.iter().take(MAX_IMAGES) {
            let after_crash = open(image, folder.path());
            assert!(after_crash.store.check().unwrap().is_sound());
            let files = after_crash.files().unwrap().len();
            assert!(files == before || files == before + 10, "{files} files, {before} before");
            outcomes[usize::from(files > before)] += 1;
            assert_eq!(found(&after_crash, "id >= 0"), files as u64 * 100);
            assert_eq!(found(&after_crash, "id = 399"), 1);
            assert_eq!(found(&after_crash, &format!("id = {}", first * 100)), u64::from(files > before));
            // The next refresh completes the change.
            after_crash.refresh().unwrap();
            assert_eq!(after_crash.files().unwrap().len(), before + 10);
        }
        assert!(outcomes[1] > 0, "{outcomes:?}");
    }
}
