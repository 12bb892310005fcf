//! Tables that are made of files of other programs.

use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use fastrand::Rng;
use lath_parquet::{
    ColumnMapping, Dataset, DatasetFile, DatasetOptions, DecryptionKeys, DeleteMask, Int96Unit, MappedColumn,
    OpenOptions,
};
use lath_table::{
    Database, Error, ImportOptions, ImportProgress, ImportReport, Predicate, PublishOptions, Table, TableOptions,
};
use lath_testkit::Seeded;
use lath_writer::{ParquetWriter, WriteOptions};

type Rows = BTreeMap<i64, Option<String>>;

fn options() -> TableOptions {
    TableOptions::new().background(false).file_rows(3000).bulk_rows(2000)
}

fn schema() -> Schema {
    Schema::new(vec![Field::new("text", DataType::Utf8, true), Field::new("id", DataType::Int64, true)])
}

fn batch(rows: &[(i64, Option<String>)]) -> RecordBatch {
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.0)));
    let texts: ArrayRef = Arc::new(StringArray::from_iter(rows.iter().map(|row| row.1.as_deref())));
    RecordBatch::try_new(Arc::new(schema()), vec![texts, ids]).unwrap()
}

fn write(path: &Path, rows: &RecordBatch) -> PathBuf {
    let options = WriteOptions::default().row_group_rows(1500);
    let mut writer = ParquetWriter::new(fs::File::create(path).unwrap(), &rows.schema(), options).unwrap();
    writer.write(rows).unwrap();
    writer.finish().unwrap();
    path.to_owned()
}

/// The files with the rows that are deleted in each.
fn dataset(files: &[(PathBuf, Vec<u64>)]) -> Dataset {
    let options = Arc::new(DatasetOptions::new());
    let file = |(path, deleted): &(PathBuf, Vec<u64>)| {
        let file = DatasetFile::at(path.to_str().unwrap(), None, [], &options).unwrap();
        match deleted.is_empty() {
            true => file,
            false => file.with_deleted(deleted.iter().copied().collect::<DeleteMask>().into()),
        }
    };
    let schema = Arc::new(Schema::new(vec![
        Field::new("text", DataType::Utf8View, true),
        Field::new("id", DataType::Int64, true),
    ]));
    Dataset::with_schema(schema, Vec::new(), files.iter().map(file).collect()).unwrap()
}

fn rows(table: &Table) -> Rows {
    let mut rows = Rows::new();
    for batch in table.scan().unwrap().build().unwrap() {
        let batch = batch.unwrap();
        let (texts, ids) = (batch.column(0).as_string::<i32>(), batch.column(1).as_primitive::<Int64Type>());
        for row in 0..batch.num_rows() {
            let text = texts.is_valid(row).then(|| texts.value(row).to_owned());
            assert!(rows.insert(ids.value(row), text).is_none(), "key {} twice", ids.value(row));
        }
    }
    rows
}

fn import(folder: &Path, source: &Dataset) -> lath_table::Result<(Table, ImportReport)> {
    Table::import(folder, source, &["id"], options(), ImportOptions::new())
}

#[cfg(unix)]
fn link_count(path: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(path).unwrap().nlink()
}

