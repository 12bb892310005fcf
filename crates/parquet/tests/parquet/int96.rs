//! INT96 timestamps in each unit, and timestamps that do not fit 64 bits in it.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, TimeUnit};
use bytes::Bytes;
use lath_parquet::{ColumnMapping, Dataset, Error, Int96Unit, MappedColumn, OpenOptions, ParquetFile, Result, Scan};
use parquet::data_type::{Int32Type as PhysicalInt32, Int96, Int96Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use crate::reading::collect;

/// Julian days of 1970-01-01, 9999-12-31 and 0001-01-01.
const EPOCH: i32 = 2_440_588;
const YEAR_9999: i32 = 5_373_484;
const YEAR_1: i32 = 1_721_426;

const NOON: i64 = 43_200_000_000_000;

/// Row 700 of the first row group is in the year 9999, row 300 of the second in the year 1; every seventh row is null.
const ROWS: i32 = 1000;
const FAR: [(usize, i32, i32); 2] = [(0, 700, YEAR_9999), (1, 300, YEAR_1)];

fn int96(day: i32, nanos: i64) -> Int96 {
    let mut value = Int96::new();
    value.set_data(nanos as u32, (nanos >> 32) as u32, day as u32);
    value
}

fn is_null(row: i32) -> bool {
    row % 7 == 3
}

/// The day of a row and its time within it.
fn moment(row_group: usize, row: i32) -> (i32, i64) {
    let far = FAR.iter().find(|&&(group, at, _)| (group, at) == (row_group, row));
    (far.map_or(EPOCH + row % 50, |far| far.2), NOON + 1_234_567)
}

/// Columns `id`, 0 to 999 in both of two row groups, and `at`; with `is_list`, each row's timestamp is in a list between two
/// others.
fn file(dictionary: bool, is_list: bool) -> Bytes {
    let at = if is_list {
        "optional group at (LIST) { repeated group list { optional int96 element; } }"
    } else {
        "optional int96 at;"
    };
    let schema = Arc::new(parse_message_type(&format!("message m {{ required int32 id; {at} }}")).unwrap());
    let properties =
        WriterProperties::builder().set_dictionary_enabled(dictionary).set_data_page_row_count_limit(100).build();
    let mut bytes = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, Arc::new(properties)).unwrap();
    for group in 0..2 {
        let mut row_group = writer.next_row_group().unwrap();
        let mut column = row_group.next_column().unwrap().unwrap();
        column.typed::<PhysicalInt32>().write_batch(&(0..ROWS).collect::<Vec<_>>(), None, None).unwrap();
        column.close().unwrap();
        let mut column = row_group.next_column().unwrap().unwrap();
        for row in 0..ROWS {
            let (day, nanos) = moment(group, row);
            let (value, ordinary) = (int96(day, nanos), int96(EPOCH, NOON));
            let (values, def, rep): (Vec<Int96>, &[i16], &[i16]) = match (is_list, is_null(row)) {
                (false, true) => (vec![], &[0], &[0]),
                (false, false) => (vec![value], &[1], &[0]),
                (true, true) => (vec![], &[0], &[0]),
                (true, false) => (vec![ordinary, value], &[3, 2, 3], &[0, 1, 1]),
            };
            let rep = is_list.then_some(rep);
            column.typed::<Int96Type>().write_batch(&values, Some(def), rep).unwrap();
        }
        column.close().unwrap();
        row_group.close().unwrap();
    }
    writer.close().unwrap();
    bytes.into()
}

fn open(bytes: &Bytes, unit: Int96Unit) -> ParquetFile {
    OpenOptions::new().int96_unit(unit).from_bytes(bytes.clone()).unwrap()
}

/// Column, row group and row of an error about the year 9999 or 1, and its advice.
#[track_caller]
fn place<T>(result: Result<T>) -> (String, usize, u64) {
    let Err(error) = result else { panic!("no error") };
    let text = error.to_string();
    assert!(
        text.contains(" 9999-12-31 12:00:00.001234567 ") || text.contains(" 0001-01-01 12:00:00.001234567 "),
        "{text}"
    );
    assert!(text.contains("nanoseconds") && text.contains("int96_unit"), "{text}");
    let Error::OutOfRange { at, .. } = error else { panic!("{error}") };
    (at.column.unwrap().to_string(), at.row_group.unwrap(), at.row.unwrap())
}

fn in_place(row_group: usize, row: u64) -> (String, usize, u64) {
    ("at".to_owned(), row_group, row)
}

