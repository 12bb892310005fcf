use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type};
use arrow_array::{Array, ArrayRef, Float64Array, Int32Array, Int64Array, RecordBatch, StringViewArray, StructArray};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef};
use arrow_select::concat::concat_batches;
use lath_parquet::ParquetFile;
use lath_testkit::{Seeded, random};

use super::{BATCH_ROWS, MergedBatches, SortOptions, Sorter, SortingWriter};
use crate::{ParquetWriter, Result, SortingColumn, WriteOptions};

fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("key", DataType::Int32, true),
        Field::new("text", DataType::Utf8View, true),
        Field::new("place", DataType::Int64, false),
    ]))
}

/// Numbered rows with few distinct keys and texts.
fn batch(random: &mut fastrand::Rng, start: i64, len: usize) -> RecordBatch {
    let keys: Int32Array = (0..len).map(|_| (random.u8(..8) > 0).then(|| random.i32(-20..20))).collect();
    let text = |i: u32| format!("{} is a text of more than twelve bytes", i % 7);
    let texts: StringViewArray = (0..len).map(|_| (random.u8(..5) > 0).then(|| text(random.u32(..)))).collect();
    let places = Int64Array::from_iter_values((start..).take(len));
    RecordBatch::try_new(schema(), vec![Arc::new(keys), Arc::new(texts), Arc::new(places)]).unwrap()
}

/// A row as Rust values.
type Row = (Option<i32>, Option<String>, i64);

fn rows(batches: &[RecordBatch]) -> Vec<Row> {
    let of = |batch: &RecordBatch| {
        let (keys, texts) = (batch.column(0).as_primitive::<Int32Type>(), batch.column(1).as_string_view());
        let places = batch.column(2).as_primitive::<arrow_array::types::Int64Type>();
        let rows = keys.iter().zip(texts).zip(places.values());
        rows.map(|((key, text), &place)| (key, text.map(str::to_owned), place)).collect::<Vec<_>>()
    };
    batches.iter().flat_map(of).collect()
}

/// Compares with `None` after or before all values.
fn by_option<T: Ord>(a: &Option<T>, b: &Option<T>, column: &SortingColumn) -> std::cmp::Ordering {
    match (a, b) {
        (Some(a), Some(b)) if column.descending => b.cmp(a),
        (Some(a), Some(b)) => a.cmp(b),
        (None, None) => std::cmp::Ordering::Equal,
        (None, Some(_)) if column.nulls_first => std::cmp::Ordering::Less,
        (Some(_), None) if !column.nulls_first => std::cmp::Ordering::Less,
        _ => std::cmp::Ordering::Greater,
    }
}

fn sort(mut rows: Vec<Row>, columns: &[SortingColumn; 2]) -> Vec<Row> {
    rows.sort_by(|a, b| by_option(&a.0, &b.0, &columns[0]).then_with(|| by_option(&a.1, &b.1, &columns[1])));
    rows
}

fn columns(random: &mut fastrand::Rng) -> [SortingColumn; 2] {
    ["key", "text"].map(|path| SortingColumn {
        path: path.to_owned(),
        descending: random.bool(),
        nulls_first: random.bool(),
    })
}

#[test]
fn rows_are_sorted_and_equal_keys_keep_their_order_in_memory_and_on_disk() {
    let mut random = Seeded::new("rows_are_sorted_and_equal_keys_keep_their_order_in_memory_and_on_disk");
    for case in 0..30 {
        let columns = columns(&mut random);
        // From one run for each batch (more than can be open at once) to all rows in memory.
        let budget = [1, 20_000, 200_000, usize::MAX][case % 4];
        let mut sorter = Sorter::new(&schema(), &columns, SortOptions::new().memory_budget_bytes(budget)).unwrap();
        let mut batches = Vec::new();
        let mut start = 0;
        for _ in 0..random.usize(..100) {
            let len = random.usize(..300);
            batches.push(batch(&mut random, start, len));
            start += len as i64;
        }
        batches.iter().for_each(|batch| sorter.push(batch.clone()).unwrap());
        let sorted: Vec<_> = sorter.finish().unwrap().collect::<Result<_>>().unwrap();
        assert!(sorted.iter().all(|batch| (1..=BATCH_ROWS).contains(&batch.num_rows())));
        assert_eq!(rows(&sorted), sort(rows(&batches), &columns));
    }
}