/// Files of any order, with deleted rows, are the rows of a table, which changes from then on as any other.
#[test]
fn files_become_a_table_that_changes_like_any_other() {
    let seeded = Seeded::new("import");
    let mut random = Rng::with_seed(seeded.seed());
    for case in 0..12 {
        let home = tempfile::tempdir().unwrap();
        let mut keys: Vec<i64> = (0..random.i64(1..9000)).collect();
        if random.bool() {
            random.shuffle(&mut keys);
        }
        let (mut expected, mut files) = (Rows::new(), Vec::new());
        let mut at = 0;
        while at < keys.len() {
            let end = keys.len().min(at + random.usize(1..4000));
            let mut part = keys[at..end].to_vec();
            if random.bool() {
                part.sort_unstable();
            }
            let text = |key: &i64| (key % 7 > 0).then(|| format!("text {key}"));
            let part: Vec<(i64, Option<String>)> = part.iter().map(|key| (*key, text(key))).collect();
            let share = random.u64(0..4);
            let deleted: Vec<u64> =
                (0..part.len() as u64).filter(|_| share > 0 && random.u64(0..10) < share * share).collect();
            let path = write(&home.path().join(format!("{}.parquet", files.len())), &batch(&part));
            expected.extend(
                part.into_iter().enumerate().filter(|(row, _)| !deleted.contains(&(*row as u64))).map(|row| row.1),
            );
            files.push((path, deleted));
            at = end;
        }
        // A row of another file that was deleted has the key of one that was not.
        if let Some(key) = expected.keys().next().copied() {
            let path = write(&home.path().join("old.parquet"), &batch(&[(-1, None), (key, None)]));
            files.push((path, vec![1]));
            expected.insert(-1, None);
        }
        let folder = home.path().join("table");
        let (mut table, report) = import(&folder, &dataset(&files)).unwrap();
        assert_eq!((report.rows, &report.rewritten[..]), (expected.len() as u64, &[][..]));
        assert!(report.files <= files.len() && report.linked == report.files);
        #[cfg(unix)]
        assert!(files.iter().filter(|(path, _)| link_count(path) == 2).count() == report.files);
        assert!(rows(&table) == expected, "case {case}");
        assert_eq!(table.count().unwrap(), expected.len() as u64);
        let checked = table.check().unwrap();
        assert!(checked.is_intact(), "{:?}", checked.problems);
        for _ in 0..3 {
            let put: Vec<(i64, Option<String>)> =
                (0..200).map(|_| (random.i64(-5..9000), Some("new".to_owned()))).collect();
            table.upsert(&batch(&put)).unwrap();
            expected.extend(put);
            let gone: Vec<i64> = (0..50).map(|_| random.i64(0..9000)).collect();
            table.delete(gone.clone()).unwrap();
            expected.retain(|key, _| !gone.contains(key));
            match random.u8(..4) {
                0 => drop(table.flush().unwrap()),
                1 => {
                    table.flush().unwrap();
                    table.compact().unwrap();
                    table.vacuum().unwrap();
                }
                2 => {
                    drop(table);
                    table = Table::open(&folder, options()).unwrap();
                }
                _ => {}
            }
            assert!(rows(&table) == expected, "case {case}");
            for key in (0..40).map(|_| random.i64(-5..9000)) {
                assert_eq!(table.get(key).unwrap().is_some(), expected.contains_key(&key), "key {key}");
            }
            let ordered: Vec<i64> = table
                .range::<i64>(100..2000)
                .unwrap()
                .build()
                .unwrap()
                .flat_map(|batch| batch.unwrap().column(1).as_primitive::<Int64Type>().values().to_vec())
                .collect();
            assert!(ordered.iter().eq(expected.range(100..2000).map(|(key, _)| key)), "case {case}");
        }
        let condition = Predicate::parse("text = 'new'").unwrap();
        let deleted = table.delete_where(&condition).unwrap();
        assert_eq!(deleted, expected.values().filter(|text| text.as_deref() == Some("new")).count() as u64);
        assert!(table.check().unwrap().is_intact());
        // The source is as it was.
        for (path, _) in &files {
            assert!(lath_parquet::ParquetFile::open(path).unwrap().row_count() > 0);
        }
    }
}

