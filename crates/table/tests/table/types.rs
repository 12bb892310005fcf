//! Every type that a table supports comes back unchanged, hot and from files, also as a key.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch};
use arrow_cast::cast;
use arrow_schema::{DataType, Field, IntervalUnit, Schema, TimeUnit};
use lath_table::{Table, TableOptions};

const ROWS: i64 = 3000;

/// Types whose values can be made from integers.
fn types() -> Vec<DataType> {
    let mut types = vec![
        DataType::Boolean,
        DataType::Int8,
        DataType::Int16,
        DataType::Int32,
        DataType::Int64,
        DataType::UInt8,
        DataType::UInt16,
        DataType::UInt32,
        DataType::UInt64,
        DataType::Float16,
        DataType::Float32,
        DataType::Float64,
        DataType::Utf8,
        DataType::LargeUtf8,
        DataType::Utf8View,
        DataType::Binary,
        DataType::LargeBinary,
        DataType::BinaryView,
        DataType::Date32,
        DataType::Date64,
        DataType::Time32(TimeUnit::Second),
        DataType::Time32(TimeUnit::Millisecond),
        DataType::Time64(TimeUnit::Microsecond),
        DataType::Time64(TimeUnit::Nanosecond),
        DataType::Decimal128(20, 2),
        DataType::Decimal256(50, 3),
        DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)),
    ];
    for unit in [TimeUnit::Second, TimeUnit::Millisecond, TimeUnit::Microsecond, TimeUnit::Nanosecond] {
        types.push(DataType::Timestamp(unit, None));
        types.push(DataType::Timestamp(unit, Some("+02:00".into())));
        types.push(DataType::Duration(unit));
    }
    types
}

/// The numbers as values of a type.
fn values(numbers: &Int64Array, data_type: &DataType) -> ArrayRef {
    let cast = |from: &dyn Array, to: &DataType| cast(from, to).unwrap_or_else(|error| panic!("{to}: {error}"));
    match data_type {
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => {
            let text = cast(numbers, &DataType::Utf8);
            cast(&cast(&text, &DataType::Binary), data_type)
        }
        DataType::Dictionary(..) => cast(&cast(numbers, &DataType::Utf8), data_type),
        DataType::Date32 | DataType::Time32(_) => cast(&cast(numbers, &DataType::Int32), data_type),
        // Whole days.
        DataType::Date64 => cast(&cast(&cast(numbers, &DataType::Int32), &DataType::Date32), data_type),
        _ => cast(numbers, data_type),
    }
}

#[test]
fn every_type_round_trips() {
    // As many as 8 bits hold, so that no cast makes nulls.
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..ROWS));
    let numbers: Int64Array = (0..ROWS).map(|row| (row % 7 > 0).then_some(row * 31 % 120)).collect();
    let mut fields = vec![Field::new("id", DataType::Int64, false)];
    let mut columns = vec![ids];
    for data_type in types() {
        fields.push(Field::new(data_type.to_string(), data_type.clone(), true));
        columns.push(values(&numbers, &data_type));
    }
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let table = Table::create(folder.path(), &batch.schema(), &["id"], TableOptions::new().background(false)).unwrap();
    table.upsert(&batch).unwrap();
    compare(&table, &batch, "hot");
    table.flush().unwrap();
    compare(&table, &batch, "cold");
    drop(table);
    let table = Table::open_read_only(folder.path(), TableOptions::new()).unwrap();
    compare(&table, &batch, "read-only");
}

fn compare(table: &Table, batch: &RecordBatch, what: &str) {
    let batches: Vec<RecordBatch> =
        table.range::<i64>(..).unwrap().build().unwrap().map(|batch| batch.unwrap()).collect();
    let found = arrow_select::concat::concat_batches(&batches[0].schema(), &batches).unwrap();
    for (at, field) in batch.schema().fields().iter().enumerate() {
        let column = found.column(at);
        assert_eq!(column.data_type(), field.data_type(), "{what}");
        let plain = |array: &ArrayRef| match array.data_type() {
            DataType::Dictionary(_, values) => cast(array, values).unwrap(),
            _ => Arc::clone(array),
        };
        assert_eq!(&plain(column), &plain(batch.column(at)), "{what}: {field}");
    }
}

#[test]
fn every_type_with_an_order_can_be_a_key() {
    for data_type in types() {
        // A second column makes keys of few values distinct.
        let numbers = Int64Array::from_iter_values((0..ROWS).map(|row| row * 31 % 2));
        let first = values(&numbers, &data_type);
        let second: ArrayRef = Arc::new(Int64Array::from_iter_values(0..ROWS));
        let fields = vec![Field::new("k", data_type.clone(), false), Field::new("row", DataType::Int64, false)];
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), vec![first, second]).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let options = TableOptions::new().background(false);
        let table = Table::create(folder.path(), &batch.schema(), &["k", "row"], options).unwrap();
        table.upsert(&batch).unwrap();
        table.flush().unwrap();
        let some = batch.slice(1000, 50);
        let places = table.get_many(&some).unwrap();
        assert!(places.places().iter().all(Option::is_some), "{data_type}");
        // Both become hot, and mask rows of the file.
        table.upsert(&batch.slice(500, 20)).unwrap();
        table.delete(&some).unwrap();
        assert_eq!(table.count().unwrap(), ROWS as u64 - 50, "{data_type}");
        table.flush().unwrap();
        assert_eq!(table.count().unwrap(), ROWS as u64 - 50, "{data_type}");
        let report = table.check().unwrap();
        assert!(report.is_intact(), "{data_type}: {report:?}");
    }
}

#[test]
fn values_without_parquet_representation_are_refused() {
    let interval = DataType::Interval(IntervalUnit::MonthDayNano);
    let schema = Schema::new(vec![Field::new("id", DataType::Int64, false), Field::new("span", interval, true)]);
    let folder = tempfile::tempdir().unwrap();
    let created = Table::create(folder.path().join("t"), &schema, &["id"], TableOptions::new().background(false));
    // Either the writer supports the type and it comes back, or nothing was created.
    match created {
        Ok(table) => assert_eq!(table.schema().unwrap().field(1).data_type(), schema.field(1).data_type()),
        Err(error) => assert!(!folder.path().join("t").exists(), "{error}"),
    }
}
