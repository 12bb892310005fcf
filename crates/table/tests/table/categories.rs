//! Categories of dictionary columns: their order and the ones without rows, through everything that a table does.

use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int8Type, Int16Type, Int64Type};
use arrow_array::{Array, ArrayRef, DictionaryArray, Int8Array, Int16Array, Int64Array, RecordBatch, StringArray};
use arrow_cast::cast;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use arrow_select::concat::concat;
use lath_parquet::{Dataset, DatasetOptions, Predicate};
use lath_table::{Error, Table, TableOptions};

fn schema() -> SchemaRef {
    let sizes = DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8));
    let counts = DataType::Dictionary(Box::new(DataType::Int16), Box::new(DataType::Int64));
    Arc::new(Schema::new(vec![
        Field::new("id", DataType::Int64, false),
        Field::new("size", sizes.clone(), true).with_dict_is_ordered(true),
        Field::new("color", sizes, true),
        Field::new("count", counts, true).with_dict_is_ordered(true),
    ]))
}

fn texts(codes: impl IntoIterator<Item = Option<i8>>, categories: &[&str]) -> ArrayRef {
    let values = Arc::new(StringArray::from(categories.to_vec()));
    Arc::new(DictionaryArray::<Int8Type>::new(codes.into_iter().collect::<Int8Array>(), values))
}

fn numbers(codes: impl IntoIterator<Item = Option<i16>>, categories: &[i64]) -> ArrayRef {
    let values = Arc::new(Int64Array::from(categories.to_vec()));
    Arc::new(DictionaryArray::<Int16Type>::new(codes.into_iter().collect::<Int16Array>(), values))
}

/// Rows whose codes follow from their ids.
fn rows(ids: std::ops::Range<i64>, sizes: &[&str], colors: &[&str], counts: &[i64]) -> RecordBatch {
    let code = |id: i64, count: usize| (id % 5 != 4).then(|| (id as usize % count) as i8);
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from_iter_values(ids.clone())),
        texts(ids.clone().map(|id| code(id, sizes.len())), sizes),
        texts(ids.clone().map(|id| code(id, colors.len())), colors),
        numbers(ids.map(|id| code(id, counts.len()).map(i16::from)), counts),
    ];
    RecordBatch::try_new(schema(), columns).unwrap()
}

fn options() -> TableOptions {
    TableOptions::new().background(false).bulk_rows(200)
}

/// The categories of a dictionary as text.
fn categories(array: &ArrayRef) -> Vec<String> {
    let values = cast(array.as_any_dictionary().values(), &DataType::Utf8).unwrap();
    values.as_string::<i32>().iter().map(|value| value.unwrap().to_owned()).collect()
}

fn plain(array: &ArrayRef) -> Vec<Option<String>> {
    let texts = cast(&cast(array, array.as_any_dictionary().values().data_type()).unwrap(), &DataType::Utf8).unwrap();
    texts.as_string::<i32>().iter().map(|value| value.map(str::to_owned)).collect()
}

/// The categories and the order of each batch, and the values of all, by id.
fn check_batches(schema: &SchemaRef, batches: &[RecordBatch], expected: &[RecordBatch], all: [&[&str]; 3]) {
    for (name, wanted) in ["size", "color", "count"].into_iter().zip(all) {
        let field = schema.field_with_name(name).unwrap();
        assert_eq!(field.dict_is_ordered(), Some(name != "color"), "{name}");
        for batch in batches {
            assert_eq!(categories(batch.column_by_name(name).unwrap()), wanted, "{name}");
        }
        let by_id = |batches: &[RecordBatch]| {
            let mut rows: Vec<(i64, Option<String>)> = Vec::new();
            for batch in batches {
                let ids = batch.column_by_name("id").unwrap().as_primitive::<Int64Type>().values().to_vec();
                rows.extend(ids.into_iter().zip(plain(batch.column_by_name(name).unwrap())));
            }
            rows.sort_unstable();
            rows
        };
        assert_eq!(by_id(batches), by_id(expected), "{name}");
    }
}

const SIZES: [&str; 3] = ["small", "medium", "large"];
const COLORS: [&str; 4] = ["red", "none", "blue", "green"];
const COUNTS: [i64; 3] = [30, 20, 10];
const ALL: [&[&str]; 3] =
    [&["small", "medium", "large", "huge"], &["red", "none", "blue", "green", "violet"], &["30", "20", "10", "5"]];

