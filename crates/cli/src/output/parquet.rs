//! Parquet.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use lath_writer::{ParquetWriter, WriteOptions, WriteSummary};

use super::RowSink;
use crate::failure::{Failure, Result};
use crate::target::Target;

/// Rows as a Parquet file.
pub(super) struct ParquetSink {
    writer: ParquetWriter<Target>,
    name: String,
}

impl ParquetSink {
    pub(super) fn new(target: Target, schema: &SchemaRef, options: WriteOptions) -> Result<Self> {
        let name = target.name().to_owned();
        match ParquetWriter::new(target, schema, options) {
            Ok(writer) => Ok(Self { writer, name }),
            Err(error) => Err(Failure::writing_file(&name, error)),
        }
    }
}

impl RowSink for ParquetSink {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.writer.write(batch).map_err(|error| Failure::writing_file(&self.name, error))
    }

    fn finish(self: Box<Self>) -> Result<Option<WriteSummary>> {
        let Self { writer, name } = *self;
        let (target, summary) = writer.finish_into().map_err(|error| Failure::writing_file(&name, error))?;
        target.finish()?;
        Ok(Some(summary))
    }
}
