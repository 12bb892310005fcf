//! Lath's files read back unchanged, with Lath and with the `parquet` crate, whatever the types, the nesting and the
//! options.
//!
//! `LATH_CASES` sets the number of files, `LATH_SEED` repeats a run.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, RecordBatch, RecordBatchOptions, StringArray, StructArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use bytes::Bytes;
use lath_parquet::ParquetFile;
use lath_testkit::Seeded;
use lath_testkit::equality::same_values;
use lath_testkit::random::{SchemaShape, record_batch, schema};
use lath_writer::{ParquetWriter, WriteOptions, WriteSummary};
use parquet::arrow::arrow_reader::ArrowReaderOptions;

use crate::check::check;
use crate::reading::{collect, read_with_crate};
use crate::writing::{Choices, write};

/// The number of files with random schemas.
const DEFAULT_CASES: usize = 120;

fn cases() -> usize {
    std::env::var("LATH_CASES").map_or(DEFAULT_CASES, |text| text.parse().expect("LATH_CASES is a number"))
}

#[test]
fn random_data_reads_back_whatever_the_options() {
    let mut random = Seeded::new("random_data_reads_back_whatever_the_options");
    for case in 0..cases() {
        let seed = random.u64(..);
        let mut choices = fastrand::Rng::with_seed(seed);
        let schema = schema(&mut choices, SchemaShape { fields: 5, depth: 4 });
        let batches = batches(&mut choices, &schema);
        let options = Choices::random(&mut choices);
        let outcome = check(&schema, &batches, &options);
        outcome.unwrap_or_else(|what| panic!("{what}\nin case {case} with seed {seed:#x}: {options:?}\n{schema:#?}"));
    }
}

/// Batches of odd sizes, sometimes none and sometimes empty ones; some are slices of others.
fn batches(random: &mut fastrand::Rng, schema: &SchemaRef) -> Vec<RecordBatch> {
    let count = random.usize(..5);
    let batch = |_| {
        let len = [0, 1, 7, 63, 64, 65, 400, 1_025][random.usize(..8)];
        let batch = record_batch(random, schema, len);
        let start = if random.bool() { 0 } else { random.usize(..=len) };
        batch.slice(start, random.usize(..=len - start))
    };
    (0..count).map(batch).collect()
}

#[test]
fn the_number_of_threads_does_not_change_a_byte() {
    let mut random = Seeded::new("the_number_of_threads_does_not_change_a_byte");
    for _ in 0..10 {
        let schema = schema(&mut random, SchemaShape { fields: 8, depth: 3 });
        let batches: Vec<_> = (0..6).map(|_| record_batch(&mut random, &schema, 700)).collect();
        let options = Choices::random(&mut random);
        let of = |threads: usize| {
            let options = options.options(&schema).threads(threads);
            write(&schema, &batches, options).unwrap().0
        };
        let one = of(1);
        assert!(one == of(2) && one == of(5));
    }
}

#[test]
fn row_groups_end_by_rows() {
    let summary = numbers(2_500, WriteOptions::default().row_group_rows(1_000));
    let rows: Vec<_> = summary.metadata.row_counts().to_vec();
    assert_eq!(rows, [1_000, 1_000, 500]);
}

#[test]
fn row_groups_end_by_bytes() {
    let options = WriteOptions::default().row_group_bytes(100_000).dictionary(false);
    let summary = numbers(200_000, options.codec(lath_writer::Codec::Uncompressed));
    assert!((7..=20).contains(&summary.row_groups), "{}", summary.row_groups);
    let bytes = summary.metadata.row_groups().map(|row_group| row_group.compressed_size());
    assert!(bytes.max().unwrap() < 200_000);
}

/// Writes batches of 1,000 numbers.
fn numbers(count: i32, options: WriteOptions) -> WriteSummary {
    let schema: SchemaRef = Arc::new(Schema::new(vec![Field::new("n", DataType::Int32, false)]));
    let mut writer = ParquetWriter::new(Vec::new(), &schema, options).unwrap();
    for start in (0..count).step_by(1_000) {
        let numbers = (start..count.min(start + 1_000)).map(|n| n.wrapping_mul(0x9e37_79b9_u32 as i32));
        let numbers: ArrayRef = Arc::new(Int32Array::from_iter_values(numbers));
        writer.write(&RecordBatch::try_new(schema.clone(), vec![numbers]).unwrap()).unwrap();
    }
    writer.finish().unwrap()
}

