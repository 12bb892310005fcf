//! Columns that scans return as Arrow dictionaries, in every way of running a scan; and columns with the same name.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int32Array, RecordBatch, StringArray};
use arrow_cast::cast;
use arrow_schema::DataType;
use arrow_select::concat::concat_batches;
use bytes::Bytes;
use lath_parquet::{Dataset, DatasetOptions, DeleteMask, Encoding, ParquetFile, Runtime, Scan, ScanTask, Strings};
use lath_writer::{ColumnOptions, Profile, ValueEncoding, WriteOptions};
use parquet::arrow::ArrowWriter;
use parquet::data_type::Int64Type as Int64Values;
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use crate::scan::collect;

const CITIES: [&str; 3] = ["Oslo", "Bergen", "Tromsø"];

/// Rows of three row groups, the first column with nulls.
fn rows() -> RecordBatch {
    let cities = (0..3000).map(|row| (row % 7 > 0).then(|| CITIES[row / 10 % 3]));
    let columns: [(_, ArrayRef); 2] = [
        ("city", Arc::new(StringArray::from_iter(cities))),
        ("number", Arc::new(Int32Array::from_iter_values((0..3000).map(|row| row / 5)))),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn bytes(rows: &RecordBatch) -> Bytes {
    bytes_with(rows, WriterProperties::builder())
}

fn bytes_with(rows: &RecordBatch, properties: WriterPropertiesBuilder) -> Bytes {
    let properties = properties.set_max_row_group_row_count(Some(1000)).build();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, rows.schema(), Some(properties)).unwrap();
    writer.write(rows).unwrap();
    writer.close().unwrap();
    bytes.into()
}

fn dictionary_type(values: DataType) -> DataType {
    DataType::Dictionary(Box::new(DataType::Int32), Box::new(values))
}

/// Checks that both columns are dictionaries with the values of `expected`.
fn check(found: &RecordBatch, expected: &RecordBatch, way: &str) {
    for (index, field) in expected.schema().fields().iter().enumerate() {
        let column = found.column(index);
        assert_eq!(*column.data_type(), dictionary_type(field.data_type().clone()), "{way}");
        let values = cast(column, field.data_type()).unwrap();
        assert!(&values == expected.column(index), "{field} {way}");
    }
}

/// Runs a scan in one thread, in threads that share row groups or columns, and as tasks.
fn check_all_ways(scan: &Scan, expected: &RecordBatch) {
    let scan = scan.clone().dictionary_columns(["city", "number"]).batch_size(300);
    for strings in [Strings::Views, Strings::Offsets] {
        let scan = scan.clone().strings(strings);
        for (threads, by_column) in [(1, false), (3, false), (3, true)] {
            let found = collect(scan.clone().threads(threads).by_column(by_column).build().unwrap()).unwrap();
            check(&found, expected, &format!("{threads} threads, by column: {by_column}"));
        }
        let plan = scan.clone().plan().unwrap();
        let parts: Vec<RecordBatch> = plan.tasks().iter().map(run).collect();
        check(&concat_batches(&parts[0].schema(), &parts).unwrap(), expected, "tasks");
        check(&collect(plan.scan().unwrap().threads(2).build().unwrap()).unwrap(), expected, "tasks together");
    }
}

fn run(task: &ScanTask) -> RecordBatch {
    collect(task.execute(&Runtime::global()).unwrap()).unwrap()
}

/// The rows in Oslo.
fn in_oslo(rows: &RecordBatch) -> RecordBatch {
    let cities = rows.column(0).as_string::<i32>();
    let mask = cities.iter().map(|city| Some(city == Some("Oslo"))).collect();
    arrow_select::filter::filter_record_batch(rows, &mask).unwrap()
}

#[test]
fn every_way_to_scan_gives_dictionaries() {
    let rows = rows();
    let file = ParquetFile::from_bytes(bytes(&rows)).unwrap();
    check_all_ways(&file.scan(), &rows);
    check_all_ways(&file.scan().rows(500..2500), &rows.slice(500, 2000));
    check_all_ways(&file.scan().filter("city = 'Oslo'").unwrap(), &in_oslo(&rows));
}

#[test]
fn rows_that_are_deleted_are_in_no_dictionary_column() {
    let rows = rows();
    // The second file has dictionaries for some of its pages.
    let few_entries = WriterProperties::builder()
        .set_dictionary_page_size_limit(300)
        .set_data_page_row_count_limit(150)
        .set_write_batch_size(50);
    for bytes in [bytes(&rows), bytes_with(&rows, few_entries)] {
        let file = ParquetFile::from_bytes(bytes).unwrap();
        for is_deleted in [|row: u64| row % 10 == 3, |row: u64| row % 7 != 2, |row: u64| (100..1200).contains(&row)] {
            let deleted: DeleteMask = (0..3000).filter(|&row| is_deleted(row)).collect();
            let kept = (0..3000).map(|row| Some(!is_deleted(row))).collect();
            let expected = arrow_select::filter::filter_record_batch(&rows, &kept).unwrap();
            let scan = file.scan().deleted([(0, deleted)]);
            check_all_ways(&scan, &expected);
            check_all_ways(&scan.filter("city = 'Oslo'").unwrap(), &in_oslo(&expected));
        }
    }
}

fn write(folder: &Path, name: &str, rows: &RecordBatch) {
    fs::write(folder.join(name), bytes(rows)).unwrap();
}

#[test]
fn united_files_may_lack_a_dictionary_column() {
    let folder = tempfile::tempdir().unwrap();
    let rows = rows();
    write(folder.path(), "a.parquet", &rows);
    write(folder.path(), "b.parquet", &rows.project(&[1]).unwrap());
    let dataset = Dataset::open([folder.path()], DatasetOptions::new().union_schemas(true)).unwrap();
    let nulls: ArrayRef = Arc::new(StringArray::new_null(rows.num_rows()));
    let second = RecordBatch::try_new(rows.schema(), vec![nulls, Arc::clone(rows.column(1))]).unwrap();
    check_all_ways(&dataset.scan(), &concat_batches(&rows.schema(), [&rows, &second]).unwrap());
    check_all_ways(&dataset.scan().filter("city = 'Oslo'").unwrap(), &in_oslo(&rows));
}

#[test]
fn a_written_task_gives_dictionaries() {
    let folder = tempfile::tempdir().unwrap();
    let rows = rows();
    write(folder.path(), "a.parquet", &rows);
    for unite in [false, true] {
        let dataset = Dataset::open([folder.path()], DatasetOptions::new().union_schemas(unite)).unwrap();
        let plan = dataset.scan().dictionary_columns(["city", "number"]).plan().unwrap();
        let run_written = |task: &ScanTask| {
            let text = serde_json::to_string(task).unwrap();
            assert!(text.contains(r#""dictionary_columns":["city","number"]"#), "{text}");
            run(&serde_json::from_str(&text).unwrap())
        };
        let parts: Vec<RecordBatch> = plan.tasks().iter().map(run_written).collect();
        check(&concat_batches(&parts[0].schema(), &parts).unwrap(), &rows, "written tasks");
    }
}

#[test]
fn columns_that_cannot_be_dictionaries_are_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let flags: ArrayRef = Arc::new(arrow_array::BooleanArray::from(vec![true, false]));
    write(folder.path(), "a.parquet", &RecordBatch::try_from_iter([("flag", flags)]).unwrap());
    for unite in [false, true] {
        let dataset = Dataset::open([folder.path()], DatasetOptions::new().union_schemas(unite)).unwrap();
        for column in ["flag", "nowhere"] {
            let error = dataset.scan().dictionary_columns([column]).build().unwrap_err().to_string();
            assert!(error.contains(column), "{error}");
        }
    }
}

/// A file with two columns `x`, and another one.
fn namesakes() -> ParquetFile {
    let message = "message m { required int64 first; required int64 x; required int64 x; }";
    let schema = Arc::new(parse_message_type(message).unwrap());
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::default()).unwrap();
    let mut row_group = writer.next_row_group().unwrap();
    for value in [1, 2, 3] {
        let mut column = row_group.next_column().unwrap().unwrap();
        column.typed::<Int64Values>().write_batch(&[value], None, None).unwrap();
        column.close().unwrap();
    }
    row_group.close().unwrap();
    ParquetFile::from_bytes(Bytes::from(writer.into_inner().unwrap())).unwrap()
}

fn only_row(scan: Scan) -> Vec<i64> {
    let rows = collect(scan.build().unwrap()).unwrap();
    rows.columns().iter().map(|column| column.as_primitive::<Int64Type>().value(0)).collect()
}

#[test]
fn columns_of_the_same_name_are_told_apart() {
    let file = namesakes();
    assert_eq!(only_row(file.scan()), [1, 2, 3]);
    assert_eq!(only_row(file.scan().select(["x"])), [2, 3]);
    assert_eq!(only_row(file.scan().select(["x", "first"])), [2, 3, 1]);
    for by_column in [false, true] {
        let scan = file.scan().threads(2).by_column(by_column);
        assert_eq!(only_row(scan.clone().select_leaves([2])), [3]);
        assert_eq!(only_row(scan.clone().select_leaves([2, 0])), [1, 3]);
        assert_eq!(only_row(scan.clone().select_leaves([1]).filter("first = 1").unwrap()), [2]);
        assert_eq!(only_row(scan.select_leaves([1]).row_number_column("row")), [2, 0]);
    }
    assert_eq!(file.scan().select_leaves([2]).count().unwrap(), 1);
    assert!(file.scan().select_leaves([3]).build().is_err());
    assert!(Dataset::of([file]).unwrap().scan().select_leaves([1]).build().is_err());
}

#[test]
fn values_of_dictionary_columns_are_plain_where_no_dictionary_holds_them() {
    let texts: Vec<String> = (0..80_000).map(|at| format!("a long text that nothing else has, number {at}")).collect();
    let texts = StringArray::from(texts);
    let codes = cast(&texts, &DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))).unwrap();
    let batch = RecordBatch::try_from_iter([("codes", codes), ("texts", Arc::new(texts) as ArrayRef)]).unwrap();
    let encodings = |options: WriteOptions| {
        let bytes = crate::writing::write(&batch.schema(), std::slice::from_ref(&batch), options).unwrap().0;
        let file = ParquetFile::from_bytes(bytes).unwrap();
        [0, 1].map(|leaf| {
            let all = file.metadata().chunk(0, leaf).unwrap().encodings();
            all.into_iter().filter(|encoding| *encoding != Encoding::Rle).collect::<Vec<_>>()
        })
    };
    let compact = || WriteOptions::profile(Profile::Compact);
    let [of_codes, of_texts] = encodings(compact());
    assert_eq!((of_codes, of_texts), (vec![Encoding::Plain], vec![Encoding::DeltaByteArray]));
    let delta = ValueEncoding::DeltaLengthByteArray;
    assert_eq!(encodings(compact().encoding(delta).dictionary(false))[0], [Encoding::Plain]);
    // If the option is set on the column itself, the caller's choice applies.
    let own = compact().column("codes", ColumnOptions::new().encoding(delta).dictionary(false));
    assert_eq!(encodings(own)[0], [Encoding::DeltaLengthByteArray]);
}
