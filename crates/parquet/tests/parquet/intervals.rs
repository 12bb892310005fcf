//! INTERVAL: months, days and milliseconds in twelve bytes, all of which are read and written.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    IntervalDayTime, IntervalDayTimeType, IntervalMonthDayNano, IntervalMonthDayNanoType, IntervalYearMonthType,
};
use arrow_array::{ArrayRef, IntervalDayTimeArray, IntervalMonthDayNanoArray, IntervalYearMonthArray, RecordBatch};
use arrow_schema::{DataType, Field, IntervalUnit, Schema};
use bytes::Bytes;
use lath_parquet::{Error, OpenOptions, ParquetFile};
use lath_writer::WriteOptions;
use parquet::arrow::{ARROW_SCHEMA_META_KEY, encode_arrow_schema};
use parquet::data_type::{FixedLenByteArray, FixedLenByteArrayType};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use crate::reading::collect;
use crate::writing::write;

/// Months, days and milliseconds as the specification stores them.
fn stored([months, days, millis]: [u32; 3]) -> Vec<u8> {
    [months.to_le_bytes(), days.to_le_bytes(), millis.to_le_bytes()].concat()
}

/// A file of one optional column `i`; `hint` is its Arrow type according to the writer.
fn file(intervals: &[Option<[u32; 3]>], dictionary: bool, hint: Option<DataType>) -> Bytes {
    let schema = Arc::new(parse_message_type("message m { optional fixed_len_byte_array(12) i (INTERVAL); }").unwrap());
    let hint = hint.map(|data_type| {
        let schema = Schema::new(vec![Field::new("i", data_type, true)]);
        vec![KeyValue::new(ARROW_SCHEMA_META_KEY.to_owned(), encode_arrow_schema(&schema))]
    });
    let properties =
        WriterProperties::builder().set_dictionary_enabled(dictionary).set_key_value_metadata(hint).build();
    let mut bytes = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, Arc::new(properties)).unwrap();
    let mut row_group = writer.next_row_group().unwrap();
    let mut column = row_group.next_column().unwrap().unwrap();
    let def: Vec<i16> = intervals.iter().map(|interval| i16::from(interval.is_some())).collect();
    let values: Vec<FixedLenByteArray> = intervals.iter().flatten().map(|parts| stored(*parts).into()).collect();
    column.typed::<FixedLenByteArrayType>().write_batch(&values, Some(&def), None).unwrap();
    column.close().unwrap();
    row_group.close().unwrap();
    writer.close().unwrap();
    bytes.into()
}

/// The bytes of every value of a file's only column, as read by the `parquet` crate.
fn stored_values(file: &Bytes) -> Vec<Vec<u8>> {
    let reader = SerializedFileReader::new(file.clone()).unwrap();
    let rows = reader.metadata().file_metadata().num_rows() as usize;
    let row_group = reader.get_row_group(0).unwrap();
    let mut column = row_group.get_column_reader(0).unwrap();
    let parquet::column::reader::ColumnReader::FixedLenByteArrayColumnReader(column) = &mut column else { panic!() };
    let (mut values, mut def) = (Vec::new(), Vec::new());
    column.read_records(rows, Some(&mut def), None, &mut values).unwrap();
    values.iter().map(|value| value.data().to_vec()).collect()
}

fn read(file: &ParquetFile) -> lath_parquet::Result<ArrayRef> {
    let (_, batches) = file.scan().build().and_then(collect)?;
    Ok(Arc::clone(batches[0].column(0)))
}

const MOST: u32 = i32::MAX as u32;

#[test]
fn months_days_and_milliseconds_are_read_and_written_again() {
    let intervals = [
        Some([1, 2, 3]),
        None,
        Some([0, 0, 0]),
        Some([MOST, MOST, u32::MAX]),
        Some([14, 0, 0]),
        Some([0, 0, 86_400_000]),
    ];
    for dictionary in [false, true] {
        let bytes = file(&intervals, dictionary, None);
        let opened = ParquetFile::from_bytes(bytes.clone()).unwrap();
        assert_eq!(*opened.schema().field(0).data_type(), DataType::Interval(IntervalUnit::MonthDayNano));
        let array = read(&opened).unwrap();
        let found: Vec<_> = array.as_primitive::<IntervalMonthDayNanoType>().iter().collect();
        let expected = intervals.map(|interval| {
            let [months, days, millis] = interval?;
            Some(IntervalMonthDayNano::new(months as i32, days as i32, i64::from(millis) * 1_000_000))
        });
        assert_eq!(found, expected);

        let (_, batches) = opened.scan().build().and_then(collect).unwrap();
        let (again, _) = write(opened.schema(), &batches, WriteOptions::default()).unwrap();
        let expected: Vec<Vec<u8>> = intervals.iter().flatten().map(|parts| stored(*parts)).collect();
        assert_eq!(stored_values(&bytes), expected);
        assert_eq!(stored_values(&again), expected);
        let array_again = read(&ParquetFile::from_bytes(again).unwrap()).unwrap();
        assert_eq!(*array_again, *array);
    }
}