#[test]
fn sorted_inputs_are_merged_and_those_of_equal_keys_come_in_their_order() {
    let mut random = Seeded::new("sorted_inputs_are_merged_and_those_of_equal_keys_come_in_their_order");
    for _ in 0..40 {
        let columns = columns(&mut random);
        let mut all = Vec::new();
        let mut inputs = Vec::new();
        for input in 0..random.usize(..6) {
            let len = [0, 1, 500, 20_000][random.usize(..4)];
            let unsorted = batch(&mut random, input as i64 * 100_000, len);
            let mut sorter = Sorter::new(&schema(), &columns, SortOptions::new()).unwrap();
            sorter.push(unsorted).unwrap();
            let sorted: Vec<_> = sorter.finish().unwrap().map(Result::unwrap).collect();
            let mut sliced = Vec::new();
            for batch in &sorted {
                let middle = random.usize(..=batch.num_rows());
                sliced.extend([batch.slice(0, middle), batch.slice(middle, batch.num_rows() - middle)].map(Ok));
            }
            all.extend(sorted);
            inputs.push(sliced.into_iter());
        }
        let merged = MergedBatches::new(&schema(), &columns, inputs).unwrap();
        let merged: Vec<_> = merged.collect::<Result<_>>().unwrap();
        assert_eq!(rows(&merged), sort(rows(&all), &columns));
    }
}

#[test]
fn inputs_that_do_not_overlap_are_handed_on_as_they_are() {
    let one = |range: std::ops::Range<i64>| {
        let column: ArrayRef = Arc::new(Int64Array::from_iter_values(range));
        RecordBatch::try_from_iter([("n", column)]).unwrap()
    };
    let (low, high) = (one(0..8_000), one(8_000..16_000));
    let inputs = [vec![Ok(high.clone())], vec![Ok(low.clone())]].map(Vec::into_iter);
    let merged = MergedBatches::new(&low.schema(), &[SortingColumn::ascending("n")], inputs).unwrap();
    let merged: Vec<_> = merged.collect::<Result<_>>().unwrap();
    let start = |batch: &RecordBatch| batch.column(0).to_data().buffers()[0].as_ptr();
    assert_eq!(merged.iter().map(start).collect::<Vec<_>>(), [start(&low), start(&high)]);
}

#[test]
fn an_input_that_is_not_sorted_is_an_error_that_names_it() {
    let one = |values: Vec<i32>| {
        let column: ArrayRef = Arc::new(Int32Array::from(values));
        RecordBatch::try_from_iter([("n", column)]).unwrap()
    };
    let schema = one(vec![]).schema();
    for second in [vec![vec![1, 3, 2]], vec![vec![1, 2], vec![0]]] {
        let inputs = [vec![Ok(one(vec![1, 2]))], second.into_iter().map(|values| Ok(one(values))).collect()];
        let merged = MergedBatches::new(&schema, &[SortingColumn::ascending("n")], inputs.map(Vec::into_iter));
        let error = merged.and_then(Iterator::collect::<Result<Vec<_>>>).unwrap_err();
        assert_eq!(error.to_string(), "input 1 is not sorted");
    }
}

