//! Reading a file through Lath and through the `parquet` crate, shared by the suites.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use bytes::Bytes;
use lath_parquet::{ByteRanges, Result, ScanBatches};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::errors::ParquetError;

/// A schema and its batches.
pub(crate) type Table = (SchemaRef, Vec<RecordBatch>);

/// A file in memory, every other one with slow requests: that changes what is read ahead, and how pages are found.
pub(crate) fn source(random: &mut fastrand::Rng, bytes: Bytes) -> Arc<dyn ByteRanges> {
    match random.bool() {
        true => Arc::new(Slow { bytes, cost: random.u64(1..2000) }),
        false => Arc::new(bytes),
    }
}

/// A file in memory, a request of which costs as much as some bytes.
#[derive(Debug)]
struct Slow {
    bytes: Bytes,
    cost: u64,
}

impl ByteRanges for Slow {
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read(&self, range: Range<u64>) -> io::Result<Bytes> {
        self.bytes.read(range)
    }

    fn request_cost_bytes(&self) -> u64 {
        self.cost
    }
}

/// All batches of a scan.
pub(crate) fn collect(batches: ScanBatches) -> Result<Table> {
    let schema = batches.schema().clone();
    let batches: Result<Vec<RecordBatch>> = batches.collect();
    Ok((schema, batches?))
}

/// Reads the columns and fields at or below `paths`, or all, with the `parquet` crate.
pub(crate) fn read_with_crate(
    bytes: &Bytes,
    options: ArrowReaderOptions,
    paths: Option<&[String]>,
) -> std::result::Result<Table, ParquetError> {
    let mut builder = ParquetRecordBatchReaderBuilder::try_new_with_options(bytes.clone(), options)?;
    if let Some(paths) = paths {
        let mask = ProjectionMask::columns(builder.parquet_schema(), paths.iter().map(String::as_str));
        builder = builder.with_projection(mask);
    }
    let reader = builder.build()?;
    let schema = arrow_array::RecordBatchReader::schema(&reader);
    let batches: std::result::Result<Vec<RecordBatch>, _> = reader.collect();
    Ok((schema, batches?))
}
