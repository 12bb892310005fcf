//! Prepared statements.

use std::sync::Arc;

use arrow_array::types::Int64Type;
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int32Array, Int64Array, ListArray,
    RecordBatch, StringArray, Time32MillisecondArray, Time64MicrosecondArray, TimestampMicrosecondArray,
    TimestampMillisecondArray, TimestampNanosecondArray, UInt64Array,
};
use arrow_schema::{DataType, TimeUnit};
use tonic::Code;

use crate::{Client, TestServer, fetch, query, refused, shown, update};

fn row(columns: Vec<ArrayRef>) -> RecordBatch {
    let named = columns.into_iter().enumerate().map(|(at, column)| (format!("p{at}"), column));
    RecordBatch::try_from_iter_with_nullable(named.map(|(name, column)| (name, column, true))).unwrap()
}

fn ints(values: impl IntoIterator<Item = i64>) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(values))
}

fn texts(values: &[&str]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

/// The rows of a query with these values.
async fn query_with(client: &mut Client, text: &str, values: Option<RecordBatch>) -> String {
    let mut prepared = client.prepare(text.to_owned(), None).await.unwrap();
    if let Some(values) = values {
        prepared.set_parameters(values).unwrap();
    }
    let info = prepared.execute().await.unwrap_or_else(|error| panic!("{text}: {error}"));
    let rows = fetch(client, info).await.unwrap_or_else(|error| panic!("{text}: {error}"));
    prepared.close().await.unwrap();
    shown(&rows)
}

async fn stock(client: &mut Client) {
    update(client, "CREATE TABLE stock (item BIGINT PRIMARY KEY, name VARCHAR, price DECIMAL(8, 2))").await;
    update(client, "INSERT INTO stock VALUES (1, 'nail', 0.05), (2, 'nut', 0.10), (3, 'it''s', 1.50)").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_statement_is_prepared_once_and_run_with_other_values() {
    let served = TestServer::new();
    let mut client = served.client().await;
    stock(&mut client).await;
    let mut prepared = client.prepare("SELECT name FROM stock WHERE item = ?".to_owned(), None).await.unwrap();
    assert_eq!(prepared.parameter_schema().unwrap().field(0).data_type(), &DataType::Int64);
    assert_eq!(prepared.dataset_schema().unwrap().field(0).name(), "name");
    for (item, name) in [(1, "nail"), (3, "it's"), (4, ""), (2, "nut")] {
        prepared.set_parameters(row(vec![ints([item])])).unwrap();
        let info = prepared.execute().await.unwrap();
        assert_eq!(shown(&fetch(&mut client, info).await.unwrap()), name);
    }
    // Several rows of values are several runs.
    prepared.set_parameters(row(vec![ints([2, 5, 1])])).unwrap();
    let info = prepared.execute().await.unwrap();
    assert_eq!(shown(&fetch(&mut client, info).await.unwrap()), "nut, nail");
    let mut after = client.prepare("SELECT count(*) FROM stock".to_owned(), None).await.unwrap();
    prepared.close().await.unwrap();
    let info = after.execute().await.unwrap();
    assert_eq!(shown(&fetch(&mut client, info).await.unwrap()), "3");
}

#[tokio::test(flavor = "multi_thread")]
async fn parameters_are_numbered_in_the_order_of_the_text() {
    let served = TestServer::new();
    let mut client = served.client().await;
    stock(&mut client).await;
    let values = |numbers: [i64; 5]| Some(row(numbers.into_iter().map(|number| ints([number])).collect()));
    let text = "SELECT ? AS a, CASE WHEN item > ? THEN item + ? END AS b FROM stock WHERE item BETWEEN 2 AND 3 ORDER BY item LIMIT ? OFFSET ?";
    assert_eq!(query_with(&mut client, text, values([7, 1, 100, 1, 1])).await, "7 103");
    let text = "SELECT $2 - $1 AS d, $1 AS a";
    assert_eq!(query_with(&mut client, text, Some(row(vec![ints([1]), ints([10])]))).await, "9 1");
    refused(client.prepare("SELECT ? + $1".to_owned(), None).await.map(drop), Code::InvalidArgument, "in one way");
    refused(
        client.prepare("SELECT * FROM missing WHERE a = ?".to_owned(), None).await.map(drop),
        Code::InvalidArgument,
        "no table",
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn values_of_every_type_mean_what_they_mean_in_the_text() {
    let served = TestServer::new();
    let mut client = served.client().await;
    let list = ListArray::from_iter_primitive::<Int64Type, _, _>([Some(vec![Some(1), None, Some(3)])]);
    let cases: Vec<(ArrayRef, &str, &str)> = vec![
        (Arc::new(BooleanArray::from(vec![true])), "NOT ?", "false"),
        (Arc::new(Int32Array::from(vec![-5])), "? - 1", "-6"),
        (ints([i64::MIN]), "?", "-9223372036854775808"),
        (Arc::new(UInt64Array::from(vec![u64::MAX])), "?", "18446744073709551615"),
        (Arc::new(Float64Array::from(vec![-0.1])), "? * 10", "-1.0"),
        (Arc::new(Float64Array::from(vec![f64::INFINITY])), "?", "inf"),
        (texts(&["it's; -- $1 ?"]), "upper(?)", "IT'S; -- $1 ?"),
        (Arc::new(BinaryArray::from_vec(vec![b"\x00\xff'"])), "octet_length(?)", "3"),
        (Arc::new(Decimal128Array::from(vec![-12345]).with_precision_and_scale(9, 3).unwrap()), "?", "-12.345"),
        (Arc::new(Date32Array::from(vec![20_000])), "?", "2024-10-04"),
        (Arc::new(Time64MicrosecondArray::from(vec![3_600_000_001])), "?", "01:00:00.000001"),
        (Arc::new(TimestampMicrosecondArray::from(vec![1_700_000_000_000_001])), "?", "2023-11-14T22:13:20.000001"),
        (
            Arc::new(TimestampNanosecondArray::from(vec![1_700_000_000_000_000_001]).with_timezone("+00:00")),
            "?",
            "2023-11-14T22:13:20.000000001Z",
        ),
        (Arc::new(list), "array_length(?)", "3"),
        (Arc::new(Int64Array::from(vec![None])), "? IS NULL", "true"),
        (Arc::new(StringArray::from(vec![None::<&str>])), "coalesce(?, 'none')", "none"),
    ];
    for (value, expression, expected) in cases {
        let text = format!("SELECT {expression} AS v");
        let data_type = value.data_type().clone();
        assert_eq!(query_with(&mut client, &text, Some(row(vec![value]))).await, expected, "{data_type} {expression}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn moments_and_times_of_day_are_asked_for_in_milliseconds() {
    let served = TestServer::new();
    let mut client = served.client().await;
    update(&mut client, "CREATE TABLE visits (id BIGINT PRIMARY KEY, at TIMESTAMP, zoned TIMESTAMPTZ, clock TIME)")
        .await;
    let insert = "INSERT INTO visits VALUES (?, ?, ?, ?)".to_owned();
    let mut prepared = client.prepare(insert, None).await.unwrap();
    let schema = prepared.parameter_schema().unwrap().clone();
    let types: Vec<&DataType> = schema.fields().iter().map(|field| field.data_type()).collect();
    let [
        _,
        DataType::Timestamp(TimeUnit::Millisecond, None),
        DataType::Timestamp(TimeUnit::Millisecond, zone),
        DataType::Time32(TimeUnit::Millisecond),
    ] = types.as_slice()
    else {
        panic!("{types:?}")
    };
    // As a driver fills them that knows milliseconds alone.
    let moments = TimestampMillisecondArray::from(vec![1_709_168_523_456]);
    let zoned: ArrayRef = Arc::new(moments.clone().with_timezone_opt(zone.clone()));
    let clock: ArrayRef = Arc::new(Time32MillisecondArray::from(vec![3_723_004]));
    prepared.set_parameters(row(vec![ints([1]), Arc::new(moments.clone()), zoned, clock])).unwrap();
    assert_eq!(prepared.execute_update().await.unwrap(), 1);
    let stored = query(&mut client, "SELECT at, zoned, clock FROM visits").await;
    assert_eq!(stored, "2024-02-29T01:02:03.456 2024-02-29T01:02:03.456 01:02:03.004");
    let found = query_with(&mut client, "SELECT id FROM visits WHERE at = ?", Some(row(vec![Arc::new(moments)]))).await;
    assert_eq!(found, "1");
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_with_several_rows_of_values_are_one_transaction() {
    let served = TestServer::new();
    let mut client = served.client().await;
    stock(&mut client).await;
    let text = "INSERT INTO stock (item, name) VALUES (?, ?)";
    let mut prepared = client.prepare(text.to_owned(), None).await.unwrap();
    let types: Vec<_> =
        prepared.parameter_schema().unwrap().fields().iter().map(|field| field.data_type().clone()).collect();
    assert_eq!(types, [DataType::Int64, DataType::Utf8]);
    prepared.set_parameters(row(vec![ints([10, 11, 12]), texts(&["a", "b", "c"])])).unwrap();
    assert_eq!(prepared.execute_update().await.unwrap(), 3);
    // The second row has a key that the table has.
    prepared.set_parameters(row(vec![ints([20, 1, 21]), texts(&["x", "y", "z"])])).unwrap();
    refused(prepared.execute_update().await, Code::InvalidArgument, "there is a row with");
    prepared.set_parameters(row(vec![ints([30]), texts(&["d"])])).unwrap();
    assert_eq!(prepared.execute_update().await.unwrap(), 1);
    assert_eq!(query(&mut client, "SELECT item FROM stock ORDER BY item").await, "1, 2, 3, 10, 11, 12, 30");
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_numbers_of_values_and_closed_statements_are_errors() {
    let served = TestServer::new();
    let mut client = served.client().await;
    stock(&mut client).await;
    let mut prepared =
        client.prepare("SELECT * FROM stock WHERE item = ? AND name = ?".to_owned(), None).await.unwrap();
    refused(prepared.execute().await, Code::InvalidArgument, "has 2 parameters, and 0 values");
    prepared.set_parameters(row(vec![ints([1])])).unwrap();
    refused(prepared.execute().await, Code::InvalidArgument, "has 2 parameters, and 1 values");
    let mut closed = client.prepare("SELECT 1 AS one".to_owned(), None).await.unwrap();
    let handle = closed.execute().await.unwrap();
    assert_eq!(shown(&fetch(&mut client, handle).await.unwrap()), "1");
}

#[tokio::test(flavor = "multi_thread")]
async fn definitions_run_when_they_are_executed() {
    let served = TestServer::new();
    let mut client = served.client().await;
    let mut prepared = client.prepare("CREATE TABLE t (id BIGINT PRIMARY KEY)".to_owned(), None).await.unwrap();
    assert_eq!(query(&mut client, "SELECT count(*) FROM information_schema.tables WHERE table_name = 't'").await, "0");
    assert_eq!(prepared.execute_update().await.unwrap(), 0);
    assert_eq!(query(&mut client, "SELECT count(*) FROM t").await, "0");
    let shown_tables = client.prepare("SHOW TABLES".to_owned(), None).await.unwrap();
    assert!(!shown_tables.dataset_schema().unwrap().fields().is_empty());
}
