//! Arrow IPC files from batches with different dictionaries.

use std::fs::File;
use std::sync::Arc;

use arrow_array::builder::{ListBuilder, StringDictionaryBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int8Type, Int32Type};
use arrow_array::{Array, ArrayRef, DictionaryArray, Int32Array, RecordBatch, StringArray, StructArray};
use arrow_cast::cast;
use arrow_ipc::reader::FileReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{DataType, Field};

use crate::invocation::{Run, lath_with_input};

fn stream(batches: &[RecordBatch]) -> Vec<u8> {
    let mut writer = StreamWriter::try_new(Vec::new(), &batches[0].schema()).unwrap();
    for batch in batches {
        writer.write(batch).unwrap();
    }
    writer.into_inner().unwrap()
}

/// Converts a stream of `batches` to an Arrow file. Returns the run and the file's batches.
fn converted(batches: &[RecordBatch]) -> (Run, Vec<RecordBatch>) {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out.arrow");
    let run = lath_with_input(&["convert", "-", "-o", output.to_str().unwrap()], &stream(batches));
    let read = |file| FileReader::try_new(file, None).unwrap().collect::<Result<Vec<_>, _>>().unwrap();
    let rows = File::open(&output).map(read).unwrap_or_default();
    (run, rows)
}

fn texts(column: &dyn Array) -> Vec<Option<String>> {
    let column = cast(column, &DataType::Utf8).unwrap();
    column.as_string::<i32>().iter().map(|text| text.map(str::to_owned)).collect()
}

fn words(keys: Vec<Option<i32>>, values: &[Option<&str>]) -> ArrayRef {
    let values: StringArray = values.iter().copied().collect();
    Arc::new(DictionaryArray::<Int32Type>::new(Int32Array::from(keys), Arc::new(values)))
}

fn batch(words: ArrayRef) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable([("word", words, true)]).unwrap()
}

#[test]
fn dictionaries_that_differ_between_batches_become_one_dictionary_of_the_file() {
    let batches = [
        batch(words(vec![Some(0), Some(1), None], &[Some("x"), Some("y")])),
        batch(words(vec![Some(0), Some(2), Some(1)], &[Some("z"), Some("y"), Some("x")])),
        batch(words(vec![], &[Some("never used")])),
        batch(words(vec![Some(1), Some(0)], &[Some("w"), None])),
    ];
    let (run, rows) = converted(&batches);
    assert_eq!(run.text(0), "");
    assert_eq!(rows.len(), batches.len());
    for (before, after) in batches.iter().zip(&rows) {
        assert_eq!(before.schema(), after.schema());
        assert_eq!(texts(before.column(0)), texts(after.column(0)));
        let keys = after.column(0).as_dictionary::<Int32Type>();
        assert!(keys.values().len() <= 6, "a value is in the dictionary once: {:?}", keys.values());
    }
}

#[test]
fn dictionaries_within_lists_and_structs_are_unified_too() {
    let nested = |words: &[&str]| {
        let mut lists = ListBuilder::new(StringDictionaryBuilder::<Int8Type>::new());
        for word in words {
            lists.values().append_value(word);
            lists.values().append_value("both");
            lists.append(true);
        }
        lists.append(false);
        let lists = lists.finish();
        let numbers = Int32Array::from_iter_values(0..lists.len() as i32);
        let whole = StructArray::from(vec![
            (Arc::new(Field::new("words", lists.data_type().clone(), true)), Arc::new(lists) as ArrayRef),
            (Arc::new(Field::new("number", DataType::Int32, true)), Arc::new(numbers)),
        ]);
        RecordBatch::try_from_iter_with_nullable([("nested", Arc::new(whole) as ArrayRef, true)]).unwrap()
    };
    // Slices, whose offsets and nulls do not start at the beginning.
    let batches = [nested(&["a", "b", "c"]).slice(1, 3), nested(&["c", "d", "b", "e"]).slice(2, 2)];
    let (run, rows) = converted(&batches);
    assert_eq!(run.text(0), "");
    let shown = |batch: &RecordBatch| {
        let rows = 0..batch.num_rows();
        let shown = rows.map(|row| arrow_cast::display::array_value_to_string(batch.column(0), row).unwrap());
        shown.collect::<Vec<_>>()
    };
    for (before, after) in batches.iter().zip(&rows) {
        assert_eq!(before.schema(), after.schema());
        assert_eq!(shown(before), shown(after));
    }
}

#[test]
fn more_values_than_keys_can_number_are_an_error_that_names_the_column() {
    let narrow = |from: usize| {
        let words: Vec<String> = (from..from + 100).map(|number| format!("word {number}")).collect();
        batch(Arc::new(words.iter().map(String::as_str).collect::<DictionaryArray<Int8Type>>()))
    };
    let (run, _) = converted(&[narrow(0), narrow(50)]);
    assert_eq!(run.code, 2, "{}", run.stderr);
    for part in ["column word", ".arrows"] {
        assert!(run.stderr.contains(part), "{part}: {}", run.stderr);
    }
}

#[test]
fn a_file_without_batches_has_its_dictionary_columns() {
    let empty = batch(words(vec![], &[]));
    let (run, rows) = converted(&[empty.slice(0, 0)]);
    assert_eq!(run.text(0), "");
    assert!(rows.iter().all(|batch| batch.num_rows() == 0 && batch.schema() == empty.schema()));
}
