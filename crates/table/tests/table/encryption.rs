//! Encrypted tables and databases give what tables without encryption give, and nothing of it is in their files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use lath_parquet::{DatasetOptions, ParquetFile};
use lath_table::{
    Database, Durability, EncryptionKey, Error, ImportOptions, Predicate, PublishOptions, Snapshot, Table, TableOptions,
};
use lath_testkit::Seeded;

type Rows = Vec<(i64, String)>;

fn key() -> EncryptionKey {
    EncryptionKey::new([7; EncryptionKey::LEN])
}

fn plain() -> TableOptions {
    TableOptions::new().background(false).durability(Durability::Off).merge_files(2).deleted_percent(10).bulk_rows(200)
}

fn options() -> TableOptions {
    plain().encryption_key(key())
}

fn batch(rows: &[(i64, String)]) -> RecordBatch {
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.0)));
    let names: ArrayRef = Arc::new(StringArray::from_iter_values(rows.iter().map(|row| row.1.as_str())));
    RecordBatch::try_from_iter([("id", ids), ("secretname", names)]).unwrap()
}

fn rows(snapshot: &Snapshot) -> Rows {
    let batches = snapshot.range::<i64>(..).unwrap().build().unwrap().map(Result::unwrap);
    batches.flat_map(|batch| entries(&batch)).collect()
}

fn entries(batch: &RecordBatch) -> Rows {
    let (ids, names) = (batch.column(0).as_primitive::<Int64Type>(), batch.column(1).as_string_opt::<i32>());
    let names: Vec<String> = match names {
        Some(names) => names.iter().map(|name| name.unwrap().to_owned()).collect(),
        None => batch.column(1).as_string_view().iter().map(|name| name.unwrap().to_owned()).collect(),
    };
    ids.values().iter().copied().zip(names).collect()
}

fn all_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files.extend(all_files(&path)) } else { files.push(path) }
    }
    files
}

fn assert_nothing_is_plain(folder: &Path) {
    let files = all_files(folder);
    assert!(!files.is_empty());
    for path in files {
        let bytes = std::fs::read(&path).unwrap();
        for text in ["secretname", "person-"] {
            let is_plain = bytes.windows(text.len()).any(|window| window == text.as_bytes());
            assert!(!is_plain, "{} has {text}", path.display());
        }
    }
}

#[test]
fn an_encrypted_table_has_the_rows_of_one_without_encryption() {
    let mut random = Seeded::new("an_encrypted_table_has_the_rows_of_one_without_encryption");
    let folder = tempfile::tempdir().unwrap();
    let schema = batch(&[]).schema();
    let secret = folder.path().join("secret");
    let known = Table::create(folder.path().join("known"), &schema, &["id"], plain()).unwrap();
    let mut table = Table::create(&secret, &schema, &["id"], options()).unwrap();
    for each in [&known, &table] {
        each.create_index("by name", &["secretname"], false).unwrap();
    }
    for step in 0..120 {
        match random.u8(..12) {
            0 => [&known, &table].map(|table| table.flush().map(drop).unwrap()),
            1 => [&known, &table].map(|table| table.compact().map(drop).unwrap()),
            2 => [&known, &table].map(|table| table.vacuum().map(drop).unwrap()),
            3 => {
                drop(table);
                table = Table::open(&secret, options()).unwrap();
                [(), ()]
            }
            4 => {
                let ids: Vec<i64> = (0..20).map(|_| random.i64(..400)).collect();
                [&known, &table].map(|table| table.delete(ids.clone()).unwrap())
            }
            _ => {
                let count = if random.u8(..6) == 0 { 300 } else { 15 };
                let mut put: Rows = (0..count).map(|_| (random.i64(..400), format!("person-{step}"))).collect();
                put.sort();
                put.dedup_by_key(|row| row.0);
                let put = batch(&put);
                [&known, &table].map(|table| table.upsert(&put).unwrap())
            }
        };
        let both = [&known, &table].map(|table| table.snapshot().unwrap());
        let [expected, actual] = both.each_ref().map(rows);
        assert_eq!(actual, expected, "after step {step}");
        let id = random.i64(..400);
        let [expected, actual] = [&known, &table].map(|table| table.get(id).unwrap().map(|row| entries(&row)));
        assert_eq!(actual, expected);
        let filter: Predicate =
            format!("secretname = 'person-{}' AND id < 300", random.usize(..=step)).parse().unwrap();
        let [expected, actual] = [&known, &table].map(|table| {
            let scan = table.scan().unwrap().predicate(filter.clone());
            let mut found: Rows = scan.build().unwrap().flat_map(|batch| entries(&batch.unwrap())).collect();
            found.sort();
            found
        });
        assert_eq!(actual, expected);
    }
    assert!(table.flush().is_ok() && table.check().unwrap().problems.is_empty());
    drop(table);
    assert_nothing_is_plain(&secret);
}

