//! A table of format 5, which the command of that time wrote: its files are in the folder of the table itself.
//!
//! Rows 0 to 199 have ten times their number, rows 150 to 259 were then replaced by the number below zero, and the snapshot `monday` was kept.
//! Then rows 1, 2 and 3 were deleted. All of this is in two files. Rows 5 to 8 (with 7) are in the store alone, and so is the deletion of row 250.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use lath_table::{PublishOptions, Snapshot, Table, TableOptions};

const FIXTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/v5");

fn unpack(folder: &Path) {
    fs::create_dir_all(folder).unwrap();
    for entry in fs::read_dir(FIXTURE).unwrap() {
        let path = entry.unwrap().path();
        let mut bytes = Vec::new();
        flate2::read::GzDecoder::new(fs::File::open(&path).unwrap()).read_to_end(&mut bytes).unwrap();
        fs::write(folder.join(path.file_stem().unwrap()), bytes).unwrap();
    }
}

fn options() -> TableOptions {
    TableOptions::new().background(false)
}

type Rows = BTreeMap<i64, Option<i64>>;

fn monday() -> Rows {
    (0..150).map(|id| (id, Some(id * 10))).chain((150..260).map(|id| (id, Some(-id)))).collect()
}

fn newest() -> Rows {
    let mut rows = monday();
    rows.retain(|id, _| ![1, 2, 3, 250].contains(id));
    rows.extend((5..9).map(|id| (id, Some(7))));
    rows
}

fn rows(snapshot: &Snapshot) -> Rows {
    let mut rows = Rows::new();
    for batch in snapshot.range::<i64>(..).unwrap().build().unwrap() {
        let batch = batch.unwrap();
        let column = |at: usize| batch.column(at).as_primitive::<Int64Type>().iter();
        rows.extend(column(0).map(Option::unwrap).zip(column(1)));
    }
    rows
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// Number of files that are where they are today.
fn new_files(folder: &Path) -> usize {
    names(&folder.join("_data")).iter().filter(|name| name.ends_with(".pq")).count()
}

fn old_files(folder: &Path) -> usize {
    names(folder).iter().filter(|name| name.ends_with(".parquet")).count()
}

#[test]
fn a_table_of_format_5_is_read_and_written_where_it_is() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("table");
    unpack(&folder);
    let table = Table::open_read_only(&folder, options()).unwrap();
    assert_eq!(rows(&table.snapshot().unwrap()), newest());
    assert_eq!(rows(&table.snapshot_named("monday").unwrap()), monday());
    drop(table);
    let table = Table::open(&folder, options()).unwrap();
    table.flush().unwrap();
    assert_eq!((old_files(&folder), new_files(&folder)), (2, 1));
    assert!(folder.join("table.lath").exists() && !folder.join("_table.lath").exists());
    assert_eq!(rows(&table.snapshot().unwrap()), newest());
    assert!(table.check().unwrap().is_intact());
    let backup = home.path().join("backup");
    table.backup(&backup).unwrap();
    drop(table);
    let backup = Table::open(&backup, options()).unwrap();
    assert_eq!(rows(&backup.snapshot().unwrap()), newest());
    assert!(backup.check().unwrap().is_intact());
}

#[test]
fn a_repair_moves_the_files_of_format_5_once_no_reader_needs_them() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().canonicalize().unwrap().join("table");
    unpack(&folder);
    let table = Table::open(&folder, options()).unwrap();
    table.publish(PublishOptions::new().keep(Duration::ZERO)).unwrap();
    let before = table.snapshot().unwrap();
    assert!(table.repair().unwrap().now.is_intact());
    assert_eq!(new_files(&folder), 3);
    // The snapshot of this process, the named one and the published one have the old names.
    table.vacuum().unwrap();
    assert_eq!(old_files(&folder), 2);
    assert_eq!((rows(&before), rows(&table.snapshot().unwrap())), (newest(), newest()));
    assert_eq!(rows(&table.snapshot_named("monday").unwrap()), monday());
    assert_eq!(crate::publish::read_newest(&folder), newest());
    drop(before);
    table.drop_snapshot("monday").unwrap();
    table.vacuum().unwrap();
    assert_eq!(old_files(&folder), 2);
    for key in [4, 10] {
        table.publish_now().unwrap();
        std::thread::sleep(Duration::from_millis(3));
        table.delete([key]).unwrap();
    }
    table.publish_now().unwrap();
    table.vacuum().unwrap();
    assert_eq!(old_files(&folder), 0);
    let mut expected = newest();
    expected.retain(|id, _| ![4, 10].contains(id));
    assert_eq!(rows(&table.snapshot().unwrap()), expected);
    assert_eq!(crate::publish::read_newest(&folder), expected);
    assert!(table.check().unwrap().is_intact());
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[test]
fn a_loss_of_power_while_files_are_moved_loses_no_row() {
    use crate::disk::{Call, Disk, fast_folder};

    let mut images = 0;
    for seed in 0..4 {
        let home = fast_folder();
        let folder = home.path().canonicalize().unwrap().join("table");
        unpack(&folder);
        let disk = Disk::watch(&folder);
        disk.take_images(1, seed);
        let table = Table::open(&folder, options()).unwrap();
        table.repair().unwrap();
        let taken = disk.images();
        assert!(disk.calls().contains_key(&Call::Link));
        drop((disk, table));
        for image in taken {
            images += 1;
            let copy = fast_folder();
            let copied = copy.path().join("table");
            image.write(&copied);
            let table = Table::open(&copied, options()).unwrap_or_else(|error| panic!("{}: {error}", image.what));
            assert_eq!(rows(&table.snapshot().unwrap()), newest(), "{}", image.what);
            assert_eq!(rows(&table.snapshot_named("monday").unwrap()), monday(), "{}", image.what);
            let report = table.repair().unwrap();
            assert!(report.found.is_empty() && report.now.is_intact(), "{}: {report:?}", image.what);
            assert_eq!(new_files(&copied), 2, "{}", image.what);
            assert_eq!(rows(&table.snapshot().unwrap()), newest(), "{}", image.what);
        }
    }
    assert!(images > 100, "{images} images");
}
