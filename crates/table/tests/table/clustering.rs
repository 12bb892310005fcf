//! Tables whose files are sorted by other columns than the key.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_cast::cast;
use arrow_schema::{DataType, Field, Schema};
use lath_parquet::{ParquetFile, PruneReport};
use lath_store::RecordReader;
use lath_table::{Database, Error, Problem, Snapshot, Table, TableOptions};
use lath_writer::WriteOptions;

/// The number of rows in a row group.
const ROW_GROUP_ROWS: usize = 4096;

/// An id, a time and a text.
type Row = (i64, (Option<i64>, String));

/// A time and a text, by id.
type Rows = BTreeMap<i64, (Option<i64>, String)>;

fn schema() -> Schema {
    Schema::new(vec![
        Field::new("id", DataType::Int64, false),
        Field::new("ts", DataType::Int64, true),
        Field::new("note", DataType::Utf8, false),
    ])
}

/// This many rows with unrelated ids and times. Every tenth has no time.
fn rows(count: i64) -> Rows {
    let row = |number: i64| {
        let time = (number % 10 != 9).then_some(number / 4);
        (number * 7_368_787 % 15_485_863, (time, format!("note {}", number % 100)))
    };
    (0..count).map(row).collect()
}

fn batch<'r>(rows: impl IntoIterator<Item = (&'r i64, &'r (Option<i64>, String))>) -> RecordBatch {
    let rows: Vec<_> = rows.into_iter().collect();
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from_iter_values(rows.iter().map(|(id, _)| **id))),
        Arc::new(rows.iter().map(|(_, (time, _))| *time).collect::<Int64Array>()),
        Arc::new(StringArray::from_iter_values(rows.iter().map(|(_, (_, note))| note))),
    ];
    RecordBatch::try_new(Arc::new(schema()), columns).unwrap()
}

fn read_rows(batches: impl Iterator<Item = lath_table::Result<RecordBatch>>) -> Vec<Row> {
    let mut rows = Vec::new();
    for batch in batches.map(Result::unwrap) {
        let (ids, times) = (batch.column(0).as_primitive::<Int64Type>(), batch.column(1).as_primitive::<Int64Type>());
        // Files are read with string views by default.
        let notes = cast(batch.column(2), &DataType::Utf8).unwrap();
        let notes = notes.as_string::<i32>();
        for row in 0..batch.num_rows() {
            let time = times.is_valid(row).then(|| times.value(row));
            rows.push((ids.value(row), (time, notes.value(row).to_owned())));
        }
    }
    rows
}

fn options() -> TableOptions {
    TableOptions::new()
        .background(false)
        .write_options(WriteOptions::default().row_group_rows(ROW_GROUP_ROWS))
        .merge_files(2)
}

fn create(folder: &Path, columns: &[&str]) -> Table {
    Table::create_clustered(folder, &schema(), &["id"], columns, options()).unwrap()
}

/// The files of a table, or of an export.
fn parquet_files(folder: &Path) -> Vec<PathBuf> {
    let data = folder.join("_data");
    let entries = std::fs::read_dir(if data.is_dir() { &data } else { folder }).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> = paths.filter(|path| path.extension().is_some()).collect();
    paths.sort();
    paths
}

/// The rows of a file in file order, and its declared sorting columns with whether nulls come first.
fn contents(path: &Path) -> (Vec<Row>, Vec<(i32, bool)>) {
    let file = ParquetFile::open(path).unwrap();
    let sorting = file.metadata().row_group(0).unwrap().sorting_columns().unwrap();
    let batches = file.scan().build().unwrap().map(|batch| batch.map_err(Error::from));
    (read_rows(batches), sorting.iter().map(|column| (column.column_idx, column.nulls_first)).collect())
}

fn names_in_order(snapshot: &Snapshot) -> Vec<String> {
    snapshot.statistics().unwrap().cluster_columns
}

/// The pruning report of a scan that finds this many rows.
fn pruned(table: &Table, condition: &str, found: u64) -> PruneReport {
    let mut batches = table.scan().unwrap().filter(condition).unwrap().build().unwrap();
    let count: usize = batches.by_ref().map(|batch| batch.unwrap().num_rows()).sum();
    assert_eq!(count as u64, found, "{condition}");
    let [report] = &batches.reports()[..] else { panic!("files of one schema") };
    report.pruned
}