#[test]
fn parts_that_arrow_has_no_room_for_are_an_error_at_their_row() {
    for dictionary in [false, true] {
        for over in [[MOST + 1, 0, 0], [0, u32::MAX, 5]] {
            let mut intervals = vec![Some([1, 2, 3]); 100];
            intervals[20] = None;
            intervals[70] = Some(over);
            let opened = ParquetFile::from_bytes(file(&intervals, dictionary, None)).unwrap();
            let error = read(&opened).unwrap_err();
            assert!(error.to_string().contains(&format!("{} months, {} days", over[0], over[1])), "{error}");
            let Error::OutOfRange { at, .. } = error else { panic!("{error}") };
            assert_eq!((at.column.as_deref(), at.row_group, at.row), (Some("i"), Some(0), Some(70)));
            assert_eq!(opened.scan().rows(71..100).build().and_then(collect).unwrap().1[0].num_rows(), 29);
        }
    }
}

#[test]
fn the_arrow_schema_of_a_file_is_followed_where_nothing_is_lost() {
    let hinted = |unit, intervals: &[Option<[u32; 3]>]| file(intervals, true, Some(DataType::Interval(unit)));
    let open = |bytes: &Bytes| ParquetFile::from_bytes(bytes.clone()).unwrap();

    let array = read(&open(&hinted(IntervalUnit::YearMonth, &[Some([14, 0, 0]), None]))).unwrap();
    assert_eq!(array.as_primitive::<IntervalYearMonthType>().iter().collect::<Vec<_>>(), [Some(14), None]);
    let array = read(&open(&hinted(IntervalUnit::DayTime, &[Some([0, 2, 3])]))).unwrap();
    assert_eq!(array.as_primitive::<IntervalDayTimeType>().value(0), IntervalDayTime::new(2, 3));
    let array = read(&open(&hinted(IntervalUnit::MonthDayNano, &[Some([1, 2, 3])]))).unwrap();
    let expected = IntervalMonthDayNano::new(1, 2, 3_000_000);
    assert_eq!(array.as_primitive::<IntervalMonthDayNanoType>().value(0), expected);

    for unit in [IntervalUnit::YearMonth, IntervalUnit::DayTime] {
        let bytes = hinted(unit, &[None, Some([1, 2, 3])]);
        let error = read(&open(&bytes)).unwrap_err();
        assert!(error.to_string().contains("1 months, 2 days and 3 milliseconds"), "{error}");
        assert!(error.to_string().contains("arrow_schema_hint"), "{error}");
        assert_eq!(error.location().unwrap().row, Some(1));
        let array = read(&OpenOptions::new().arrow_schema_hint(false).from_bytes(bytes).unwrap()).unwrap();
        assert_eq!(array.as_primitive::<IntervalMonthDayNanoType>().value(1), expected);
    }
}

#[test]
fn intervals_of_every_unit_are_written_in_all_their_parts() {
    let arrays: [(ArrayRef, [u32; 3]); 3] = [
        (Arc::new(IntervalYearMonthArray::from(vec![14])), [14, 0, 0]),
        (Arc::new(IntervalDayTimeArray::from(vec![IntervalDayTime::new(2, 3)])), [0, 2, 3]),
        (
            Arc::new(IntervalMonthDayNanoArray::from(vec![IntervalMonthDayNano::new(1, 2, 4_294_967_295_000_000)])),
            [1, 2, u32::MAX],
        ),
    ];
    for (array, expected) in arrays {
        let batch = RecordBatch::try_from_iter([("i", Arc::clone(&array))]).unwrap();
        let (bytes, _) = write(&batch.schema(), std::slice::from_ref(&batch), WriteOptions::default()).unwrap();
        assert_eq!(stored_values(&bytes), [stored(expected)]);
        assert_eq!(*read(&ParquetFile::from_bytes(bytes).unwrap()).unwrap(), *array);
    }
}

#[test]
fn intervals_that_parquet_cannot_hold_are_refused_by_column_and_row() {
    let month_day_nano = |value: IntervalMonthDayNano| -> ArrayRef {
        let ordinary = IntervalMonthDayNano::new(1, 2, 3_000_000);
        Arc::new(IntervalMonthDayNanoArray::from(vec![Some(ordinary), None, Some(value), Some(ordinary)]))
    };
    let arrays: [ArrayRef; 8] = [
        month_day_nano(IntervalMonthDayNano::new(-1, 0, 0)),
        month_day_nano(IntervalMonthDayNano::new(0, -1, 0)),
        month_day_nano(IntervalMonthDayNano::new(0, 0, -1_000_000)),
        month_day_nano(IntervalMonthDayNano::new(0, 0, 1)),
        month_day_nano(IntervalMonthDayNano::new(0, 0, 1_500_000)),
        month_day_nano(IntervalMonthDayNano::new(0, 0, 4_294_967_296_000_000)),
        Arc::new(IntervalDayTimeArray::from(vec![None, None, Some(IntervalDayTime::new(0, -1))])),
        Arc::new(IntervalYearMonthArray::from(vec![None, None, Some(-1)])),
    ];
    for array in arrays {
        let batch = RecordBatch::try_from_iter([("i", Arc::clone(&array))]).unwrap();
        let error = write(&batch.schema(), std::slice::from_ref(&batch), WriteOptions::default()).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("column i") && text.contains("row 2 "), "{text}");
    }
}