/// Reads the table in every way.
fn check_reads(table: &Table, expected: &[RecordBatch]) {
    let schema = table.schema().unwrap();
    let scanned: Vec<_> = table.scan().unwrap().build().unwrap().map(Result::unwrap).collect();
    check_batches(&schema, &scanned, expected, ALL);
    let ranged: Vec<_> = table.range::<i64>(..).unwrap().build().unwrap().map(Result::unwrap).collect();
    check_batches(&schema, &ranged, expected, ALL);
    let filtered = table.scan().unwrap().filter("size = 'large' OR size <> 'large' OR size IS NULL").unwrap();
    let filtered: Vec<_> = filtered.build().unwrap().map(Result::unwrap).collect();
    check_batches(&schema, &filtered, expected, ALL);
    let ids: Vec<i64> =
        expected.iter().flat_map(|batch| batch.column(0).as_primitive::<Int64Type>().values().to_vec()).collect();
    let found = table.get_many(ids.clone()).unwrap();
    check_batches(&schema, &[found.rows().clone()], expected, ALL);
    let got: Vec<_> = ids.iter().map(|&id| table.get(id).unwrap().unwrap()).collect();
    check_batches(&schema, &got, expected, ALL);
    let indexed = table.snapshot().unwrap().range_by_index::<&str>("by_color", ..).unwrap();
    let indexed: Vec<_> = indexed.map(Result::unwrap).collect();
    check_batches(&schema, &indexed, expected, ALL);
}

/// The rows of Parquet files, read without the table.
fn check_files(files: &Path, expected: &[RecordBatch]) {
    let options = DatasetOptions::new().plain_files(true);
    let batches = Dataset::open([files], options).unwrap().scan().build().unwrap();
    let schema = batches.schema();
    let batches: Vec<RecordBatch> = batches.map(Result::unwrap).collect();
    for (name, wanted) in [("size", ALL[0]), ("color", ALL[1])] {
        assert_eq!(schema.field_with_name(name).unwrap().dict_is_ordered(), Some(name == "size"));
        for batch in &batches {
            assert_eq!(categories(batch.column_by_name(name).unwrap()), wanted, "{name}");
        }
    }
    let count = |batches: &[RecordBatch]| batches.iter().map(RecordBatch::num_rows).sum::<usize>();
    assert_eq!(count(&batches), count(expected));
}

#[test]
fn categories_keep_their_order_and_those_without_rows_everywhere() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table");
    let table = Table::create(&path, &schema(), &["id"], options()).unwrap();
    table.create_index("by_color", &["color"], false).unwrap();
    table.keep_changes(lath_table::ChangeRetention::new()).unwrap();
    // Files and hot rows with the first categories, with a part of them, and with all.
    let first = rows(0..150, &SIZES, &COLORS, &COUNTS);
    table.upsert(&first).unwrap();
    table.flush().unwrap();
    table.keep_snapshot("first").unwrap();
    let second = rows(150..400, &["medium", "large"], &["blue", "red"], &[20]);
    table.upsert(&second).unwrap();
    let third = rows(400..500, &["small", "huge"], &["violet", "red"], &[30, 5]);
    table.upsert(&third).unwrap();
    let expected = [first.clone(), second, third];
    check_reads(&table, &expected);
    table.flush().unwrap();
    check_reads(&table, &expected);
    table.upsert(&expected[1].slice(0, 40)).unwrap();
    check_reads(&table, &expected);
    assert!(table.flush().unwrap().rows > 0);
    assert!(table.compact().unwrap().merges > 0);
    check_reads(&table, &expected);
    let changes: Vec<_> = table.snapshot().unwrap().changes(0).into_iter().flatten().map(Result::unwrap).collect();
    assert!(changes.iter().all(|batch| categories(batch.column_by_name("size").unwrap()) == ALL[0]));

    // A snapshot has the categories of its commit.
    let then = table.snapshot_named("first").unwrap();
    let batches: Vec<_> = then.scan().build().unwrap().map(Result::unwrap).collect();
    check_batches(then.schema(), &batches, &[first], [&SIZES, &COLORS, &["30", "20", "10"]]);
    drop(then);

    table.export(folder.path().join("export")).unwrap();
    check_files(&folder.path().join("export/*.parquet"), &expected);
    table.backup(folder.path().join("backup")).unwrap();
    drop(table);
    for path in [path, folder.path().join("backup")] {
        let table = Table::open(path, options()).unwrap();
        assert!(table.check().unwrap().is_intact());
        check_reads(&table, &expected);
        table.rename_column("size", "extent").unwrap();
        table.rename_column("extent", "size").unwrap();
        check_reads(&table, &expected);
    }
}