fn assert_intact(table: &Table, rows: &Rows) {
    let report = table.check().unwrap();
    assert!(report.is_intact(), "{report:?}");
    assert_eq!(report.rows, rows.len() as u64);
    let ordered = read_rows(table.range::<i64>(..).unwrap().build().unwrap());
    assert!(ordered.iter().map(|(id, row)| (id, row)).eq(rows));
}

#[test]
fn statistics_of_the_column_rule_out_row_groups_and_pages() {
    let folder = tempfile::tempdir().unwrap();
    let all = rows(40_000);
    let condition = "ts >= 5000 AND ts < 5250";
    let within = all.values().filter(|(time, _)| time.is_some_and(|time| (5000..5250).contains(&time))).count() as u64;
    let reports = [&[][..], &["ts"]].map(|columns| {
        let table = create(&folder.path().join(columns.concat()), columns);
        table.upsert(&batch(&all)).unwrap();
        table.flush().unwrap();
        assert_intact(&table, &all);
        pruned(&table, condition, within)
    });
    let row_groups = 40_000_u64.div_ceil(ROW_GROUP_ROWS as u64);
    let [by_key, clustered] = reports;
    assert_eq!((by_key.row_groups, by_key.statistics.row_groups, by_key.page_index.rows), (row_groups, 0, 0));
    // The rows are adjacent, in one or two row groups.
    assert!(clustered.statistics.row_groups >= row_groups - 2, "{clustered:?}");
}

#[test]
fn pages_of_a_row_group_are_ruled_out() {
    let folder = tempfile::tempdir().unwrap();
    let all = rows(60_000);
    let default = TableOptions::new().background(false);
    let table = Table::create_clustered(folder.path(), &schema(), &["id"], &["ts"], default).unwrap();
    table.upsert(&batch(&all)).unwrap();
    table.flush().unwrap();
    let within = all.values().filter(|(time, _)| *time == Some(7001)).count() as u64;
    let report = pruned(&table, "ts = 7001", within);
    assert_eq!(report.row_groups, 1);
    assert!(report.page_index.rows > 50_000, "{report:?}");
}

#[test]
fn rows_of_files_are_sorted_by_the_columns_and_then_by_the_key() {
    let folder = tempfile::tempdir().unwrap();
    let all = rows(10_000);
    for (name, columns) in [("by key", &[][..]), ("by time", &["ts"][..]), ("by note and time", &["note", "ts"][..])] {
        let folder = folder.path().join(name);
        let table = create(&folder, columns);
        // Part of the rows is written in bulk, and the rest is flushed.
        let (bulk, hot): (Rows, Rows) = all.clone().into_iter().partition(|(id, _)| id % 2 == 0);
        drop(table);
        let table = Table::open(&folder, options().bulk_rows(1)).unwrap();
        table.upsert(&batch(&bulk)).unwrap();
        drop(table);
        let table = Table::open(&folder, options()).unwrap();
        table.upsert(&batch(&hot)).unwrap();
        table.flush().unwrap();
        let sort_key = |(id, (time, note)): &(i64, (Option<i64>, String))| match columns {
            [] => (String::new(), None, *id),
            ["ts"] => (String::new(), *time, *id),
            _ => (note.clone(), *time, *id),
        };
        let sorting = match columns {
            [] => vec![(0, false)],
            ["ts"] => vec![(1, true), (0, false)],
            _ => vec![(2, false), (1, true), (0, false)],
        };
        let files = parquet_files(&folder);
        assert_eq!(files.len(), 2, "{name}");
        for file in &files {
            let (rows, says) = contents(file);
            assert!(rows.iter().map(sort_key).is_sorted(), "{name}");
            assert_eq!(says, sorting, "{name}");
        }
        assert_eq!(table.compact().unwrap().files_after, 1, "{name}");
        table.vacuum().unwrap();
        let [file] = &parquet_files(&folder)[..] else { panic!("{name}: one file") };
        let (merged, says) = contents(file);
        assert!(merged.iter().map(sort_key).is_sorted() && merged.len() == all.len(), "{name}");
        assert_eq!(says, sorting, "{name}");
        assert_intact(&table, &all);
    }
}

