//! Parquet, through the `parquet` crate's writer.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use super::Rows;
use super::target::Target;
use crate::failure::{Failure, Result};

/// Rows as a Parquet file.
pub(super) struct ParquetRows(ArrowWriter<Target>, String);

impl ParquetRows {
    pub(super) fn new(target: Target, schema: SchemaRef) -> Result<Self> {
        let name = target.name().to_owned();
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_created_by(concat!("lath ", env!("CARGO_PKG_VERSION")).to_owned())
            .build();
        match ArrowWriter::try_new(target, schema, Some(properties)) {
            Ok(writer) => Ok(Self(writer, name)),
            Err(error) => Err(Failure::encoding_parquet(&name, error)),
        }
    }
}

impl Rows for ParquetRows {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.0.write(batch).map_err(|error| Failure::encoding_parquet(&self.1, error))
    }

    fn finish(self: Box<Self>) -> Result<()> {
        let Self(writer, name) = *self;
        writer.into_inner().map_err(|error| Failure::encoding_parquet(&name, error))?.finish()
    }
}