#[test]
fn a_file_without_rows_has_its_schema() {
    let schema: SchemaRef = Arc::new(Schema::new(vec![Field::new("n", DataType::Int32, false)]));
    for batches in [vec![], vec![RecordBatch::new_empty(schema.clone())]] {
        let (bytes, summary) = write(&schema, &batches, WriteOptions::default()).unwrap();
        assert_eq!((summary.rows, summary.row_groups), (0, 0));
        let file = ParquetFile::from_bytes(bytes).unwrap();
        assert_eq!(file.schema(), &schema);
    }
}

#[test]
fn rows_without_columns_are_counted() {
    let schema: SchemaRef = Arc::new(Schema::empty());
    let options = RecordBatchOptions::new().with_row_count(Some(5));
    let batch = RecordBatch::try_new_with_options(schema.clone(), vec![], &options).unwrap();
    let options = WriteOptions::default().row_group_rows(3);
    let (bytes, summary) = write(&schema, &[batch.clone(), batch], options).unwrap();
    assert_eq!((summary.rows, summary.row_groups), (10, 4));
    assert_eq!(ParquetFile::from_bytes(bytes).unwrap().row_count(), 10);
}

#[test]
fn metadata_says_what_was_asked_for() {
    let schema: SchemaRef = Arc::new(Schema::new(vec![Field::new("n", DataType::Int32, false)]));
    let options = WriteOptions::default()
        .created_by("someone version 1")
        .key_value_metadata("with", "value".to_owned())
        .key_value_metadata("without", None)
        .sorting_columns([lath_parquet::SortingColumn::descending("n")]);
    let batch = RecordBatch::try_new(schema.clone(), vec![Arc::new(Int32Array::from(vec![2, 1]))]).unwrap();
    let (bytes, _) = write(&schema, &[batch], options).unwrap();
    let file = ParquetFile::from_bytes(bytes).unwrap();
    let metadata = file.metadata();
    assert_eq!(metadata.created_by(), Some("someone version 1"));
    let pairs = metadata.key_value_metadata();
    let keys: Vec<_> = pairs.iter().map(|pair| (&*pair.key, &pair.value)).collect();
    assert_eq!(keys[0], ("with", &Some("value".to_owned())));
    assert_eq!(keys[1], ("without", &None));
    assert_eq!(keys[2].0, "ARROW:schema");
    let sorting = file.metadata().row_group(0).unwrap().sorting_columns().unwrap();
    assert_eq!((sorting[0].column_idx, sorting[0].descending, sorting[0].nulls_first), (0, true, false));
}

#[test]
fn what_cannot_be_written_is_refused() {
    let schema: SchemaRef = Arc::new(Schema::new(vec![Field::new("n", DataType::Int32, false)]));
    let refused =
        |schema: &SchemaRef, options| ParquetWriter::new(Vec::new(), schema, options).unwrap_err().to_string();
    let columns = WriteOptions::default().column("m", lath_writer::ColumnOptions::new().dictionary(false));
    assert!(refused(&schema, columns).contains("no leaf column m; there are n"));
    let sorting = WriteOptions::default().sorting_columns([lath_parquet::SortingColumn::ascending("m")]);
    assert!(refused(&schema, sorting).contains("no leaf column m"));
    let empty = Field::new("s", DataType::Struct(Vec::<Field>::new().into()), true);
    assert!(refused(&Arc::new(Schema::new(vec![empty])), WriteOptions::default()).contains("without fields"));
    let union = DataType::Union(arrow_schema::UnionFields::empty(), arrow_schema::UnionMode::Dense);
    let union = Schema::new(vec![Field::new("u", union, true)]);
    assert!(refused(&Arc::new(union), WriteOptions::default()).contains("union"));
}