#[test]
fn new_order_applies_to_files_written_later() {
    let folder = tempfile::tempdir().unwrap();
    let table = create(folder.path(), &[]);
    let all = rows(9000);
    let parts: Vec<Rows> =
        (0..5).map(|part| all.clone().into_iter().filter(|(id, _)| id % 5 == part).collect()).collect();
    for (part, columns) in parts.iter().zip([&[][..], &["ts"], &["note"], &["note"], &["note"]]) {
        table.cluster_by(columns).unwrap();
        table.upsert(&batch(part)).unwrap();
        table.flush().unwrap();
        assert_eq!(names_in_order(&table.snapshot().unwrap()), columns);
    }
    let in_order = |table: &Table| -> Vec<bool> {
        table.snapshot().unwrap().statistics().unwrap().files.iter().map(|file| file.is_in_order).collect()
    };
    assert_eq!(in_order(&table), [false, false, true, true, true]);
    assert_intact(&table, &all);
    // Files in other orders are sorted first, and then merged with files in the current order.
    table.compact().unwrap();
    assert_eq!(in_order(&table), [true]);
    assert_intact(&table, &all);
    table.vacuum().unwrap();
    let [file] = &parquet_files(folder.path())[..] else { panic!("one file") };
    assert!(contents(file).0.is_sorted_by_key(|(id, (_, note))| (note.clone(), *id)));

    // Ordered by key again, once the file is rewritten.
    table.cluster_by::<&str>(&[]).unwrap();
    assert_eq!(in_order(&table), [false]);
    let half: Vec<i64> = all.keys().copied().step_by(2).collect();
    table.delete(half.clone()).unwrap();
    table.flush().unwrap();
    table.compact().unwrap();
    assert_eq!(in_order(&table), [true]);
    let left: Rows = all.into_iter().filter(|(id, _)| half.binary_search(id).is_err()).collect();
    assert_intact(&table, &left);
}

#[test]
fn files_are_read_in_the_order_of_keys_window_by_window() {
    let folder = tempfile::tempdir().unwrap();
    let table = create(folder.path(), &["ts"]);
    let mut all = rows(60_000);
    table.upsert(&batch(&all)).unwrap();
    table.flush().unwrap();
    let (dead, changed): (Vec<i64>, Vec<i64>) = (
        all.keys().copied().filter(|id| id % 7 == 0).collect(),
        all.keys().copied().filter(|id| id % 11 == 0).collect(),
    );
    table.delete(dead.clone()).unwrap();
    all.retain(|id, _| id % 7 != 0);
    let new: Rows = changed.iter().filter(|id| *id % 7 != 0).map(|id| (*id, (Some(-id), "new".to_owned()))).collect();
    table.upsert(&batch(&new)).unwrap();
    all.extend(new);
    assert_intact(&table, &all);
    let (low, high) = (*all.keys().nth(5000).unwrap(), *all.keys().nth(45_000).unwrap());
    let part = || all.range(low..high);
    let ranged = read_rows(table.range(low..high).unwrap().build().unwrap());
    assert!(ranged.iter().map(|(id, row)| (id, row)).eq(part()));
    assert_eq!(table.range(low..high).unwrap().count().unwrap(), part().count() as u64);
    for limit in [1, 9000, 30_000] {
        let limited = read_rows(table.range(low..).unwrap().limit(limit).build().unwrap());
        assert!(limited.iter().map(|(id, row)| (id, row)).eq(all.range(low..).take(limit as usize)), "{limit}");
    }
    let filtered = table.range(low..high).unwrap().filter("note = 'note 5'").unwrap().limit(200).build().unwrap();
    let expected = part().filter(|(_, (_, note))| note == "note 5").take(200);
    assert!(read_rows(filtered).iter().map(|(id, row)| (id, row)).eq(expected));
    let keys: Vec<i64> =
        (0..3000).map(|number| number * 5003 % 15_485_863).chain(all.keys().copied().take(500)).collect();
    let found = table.get_many(keys.clone()).unwrap();
    let found_rows = read_rows([Ok(found.rows().clone())].into_iter());
    for (key, place) in keys.iter().zip(found.places()) {
        assert_eq!(place.map(|place| &found_rows[place].1), all.get(key), "{key}");
        if key % 13 == 0 {
            let one = table.get(*key).unwrap().map(|row| read_rows([Ok(row)].into_iter()).remove(0).1);
            assert_eq!(one.as_ref(), all.get(key), "{key}");
        }
    }
}