#[test]
fn a_timestamp_that_nanoseconds_cannot_hold_is_an_error_at_its_row() {
    for dictionary in [false, true] {
        let bytes = file(dictionary, false);
        let file = open(&bytes, Int96Unit::Nanoseconds);
        for batch_size in [64, 333, 8192] {
            let read = file.scan().batch_size(batch_size).build().and_then(collect);
            assert_eq!(place(read), in_place(0, 700), "dictionary: {dictionary}");
            let read = file.scan().batch_size(batch_size).rows(650..2000).build().and_then(collect);
            assert_eq!(place(read), in_place(0, 700), "dictionary: {dictionary}");
            let read = file.scan().batch_size(batch_size).rows(701..2000).build().and_then(collect);
            assert_eq!(place(read), in_place(1, 300), "dictionary: {dictionary}");
        }
        let as_dictionary = file.scan().dictionary_columns(["at"]).row_groups([1]).build().and_then(collect);
        assert_eq!(place(as_dictionary), in_place(1, 300), "dictionary: {dictionary}");
        let by_threads = file.scan().threads(3).row_groups([1]).build().and_then(collect);
        assert_eq!(place(by_threads), in_place(1, 300), "dictionary: {dictionary}");
    }
}

#[test]
fn a_timestamp_in_a_list_is_an_error_at_the_row_of_the_list() {
    for dictionary in [false, true] {
        let bytes = file(dictionary, true);
        let file = open(&bytes, Int96Unit::Nanoseconds);
        let path = |row_group, row| ("at.list.element".to_owned(), row_group, row);
        for batch_size in [7, 100, 8192] {
            let read =
                |rows: std::ops::Range<u64>| file.scan().batch_size(batch_size).rows(rows).build().and_then(collect);
            assert_eq!(place(read(0..2000)), path(0, 700), "dictionary: {dictionary}");
            assert_eq!(place(read(699..2000)), path(0, 700), "dictionary: {dictionary}");
            assert_eq!(place(read(701..2000)), path(1, 300), "dictionary: {dictionary}");
        }
        let read = open(&bytes, Int96Unit::Milliseconds).scan().build().and_then(collect).unwrap();
        assert_eq!(read.1.iter().map(RecordBatch::num_rows).sum::<usize>(), 2000);
    }
}

#[test]
fn rows_without_such_a_timestamp_are_read() {
    for dictionary in [false, true] {
        let file = open(&file(dictionary, false), Int96Unit::Nanoseconds);
        let rows = |(_, batches): crate::reading::Table| batches.iter().map(RecordBatch::num_rows).sum::<usize>();
        let ranges = [0..700, 701..1300, 1301..2000];
        let read = file.scan().rows(ranges.clone()).build().and_then(collect).unwrap();
        assert_eq!(rows(read), 1998, "dictionary: {dictionary}");
        let read = file.scan().dictionary_columns(["at"]).rows(ranges).build().and_then(collect).unwrap();
        assert_eq!(rows(read), 1998, "dictionary: {dictionary}");
        for (predicate, expected) in
            [("id NOT IN (300, 700)", 1996), ("id = 701", 2), ("id < 600 AND id <> 300", 1198), ("id > 750", 498)]
        {
            let found = file.scan().filter(predicate).and_then(Scan::build).unwrap();
            let found: Result<Vec<RecordBatch>> = found.collect();
            let found = found.unwrap_or_else(|error| panic!("{predicate}, dictionary: {dictionary}: {error}"));
            assert_eq!(found.iter().map(RecordBatch::num_rows).sum::<usize>(), expected, "{predicate}");
        }
    }
}

#[test]
fn a_scan_names_the_row_that_it_would_have_found() {
    for dictionary in [false, true] {
        let file = open(&file(dictionary, false), Int96Unit::Nanoseconds);
        for (predicate, row_group, row) in [
            ("id = 700", 0, 700),
            ("id > 690 AND id < 720", 0, 700),
            ("id = 300", 1, 300),
            ("at < TIMESTAMP '1900-01-01'", 0, 700),
        ] {
            let found = file.scan().filter(predicate).and_then(Scan::build);
            let found: Result<Vec<RecordBatch>> = found.unwrap().collect();
            assert_eq!(place(found), in_place(row_group, row), "{predicate}, dictionary: {dictionary}");
        }
    }
}

