//! Gets by key, from hot rows and files, with caches of all sizes.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{
    ArrayRef, BooleanArray, Decimal128Array, DictionaryArray, FixedSizeBinaryArray, Float64Array, Int32Array,
    Int64Array, LargeStringArray, RecordBatch, StringArray, StringViewArray, TimestampMillisecondArray, UInt16Array,
};
use arrow_schema::{DataType, Field};
use lath_table::{Durability, Key, Table, TableOptions};
use lath_testkit::Seeded;
use lath_writer::WriteOptions;

const ROWS: usize = 5000;

/// Key columns of many types, with and without Bloom filters, some with fewer values than rows.
fn keys() -> Vec<(&'static str, ArrayRef)> {
    let numbers = || 0..ROWS;
    let text = |number: usize| format!("{}key {number}", "x".repeat(number % 50));
    let floats = |number: usize| match number {
        0 => 0.0,
        1 => f64::MIN_POSITIVE,
        2 => f64::NAN,
        3 => f64::NEG_INFINITY,
        4 => f64::INFINITY,
        _ => number as f64 / 7.0 - 100.05,
    };
    vec![
        ("int64", Arc::new(Int64Array::from_iter_values(numbers().map(|number| number as i64 * 11 - 999)))),
        ("int32", Arc::new(Int32Array::from_iter_values(numbers().map(|number| number as i32 * 3 - 700)))),
        ("uint16", Arc::new(UInt16Array::from_iter_values(numbers().map(|number| number as u16 * 13)))),
        ("utf8", Arc::new(StringArray::from_iter_values(numbers().map(text)))),
        ("large", Arc::new(LargeStringArray::from_iter_values(numbers().map(text)))),
        ("view", Arc::new(StringViewArray::from_iter_values(numbers().map(text)))),
        ("float", Arc::new(Float64Array::from_iter_values(numbers().map(floats)))),
        ("time", Arc::new(TimestampMillisecondArray::from_iter_values(numbers().map(|number| number as i64 * 1001)))),
        (
            "decimal",
            Arc::new(
                Decimal128Array::from_iter_values(numbers().map(|number| number as i128 * 5 - 10))
                    .with_precision_and_scale(20, 2)
                    .unwrap(),
            ),
        ),
        (
            "fixed",
            Arc::new(
                FixedSizeBinaryArray::try_from_iter(numbers().map(|number| (number as u32).to_be_bytes())).unwrap(),
            ),
        ),
        (
            "dictionary",
            Arc::new(numbers().map(text).collect::<Vec<_>>().iter().map(String::as_str).collect::<DictionaryArray<_>>())
                as DictionaryOfTexts,
        ),
    ]
}

type DictionaryOfTexts = Arc<DictionaryArray<arrow_array::types::Int32Type>>;