#[test]
fn the_order_stays_when_a_table_is_opened_again_copied_and_its_columns_are_renamed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table");
    let all = rows(3000);
    let table = create(&path, &["ts", "note"]);
    table.keep_snapshot("empty").unwrap();
    table.upsert(&batch(&all)).unwrap();
    table.flush().unwrap();
    table.rename_column("ts", "time").unwrap();
    drop(table);
    let table = Table::open(&path, options()).unwrap();
    assert_eq!(names_in_order(&table.snapshot().unwrap()), ["time", "note"]);
    assert_eq!(names_in_order(&table.snapshot_named("empty").unwrap()), ["ts", "note"]);
    assert_eq!(table.snapshot().unwrap().cluster_columns(), [1, 2]);
    assert_intact(&table, &all);
    table.backup(folder.path().join("copy")).unwrap();
    let copy = Table::open_read_only(folder.path().join("copy"), options()).unwrap();
    assert_eq!(names_in_order(&copy.snapshot().unwrap()), ["time", "note"]);
    assert_intact(&copy, &all);
    assert_eq!(table.export(folder.path().join("export")).unwrap().rows, 3000);
    let [exported] = &parquet_files(&folder.path().join("export"))[..] else { panic!("one file") };
    let exported = ParquetFile::open(exported).unwrap().scan().build().unwrap();
    let exported = read_rows(exported.map(|batch| batch.map_err(Error::from)));
    assert!(exported.iter().map(|(id, row)| (id, row)).eq(&all));
    table.delete(all.keys().copied().take(10).collect::<Vec<_>>()).unwrap();
    let with_deletes = table.snapshot().unwrap().export_with_deletes(folder.path().join("deletes"), None).unwrap();
    assert_eq!((with_deletes.rows, with_deletes.deleted), (2990, 0), "written anew after the change of the schema");
}

#[test]
fn columns_that_cannot_order_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let point = DataType::Struct(vec![Field::new("x", DataType::Int64, true)].into());
    let schema = Schema::new(vec![
        Field::new("id", DataType::Int64, false),
        Field::new("ts", DataType::Int64, true),
        Field::new("place", point, true),
    ]);
    let table = Table::create(folder.path().join("table"), &schema, &["id"], options()).unwrap();
    let database = Database::create(folder.path().join("database"), options()).unwrap();
    let cases = [
        (&["tz"][..], "there is no column \"tz\" to cluster by"),
        (&["ts", "ts"][..], "column \"ts\" is twice"),
        (&["place"][..], "column \"place\""),
    ];
    for (at, (columns, message)) in cases.into_iter().enumerate() {
        let other = folder.path().join(at.to_string());
        let errors = [
            table.cluster_by(columns).unwrap_err(),
            Table::create_clustered(&other, &schema, &["id"], columns, options()).unwrap_err(),
            database.create_clustered_table("t", &schema, &["id"], columns).unwrap_err(),
        ];
        for error in errors {
            assert!(matches!(error, Error::Schema { .. }) && error.to_string().contains(message), "{error}");
        }
        assert!(!other.exists(), "nothing was made");
    }
    table.cluster_by(&["ts"]).unwrap();
    let error = table.drop_column("ts").unwrap_err();
    assert!(error.to_string().contains("clustered by column \"ts\""), "{error}");
    table.cluster_by::<&str>(&[]).unwrap();
    table.drop_column("ts").unwrap();
    let clustered = database.create_clustered_table("t", &schema, &["id"], &["ts"]).unwrap();
    assert_eq!(clustered.snapshot().unwrap().cluster_columns(), [1]);
    let read_only = Table::open_read_only(table.folder(), options()).unwrap();
    assert!(matches!(read_only.cluster_by(&["id"]), Err(Error::Store { .. })));
}

#[test]
fn a_column_of_an_order_may_be_widened_and_dropped_once_files_have_another_one() {
    let folder = tempfile::tempdir().unwrap();
    let schema = Schema::new(vec![Field::new("id", DataType::Int64, false), Field::new("ts", DataType::Int32, true)]);
    let part = |from: i64| {
        let ids = Int64Array::from_iter_values(from..from + 2000);
        let times: ArrayRef = Arc::new(ids.iter().flatten().map(|id| Some(id * 7919 % 5003)).collect::<Int64Array>());
        (Arc::new(ids) as ArrayRef, times)
    };
    let table = Table::create_clustered(folder.path(), &schema, &["id"], &["ts"], options()).unwrap();
    let put = |from, data_type: &DataType| {
        let (ids, times) = part(from);
        let times = cast(&times, data_type).unwrap();
        table
            .upsert(&RecordBatch::try_from_iter_with_nullable([("id", ids, false), ("ts", times, true)]).unwrap())
            .unwrap();
        table.flush().unwrap();
    };
    put(0, &DataType::Int32);
    table.widen_column("ts", &DataType::Int64).unwrap();
    put(2000, &DataType::Int64);
    assert!(table.check().unwrap().is_intact());
    assert_eq!(table.scan().unwrap().filter("ts < 100").unwrap().count().unwrap(), {
        (0..4000_i64).filter(|id| id * 7919 % 5003 < 100).count() as u64
    });
    table.compact().unwrap();
    assert!(table.check().unwrap().is_intact());
    table.cluster_by::<&str>(&[]).unwrap();
    table.drop_column("ts").unwrap();
    assert!(table.check().unwrap().is_intact());
    assert_eq!(table.get_many((0..4000).collect::<Vec<i64>>()).unwrap().rows().num_rows(), 4000);
}

