//! Datasets behind real servers: an HTTP server of our own, with faults, and moto's S3.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod faults;
mod http;
mod s3;

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_select::concat::concat_batches;
use bytes::Bytes;
use lath_parquet::{Dataset, DatasetOptions, FooterCache, ParquetFile, Result};
use lath_writer::{ParquetWriter, WriteOptions};

/// A table of `rows` rows whose values start at `first`.
fn table(first: i64, rows: i64) -> RecordBatch {
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(first..first + rows));
    let text = (first..first + rows)
        .map(|id| format!("row {} of many", id.wrapping_mul(0x9e37_79b9_7f4a_7c15_u64.cast_signed())));
    let names: ArrayRef = Arc::new(StringArray::from_iter_values(text));
    RecordBatch::try_from_iter([("id", ids), ("name", names)]).expect("columns of one length")
}

/// The table as a Parquet file.
fn parquet(batch: &RecordBatch) -> Bytes {
    let mut bytes = Vec::new();
    let mut writer = ParquetWriter::new(&mut bytes, &batch.schema(), WriteOptions::default()).expect("a schema");
    writer.write(batch).expect("a batch");
    writer.finish().expect("a footer");
    Bytes::from(bytes)
}

/// Options that share no footers with other tests.
fn options() -> DatasetOptions {
    DatasetOptions::new().footer_cache(FooterCache::new(64 << 20))
}

fn open(url: &str) -> Result<Dataset> {
    Dataset::open([url], options())
}

/// All rows of a file, as one batch.
fn rows(file: &ParquetFile) -> Result<RecordBatch> {
    let batches = file.scan().build()?.collect::<Result<Vec<_>>>()?;
    Ok(concat_batches(file.schema(), &batches).expect("batches of one schema"))
}

/// All rows of a table in memory, in the reader's form.
fn expected(file: &Bytes) -> RecordBatch {
    rows(&ParquetFile::from_bytes(file.clone()).expect("a file just written")).expect("a file just written")
}
