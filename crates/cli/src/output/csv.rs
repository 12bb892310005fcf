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

/// Rows as CSV with a header, which is written with the first rows: if there is an error before them, nothing is.
pub(super) struct CsvSink {
    output: Output,
    name: String,
}

enum Output {
    Begun(Box<TextWriter<Target>>),
    /// The target, the columns and the options.
    Planned(Option<(Target, Schema, TextWriteOptions)>),
}

impl Output {
    fn begin(&mut self, name: &str) -> Result<&mut TextWriter<Target>> {
        if let Self::Planned(planned) = self
            && let Some((target, schema, options)) = planned.take()
        {
            let writer = TextWriter::new(target, &schema, &options).map_err(|error| Failure::encoding(name, error))?;
            *self = Self::Begun(Box::new(writer));
        }
        match self {
            Self::Begun(writer) => Ok(writer),
            Self::Planned(_) => Err(Failure::Internal("the output could not be begun".to_owned())),
        }
    }
}

impl CsvSink {
    pub(super) fn new(target: Target, schema: &Schema, form: CsvOptions<'_>) -> Result<Self> {
        let csv =
            CsvWriteOptions { delimiter: form.delimiter, null: form.null.to_owned(), ..CsvWriteOptions::default() };
        let options = TextWriteOptions { csv, ..TextWriteOptions::new(TextFormat::Csv) };
        let name = target.name().to_owned();
        // Columns that CSV has no form for are an error at once.
        TextWriter::new(std::io::sink(), schema, &options).map_err(|error| Failure::encoding(&name, error))?;
        Ok(Self { output: Output::Planned(Some((target, schema.clone(), options))), name })
    }
}

impl RowSink for CsvSink {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.output.begin(&self.name)?.write(batch).map_err(|error| Failure::encoding(&self.name, error))
    }

    fn finish(mut self: Box<Self>) -> Result<Option<WriteSummary>> {
        self.output.begin(&self.name)?;
        let Output::Begun(writer) = self.output else { return Ok(None) };
        let target = writer.finish().map_err(|error| Failure::encoding(&self.name, error))?;
        target.finish()?;
        Ok(None)
    }
}
