//! Strings and binary values that a scan returns as dictionaries: the same values as without.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{
    Array, ArrayRef, BinaryArray, Int64Array, LargeStringArray, RecordBatch, StringArray, StringViewArray, UInt32Array,
};
use arrow_cast::cast;
use arrow_schema::{DataType, Field};
use arrow_select::concat::concat_batches;
use arrow_select::take::take_record_batch;
use lath_table::{Error, Table, TableOptions};

const COLUMNS: [&str; 6] = ["text", "large", "view", "binary", "with.dot", "added"];

fn value(id: i64) -> Option<String> {
    (id % 11 != 3).then(|| format!("value {}", id % 7))
}

fn rows(ids: std::ops::Range<i64>, has_added: bool) -> RecordBatch {
    let values: Vec<Option<String>> = ids.clone().map(value).collect();
    let texts = StringArray::from(values.clone());
    let mut columns: Vec<(&str, ArrayRef)> = vec![
        ("id", Arc::new(Int64Array::from_iter_values(ids))),
        ("text", Arc::new(texts.clone())),
        ("large", Arc::new(LargeStringArray::from(values.clone()))),
        ("view", Arc::new(StringViewArray::from_iter(values.iter().map(Option::as_deref)))),
        ("binary", Arc::new(BinaryArray::from_iter(values.iter().map(Option::as_deref)))),
        ("with.dot", Arc::new(texts.clone())),
    ];
    if has_added {
        columns.push(("added", Arc::new(texts)));
    }
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, name != "id")))
        .unwrap()
}

/// A table with hot rows, rows in files of two schemas, updated rows and deleted ones.
fn table(folder: &std::path::Path) -> Table {
    let first = rows(0..5000, false);
    let table = Table::create(folder, &first.schema(), &["id"], TableOptions::new().background(false)).unwrap();
    table.upsert(&first).unwrap();
    table.flush().unwrap();
    table.add_column(&Field::new("added", DataType::Utf8, true), Some("none".into())).unwrap();
    table.upsert(&rows(4000..7000, true)).unwrap();
    table.delete((100..300).collect::<Vec<i64>>()).unwrap();
    table.flush().unwrap();
    table.upsert(&rows(6500..7200, true)).unwrap();
    table
}

/// All rows of some columns plus one, in the order of `id`.
fn read(table: &Table, columns: &[&str], dictionaries: &[&str], condition: Option<&str>) -> RecordBatch {
    let mut scan = table.scan().unwrap().select(columns.iter().copied().chain(["id"]));
    scan = scan.dictionary_columns(dictionaries.iter().copied());
    if let Some(condition) = condition {
        scan = scan.filter(condition).unwrap();
    }
    let batches = scan.build().unwrap();
    let schema = batches.schema();
    let batches: Vec<RecordBatch> = batches.map(Result::unwrap).collect();
    assert!(batches.iter().all(|batch| batch.schema() == schema));
    let all = concat_batches(&schema, &batches).unwrap();
    let ids = all.column_by_name("id").unwrap().as_primitive::<Int64Type>().values();
    let mut order: Vec<u32> = (0..ids.len() as u32).collect();
    order.sort_by_key(|&row| ids[row as usize]);
    take_record_batch(&all, &UInt32Array::from(order)).unwrap()
}

#[test]
fn dictionaries_have_the_values_of_the_columns() {
    let folder = tempfile::tempdir().unwrap();
    let table = table(folder.path());
    for condition in [None, Some("text = 'value 4'"), Some("added IS NULL OR id < 50"), Some("added = 'none'")] {
        let plain = read(&table, &COLUMNS, &[], condition);
        let read = read(&table, &COLUMNS, &COLUMNS, condition);
        assert_eq!(plain.num_rows(), read.num_rows());
        assert!(plain.num_rows() > 0, "{condition:?}");
        for name in COLUMNS {
            let (plain, read) = (plain.column_by_name(name).unwrap(), read.column_by_name(name).unwrap());
            let DataType::Dictionary(keys, values) = read.data_type() else { panic!("{name} is {}", read.data_type()) };
            assert_eq!(**keys, DataType::Int32);
            let is_large = *plain.data_type() == DataType::LargeUtf8;
            assert_eq!(is_large, **values == DataType::LargeUtf8, "{name}");
            assert_eq!(&cast(read, plain.data_type()).unwrap(), plain, "{name} where {condition:?}");
        }
    }
}

#[test]
fn one_of_several_columns_can_be_a_dictionary_and_others_are_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let table = table(folder.path());
    let read = read(&table, &["view", "text"], &["text", "large"], None);
    assert_eq!(read.column(0).data_type(), &DataType::Utf8View);
    assert!(matches!(read.column(1).data_type(), DataType::Dictionary(..)));
    assert_eq!(read.num_columns(), 3);
    assert_eq!(read.num_rows() as u64, table.count().unwrap());
}

#[test]
fn only_strings_and_binary_can_be_dictionaries() {
    let folder = tempfile::tempdir().unwrap();
    let table = table(folder.path());
    let build = |name: &str| table.scan().unwrap().dictionary_columns([name]).build().map(drop).unwrap_err();
    for (name, says) in [("id", "only strings and binary"), ("nowhere", "no column \"nowhere\"")] {
        let error = build(name);
        assert!(matches!(error, Error::Batch { .. }) && error.to_string().contains(says), "{error}");
    }
}
