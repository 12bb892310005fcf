//! Columns are added, dropped, renamed and widened: the resulting rows, hot and in files, in snapshots and in other
//! processes' handles, and rejected changes.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Float64Type, Int32Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, Decimal128Array, Float32Array, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray,
};
use arrow_schema::{DataType, Field, Schema};
use lath_parquet::{Dataset, DatasetOptions, ParquetFile};
use lath_table::{ChangeRetention, Database, Error, KeyValue, Predicate, Snapshot, Table, TableOptions};

fn options() -> TableOptions {
    TableOptions::new().background(false).merge_files(2)
}

/// Rows with the key and ten times the key.
fn batch(names: [&str; 2], ids: std::ops::Range<i64>) -> RecordBatch {
    let counts: ArrayRef = Arc::new(Int32Array::from_iter_values(ids.clone().map(|id| id as i32 * 10)));
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(ids));
    RecordBatch::try_from_iter([(names[0], ids), (names[1], counts)]).unwrap()
}

fn with_column(batch: &RecordBatch, name: &str, column: ArrayRef) -> RecordBatch {
    let mut columns: Vec<(String, ArrayRef)> =
        batch.schema().fields().iter().zip(batch.columns()).map(|(f, c)| (f.name().clone(), Arc::clone(c))).collect();
    columns.push((name.to_owned(), column));
    RecordBatch::try_from_iter(columns).unwrap()
}

/// A column in key order.
fn column(snapshot: &Snapshot, name: &str) -> ArrayRef {
    let batches = snapshot.range::<i64>(..).unwrap().select([name]).build().unwrap();
    let arrays: Vec<ArrayRef> = batches.map(|batch| Arc::clone(batch.unwrap().column(0))).collect();
    arrow_select::concat::concat(&arrays.iter().map(|array| &**array).collect::<Vec<_>>()).unwrap()
}

fn names(snapshot: &Snapshot) -> Vec<String> {
    snapshot.schema().fields().iter().map(|field| field.name().clone()).collect()
}

/// The number of rows that satisfy a condition, found by a scan.
fn count(table: &Table, condition: &str) -> usize {
    let batches = table.scan().unwrap().filter(condition).unwrap().build().unwrap();
    batches.map(|batch| batch.unwrap().num_rows()).sum()
}

fn refused(result: Result<(), Error>, what: &str) {
    let error = result.unwrap_err();
    assert!(matches!(error, Error::Schema { .. }) && error.to_string().contains(what), "{error}");
}

