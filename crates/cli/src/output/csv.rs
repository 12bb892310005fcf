//! Rows as CSV.

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use lath_text::{CsvWriteOptions, TextFormat, TextWriteOptions, TextWriter};
use lath_writer::WriteSummary;

use super::RowSink;
use crate::failure::{Failure, Result};
use crate::target::Target;

/// The delimiter, and the text for null. A value that equals it is quoted.
#[derive(Debug, Clone, Copy)]
pub(super) struct CsvOptions<'a> {
    pub(super) delimiter: u8,
    pub(super) null: &'a str,
}

/// Rows as CSV with a header.
pub(super) struct CsvSink {
    writer: TextWriter<Target>,
    name: String,
}

impl CsvSink {
    pub(super) fn new(target: Target, schema: &Schema, form: CsvOptions<'_>) -> Result<Self> {
        let csv =
            CsvWriteOptions { delimiter: form.delimiter, null: form.null.to_owned(), ..CsvWriteOptions::default() };
        let options = TextWriteOptions { csv, ..TextWriteOptions::new(TextFormat::Csv) };
        let name = target.name().to_owned();
        let writer = TextWriter::new(target, schema, &options).map_err(|error| Failure::encoding(&name, error))?;
        Ok(Self { writer, name })
    }
}

impl RowSink for CsvSink {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.writer.write(batch).map_err(|error| Failure::encoding(&self.name, error))
    }

    fn finish(self: Box<Self>) -> Result<Option<WriteSummary>> {
        let target = self.writer.finish().map_err(|error| Failure::encoding(&self.name, error))?;
        target.finish()?;
        Ok(None)
    }
}
