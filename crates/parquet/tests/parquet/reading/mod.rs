//! Reads files through Lath and through the `parquet` crate, for all suites.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use bytes::Bytes;
use lath_parquet::{ParquetFile, Result, ScanBatches};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::errors::ParquetError;
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader};

/// A schema and its batches.
pub(crate) type Table = (SchemaRef, Vec<RecordBatch>);

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

/// The footer of a file as the `parquet` crate reads it, with its page index.
pub(crate) fn library_metadata(file: &ParquetFile) -> ParquetMetaData {
    let bytes = file.source().read(0..file.source().len()).expect("a file that can be read");
    let reader = ParquetMetaDataReader::new().with_page_index_policy(PageIndexPolicy::Optional);
    reader.parse_and_finish(&bytes).expect("a footer that the library reads")
}