#[test]
fn batches_of_another_schema_are_refused_and_end_the_file() {
    let schema: SchemaRef = Arc::new(Schema::new(vec![Field::new("n", DataType::Int32, true)]));
    let batch = |name: &str, column: ArrayRef| RecordBatch::try_from_iter([(name, column)]).unwrap();
    let numbers = || Arc::new(Int32Array::from(vec![1]));
    let strings: ArrayRef = Arc::new(StringArray::from(vec!["a"]));
    let two = RecordBatch::try_from_iter([("n", numbers() as ArrayRef), ("m", numbers())]).unwrap();
    for (wrong, what) in [
        (batch("m", numbers()), "expected column n, found m"),
        (batch("n", strings), "expected Int32"),
        (two, "2 columns"),
    ] {
        let mut writer = ParquetWriter::new(Vec::new(), &schema, WriteOptions::default()).unwrap();
        let error = writer.write(&wrong).unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
        assert!(writer.write(&batch("n", numbers())).unwrap_err().to_string().contains("failed before"));
        assert!(writer.finish().is_err());
    }
}

#[test]
fn runs_are_written_as_their_values() {
    use arrow_array::{RunArray, types::Int32Type};
    let runs: RunArray<Int32Type> = [Some("a"), Some("a"), None, Some("b")].into_iter().collect();
    let batch = RecordBatch::try_from_iter_with_nullable([("r", Arc::new(runs) as ArrayRef, true)]).unwrap();
    let (bytes, _) = write(&batch.schema(), std::slice::from_ref(&batch), WriteOptions::default()).unwrap();
    let read = ParquetFile::from_bytes(bytes).unwrap().scan().build().and_then(collect).unwrap();
    let expected: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), Some("a"), None, Some("b")]));
    let expected = RecordBatch::try_from_iter_with_nullable([("r", expected, true)]).unwrap();
    same_values((&expected.schema(), std::slice::from_ref(&expected)), (&read.0, &read.1)).unwrap();
}

/// pyarrow reads views as views if the Arrow schema of the file has them, and then tests no condition on them.
#[test]
fn the_schema_of_a_file_has_text_and_bytes_instead_of_views() {
    use arrow_array::{BinaryViewArray, StringViewArray};
    let texts: ArrayRef = Arc::new(StringViewArray::from(vec![Some("a"), None]));
    let bytes: ArrayRef = Arc::new(BinaryViewArray::from(vec![Some(&b"b"[..]), None]));
    let pair = |text: DataType, bytes: DataType| {
        DataType::Struct(vec![Field::new("t", text, true), Field::new("b", bytes, true)].into())
    };
    let columns = |text: DataType, bytes: DataType| {
        Schema::new(vec![
            Field::new("t", text.clone(), true),
            Field::new("b", bytes.clone(), true),
            Field::new("pair", pair(text, bytes), true),
        ])
    };
    let fields = vec![Field::new("t", DataType::Utf8View, true), Field::new("b", DataType::BinaryView, true)];
    let both: ArrayRef = Arc::new(StructArray::new(fields.into(), vec![texts.clone(), bytes.clone()], None));
    let schema = Arc::new(columns(DataType::Utf8View, DataType::BinaryView));
    let batch = RecordBatch::try_new(schema, vec![texts, bytes, both]).unwrap();
    let (file, _) = write(&batch.schema(), std::slice::from_ref(&batch), WriteOptions::default()).unwrap();
    let (schema, rows) = read_with_crate(&file, ArrowReaderOptions::new(), None).unwrap();
    assert_eq!(*schema, columns(DataType::Utf8, DataType::Binary));
    same_values((&batch.schema(), std::slice::from_ref(&batch)), (&schema, &rows)).unwrap();
}

#[test]
fn sinks_come_back_with_the_file() {
    let schema: SchemaRef = Arc::new(Schema::new(vec![Field::new("n", DataType::Int32, false)]));
    let writer = ParquetWriter::new(vec![b'x'; 3], &schema, WriteOptions::default()).unwrap();
    let (sink, summary) = writer.finish_into().unwrap();
    assert_eq!(sink.len() as u64, 3 + summary.bytes);
    assert!(ParquetFile::from_bytes(Bytes::from(sink).slice(3..)).is_ok());
}