#[test]
fn files_that_no_table_can_have_are_written_again() {
    let home = tempfile::tempdir().unwrap();
    let file = |name: &str, columns: Vec<(&str, ArrayRef)>| {
        write(&home.path().join(name), &RecordBatch::try_from_iter(columns).unwrap())
    };
    let ids = |ids: &[i64]| -> ArrayRef { Arc::new(Int64Array::from(ids.to_vec())) };
    let texts = |texts: &[&str]| -> ArrayRef { Arc::new(StringArray::from(texts.to_vec())) };
    let taken = file("taken.parquet", vec![("text", texts(&["a", "b"])), ("id", ids(&[1, 2]))]);
    let narrow: ArrayRef = Arc::new(Int32Array::from(vec![3, 4]));
    let files = [
        (taken, vec![]),
        (file("narrow.parquet", vec![("text", texts(&["c", "d"])), ("id", narrow)]), vec![]),
        (file("moved.parquet", vec![("id", ids(&[5, 6])), ("text", texts(&["e", "f"]))]), vec![1]),
        (file("lacking.parquet", vec![("id", ids(&[7]))]), vec![]),
        (file("twice.parquet", vec![("text", texts(&["g", "h"])), ("id", ids(&[8, 8]))]), vec![0]),
        (file("gone.parquet", vec![("text", texts(&["i"])), ("id", ids(&[9]))]), vec![0]),
    ];
    let folder = home.path().join("table");
    let (table, report) = import(&folder, &dataset(&files)).unwrap();
    let text = |text: &str| Some(text.to_owned());
    let expected =
        [(1, text("a")), (2, text("b")), (3, text("c")), (4, text("d")), (5, text("e")), (7, None), (8, text("h"))];
    assert_eq!(rows(&table), Rows::from(expected.clone()));
    assert_eq!((report.rows, report.files), (7, 1));
    let reasons: Vec<(&str, u64)> =
        report.rewritten.iter().map(|file| (file.location.rsplit('/').next().unwrap(), file.rows)).collect();
    assert_eq!(reasons, [("narrow.parquet", 2), ("moved.parquet", 1), ("lacking.parquet", 1), ("twice.parquet", 1)]);
    assert_eq!(report.rewritten[0].reason, "its column id is Int32, and the table's Int64");
    assert!(report.rewritten[3].reason.contains("same key"));
    assert!(table.check().unwrap().is_intact());
    drop(table);
    let table = Table::open(&folder, options()).unwrap();
    assert_eq!(table.count().unwrap(), 7);
    // Files without numbers of columns are written again before they are published.
    let published = table.publish(PublishOptions::new()).unwrap();
    assert_eq!((published.rows, published.rewritten), (7, 1));
    assert_eq!(rows(&table), Rows::from(expected));
}

/// A table of Delta Lake or Iceberg can find its columns under other names, or by number, in files that have columns of the same names.
#[test]
fn a_file_whose_columns_have_other_names_in_its_table_is_written_again() {
    let home = tempfile::tempdir().unwrap();
    let texts = |texts: [&str; 2]| -> ArrayRef { Arc::new(StringArray::from(texts.to_vec())) };
    let ids: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
    let columns = [("id", ids), ("a", texts(["a1", "a2"])), ("b", texts(["b1", "b2"]))];
    let file = write(&home.path().join("swapped.parquet"), &RecordBatch::try_from_iter(columns).unwrap());
    let stored = |name: &str, stored: &str| MappedColumn::new(name).stored_name(stored);
    let id = || MappedColumn::new("id").stored_name("id");
    let import = |folder: &str, columns: [MappedColumn; 3]| {
        let fields = columns.iter().map(|column| {
            Field::new(column.name(), if column.name() == "id" { DataType::Int64 } else { DataType::Utf8View }, true)
        });
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let options = Arc::new(DatasetOptions::new().columns(Arc::new(ColumnMapping::new(columns))));
        let files = vec![DatasetFile::at(file.to_str().unwrap(), None, [], &options).unwrap()];
        let (table, report) =
            import(&home.path().join(folder), &Dataset::with_schema(schema, Vec::new(), files).unwrap()).unwrap();
        let rows = table.get(2).unwrap().unwrap();
        let text = |at: usize| rows.column(at).as_string::<i32>().iter().next().unwrap().map(ToOwned::to_owned);
        ((text(1), text(2)), report.files)
    };
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(import("same", [id(), stored("a", "a"), stored("b", "b")]), ((text("a2"), text("b2")), 1));
    assert_eq!(import("swapped", [id(), stored("a", "b"), stored("b", "a")]), ((text("b2"), text("a2")), 0));
    // The column `b` was dropped and added again.
    assert_eq!(import("added", [id(), stored("a", "a"), stored("b", "col-7")]), ((text("a2"), None), 0));
}