#[test]
fn old_rows_are_read_in_the_new_schema() {
    let folder = tempfile::tempdir().unwrap();
    let rows = batch(["id", "count"], 0..3000);
    let table = Table::create(folder.path(), &rows.schema(), &["id"], options()).unwrap();
    table.upsert(&rows).unwrap();
    table.flush().unwrap();
    table.upsert(&batch(["id", "count"], 3000..3005)).unwrap();
    table.keep_snapshot("old").unwrap();
    let before = table.snapshot().unwrap();

    table.add_column(&Field::new("stars", DataType::Int32, false), Some(3.into())).unwrap();
    table.add_column(&Field::new("note", DataType::Utf8, true), None).unwrap();
    table.rename_column("count", "views").unwrap();
    table.widen_column("views", &DataType::Int64).unwrap();
    table.rename_column("id", "film").unwrap();
    let new = batch(["film", "views"], 3005..3010);
    let new = with_column(&new, "stars", Arc::new(Int32Array::from(vec![5; 5])));
    let new = with_column(&new, "note", Arc::new(StringArray::from(vec!["new"; 5])));
    let mut columns = new.columns().to_vec();
    columns[1] = arrow_cast::cast(&columns[1], &DataType::Int64).unwrap();
    let new = RecordBatch::try_new(table.schema().unwrap(), columns).unwrap();
    table.upsert(&new).unwrap();

    let compare = |table: &Table| {
        let snapshot = table.snapshot().unwrap();
        assert_eq!(names(&snapshot), ["film", "views", "stars", "note"]);
        let views = column(&snapshot, "views");
        assert!(views.as_primitive::<Int64Type>().values().iter().copied().eq((0..3010).map(|id| id * 10)));
        let stars = column(&snapshot, "stars");
        assert!(
            stars
                .as_primitive::<Int32Type>()
                .values()
                .iter()
                .enumerate()
                .all(|(id, &stars)| stars == if id < 3005 { 3 } else { 5 })
        );
        assert_eq!(column(&snapshot, "note").null_count(), 3005);
        assert_eq!(table.get(17).unwrap().unwrap().column(1).as_primitive::<Int64Type>().value(0), 170);
        assert_eq!(count(table, "stars = 3"), 3005);
        assert_eq!(count(table, "STARS = 3 AND film < 10 AND views >= 50"), 5);
        assert_eq!(count(table, "note IS NULL AND views < 100"), 10);
        assert_eq!(count(table, "note = 'new'"), 5);
        assert_eq!(snapshot.scan().limit(7).filter("stars = 3").unwrap().count().unwrap(), 7);
        assert_eq!(
            snapshot.scan().select(["note"]).build().unwrap().map(|batch| batch.unwrap().num_rows()).sum::<usize>(),
            3010
        );
        // Snapshots taken before have their schema.
        for old in [&before, &snapshot.snapshot_named("old").unwrap()] {
            assert_eq!(names(old), ["id", "count"]);
            assert_eq!(column(old, "count").as_primitive::<Int32Type>().values().len(), 3005);
            assert_eq!(old.scan().filter("count = 30").unwrap().count().unwrap(), 1);
        }
        let report = table.check().unwrap();
        assert!(report.is_intact(), "{report:?}");
    };
    compare(&table);
    let beside = Table::open_read_only(folder.path(), options()).unwrap();
    compare(&beside);
    table.flush().unwrap();
    compare(&table);
    // The earlier file and the new one are merged.
    assert_eq!(table.compact().unwrap().files_before, 0);
    assert_eq!(
        table.delete_where(&Predicate::parse("stars = 3 AND film >= 2000 AND film < 2500").unwrap()).unwrap(),
        500
    );
    table.drop_column("stars").unwrap();
    drop((before, beside, table));
    let table = Table::open(folder.path(), options().deleted_percent(1)).unwrap();
    assert_eq!(names(&table.snapshot().unwrap()), ["film", "views", "note"]);
    assert!(table.compact().unwrap().rows > 0);
    assert_eq!(table.count().unwrap(), 2510);
    assert_eq!(count(&table, "views = 170"), 1);
    assert!(table.check().unwrap().is_intact());
}

#[test]
fn files_have_the_numbers_of_columns() {
    let folder = tempfile::tempdir().unwrap();
    let rows = batch(["id", "a"], 0..10);
    let table = Table::create(folder.path().join("table"), &rows.schema(), &["id"], options()).unwrap();
    table.drop_column("a").unwrap();
    table.add_column(&Field::new("a", DataType::Int32, true), None).unwrap();
    table.rename_column("a", "b").unwrap();
    table.upsert(&batch(["id", "b"], 0..10)).unwrap();
    table.flush().unwrap();
    table.export(folder.path().join("export")).unwrap();
    let ids = |path: &std::path::Path| -> Vec<(String, String)> {
        let file = ParquetFile::open(path).unwrap();
        let fields = file.schema().fields().iter();
        fields.map(|field| (field.name().clone(), field.metadata()["PARQUET:field_id"].clone())).collect()
    };
    let expected = [("id", "1"), ("b", "3")].map(|(name, id)| (name.to_owned(), id.to_owned()));
    assert_eq!(ids(&folder.path().join("export/part-00000.parquet")), expected);
    let files = Dataset::open(
        [folder.path().join("table/_data/*.pq")],
        DatasetOptions::new().partitions(false).plain_files(true),
    )
    .unwrap();
    assert_eq!(ids(files.files()[0].path().unwrap()), expected);
}

#[test]
fn column_named_like_a_dropped_one_is_new() {
    let folder = tempfile::tempdir().unwrap();
    let table = Table::create(folder.path(), &batch(["id", "a"], 0..1).schema(), &["id"], options()).unwrap();
    table.upsert(&batch(["id", "a"], 0..3)).unwrap();
    table.flush().unwrap();
    table.upsert(&batch(["id", "a"], 3..5)).unwrap();
    table.drop_column("a").unwrap();
    assert_eq!(names(&table.snapshot().unwrap()), ["id"]);
    let id_only = batch(["id", "a"], 5..6).project(&[0]).unwrap();
    table.upsert(&id_only).unwrap();
    table.add_column(&Field::new("a", DataType::Int32, true), None).unwrap();
    table.add_column(&Field::new("b", DataType::Int32, true), Some((-1).into())).unwrap();
    let snapshot = table.snapshot().unwrap();
    assert_eq!(column(&snapshot, "a").null_count(), 6);
    assert_eq!(column(&snapshot, "b").as_primitive::<Int32Type>().values(), &[-1; 6]);
    assert_eq!(count(&table, "a IS NOT NULL OR b <> -1"), 0);
    // Rewritten files keep their rows.
    table.flush().unwrap();
    table.compact().unwrap();
    table.drop_column("a").unwrap();
    let snapshot = table.snapshot().unwrap();
    assert_eq!(column(&snapshot, "b").as_primitive::<Int32Type>().values(), &[-1; 6]);
    assert!(table.check().unwrap().is_intact());
}

