//! Opening files: the collection, hostile footers, keys, indexes and plans.

mod corpus;
mod encryption;
mod hostile;
mod indexes;
mod pages_encrypted;
mod plans;

use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;

use lath_source::ByteRanges;

/// A file of two columns and `rows` rows, in row groups of 100 rows and pages of 20.
fn written(rows: i64) -> Bytes {
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows));
    let names: ArrayRef = Arc::new(StringArray::from_iter_values((0..rows).map(|row| format!("name {row}"))));
    let batch = RecordBatch::try_from_iter([("id", ids), ("name", names)]).unwrap();
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(100))
        .set_data_page_row_count_limit(20)
        .set_write_batch_size(20)
        .build();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    Bytes::from(bytes)
}

/// Bytes in memory that record the ranges read.
#[derive(Debug)]
struct WatchedSource {
    bytes: Bytes,
    reads: Mutex<Vec<Range<u64>>>,
}

impl WatchedSource {
    fn new(bytes: Bytes) -> Arc<Self> {
        Arc::new(Self { bytes, reads: Mutex::default() })
    }

    fn reads(&self) -> Vec<Range<u64>> {
        self.reads.lock().unwrap().clone()
    }
}

impl ByteRanges for WatchedSource {
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read(&self, range: Range<u64>) -> io::Result<Bytes> {
        self.reads.lock().unwrap().push(range.clone());
        ByteRanges::read(&self.bytes, range)
    }
}