#[test]
fn the_unit_decides_the_type_the_values_and_what_predicates_find() {
    // Like pyarrow's coerce_int96_timestamp_unit.
    for dictionary in [false, true] {
        let bytes = file(dictionary, false);
        for (unit, time_unit, per_second) in [
            (Int96Unit::Microseconds, TimeUnit::Microsecond, 1_000_000),
            (Int96Unit::Milliseconds, TimeUnit::Millisecond, 1_000),
        ] {
            let file = open(&bytes, unit);
            let data_type = DataType::Timestamp(time_unit, None);
            assert_eq!(*file.schema().field(1).data_type(), data_type);
            let (schema, batches) = file.scan().build().and_then(collect).unwrap();
            assert_eq!(*schema.field(1).data_type(), data_type);
            let mut row = 0;
            for batch in &batches {
                for at in 0..batch.num_rows() {
                    let (group, in_group) = (row / ROWS as usize, (row % ROWS as usize) as i32);
                    let (day, nanos) = moment(group, in_group);
                    let expected = i64::from(day - EPOCH) * 86_400 * per_second + nanos / (1_000_000_000 / per_second);
                    let column = batch.column(1);
                    assert_eq!(column.is_null(at), is_null(in_group));
                    if !is_null(in_group) {
                        let value = match time_unit {
                            TimeUnit::Microsecond => column.as_primitive::<TimestampMicrosecondType>().value(at),
                            _ => column.as_primitive::<TimestampMillisecondType>().value(at),
                        };
                        assert_eq!(value, expected, "row {row}");
                    }
                    row += 1;
                }
            }
            assert_eq!(row, 2000);
            for (predicate, rows) in [
                ("at > TIMESTAMP '9999-01-01'", vec![700]),
                ("at < TIMESTAMP '0001-01-02'", vec![300]),
                ("at IS NULL AND id < 11", vec![3, 10, 3, 10]),
            ] {
                let found = file.scan().filter(predicate).and_then(Scan::build).unwrap();
                let ids =
                    found.flat_map(|batch| batch.unwrap().column(0).as_primitive::<Int32Type>().values().to_vec());
                assert_eq!(ids.collect::<Vec<_>>(), rows, "{predicate}");
            }
        }
    }
}

#[test]
fn the_unit_is_that_of_a_dataset_too_and_of_dictionaries() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    std::fs::write(&path, file(true, false)).unwrap();
    for unites in [false, true] {
        let open = OpenOptions::new().int96_unit(Int96Unit::Microseconds);
        let options = lath_parquet::DatasetOptions::new().open_options(open).union_schemas(unites);
        let dataset = Dataset::open([&path], options).unwrap();
        assert_eq!(*dataset.schema().field(1).data_type(), DataType::Timestamp(TimeUnit::Microsecond, None));
        assert_eq!(dataset.scan().filter("at > TIMESTAMP '9999-01-01'").unwrap().count().unwrap(), 1);
    }
    let file = open(&std::fs::read(&path).unwrap().into(), Int96Unit::Milliseconds);
    let (schema, batches) = file.scan().dictionary_columns(["at"]).build().and_then(collect).unwrap();
    let values = DataType::Timestamp(TimeUnit::Millisecond, None);
    assert_eq!(*schema.field(1).data_type(), DataType::Dictionary(Box::new(DataType::Int32), Box::new(values)));
    assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 2000);
}

#[test]
fn files_of_the_same_schema_are_opened_each_in_its_unit() {
    let bytes = file(false, false);
    for (unit, time_unit) in [
        (Int96Unit::Nanoseconds, TimeUnit::Nanosecond),
        (Int96Unit::Milliseconds, TimeUnit::Millisecond),
        (Int96Unit::Nanoseconds, TimeUnit::Nanosecond),
    ] {
        let data_type = open(&bytes, unit).schema().field(1).data_type().clone();
        assert_eq!(data_type, DataType::Timestamp(time_unit, None));
    }
    let file = open(&bytes, Int96Unit::Nanoseconds);
    let (_, batches) = file.scan().rows(1..2).build().and_then(collect).unwrap();
    let value = batches[0].column(1).as_primitive::<TimestampNanosecondType>().value(0);
    assert_eq!(value, 86_400_000_000_000 + NOON + 1_234_567);
}

fn ids(scan: Scan) -> Result<Vec<i32>> {
    let batches = scan.select(["id"]).build()?.collect::<Result<Vec<RecordBatch>>>()?;
    let ids = batches.iter().flat_map(|batch| batch.column(0).as_primitive::<Int32Type>().values().to_vec());
    Ok(ids.collect())
}

/// The ids that a predicate finds, and the number of rows it counts.
fn find(file: &ParquetFile, predicate: &str) -> Result<(Vec<i32>, u64)> {
    Ok((ids(file.scan().filter(predicate)?)?, file.scan().filter(predicate)?.count()?))
}