#[test]
fn numbers_are_widened_exactly_and_conditions_see_the_new_type() {
    let folder = tempfile::tempdir().unwrap();
    let ids: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
    let floats: ArrayRef = Arc::new(Float32Array::from(vec![0.1, 0.5]));
    let prices: ArrayRef = Arc::new(Decimal128Array::from(vec![12345, -1]).with_precision_and_scale(5, 2).unwrap());
    let rows = RecordBatch::try_from_iter([("id", ids), ("x", floats), ("price", prices)]).unwrap();
    let table = Table::create(folder.path(), &rows.schema(), &["id"], options()).unwrap();
    table.upsert(&rows.slice(0, 1)).unwrap();
    table.flush().unwrap();
    table.upsert(&rows.slice(1, 1)).unwrap();
    assert_eq!(count(&table, "x = 0.1"), 1);
    table.add_column(&Field::new("y", DataType::Float32, false), Some(0.25.into())).unwrap();
    for name in ["x", "y"] {
        table.widen_column(name, &DataType::Float64).unwrap();
    }
    table.widen_column("price", &DataType::Decimal128(20, 2)).unwrap();
    table.widen_column("price", &DataType::Decimal256(50, 2)).unwrap();
    let compare = || {
        let snapshot = table.snapshot().unwrap();
        assert_eq!(column(&snapshot, "x").as_primitive::<Float64Type>().values(), &[f64::from(0.1_f32), 0.5]);
        assert_eq!(column(&snapshot, "y").as_primitive::<Float64Type>().values(), &[0.25; 2]);
        let prices = arrow_cast::cast(&column(&snapshot, "price"), &DataType::Decimal128(20, 2)).unwrap();
        assert_eq!(prices.as_primitive::<Decimal128Type>().values(), &[12345, -1]);
        // The nearest double differs from the nearest float.
        assert_eq!(count(&table, "x = 0.1"), 0);
        assert_eq!(count(&table, "price = 123.45"), 1);
    };
    compare();
    table.flush().unwrap();
    table.compact().unwrap();
    compare();
    let zones = Field::new("t", DataType::Date32, true);
    table.add_column(&zones, None).unwrap();
    refused(table.widen_column("t", &DataType::Date64), "add a column");
    refused(table.widen_column("price", &DataType::Decimal256(50, 3)), "exactly");
    refused(table.widen_column("x", &DataType::Float32), "exactly");
    refused(table.widen_column("x", &DataType::Int64), "exactly");
    let version = table.snapshot().unwrap().version();
    table.widen_column("x", &DataType::Float64).unwrap();
    assert_eq!(table.snapshot().unwrap().version(), version);
}

