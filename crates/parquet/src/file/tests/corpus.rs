use std::fs;
use std::path::{Path, PathBuf};

use crate::file::ParquetFile;

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "parquet") {
            found.push(path);
        }
    }
}

#[test]
fn every_sound_file_of_the_collection_opens() {
    let Some(folder) = lath_testkit::parquet_test_data() else { return };
    let mut found = Vec::new();
    for part in ["data", "shredded_variant"] {
        files(&folder.join(part), &mut found);
    }
    assert!(found.len() > 150, "only {} files", found.len());
    for path in found {
        let file = ParquetFile::open(&path).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(file.name(), path.to_str());
        // Its writer left the number of rows of the file at 0.
        if !path.ends_with("repeated_no_annotation.parquet") {
            assert_eq!(file.row_count() as i64, file.metadata().num_rows(), "{}", path.display());
        }
        if let Err(error) = file.page_index() {
            panic!("page index: {error}");
        }
        let plan = file.plan(None, None).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(plan.chunks.len(), file.metadata().row_group_count() * file.metadata().column_count());
    }
}

#[test]
fn malformed_files_of_the_collection_open_or_are_refused() {
    let Some(folder) = lath_testkit::parquet_test_data() else { return };
    let mut found = Vec::new();
    files(&folder.join("bad_data"), &mut found);
    assert!(!found.is_empty());
    for path in found {
        // Most of them are malformed in their pages.
        if let Err(error) = ParquetFile::open(&path) {
            assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
        }
    }
}
