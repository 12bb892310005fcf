//! Losses of power while a table or database is created, and folders that look similar.

use std::fs;

use arrow_schema::{DataType, Field, Schema};
use lath_store::EncryptionKey;
use lath_table::{Database, Error, Table, TableOptions};

fn options() -> TableOptions {
    TableOptions::new().background(false)
}

fn schema() -> Schema {
    Schema::new(vec![Field::new("id", DataType::Int64, false)])
}

/// The files that a killed process leaves of a store that it was about to create: of a length that creation gives them, or with the keys alone.
fn half_created(key: Option<&EncryptionKey>) -> Vec<Vec<u8>> {
    let zeros = [0, 1, 4096, 65_536].map(|len| vec![0; len]);
    let Some(key) = key else { return zeros.into() };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    drop(lath_store::Options::new().encryption_key(key.clone()).open(&path).unwrap());
    let keys = fs::read(path).unwrap()[..4096].to_vec();
    let behind_keys = [0, 1, 4096, 65_536].map(|len| [keys.clone(), vec![0; len]].concat());
    // The keys are written at once.
    let [empty, ..] = zeros;
    [empty].into_iter().chain(behind_keys).collect()
}

#[test]
fn a_folder_with_an_empty_store_has_no_table_yet() {
    let key = EncryptionKey::new([7; 32]);
    for key in [None, Some(&key)] {
        let options = || key.cloned().into_iter().fold(options(), TableOptions::encryption_key);
        for bytes in half_created(key) {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path();
            // A file that has nothing to do with it.
            fs::write(path.join("report.csv"), "id").unwrap();
            fs::write(path.join("table.lath"), &bytes).unwrap();
            assert!(matches!(Table::open(path, options()), Err(Error::NoTable { .. })), "{}", bytes.len());
            assert!(matches!(Table::open_read_only(path, options()), Err(Error::NoTable { .. })), "{}", bytes.len());
            Table::create(path, &schema(), &["id"], options()).unwrap();
            assert_eq!(Table::open(path, options()).unwrap().count().unwrap(), 0);

            let folder = tempfile::tempdir().unwrap();
            let path = folder.path();
            fs::write(path.join("report.csv"), "id").unwrap();
            fs::write(path.join("database.lath"), &bytes).unwrap();
            assert!(matches!(Database::open(path, options()), Err(Error::NoDatabase { .. })));
            assert!(matches!(Database::open_read_only(path, options()), Err(Error::NoDatabase { .. })));
            let database = Database::open_or_create(path, options()).unwrap();
            assert!(database.table_names().unwrap().is_empty());
        }
    }
}

/// A store that was created, without the first commit of its database.
#[test]
fn a_folder_with_a_store_without_commits_has_no_table_yet() {
    let key = EncryptionKey::new([7; 32]);
    for key in [None, Some(&key)] {
        let options = || key.cloned().into_iter().fold(options(), TableOptions::encryption_key);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("database.lath");
        let store = key.cloned().into_iter().fold(lath_store::Options::new(), lath_store::Options::encryption_key);
        drop(store.open(path).unwrap());
        assert!(matches!(Database::open_read_only(folder.path(), options()), Err(Error::NoDatabase { .. })));
        assert!(Database::open_or_create(folder.path(), options()).unwrap().table_names().unwrap().is_empty());
    }
}

/// One of several threads creates the database, and the others open it when it is free.
#[test]
fn databases_are_created_once() {
    let key = EncryptionKey::new([7; 32]);
    for key in [None, Some(&key)] {
        let folder = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for number in 0..6 {
                let options = key.cloned().into_iter().fold(options(), TableOptions::encryption_key);
                let options = options.wait(std::time::Duration::from_secs(60));
                let folder = folder.path();
                scope.spawn(move || {
                    let database = Database::open_or_create(folder, options).unwrap();
                    database.create_table(&format!("t{number}"), &schema(), &["id"]).unwrap();
                });
            }
        });
        let options = key.cloned().into_iter().fold(options(), TableOptions::encryption_key);
        assert_eq!(Database::open(folder.path(), options).unwrap().table_names().unwrap().len(), 6);
    }
}

#[test]
fn a_store_that_lost_its_contents_is_damaged_and_its_files_stay() {
    for name in ["0000000001-0123456789abcdef.parquet", "_data", "_owner"] {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("table.lath"), "").unwrap();
        fs::write(folder.path().join(name), "rows").unwrap();
        let error = Table::open(folder.path(), options()).unwrap_err();
        assert!(matches!(&error, Error::Store { source: lath_store::Error::Corrupt { .. } }), "{error}");
        assert_eq!(fs::read(folder.path().join(name)).unwrap(), b"rows");
        assert_eq!(fs::metadata(folder.path().join("table.lath")).unwrap().len(), 0);
    }
}