#[test]
fn invalid_schema_changes_are_refused_and_change_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let table = Table::create(folder.path(), &batch(["id", "a"], 0..1).schema(), &["id"], options()).unwrap();
    table.upsert(&batch(["id", "a"], 0..100)).unwrap();
    table.flush().unwrap();
    table.create_index("by a", &["a"], false).unwrap();
    table.keep_changes(ChangeRetention::new()).unwrap();
    let version = table.snapshot().unwrap().version();

    let nullable = |name: &str| Field::new(name, DataType::Int32, true);
    refused(table.add_column(&nullable("a"), None), "choose another name");
    refused(table.add_column(&nullable("_change"), None), "keeps changes");
    refused(table.add_column(&nullable("__lath_row_number"), None), "rename");
    refused(table.add_column(&Field::new("b", DataType::Int32, false), None), "default");
    refused(table.add_column(&nullable("b"), Some("seven".into())), "\"b\"");
    refused(table.add_column(&nullable("b"), Some((1_i64 << 40).into())), "\"b\"");
    let null: ArrayRef = Arc::new(Int32Array::from(vec![None]));
    refused(table.add_column(&nullable("b"), Some(KeyValue::Array(null))), "leave it out");
    refused(table.drop_column("b"), "no column");
    refused(table.drop_column("id"), "part of the key");
    refused(table.drop_column("a"), "drop the index first");
    refused(table.widen_column("a", &DataType::Int64), "drop the index first");
    refused(table.widen_column("id", &DataType::Decimal128(20, 0)), "part of the key");
    refused(table.rename_column("b", "c"), "no column");
    refused(table.rename_column("a", "id"), "choose another name");
    refused(table.rename_column("a", "_sequence"), "keeps changes");
    let beside = Table::open_read_only(folder.path(), options()).unwrap();
    assert!(matches!(beside.drop_column("a"), Err(Error::Store { .. })));
    assert_eq!(table.snapshot().unwrap().version(), version);

    // An indexed column and a key column can be renamed.
    table.rename_column("a", "b").unwrap();
    table.rename_column("id", "a").unwrap();
    let snapshot = table.snapshot().unwrap();
    assert_eq!(snapshot.indexes()[0].columns, ["b"]);
    assert_eq!(snapshot.get_by_index("by a", 170).unwrap().num_rows(), 1);
    table.upsert(&batch(["a", "b"], 17..18)).unwrap();
    table.delete([18]).unwrap();
    table.drop_index("by a").unwrap();
    table.create_index("by b", &["b"], true).unwrap();
    assert!(matches!(table.drop_column("b"), Err(Error::Schema { .. })));
    table.drop_index("by b").unwrap();
    table.drop_column("b").unwrap();
    assert!(table.check().unwrap().is_intact());
}

#[test]
fn changes_have_the_schema_of_the_snapshot_that_reads_them() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::create(folder.path(), options()).unwrap();
    let table = database.create_table("t", &batch(["id", "a"], 0..1).schema(), &["id"]).unwrap();
    table.keep_changes(ChangeRetention::new()).unwrap();
    let since = table.snapshot().unwrap().version();
    table.upsert(&batch(["id", "a"], 0..3)).unwrap();
    let before = table.snapshot().unwrap();
    table.add_column(&Field::new("b", DataType::Float64, false), Some(0.5.into())).unwrap();
    table.widen_column("a", &DataType::Int64).unwrap();
    table.delete([1]).unwrap();
    let changes: Vec<RecordBatch> =
        table.snapshot().unwrap().changes(since).unwrap().map(|batch| batch.unwrap()).collect();
    let changes = arrow_select::concat::concat_batches(&changes[0].schema(), &changes).unwrap();
    let a: Int64Array = [Some(0), Some(10), Some(20), None].into_iter().collect();
    let b: Float64Array = [Some(0.5), Some(0.5), Some(0.5), None].into_iter().collect();
    assert_eq!(changes.column_by_name("a").unwrap().as_primitive::<Int64Type>(), &a);
    assert_eq!(changes.column_by_name("b").unwrap().as_primitive::<Float64Type>(), &b);
    let old = before.changes(since).unwrap();
    assert_eq!(old.schema().fields().len(), 4);
    assert_eq!(old.map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 3);
}

#[test]
fn a_flush_that_began_before_a_change_of_the_schema_commits_after_it() {
    let folder = tempfile::tempdir().unwrap();
    let schema = Schema::new(vec![Field::new("id", DataType::Int64, false), Field::new("a", DataType::Int32, true)]);
    let table = Table::create(folder.path(), &schema, &["id"], options()).unwrap();
    table.upsert(&batch(["id", "a"], 0..5000)).unwrap();
    std::thread::scope(|scope| {
        let maintained = table.clone();
        let rounds = 30;
        let maintenance = scope.spawn(move || {
            for _ in 0..rounds {
                maintained.flush().unwrap();
                maintained.compact().unwrap();
            }
        });
        let mut round: i64 = 0;
        while !maintenance.is_finished() || round < 5 {
            let name = format!("c{round}");
            table.add_column(&Field::new(&name, DataType::Int64, false), Some(round.into())).unwrap();
            table.delete_where(&Predicate::parse(&format!("id = {round}")).unwrap()).unwrap();
            let row = table.get(round + 1).unwrap().unwrap();
            assert_eq!(row.column(2).as_primitive::<Int64Type>().value(0), round);
            table.upsert(&row).unwrap();
            table.drop_column(&name).unwrap();
            round += 1;
        }
        let report = table.check().unwrap();
        assert!(report.is_intact() && report.rows == 5000 - round as u64, "{round} {report:?}");
    });
}