#[test]
fn clustered_files_bulk_rows_and_transactions_keep_categories() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table");
    let table = Table::create_clustered(&path, &schema(), &["id"], &["count"], options()).unwrap();
    table.create_index("by_color", &["color"], false).unwrap();
    let mut transaction = table.begin().unwrap();
    let first = rows(0..300, &SIZES, &COLORS, &COUNTS);
    let second = rows(300..600, &["small", "huge"], &["violet", "red"], &[30, 5]);
    transaction.upsert(&first).unwrap();
    transaction.upsert(&second).unwrap();
    // Read by the transaction itself.
    let own = transaction.get_many(vec![299_i64, 301]).unwrap();
    assert_eq!(categories(own.rows().column_by_name("size").unwrap()), ALL[0]);
    transaction.commit().unwrap();
    let expected = [first, second];
    check_reads(&table, &expected);
    assert!(table.compact().unwrap().merges > 0);
    check_reads(&table, &expected);
    assert!(table.vacuum().unwrap() > 0);
    check_files(&path.join("_data/*.pq"), &expected);
}

#[test]
fn a_rolled_back_transaction_leaves_no_categories() {
    let folder = tempfile::tempdir().unwrap();
    let table = Table::create(folder.path().join("table"), &schema(), &["id"], options()).unwrap();
    table.upsert(&rows(0..10, &SIZES, &COLORS, &COUNTS)).unwrap();
    let mut transaction = table.begin().unwrap();
    transaction.upsert(&rows(10..20, &["huge"], &["violet"], &[5])).unwrap();
    drop(transaction);
    let row = table.get(1).unwrap().unwrap();
    assert_eq!(categories(row.column_by_name("size").unwrap()), SIZES);
    assert_eq!(categories(row.column_by_name("color").unwrap()), COLORS);
}

/// The error of an upsert, which has changed nothing.
fn refused(table: &Table, batch: &RecordBatch) -> String {
    let before = table.count().unwrap();
    let error = table.upsert(batch).unwrap_err();
    assert!(matches!(error, Error::Batch { .. }), "{error}");
    assert_eq!(table.count().unwrap(), before);
    let row = table.get(1).unwrap().unwrap();
    assert_eq!(categories(row.column_by_name("size").unwrap()), SIZES);
    error.to_string()
}

#[test]
fn an_ordered_column_refuses_another_order_and_values_without_a_place_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let table = Table::create(folder.path().join("table"), &schema(), &["id"], options()).unwrap();
    table.upsert(&rows(0..10, &SIZES, &COLORS, &COUNTS)).unwrap();
    let reversed = refused(&table, &rows(20..30, &["large", "small"], &COLORS, &COUNTS));
    assert!(reversed.contains("\"size\" is ordered: the batch has large before small"), "{reversed}");
    let between = refused(&table, &rows(20..30, &["small", "tiny", "large"], &COLORS, &COUNTS));
    assert!(between.contains("the batch has tiny before large"), "{between}");

    // Text has no order: values that are categories are taken, others are not.
    let with_text = |size: &str| {
        let batch = rows(20..21, &SIZES, &COLORS, &COUNTS);
        let mut fields: Vec<Field> = batch.schema().fields().iter().map(|field| Field::clone(field)).collect();
        fields[1] = Field::new("size", DataType::Utf8, true);
        let mut columns = batch.columns().to_vec();
        columns[1] = Arc::new(StringArray::from(vec![size]));
        RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap()
    };
    table.upsert(&with_text("large")).unwrap();
    let unknown = refused(&table, &with_text("huge"));
    assert!(unknown.contains("is ordered and has no category huge (row 0 of the batch)"), "{unknown}");
    let row = table.get(20).unwrap().unwrap();
    assert_eq!(plain(row.column_by_name("size").unwrap()), [Some("large".to_owned())]);

    // Keys of 8 bits.
    let many: Vec<String> =
        SIZES.iter().map(|size| (*size).to_owned()).chain((0..126).map(|n| n.to_string())).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let values = Arc::new(StringArray::from(many.clone()));
    assert!(DictionaryArray::<Int8Type>::try_new(Int8Array::from(vec![127]), values).is_ok());
    let too_many = refused(&table, &rows(20..21, &many, &COLORS, &COUNTS));
    assert!(too_many.contains("keys number 128 categories"), "{too_many}");
}