#[test]
fn a_null_in_a_column_that_has_none_is_an_error() {
    let home = tempfile::tempdir().unwrap();
    let file = |name: &str, values: Vec<Option<&str>>| {
        let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..values.len() as i64));
        let texts: ArrayRef = Arc::new(StringArray::from(values));
        let rows = RecordBatch::try_new(Arc::new(schema()), vec![texts, ids]).unwrap();
        vec![(write(&home.path().join(name), &rows), vec![])]
    };
    let fields = vec![Field::new("text", DataType::Utf8View, false), Field::new("id", DataType::Int64, true)];
    let required = |files: &Dataset| {
        Dataset::with_schema(Arc::new(Schema::new(fields.clone())), Vec::new(), files.files().to_vec()).unwrap()
    };
    let folder = home.path().join("table");
    let with_null = required(&dataset(&file("null.parquet", vec![Some("a"), None])));
    let error = import(&folder, &with_null).unwrap_err();
    assert!(error.to_string().contains("contains null values"), "{error}");
    assert!(!folder.exists());
    let (table, report) = import(&folder, &required(&dataset(&file("a.parquet", vec![Some("a"), Some("b")])))).unwrap();
    assert_eq!((table.count().unwrap(), report.linked), (2, 1));
}

#[test]
fn rows_with_the_same_key_or_a_null_are_an_error_that_leaves_nothing() {
    let home = tempfile::tempdir().unwrap();
    let row = |key: i64| (key, None);
    let part = |name: &str, keys: &[i64]| {
        write(&home.path().join(name), &batch(&keys.iter().map(|key| row(*key)).collect::<Vec<_>>()))
    };
    let (one, two) = (part("one.parquet", &[1, 2, 3, 4711]), part("two.parquet", &[4000, 4711, 5000]));
    let unsorted = part("unsorted.parquet", &[70, 60, 70]);
    let folder = home.path().join("table");
    for files in [vec![(one.clone(), vec![]), (two.clone(), vec![])], vec![(unsorted, vec![])]] {
        let error = import(&folder, &dataset(&files)).unwrap_err();
        let key = if files.len() == 2 { "id = 4711" } else { "id = 70" };
        assert!(
            matches!(&error, Error::Import { what } if what.contains(&format!("two rows have the key {key}"))),
            "{error}"
        );
        assert!(!folder.exists());
    }
    // Deleted rows do not count.
    let (table, _) = import(&folder, &dataset(&[(one.clone(), vec![3]), (two.clone(), vec![])])).unwrap();
    assert_eq!(rows(&table).into_keys().collect::<Vec<_>>(), [1, 2, 3, 4000, 4711, 5000]);
    drop(table);
    let error = import(&folder, &dataset(&[(one.clone(), vec![])])).unwrap_err();
    assert!(matches!(error, Error::Exists { .. } | Error::NotEmpty { .. }), "{error}");
    assert_eq!(Table::open(&folder, options()).unwrap().count().unwrap(), 6);

    let nulls: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None]));
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["a", "b"]));
    let nulls = write(
        &home.path().join("nulls.parquet"),
        &RecordBatch::try_new(Arc::new(schema()), vec![texts, nulls]).unwrap(),
    );
    let other = home.path().join("other");
    fs::create_dir(&other).unwrap();
    let error = import(&other, &dataset(&[(nulls.clone(), vec![])])).unwrap_err();
    assert!(error.to_string().contains("row 1 of") && error.to_string().contains("null in a key column"), "{error}");
    assert_eq!(fs::read_dir(&other).unwrap().count(), 0);
    let (table, report) = import(&other, &dataset(&[(nulls, vec![1])])).unwrap();
    assert_eq!((table.count().unwrap(), report.rewritten.len()), (1, 1));
}