/// Changes the table's store directly.
fn change_store(folder: &Path, change: impl FnOnce(&mut lath_store::Transaction)) {
    let store = lath_store::Options::new().create(false).open(folder.join("_table.lath")).unwrap();
    let mut transaction = store.begin().unwrap();
    change(&mut transaction);
    transaction.commit().unwrap();
}

/// The first key and value of a tree.
fn first(transaction: &mut lath_store::Transaction, tree: &str) -> (Vec<u8>, Vec<u8>) {
    let mut tree = transaction.existing_tree(tree).unwrap().unwrap();
    let tree = tree.as_tree().unwrap();
    let (key, value) = tree.iter().next().unwrap().unwrap();
    (key, value.to_vec())
}

#[test]
fn the_keys_of_blocks_are_mended() {
    let folder = tempfile::tempdir().unwrap();
    let all = rows(5000);
    let table = create(folder.path(), &["ts"]);
    table.upsert(&batch(&all)).unwrap();
    table.flush().unwrap();
    drop(table);
    change_store(folder.path(), |transaction| {
        let (file, fields) = first(transaction, "table/fences");
        let mut fields = fields[..fields.len() - 4].to_vec();
        let end = fields.len();
        fields[end - 1] ^= 1;
        transaction.tree("table/fences").unwrap().put(&file, &record(&fields)).unwrap();
    });
    let table = Table::open(folder.path(), options()).unwrap();
    let repaired = table.repair().unwrap();
    assert!(matches!(&repaired.found[..], [Problem::File { .. }]), "{repaired:?}");
    assert!(repaired.now.is_intact(), "{repaired:?}");
    assert_intact(&table, &all);
}

/// Format 3 had no orders: neither the state nor the entries of files end with one, and the entries do not record
/// checksums.
#[test]
fn a_table_of_the_format_before_is_in_the_order_of_keys() {
    let folder = tempfile::tempdir().unwrap();
    let all = rows(5000);
    let table = create(folder.path(), &[]);
    table.upsert(&batch(&all)).unwrap();
    table.flush().unwrap();
    drop(table);
    let mut formats = Vec::new();
    for format in [3, 2] {
        change_store(folder.path(), |transaction| {
            let mut meta = transaction.tree("table/meta").unwrap();
            let state = meta.get(b"state").unwrap().unwrap().to_vec();
            formats.push(RecordReader::new("the state", &state).unwrap().u32().unwrap());
            let end = state.len() - if format == 3 { 8 } else { 4 };
            meta.put(b"state", &record(&[&u32::to_le_bytes(format)[..], &state[4..end]].concat())).unwrap();
            if format == 3 {
                let (file, entry) = first(transaction, "table/files");
                let entry = record(&entry[..entry.len() - 12]);
                transaction.tree("table/files").unwrap().put(&file, &entry).unwrap();
            }
        });
        let opened = Table::open(folder.path(), options());
        if format == 2 {
            let error = opened.unwrap_err();
            assert!(matches!(error, Error::Format { found: 2, oldest: 3, known: 21 }), "{error}");
            break;
        }
        let table = opened.unwrap();
        assert_eq!(table.snapshot().unwrap().cluster_columns(), [0; 0]);
        assert_intact(&table, &all);
        table.cluster_by(&["ts"]).unwrap();
        table.delete(all.keys().copied().take(3000).collect::<Vec<_>>()).unwrap();
        table.flush().unwrap();
        table.compact().unwrap();
        assert_intact(&table, &all.clone().into_iter().skip(3000).collect());
    }
    assert_eq!(formats, [6, 6]);
}

/// A record of the store with these fields.
fn record(fields: &[u8]) -> Vec<u8> {
    [fields, &(xxhash_rust::xxh3::xxh3_64(fields) as u32).to_le_bytes()].concat()
}
