//! Folders of table formats.

use std::fs;
use std::path::{Path, PathBuf};

use super::{directory, int64, options, write};
use crate::dataset::{Dataset, DatasetFile, DatasetOptions, FolderFormat};

/// A folder with plain files beside tables of all formats, each with one file.
fn lake() -> (tempfile::TempDir, PathBuf) {
    let (guard, path) = directory();
    let files = [
        "plain/a.parquet",
        "plain/b.parquet",
        "plain/metadata/c.parquet",
        "keyed/0.parquet",
        "delta/day=1/a.parquet",
        "delta/day=2/a.parquet",
        "iceberg/data/day=1/a.parquet",
        "hudi/day=1/a.parquet",
        "base/table-000001/0.parquet",
    ];
    for name in files {
        write(&path.join(name), vec![("x", int64(0..3))]);
    }
    let marks = [
        "keyed/_table.lath",
        "delta/_delta_log/0.json",
        "iceberg/metadata/v1.metadata.json",
        "hudi/.hoodie/hoodie.properties",
        "base/database.lath",
    ];
    for name in marks {
        fs::create_dir_all(path.join(name).parent().unwrap()).unwrap();
        fs::write(path.join(name), "").unwrap();
    }
    (guard, path)
}

fn files(path: &Path, locations: &[&str], options: DatasetOptions) -> Result<usize, String> {
    let locations = locations.iter().map(|location| path.join(location));
    Dataset::open(locations, options).map(|dataset| dataset.files().len()).map_err(|error| error.to_string())
}

#[test]
fn folders_of_tables_are_no_plain_files_wherever_they_are_found() {
    let (_guard, path) = lake();
    let cases: [(&[&str], &str); 14] = [
        (&["keyed"], "a table with a primary key"),
        (&["keyed/*.parquet"], "a table with a primary key"),
        (&["*/*.parquet"], "a table with a primary key"),
        (&["plain", "keyed"], "a table with a primary key"),
        (&["delta"], "a table of Delta Lake"),
        (&["delta/day=1"], "a table of Delta Lake"),
        (&["delta/*/*.parquet"], "a table of Delta Lake"),
        (&["delta/day=1/a.parquet", "delta/day=2/a.parquet"], "a table of Delta Lake"),
        (&["iceberg/data"], "a table of Apache Iceberg"),
        (&["iceberg/**/*.parquet"], "a table of Apache Iceberg"),
        (&["hudi"], "a table of Apache Hudi"),
        (&["base"], "a database of tables"),
        (&["base/table-000001"], "a database of tables"),
        (&[""], " is a "),
    ];
    for (locations, expected) in cases {
        let error = files(&path, locations, options()).unwrap_err();
        assert!(error.contains(expected) && error.contains("plain_files"), "{locations:?}: {error}");
        let read = files(&path, locations, options().plain_files(true));
        assert!(read.is_ok(), "{locations:?}: {read:?}");
    }
    assert_eq!(files(&path, &[""], options().plain_files(true)), Ok(9));
}

#[test]
fn plain_folders_and_single_files_are_read() {
    let (_guard, path) = lake();
    assert_eq!(files(&path, &["plain"], options()), Ok(3));
    assert_eq!(files(&path, &["plain/*.parquet"], options()), Ok(2));
    assert_eq!(files(&path, &["plain/a.parquet", "plain/b.parquet"], options()), Ok(2));
    assert_eq!(files(&path, &["delta/day=1/a.parquet"], options()), Ok(1));
    assert_eq!(files(&path, &["delta/day=1/a.parquet", "plain/a.parquet"], options()), Ok(2));
    assert_eq!(DatasetFile::find(path.join("keyed/0.parquet"), &options()).unwrap().len(), 1);
}

#[test]
fn the_files_of_a_table_are_read_as_plain_files_on_request() {
    let (_guard, path) = directory();
    for name in ["t/_data/0.pq", "t/_data/1.pq", "t/_other/2.pq", "t/3.pq"] {
        write(&path.join(name), vec![("x", int64(0..3))]);
    }
    fs::write(path.join("t/_table.lath"), "").unwrap();
    fs::write(path.join("t/_data/_README"), "").unwrap();
    for location in ["t", "t/_data", "t/_data/*.pq", "t/*.parquet", "t/_data/*.parquet"] {
        let error = files(&path, &[location], options()).unwrap_err();
        assert!(error.contains("a table with a primary key"), "{location}: {error}");
    }
    for location in ["t", "t/_data", "t/_data/*.pq"] {
        assert_eq!(files(&path, &[location], options().plain_files(true)), Ok(2), "{location}");
    }
}

#[test]
fn a_format_is_known_at_its_folder_and_below() {
    let (_guard, path) = lake();
    let expected = [
        ("plain", None),
        ("keyed", Some(FolderFormat::KeyedTable)),
        ("base", Some(FolderFormat::Database)),
        ("delta", Some(FolderFormat::DeltaLake)),
        ("iceberg", Some(FolderFormat::Iceberg)),
        ("hudi", Some(FolderFormat::Hudi)),
        ("missing", None),
    ];
    for (name, format) in expected {
        assert_eq!(FolderFormat::at(path.join(name)), format, "{name}");
    }
    let (folder, format) = FolderFormat::enclosing(&path.join("iceberg/data/day=1")).unwrap();
    assert_eq!((folder, format), (path.join("iceberg"), FolderFormat::Iceberg));
    let (folder, format) = FolderFormat::enclosing(&path.join("keyed/_data")).unwrap();
    assert_eq!((folder, format), (path.join("keyed"), FolderFormat::KeyedTable));
    // As tables of earlier formats have it.
    fs::rename(path.join("keyed/_table.lath"), path.join("keyed/table.lath")).unwrap();
    assert_eq!(FolderFormat::at(path.join("keyed")), Some(FolderFormat::KeyedTable));
}

#[test]
fn nothing_is_written_into_the_folder_of_a_table() {
    let (_guard, path) = lake();
    for name in ["keyed/new.parquet", "keyed", "delta/day=3/new.parquet", "iceberg/data/new.parquet"] {
        let checked = FolderFormat::check_written(&path.join(name));
        assert!(checked.is_err_and(|error| error.to_string().contains("would not belong to it")), "{name}");
    }
    for name in ["plain/new.parquet", "new.parquet", "new"] {
        FolderFormat::check_written(&path.join(name)).unwrap();
    }
}
