//! Checks of written files.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use lath_parquet::{Encoding, ParquetFile};
use lath_testkit::equality::{check_sound, same_values};
use parquet::arrow::arrow_reader::ArrowReaderOptions;

use crate::reading::{collect, read_with_crate};
use crate::writing::{Choices, write};

/// Writes `batches` and reads them by Lath and by the `parquet` crate.
pub(crate) fn check(schema: &SchemaRef, batches: &[RecordBatch], options: &Choices) -> Result<(), String> {
    let (bytes, summary) =
        write(schema, batches, options.options(schema)).map_err(|error| format!("write: {error}"))?;
    let row_count: usize = batches.iter().map(RecordBatch::num_rows).sum();
    if summary.rows != row_count as u64 || summary.bytes != bytes.len() as u64 {
        return Err(format!("{} rows in {} bytes, says {summary:?}", row_count, bytes.len()));
    }
    let file = ParquetFile::from_bytes(bytes.clone()).map_err(|error| format!("open: {error}"))?;
    file.page_index().map_err(|error| format!("page index: {error}"))?;
    let own = file.scan().build().and_then(collect).map_err(|error| format!("read: {error}"))?;
    check_sound(&own.1)?;
    same_values((schema, batches), (&own.0, &own.1)).map_err(|what| format!("by Lath: {what}"))?;
    if has_alp(&file) {
        // The crate does not read a file with an encoding that it does not know.
        return Ok(());
    }
    let by_crate =
        read_with_crate(&bytes, ArrowReaderOptions::new(), None).map_err(|error| format!("crate: {error}"))?;
    same_values((schema, batches), (&by_crate.0, &by_crate.1)).map_err(|what| format!("by the crate: {what}"))
}

/// Whether any column chunk has ALP pages.
pub(crate) fn has_alp(file: &ParquetFile) -> bool {
    let metadata = file.metadata();
    (0..metadata.row_group_count()).any(|row_group| {
        let mut leaves = 0..metadata.schema_descr().num_columns();
        leaves.any(|leaf| metadata.chunk(row_group, leaf).unwrap().encodings().contains(&Encoding::Alp))
    })
}
