//! What the suites share: reading a file through Lath and through the `parquet` crate.

#![allow(dead_code, reason = "each suite uses its own part")]

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use bytes::Bytes;
use lath_parquet::{Batches, Result};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::errors::ParquetError;

/// A schema and batches of it.
pub(crate) type Table = (SchemaRef, Vec<RecordBatch>);

/// All batches of a read.
pub(crate) fn collect(batches: Batches) -> Result<Table> {
    let schema = batches.schema().clone();
    let batches: Result<Vec<RecordBatch>> = batches.collect();
    Ok((schema, batches?))
}

/// What the `parquet` crate's reader makes of the columns and fields at or below `paths`, or of all.
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