fn rows(key: &(&str, ArrayRef), value: i64) -> RecordBatch {
    let len = key.1.len();
    let texts = (0..len).map(|row| (row % 5 > 0).then(|| format!("text {row} {value}")));
    let columns: [(&str, ArrayRef); 4] = [
        ("value", Arc::new(Int64Array::from_iter_values((0..len as i64).map(|row| row + value * 100_000)))),
        (key.0, Arc::clone(&key.1)),
        ("text", Arc::new(texts.collect::<StringArray>())),
        ("flag", Arc::new(BooleanArray::from_iter((0..len).map(|row| Some(row % 2 == 0))))),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn options() -> TableOptions {
    let write = WriteOptions::default().row_group_rows(1500);
    TableOptions::new().background(false).durability(Durability::Off).write_options(write)
}

#[test]
fn every_row_is_found_whatever_the_type_of_its_key_and_the_size_of_the_cache() {
    let sizes = |at: usize| if at == 0 { vec![0, 1 << 17, 1 << 28] } else { vec![[0, 1 << 28][at % 2]] };
    let keys = keys().into_iter().enumerate();
    for (cache_bytes, key) in keys.flat_map(|(at, key)| sizes(at).into_iter().map(move |bytes| (bytes, key.clone()))) {
        let folder = tempfile::tempdir().unwrap();
        let all = rows(&key, 0);
        let table = Table::create(folder.path(), &all.schema(), &[key.0], options().cache_bytes(cache_bytes)).unwrap();
        // Three of four rows are in two files, the others are hot; every eleventh was replaced, every thirteenth
        // deleted.
        let some = |is_it: fn(usize) -> bool, batch: &RecordBatch| {
            let is_it = BooleanArray::from_iter((0..ROWS).map(|row| Some(is_it(row))));
            arrow_select::filter::filter_record_batch(batch, &is_it).unwrap()
        };
        table.upsert(&some(|row| row % 4 < 2, &all)).unwrap();
        table.flush().unwrap();
        table.upsert(&some(|row| row % 4 == 2, &all)).unwrap();
        table.flush().unwrap();
        table.upsert(&some(|row| row % 4 == 3, &all)).unwrap();
        let replaced = rows(&key, 1);
        table.upsert(&some(|row| row % 11 == 0, &replaced)).unwrap();
        table.delete(some(|row| row % 13 == 0, &all).project(&[1]).unwrap()).unwrap();
        let expected = |row: usize| match row {
            _ if row.is_multiple_of(13) => None,
            _ if row.is_multiple_of(11) => Some(replaced.slice(row, 1)),
            _ => Some(all.slice(row, 1)),
        };
        for is_flushed in [false, true] {
            if is_flushed {
                table.flush().unwrap();
            }
            let snapshot = table.snapshot().unwrap();
            let mut random = Seeded::new("every row is found");
            for row in (0..5).chain((0..100).map(|_| random.usize(..ROWS))) {
                let one = Key::from(key.1.slice(row, 1));
                let found = snapshot.get(one).unwrap();
                let same = |found: &RecordBatch, expected: &RecordBatch| found.columns() == expected.columns();
                match (&found, &expected(row)) {
                    (Some(found), Some(expected)) => assert!(same(found, expected), "{} {row} {found:?}", key.0),
                    (found, expected) => assert_eq!(found.is_some(), expected.is_some(), "{} {row}", key.0),
                }
            }
            let wanted: Vec<usize> = (0..[3, 200, ROWS][random.usize(..3)]).map(|_| random.usize(..ROWS)).collect();
            let indices = arrow_array::UInt64Array::from_iter_values(wanted.iter().map(|&row| row as u64));
            let keys = arrow_select::take::take_record_batch(&all.project(&[1]).unwrap(), &indices).unwrap();
            let found = snapshot.get_many(keys).unwrap();
            for (row, place) in wanted.into_iter().zip(found.places()) {
                let found = place.map(|place| found.rows().slice(place, 1));
                assert_eq!(found.map(|row| row.columns().to_vec()), expected(row).map(|row| row.columns().to_vec()));
            }
        }
    }
}

#[test]
fn rows_of_older_schemas_are_found_in_the_newest() {
    let folder = tempfile::tempdir().unwrap();
    let batch = |ids: std::ops::Range<i64>| {
        let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(ids.clone()));
        let numbers: ArrayRef = Arc::new(Int32Array::from_iter_values((0..ids.len() as i32).map(|row| row * 2)));
        RecordBatch::try_from_iter([("id", ids), ("n", numbers)]).unwrap()
    };
    let table = Table::create(folder.path(), &batch(0..0).schema(), &["id"], options()).unwrap();
    table.upsert(&batch(0..3000)).unwrap();
    table.flush().unwrap();
    table.upsert(&batch(3000..3010)).unwrap();
    let before = table.snapshot().unwrap();
    assert_eq!(before.get(7).unwrap().unwrap().num_columns(), 2);
    table.widen_column("n", &DataType::Int64).unwrap();
    table.add_column(&Field::new("extra", DataType::Int64, false), Some(5.into())).unwrap();
    table.add_column(&Field::new("text", DataType::Utf8, true), None).unwrap();
    for (id, n) in [(7_i64, 14), (2999, 5998), (3003, 6)] {
        let row = table.get(id).unwrap().unwrap();
        assert_eq!(row.schema(), table.schema().unwrap());
        let numbers: Vec<i64> = (0..3).map(|at| row.column(at).as_primitive::<Int64Type>().value(0)).collect();
        assert_eq!((numbers, row.column(3).is_null(0)), (vec![id, n, 5], true));
        let many = table.get_many([id]).unwrap();
        assert_eq!(many.rows(), &row);
    }
    assert!(table.get(3010).unwrap().is_none() && table.get(-1).unwrap().is_none());
    assert_eq!(before.get(3003).unwrap().unwrap().num_columns(), 2);
    table.drop_column("n").unwrap();
    assert_eq!(table.get(7).unwrap().unwrap().num_columns(), 3);
}