#[test]
fn columns_within_structs_are_sorted_by_and_are_null_where_the_struct_is() {
    let fields = Fields::from(vec![Field::new("b.c", DataType::Float64, true)]);
    let floats: ArrayRef = Arc::new(Float64Array::from(vec![f64::NAN, 7.0, -0.0, 0.0, f64::NEG_INFINITY]));
    let valid = NullBuffer::from(vec![true, false, true, true, true]);
    let column: ArrayRef = Arc::new(StructArray::new(fields, vec![floats], Some(valid)));
    let batch = RecordBatch::try_from_iter_with_nullable([("a", column, true)]).unwrap();
    let mut sorter = Sorter::new(&batch.schema(), &[SortingColumn::ascending("a.b.c")], SortOptions::new()).unwrap();
    sorter.push(batch).unwrap();
    let sorted = sorter.finish().unwrap().next().unwrap().unwrap();
    let column = sorted.column(0).as_struct();
    let floats = column.column(0).as_primitive::<Float64Type>();
    let bits: Vec<_> = floats.values()[..4].iter().map(|value| value.to_bits()).collect();
    assert_eq!(bits, [f64::NEG_INFINITY, -0.0, 0.0, f64::NAN].map(f64::to_bits));
    assert!(column.is_null(4));
}

#[test]
fn columns_that_repeat_or_are_not_there_are_refused() {
    let list = Schema::new(vec![Field::new("l", DataType::new_list(DataType::Int32, true), true)]);
    for path in ["l", "l.list.item", "m", ""] {
        let columns = [SortingColumn::ascending(path)];
        let error = Sorter::new(&Arc::new(list.clone()), &columns, SortOptions::new()).unwrap_err();
        assert!(error.to_string().contains("there is no column"), "{error}");
    }
    assert!(Sorter::new(&schema(), &[], SortOptions::new()).is_err());
}

#[test]
fn rows_of_every_type_go_through_temporary_files() {
    let mut random = Seeded::new("rows_of_every_type_go_through_temporary_files");
    for _ in 0..40 {
        let mut fields: Vec<_> = random::schema(&mut random, random::SchemaShape { fields: 4, depth: 3 })
            .fields()
            .iter()
            .map(|field| field.as_ref().clone())
            .collect();
        fields.push(Field::new("key", DataType::Int32, false));
        let schema: SchemaRef = Arc::new(Schema::new(fields));
        let batches: Vec<_> = (0..3).map(|_| random::record_batch(&mut random, &schema, 50)).collect();
        let sorted = |budget| {
            let options = SortOptions::new().memory_budget_bytes(budget);
            let mut sorter = Sorter::new(&schema, &[SortingColumn::ascending("key")], options).unwrap();
            batches.iter().for_each(|batch| sorter.push(batch.clone()).unwrap());
            let sorted: Vec<_> = sorter.finish().unwrap().map(Result::unwrap).collect();
            concat_batches(&schema, &sorted).unwrap()
        };
        let (in_memory, on_disk) = (sorted(usize::MAX), sorted(1));
        lath_testkit::equality::same_values((&schema, &[in_memory]), (&schema, &[on_disk])).unwrap();
    }
}

#[test]
fn a_folder_that_is_not_there_is_an_error() {
    let options = SortOptions::new().memory_budget_bytes(1).folder("/there/is/no/such/folder");
    let mut sorter = Sorter::new(&schema(), &[SortingColumn::ascending("key")], options).unwrap();
    let error = sorter.push(batch(&mut fastrand::Rng::with_seed(0), 0, 1)).unwrap_err();
    assert!(error.to_string().contains("cannot create a temporary file"), "{error}");
}

#[test]
fn a_sorting_writer_writes_sorted_rows_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sorted.parquet");
    let options = WriteOptions::default().sorting_columns([SortingColumn::ascending("place")]);
    let writer = ParquetWriter::create(&path, &schema(), options).unwrap();
    let mut writer = SortingWriter::new(writer, SortOptions::new().memory_budget_bytes(1)).unwrap();
    let random = &mut fastrand::Rng::with_seed(1);
    for start in [100, 50, 0] {
        writer.write(&batch(random, start, 50)).unwrap();
    }
    assert_eq!(writer.finish().unwrap().rows, 150);
    let file = ParquetFile::open(&path).unwrap();
    assert_eq!(file.metadata().row_group(0).unwrap().sorting_columns().unwrap()[0].column_idx, 2);
    let batches: Vec<_> = file.scan().build().unwrap().collect::<Result<_>>().unwrap();
    assert!(rows(&batches).iter().map(|row| row.2).eq(0..150));
}