#[test]
fn without_its_key_a_table_is_not_opened() {
    let folder = tempfile::tempdir().unwrap();
    let (secret, open) = (folder.path().join("secret"), folder.path().join("open"));
    let first = batch(&[(1, "person-1".to_owned())]);
    for (path, options) in [(&secret, options()), (&open, plain())] {
        let table = Table::create(path, &first.schema(), &["id"], options).unwrap();
        table.upsert(&first).unwrap();
        table.flush().unwrap();
    }
    let other = plain().encryption_key(EncryptionKey::new([8; EncryptionKey::LEN]));
    for (path, options) in [(&secret, plain()), (&secret, other), (&open, options())] {
        for opened in [Table::open(path, options.clone()), Table::open_read_only(path, options)] {
            let opened = opened.map(drop);
            assert!(matches!(opened, Err(Error::Store { source: lath_store::Error::Key(_) })), "{opened:?}");
        }
    }
    let data = all_files(&secret.join("_data")).into_iter().find(|path| !path.ends_with("_README"));
    let read = ParquetFile::open(data.unwrap());
    assert!(matches!(read, Err(lath_parquet::Error::Encrypted { .. })), "{read:?}");
    assert_eq!(rows(&Table::open_read_only(&secret, options()).unwrap().snapshot().unwrap()).len(), 1);
}

#[test]
fn backups_are_encrypted_and_exports_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    let put: Rows = (0..500).map(|id| (id, format!("person-{id}"))).collect();
    let table = Table::create(place("table"), &batch(&[]).schema(), &["id"], options()).unwrap();
    table.upsert(&batch(&put)).unwrap();
    table.flush().unwrap();
    table.upsert(&batch(&put[..3])).unwrap();
    let snapshot = table.snapshot().unwrap();
    table.backup(place("backup")).unwrap();
    assert_nothing_is_plain(&place("backup"));
    assert_eq!(rows(&Table::open(place("backup"), options()).unwrap().snapshot().unwrap()), put);
    assert!(Table::open(place("backup"), plain()).is_err());

    snapshot.export(place("export")).unwrap();
    let files = lath_parquet::Dataset::open([place("export")], DatasetOptions::new()).unwrap();
    assert_eq!(files.scan().count().unwrap(), 500);
    let refused = snapshot.export_with_deletes(place("own files"), None);
    assert!(matches!(refused, Err(Error::Encryption { .. })), "{refused:?}");
    assert!(matches!(table.publish(PublishOptions::new()), Err(Error::Publish { .. })));
    let keys = lath_writer::EncryptionKeys::new([1; 16]);
    let options = plain().write_options(lath_writer::WriteOptions::default().encryption(keys));
    let refused = Table::create(place("other"), &batch(&[]).schema(), &["id"], options).map(drop);
    assert!(matches!(refused, Err(Error::Encryption { .. })), "{refused:?}");
}

#[test]
fn files_stay_as_long_as_a_reader_has_the_table_open() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table");
    let put: Rows = (0..500).map(|id| (id, format!("person-{id}"))).collect();
    let table = Table::create(&path, &batch(&[]).schema(), &["id"], options()).unwrap();
    table.upsert(&batch(&put)).unwrap();
    table.flush().unwrap();
    drop(table);
    let reader = Table::open_read_only(&path, options()).unwrap();
    let snapshot = reader.snapshot().unwrap();
    let table = Table::open(&path, options()).unwrap();
    let other: Rows = (0..400).map(|id| (id, "other".to_owned())).collect();
    table.upsert(&batch(&other)).unwrap();
    table.flush().unwrap();
    table.compact().unwrap();
    assert_eq!(table.vacuum().unwrap(), 0);
    assert_eq!(rows(&snapshot), put);
    assert_eq!(rows(&table.snapshot().unwrap())[1].1, "other");
    drop((snapshot, reader));
    assert!(table.vacuum().unwrap() > 0);
}

#[test]
fn imported_files_are_written_again() {
    let folder = tempfile::tempdir().unwrap();
    let put: Rows = (0..500).map(|id| (id, format!("person-{id}"))).collect();
    let known = Table::create(folder.path().join("known"), &batch(&[]).schema(), &["id"], plain()).unwrap();
    known.upsert(&batch(&put)).unwrap();
    let files = folder.path().join("files");
    known.snapshot().unwrap().export(&files).unwrap();
    let source = lath_parquet::Dataset::open([&files], DatasetOptions::new()).unwrap();
    let path = folder.path().join("imported");
    let (table, report) = Table::import(&path, &source, &["id"], options(), ImportOptions::new()).unwrap();
    assert_eq!((report.rows, report.rewritten.len()), (500, 1));
    assert_eq!(report.rewritten[0].reason, "the table is encrypted");
    assert_eq!(rows(&table.snapshot().unwrap()), put);
    drop(table);
    assert_nothing_is_plain(&path);
}

#[test]
fn a_database_is_encrypted_as_a_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("database");
    let put: Rows = (0..300).map(|id| (id, format!("person-{id}"))).collect();
    let database = Database::create(&path, options()).unwrap();
    for name in ["secretname1", "secretname2"] {
        let table = database.create_table(name, &batch(&[]).schema(), &["id"]).unwrap();
        table.upsert(&batch(&put)).unwrap();
        table.flush().unwrap();
        table.upsert(&batch(&put[..5])).unwrap();
    }
    database.put_view("v", "SELECT secretname FROM secretname1").unwrap();
    database.backup(folder.path().join("backup")).unwrap();
    drop(database);
    for path in [path, folder.path().join("backup")] {
        assert_nothing_is_plain(&path);
        assert!(Database::open(&path, plain()).is_err());
        let database = Database::open(&path, options()).unwrap();
        let table = database.table("secretname2").unwrap();
        assert_eq!(rows(&table.snapshot().unwrap()), put);
        assert!(table.check().unwrap().problems.is_empty());
    }
}