#[test]
fn a_literal_that_nanoseconds_cannot_hold_finds_rows_unless_one_has_such_a_timestamp_too() {
    // Whether a row in 1970, and one without a timestamp, is found.
    let predicates = [
        ("at > '2900-01-01'", false, false),
        ("at >= TIMESTAMP '2900-01-01'", false, false),
        ("NOT at <= '2900-01-01'", false, false),
        ("at < '2900-01-01'", true, false),
        ("at <> '2900-01-01'", true, false),
        ("at = '2900-01-01'", false, false),
        ("at IN ('2900-01-01', '1600-01-01')", false, false),
        ("at NOT IN ('2900-01-01', '2020-01-01')", true, false),
        ("at BETWEEN '2900-01-01' AND '2950-01-01'", false, false),
        ("at BETWEEN '1960-01-01' AND '2950-01-01'", true, false),
        ("at < '1600-01-01'", false, false),
        ("at > '1600-01-01'", true, false),
        ("at IS DISTINCT FROM TIMESTAMP '2900-01-01'", true, true),
        ("CAST(at AS DATE) > '2900-01-01'", false, false),
    ];
    for dictionary in [false, true] {
        let file = open(&file(dictionary, false), Int96Unit::Nanoseconds);
        for (predicate, finds_values, finds_nulls) in predicates {
            let context = format!("{predicate}, dictionary: {dictionary}");
            let found = find(&file, predicate).map(|_| ());
            let counted = file.scan().filter(predicate).unwrap().count().map(|_| ());
            for result in [found, counted] {
                // Whichever row group is read first.
                let at = place(result);
                assert!(at == in_place(0, 700) || at == in_place(1, 300), "{context}: {at:?}");
            }
            let expected: Vec<i32> =
                (0..100).filter(|&id| if is_null(id) { finds_nulls } else { finds_values }).collect();
            let near = file.scan().filter(predicate).unwrap().rows([0..100, 1000..1100]);
            assert_eq!(ids(near).unwrap(), [&expected[..], &expected].concat(), "{context}");
        }
    }
}

#[test]
fn a_literal_far_away_finds_rows_in_units_that_hold_it() {
    for dictionary in [false, true] {
        let file = open(&file(dictionary, false), Int96Unit::Microseconds);
        for (predicate, rows) in [
            ("at > '2900-01-01'", vec![700]),
            ("at = '9999-12-31 12:00:00.001234'", vec![700]),
            ("at < '1600-01-01'", vec![300]),
            ("at BETWEEN '2900-01-01' AND '9999-12-31 23:00'", vec![700]),
            // Beyond microseconds too.
            ("at > '300000-01-01'", vec![]),
            ("at IN ('300000-01-01', '9999-12-31 12:00:00.001234')", vec![700]),
        ] {
            assert_eq!(find(&file, predicate).unwrap(), (rows.clone(), rows.len() as u64), "{predicate}");
        }
        let values = (0..ROWS).filter(|&row| !is_null(row)).count() as u64;
        assert_eq!(find(&file, "at < '300000-01-01'").unwrap().1, 2 * values);
    }
}

#[test]
fn a_list_is_searched_for_a_timestamp_that_nanoseconds_cannot_hold() {
    for dictionary in [false, true] {
        let bytes = file(dictionary, true);
        let find = |unit, predicate| find(&open(&bytes, unit), predicate);
        let predicate = "list_contains(at, TIMESTAMP '9999-12-31 12:00:00.001234567')";
        let found = place(find(Int96Unit::Nanoseconds, predicate));
        assert_eq!(found, ("at.list.element".to_owned(), 0, 700), "dictionary: {dictionary}");
        let predicate = "list_contains(at, TIMESTAMP '9999-12-31 12:00:00.001234')";
        assert_eq!(find(Int96Unit::Microseconds, predicate).unwrap(), (vec![700], 1), "dictionary: {dictionary}");
    }
}

#[test]
fn files_of_a_table_have_microseconds_whatever_the_unit_of_other_files() {
    let mapping = Arc::new(ColumnMapping::new([MappedColumn::new("at").stored_name("at")]));
    let file = OpenOptions::new().columns(mapping).from_bytes(file(false, false)).unwrap();
    let (schema, batches) = file.scan().build().and_then(collect).unwrap();
    assert_eq!(schema.field(0).data_type(), &DataType::Timestamp(TimeUnit::Microsecond, None));
    let at = batches[0].column(0).slice(700, 1);
    let days = i64::from(YEAR_9999 - EPOCH);
    assert_eq!(at.as_primitive::<TimestampMicrosecondType>().value(0), days * 86_400_000_000 + NOON / 1000 + 1234);
}