#[test]
fn what_a_killed_import_leaves_is_removed_by_the_next() {
    let home = tempfile::tempdir().unwrap();
    let file = write(&home.path().join("a.parquet"), &batch(&[(1, None), (2, None)]));
    let folder = home.path().join("table");
    fs::create_dir_all(folder.join("_data")).unwrap();
    let orphan = folder.join("_data/0000000001-00000000000000ab.pq");
    fs::hard_link(&file, &orphan).unwrap();
    assert!(matches!(Table::open(&folder, options()), Err(Error::NoTable { .. })));
    let (table, _) = import(&folder, &dataset(&[(file, vec![])])).unwrap();
    assert!(table.count().unwrap() == 2 && !orphan.exists());
}

#[test]
fn a_table_of_a_database_is_imported_in_one_commit() {
    let home = tempfile::tempdir().unwrap();
    let file = write(&home.path().join("a.parquet"), &batch(&[(2, None), (1, None)]));
    let twice = write(&home.path().join("twice.parquet"), &batch(&[(2, None)]));
    let folder = home.path().join("base");
    let database = Database::create(&folder, options()).unwrap();
    let copied = ImportOptions::new().copy(true);
    let error =
        database.import_table("t", &dataset(&[(file.clone(), vec![]), (twice, vec![])]), &["id"], copied).unwrap_err();
    assert!(error.to_string().contains("two rows have the key id = 2"), "{error}");
    assert!(database.table_names().unwrap().is_empty() && !folder.join("table-000001").exists());
    let before = database.snapshot().unwrap();
    let (table, report) = database.import_table("t", &dataset(&[(file.clone(), vec![])]), &["id"], copied).unwrap();
    assert!(before.table_names().unwrap().is_empty());
    assert_eq!((table.count().unwrap(), report.files, report.linked), (2, 1, 0));
    #[cfg(unix)]
    assert_eq!(link_count(&file), 1);
    drop((table, before, database));
    let database = Database::open(&folder, options()).unwrap();
    let table = database.table("t").unwrap();
    assert_eq!(rows(&table), Rows::from([(1, None), (2, None)]));
    assert!(table.check().unwrap().is_intact());
}

/// A table has no keys of encryption.
#[test]
fn an_encrypted_file_is_written_again_and_without_its_keys_refused() {
    let Some(corpus) = lath_testkit::parquet_test_data() else { return };
    for name in ["encrypt_columns_plaintext_footer", "encrypt_columns_and_footer"] {
        let home = tempfile::tempdir().unwrap();
        let file = corpus.join("data").join(format!("{name}.parquet.encrypted"));
        let keys = DecryptionKeys::new(*b"0123456789012345")
            .column_key("double_field", *b"1234567890123450")
            .column_key("float_field", *b"1234567890123451");
        let without_keys = || OpenOptions::new().int96_unit(Int96Unit::Microseconds);
        let open = |how: OpenOptions| Dataset::open([&file], DatasetOptions::new().open_options(how));
        let import = |source: &Dataset| {
            Table::import(home.path().join("t"), source, &["int64_field"], options(), ImportOptions::new())
        };
        if let Ok(source) = open(without_keys()) {
            let error = import(&source).unwrap_err();
            assert!(error.to_string().contains("is encrypted"), "{error}");
            assert!(!home.path().join("t").exists());
        }
        let (table, report) = import(&open(without_keys().decryption(keys)).unwrap()).unwrap();
        assert_eq!((report.rows, report.files, report.rewritten.len()), (50, 0, 1));
        assert_eq!(report.rewritten[0].reason, "it is encrypted");
        let counts = table.scan().unwrap().build().unwrap().map(|rows| rows.unwrap().num_rows());
        assert_eq!(counts.sum::<usize>(), 50);
    }
}

