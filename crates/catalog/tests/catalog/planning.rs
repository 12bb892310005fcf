//! Selects files by predicates, and scans them.

use std::fs;

use lath_catalog::{AddOptions, Catalog};
use lath_parquet::{Dataset, Predicate};

use crate::files::{found, lines, listed, options, rows, selected, selected_files, write};

#[test]
fn files_are_ruled_out_by_bounds_filters_and_partitions() {
    let folder = tempfile::tempdir().unwrap();
    for file in 0..40i64 {
        let ids: Vec<i64> = (0..100).map(|row| row * 40 + file).collect();
        write(&folder.path().join(format!("year={}/{file:02}.parquet", 2000 + file / 10)), &rows(&ids), true, 30);
    }
    let sorted: Vec<i64> = (10_000..10_100).collect();
    write(&folder.path().join("year=2004/sorted.parquet"), &rows(&sorted), false, 1000);
    let catalog = Catalog::create(folder.path().join(Catalog::FILE_NAME)).unwrap();
    let changes = catalog.add([folder.path()], &AddOptions::new()).unwrap();
    assert_eq!((changes.added, changes.updated, changes.unchanged), (41, 0, 0));
    for (predicate, most) in [
        // About 1 % of the filters have false positives.
        ("id = 81", 4),
        ("id = 10050", 1),
        ("id IN (10050, 10051) AND year = 2004", 1),
        ("year = 2001", 10),
        ("year = 2001 AND id = 401", 2),
        ("year = 2001 OR id = 10050", 11),
        ("name = 'customer number 81'", 4),
        ("name = 'nobody'", 3),
        ("id > 9000", 1),
        ("id < -1", 0),
        // The number of NaNs is unknown, and NaN is above all numbers.
        ("price BETWEEN 2510 AND 2511", 41),
        ("price < -1", 0),
        ("id = 10050 AND price IS NOT NULL", 1),
        ("NOT id = 10050", 41),
        ("id IS NULL", 41),
        ("(id = 81) IS NOT TRUE", 41),
        ("id <> 3", 41),
        ("name LIKE 'customer%1'", 41),
        ("price = 0.0", 41),
        ("year IS NULL", 41),
        ("id = 1 OR name IS NULL", 41),
    ] {
        let files = selected_files(&catalog, predicate);
        assert!(files <= most, "{predicate}: {files} files");
        assert_eq!(selected(&catalog, predicate).unwrap(), listed(folder.path(), predicate).unwrap(), "{predicate}");
    }
    let all = catalog.dataset(&options()).unwrap();
    let open = Dataset::open([folder.path()], options()).unwrap();
    assert_eq!(all.schema(), open.schema());
    let locations =
        |dataset: &Dataset| dataset.files().iter().map(|file| file.location().to_owned()).collect::<Vec<_>>();
    assert_eq!(locations(&all), locations(&open));
    assert_eq!(found(&all, "TRUE"), found(&open, "TRUE"));
    let without = options().partitions(false);
    assert_eq!(catalog.dataset(&without).unwrap().schema(), Dataset::open([folder.path()], without).unwrap().schema());
}

#[test]
fn files_that_are_ruled_out_are_not_touched() {
    let folder = tempfile::tempdir().unwrap();
    let path = |file: i64| folder.path().join(format!("{file}.parquet"));
    for file in 0..10 {
        write(&path(file), &rows(&(file * 100..file * 100 + 100).collect::<Vec<_>>()), true, 1000);
    }
    let catalog = Catalog::create(folder.path().join("files.catalog")).unwrap();
    catalog.add([folder.path()], &AddOptions::new()).unwrap();
    let expected = selected(&catalog, "id = 342").unwrap();
    assert_eq!(expected.len(), 1);
    // These files cannot be read any more, but a search does not notice.
    for file in (0..10).filter(|file| *file != 3) {
        fs::write(path(file), "no Parquet").unwrap();
    }
    assert_eq!(selected(&catalog, "id = 342").unwrap(), expected);
    assert_eq!(catalog.stale_file_count(), 0);
    assert_eq!(selected(&catalog, "id = 1342").unwrap(), Vec::<String>::new());
    assert!(selected(&catalog, "id = 442").unwrap_err().contains("4.parquet"));
    assert_eq!(catalog.stale_file_count(), 1);
}

#[test]
fn the_end_of_a_file_is_taken_from_the_catalog() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    write(&path, &rows(&(0..100).collect::<Vec<_>>()), false, 1000);
    let catalog = Catalog::create(folder.path().join("files.catalog")).unwrap();
    catalog.add([&path], &AddOptions::new()).unwrap();
    let files = catalog.select(&Predicate::parse("id = 7").unwrap(), &options()).unwrap();
    // Length, inode and time stay the same, so they do not show that the footer is gone.
    let mut bytes = fs::read(&path).unwrap();
    let before = fs::metadata(&path).unwrap().modified().unwrap();
    let len = bytes.len();
    bytes[len - 12..].fill(b'x');
    fs::write(&path, bytes).unwrap();
    fs::File::options().write(true).open(&path).unwrap().set_modified(before).unwrap();
    let error = lines(files.scan()).unwrap_err();
    // The time of the last change of the inode cannot be set, so the file counts as changed and is read.
    assert!(error.contains("cut short"), "{error}");
    assert_eq!(catalog.stale_file_count(), 1);
}

#[test]
fn mistakes_in_predicates_are_reported_even_if_no_file_is_left() {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("a.parquet"), &rows(&[1, 2, 3]), false, 1000);
    let catalog = Catalog::create(folder.path().join("files.catalog")).unwrap();
    catalog.add([folder.path()], &AddOptions::new()).unwrap();
    let error = selected(&catalog, "id = 99 AND colour = 'red'").unwrap_err();
    assert!(error.contains("colour"), "{error}");
    assert_eq!(selected_files(&catalog, "id = 99"), 0);
}
