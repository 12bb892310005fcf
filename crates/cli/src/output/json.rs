//! Rows as JSON: an array of objects, or one object per line.

use std::io::Write;

use arrow_array::RecordBatch;
use arrow_json::Writer;
use arrow_json::writer::{JsonArray, JsonFormat, LineDelimited};
use lath_text::{in_utc, json_writer};
use lath_writer::WriteSummary;

use super::RowSink;
use crate::failure::{Failure, Result};
use crate::target::Target;

/// Rows as JSON in the format `F`.
pub(super) struct JsonSink<F: JsonFormat> {
    writer: Writer<Target, F>,
    end: &'static [u8],
}

/// Rows as one JSON array.
pub(super) fn array(target: Target) -> JsonSink<JsonArray> {
    JsonSink { writer: json_writer(target), end: b"\n" }
}

/// Rows as one JSON object per line.
pub(super) fn lines(target: Target) -> JsonSink<LineDelimited> {
    JsonSink { writer: json_writer(target), end: b"" }
}

impl<F: JsonFormat> RowSink for JsonSink<F> {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let written = in_utc(batch).and_then(|batch| self.writer.write(&batch));
        written.map_err(|error| Failure::encoding(self.writer.get_ref().name(), error))
    }

    fn finish(mut self: Box<Self>) -> Result<Option<WriteSummary>> {
        self.writer.finish().map_err(|error| Failure::encoding(self.writer.get_ref().name(), error))?;
        let mut target = self.writer.into_inner();
        target.write_all(self.end).map_err(|error| Failure::writing(target.name(), &error))?;
        target.finish()?;
        Ok(None)
    }
}