#[test]
fn an_unordered_column_with_very_many_categories_keeps_values_alone() {
    let folder = tempfile::tempdir().unwrap();
    let wide = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
    let schema =
        Arc::new(Schema::new(vec![Field::new("id", DataType::Int64, false), Field::new("name", wide.clone(), true)]));
    let table = Table::create(folder.path().join("table"), &schema, &["id"], options()).unwrap();
    let batch = |ids: std::ops::Range<i64>, prefix: &str| {
        let names: ArrayRef = Arc::new(StringArray::from_iter_values(ids.clone().map(|id| format!("{prefix} {id}"))));
        let columns: Vec<ArrayRef> = vec![Arc::new(Int64Array::from_iter_values(ids)), cast(&names, &wide).unwrap()];
        RecordBatch::try_new(Arc::clone(&schema), columns).unwrap()
    };
    table.upsert(&batch(0..100, "few")).unwrap();
    assert_eq!(categories(table.get(5).unwrap().unwrap().column(1)).len(), 100);
    table.upsert(&batch(100..9000, "so many that it is rather a text column")).unwrap();
    table.flush().unwrap();
    table.upsert(&batch(9000..9100, "more")).unwrap();
    for id in [5, 4000, 9050] {
        let row = table.get(id).unwrap().unwrap();
        assert!(categories(row.column(1)).len() < 9100, "{id}");
    }
    let batches: Vec<_> = table.range::<i64>(..).unwrap().build().unwrap().map(Result::unwrap).collect();
    let names: Vec<_> = batches.iter().flat_map(|batch| plain(batch.column(1))).collect();
    assert_eq!(names.len(), 9100);
    assert!(names[5].as_deref() == Some("few 5") && names[9050].as_deref() == Some("more 9050"));
}

#[test]
fn merges_updates_and_added_columns_keep_categories() {
    let folder = tempfile::tempdir().unwrap();
    let table = Table::create(folder.path().join("table"), &schema(), &["id"], options()).unwrap();
    table.upsert(&rows(0..10, &SIZES, &COLORS, &COUNTS)).unwrap();
    table.merge(&rows(5..15, &["large", "huge"], &["green", "violet"], &[10, 5]), &Default::default()).unwrap();
    let columns = ["id", "size"].map(|name| schema().index_of(name).unwrap());
    let sizes = rows(0..3, &["large", "giant"], &COLORS, &COUNTS).project(&columns).unwrap();
    table.update(&sizes).unwrap();
    let letters = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
    table.add_column(&Field::new("letter", letters, true).with_dict_is_ordered(true), Some("b".into())).unwrap();
    table.delete_where(&Predicate::parse("id = 14").unwrap()).unwrap();
    for _ in 0..2 {
        let batches: Vec<_> = table.range::<i64>(..).unwrap().build().unwrap().map(Result::unwrap).collect();
        let column = |name: &str| {
            let arrays: Vec<&dyn Array> = batches.iter().map(|batch| &**batch.column_by_name(name).unwrap()).collect();
            concat(&arrays).unwrap()
        };
        assert_eq!(categories(&column("size")), ["small", "medium", "large", "huge", "giant"]);
        assert_eq!(categories(&column("color")), ALL[1]);
        assert_eq!(categories(&column("letter")), ["b"]);
        assert_eq!(plain(&column("letter")), vec![Some("b".to_owned()); 14]);
        assert_eq!(plain(&column("size"))[..2], [Some("large".to_owned()), Some("giant".to_owned())]);
        table.flush().unwrap();
    }
    table.drop_column("letter").unwrap();
    table.add_column(&Field::new("letter", DataType::Int32, true), None).unwrap();
    assert_eq!(table.count().unwrap(), 14);
}

#[test]
fn a_table_that_was_made_before_categories_were_kept_has_its_values_unordered() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table");
    let table = Table::create(&path, &schema(), &["id"], options()).unwrap();
    let first = rows(0..10, &SIZES, &COLORS, &COUNTS);
    table.upsert(&first).unwrap();
    drop(table);
    let store = lath_store::Store::open(path.join("_table.lath")).unwrap();
    let mut transaction = store.begin().unwrap();
    let mut meta = transaction.tree("table/meta").unwrap();
    let keys: Vec<Vec<u8>> =
        meta.as_tree().unwrap().prefix(b"categories/").map(|entry| entry.unwrap().0.to_vec()).collect();
    assert_eq!(keys.len(), 3);
    keys.iter().for_each(|key| assert!(meta.remove(key).unwrap()));
    transaction.commit().unwrap();
    drop(store);
    let table = Table::open(&path, options()).unwrap();
    assert_eq!(table.schema().unwrap().field_with_name("size").unwrap().dict_is_ordered(), Some(false));
    let second = rows(10..20, &["large", "tiny"], &COLORS, &COUNTS);
    table.upsert(&second).unwrap();
    for _ in 0..2 {
        let batches: Vec<_> = table.range::<i64>(..).unwrap().build().unwrap().map(Result::unwrap).collect();
        let found: Vec<_> = batches.iter().flat_map(|batch| plain(batch.column_by_name("size").unwrap())).collect();
        let expected: Vec<_> = [&first, &second].iter().flat_map(|batch| plain(batch.column(1))).collect();
        assert_eq!(found, expected);
        table.flush().unwrap();
    }
}