/// The keys of a file are read before it is linked.
#[test]
fn a_file_that_is_replaced_while_it_is_imported_is_an_error() {
    for copied in [false, true] {
        let home = tempfile::tempdir().unwrap();
        let file = write(&home.path().join("a.parquet"), &batch(&[(1, None), (2, None)]));
        let other = home.path().join("b.parquet");
        let mut replaces = true;
        let made = Table::import_with(
            home.path().join("t"),
            &dataset(&[(file.clone(), vec![])]),
            &["id"],
            options(),
            ImportOptions::new().copy(copied),
            |progress| {
                if progress.files == progress.all_files && std::mem::take(&mut replaces) {
                    // Of the same size.
                    fs::copy(&file, &other).unwrap();
                    fs::rename(&other, &file).unwrap();
                }
                ControlFlow::Continue(())
            },
        );
        let error = made.unwrap_err();
        assert!(error.to_string().contains("a.parquet has changed while it was imported"), "{error}");
        assert!(!home.path().join("t").exists());
    }
}

/// No file stays of an import that is stopped at any step, and the next one succeeds.
#[test]
fn an_import_that_is_stopped_leaves_nothing() {
    let home = tempfile::tempdir().unwrap();
    let mut files = Vec::new();
    for at in 0..4_i64 {
        // One of the files has a column more, so that it is written again.
        let mut rows = batch(&(at * 900..at * 900 + 900).map(|id| (id, Some(format!("t{id}")))).collect::<Vec<_>>());
        if at == 2 {
            let more: ArrayRef = Arc::new(Int32Array::from(vec![1; 900]));
            let columns = [("text", rows.column(0)), ("more", &more), ("id", rows.column(1))];
            rows = RecordBatch::try_from_iter(columns.map(|(name, column)| (name, Arc::clone(column)))).unwrap();
        }
        files.push((write(&home.path().join(format!("{at}.parquet")), &rows), Vec::new()));
    }
    let source = dataset(&files);
    let (folder, shop) = (home.path().join("t"), home.path().join("shop"));
    let database = Database::open_or_create(&shop, options()).unwrap();
    let table_folders = |folder: &Path| {
        let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        // The files of the store come and go.
        names.filter(|name| name.starts_with("table-")).count()
    };
    let mut calls = 0;
    loop {
        let run = |limit: usize| {
            let mut at = 0;
            move |_: &ImportProgress| {
                at += 1;
                if at > limit { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            }
        };
        let is_cancelled = |error: &Error| matches!(error, Error::Parquet { source } if matches!(**source, lath_parquet::Error::Cancelled));
        let alone = Table::import_with(&folder, &source, &["id"], options(), ImportOptions::new(), run(calls));
        let in_database = database.import_table_with("t", &source, &["id"], ImportOptions::new(), run(calls));
        match (alone, in_database) {
            (Ok((alone, report)), Ok((in_database, _))) => {
                assert_eq!((report.rows, report.files, report.rewritten.len()), (3600, 3, 1));
                assert_eq!(rows(&alone), rows(&in_database));
                assert_eq!(rows(&alone).len(), 3600);
                break;
            }
            (Err(alone), Err(in_database)) => {
                assert!(is_cancelled(&alone) && is_cancelled(&in_database), "{alone}, {in_database}");
                assert!(!folder.exists());
                assert_eq!(table_folders(&shop), 0);
                assert!(database.table_names().unwrap().is_empty());
            }
            _ => panic!("one import was stopped after {calls} calls, and the other was not"),
        }
        calls += 1;
    }
    // Before and after files were read, and before each link.
    assert!(calls >= 8, "{calls}");
    for (file, _) in &files {
        #[cfg(unix)]
        assert!(link_count(file) <= 3, "{}", file.display());
    }
}
