//! Losses of power while a table or database is created, and folders that look similar.

use std::fs;

use arrow_schema::{DataType, Field, Schema};
use lath_table::{Database, Error, Table, TableOptions};

fn options() -> TableOptions {
    TableOptions::new().background(false)
}

fn schema() -> Schema {
    Schema::new(vec![Field::new("id", DataType::Int64, false)])
}

#[test]
fn a_folder_with_an_empty_store_has_no_table_yet() {
    for bytes in [&[][..], &[0; 65_536]] {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("table.lath"), bytes).unwrap();
        assert!(matches!(Table::open(folder.path(), options()), Err(Error::NoTable { .. })));
        Table::create(folder.path(), &schema(), &["id"], options()).unwrap();
        assert_eq!(Table::open(folder.path(), options()).unwrap().count().unwrap(), 0);

        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("database.lath"), bytes).unwrap();
        assert!(matches!(Database::open(folder.path(), options()), Err(Error::NoDatabase { .. })));
        let database = Database::open_or_create(folder.path(), options()).unwrap();
        assert!(database.table_names().unwrap().is_empty());
    }
}

#[test]
fn a_store_that_lost_its_contents_is_damaged_and_its_files_stay() {
    for name in ["0000000001-0123456789abcdef.parquet", "anything else"] {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("table.lath"), "").unwrap();
        fs::write(folder.path().join(name), "rows").unwrap();
        let error = Table::open(folder.path(), options()).unwrap_err();
        assert!(matches!(&error, Error::Store { source: lath_store::Error::Corrupt { .. } }), "{error}");
        assert_eq!(fs::read(folder.path().join(name)).unwrap(), b"rows");
        assert_eq!(fs::metadata(folder.path().join("table.lath")).unwrap().len(), 0);
    }
}
