//! Tests of columns that several threads share.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, RecordBatch, StringArray};
use arrow_select::concat::concat_batches;
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;

use crate::file::ParquetFile;
use crate::options::Strings;

/// Several turns of each lane, over row groups that end within a turn.
const ROWS: i32 = 500_000;

fn file() -> (RecordBatch, Bytes) {
    let numbers = Int32Array::from_iter((0..ROWS).map(|row| (row % 7 > 0).then_some(row / 3)));
    let texts =
        StringArray::from_iter((0..ROWS).map(|row| (row % 5 > 0).then(|| format!("text number {}", row % 90_001))));
    let columns: [(_, ArrayRef); 2] = [("number", Arc::new(numbers)), ("text", Arc::new(texts))];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(220_000)).build();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    (batch, bytes.into())
}

#[test]
fn columns_that_threads_share_come_in_order() {
    let (written, bytes) = file();
    let file = ParquetFile::from_source(Arc::new(bytes)).unwrap();
    let rows = ROWS as u64;
    let whole = 0..rows;
    // Whole, and with gaps that begin and end within turns, pages and row groups.
    let gaps = [5..70_001, 140_000..140_001, 200_003..300_000, 450_007..rows];
    for columns in [vec!["number"], vec!["text"], vec!["number", "text"]] {
        for threads in [2, 3, 5] {
            for batch_size in [1000, 8192, 200_000] {
                for ranges in [vec![whole.clone()], gaps.to_vec()] {
                    let read =
                        file.scan().select(columns.clone()).strings(Strings::Offsets).threads(threads).by_column(true);
                    let read = read.batch_size(batch_size).rows(ranges.clone()).build().unwrap();
                    let schema = read.schema();
                    let batches: Vec<RecordBatch> = read.map(Result::unwrap).collect();
                    assert!(batches.iter().all(|batch| batch.num_rows() <= batch_size));
                    let slices = ranges
                        .iter()
                        .map(|range| written.slice(range.start as usize, (range.end - range.start) as usize));
                    let slices: Vec<RecordBatch> = slices.collect();
                    let expected = concat_batches(&written.schema(), &slices).unwrap();
                    let read = concat_batches(&schema, &batches).unwrap();
                    for (name, column) in columns.iter().zip(read.columns()) {
                        let expected = expected.column_by_name(name).unwrap();
                        assert!(column == expected, "{name}, {threads} threads, batches of {batch_size}, {ranges:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_read_that_threads_share_can_be_given_up() {
    let (_, bytes) = file();
    let file = ParquetFile::from_source(Arc::new(bytes)).unwrap();
    let mut read = file.scan().select(["text"]).threads(4).by_column(true).build().unwrap();
    assert_eq!(read.next().unwrap().unwrap().num_rows(), 8192);
}
