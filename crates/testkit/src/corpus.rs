use std::path::{Path, PathBuf};

/// The folder of the `parquet-testing` collection: `PARQUET_TEST_DATA`, or `../shared/parquet-testing` next to the
/// repository. `None`, with a message on stderr, if the folder does not exist.
///
/// # Panics
/// If `PARQUET_TEST_DATA` is set but is no folder: a requested test must not be skipped.
pub fn parquet_test_data() -> Option<PathBuf> {
    let (folder, asked_for) = match std::env::var_os("PARQUET_TEST_DATA") {
        Some(folder) => (PathBuf::from(folder), true),
        None => (Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/parquet-testing"), false),
    };
    if folder.is_dir() {
        return Some(folder);
    }
    assert!(!asked_for, "PARQUET_TEST_DATA is {}, which is no folder", folder.display());
    eprintln!("SKIPPED: no parquet-testing files at {}; set PARQUET_TEST_DATA to their folder", folder.display());
    None
}
