//! CSV: a header line, nulls as empty fields or as a token, empty strings as `""`, nested values as JSON.

use std::io::Write;

use arrow_array::RecordBatch;
use arrow_json::EncoderOptions;
use arrow_schema::{DataType, Schema};
use lath_writer::WriteSummary;

use super::RowSink;
use super::cell::CellFormatter;
use super::json::encoder_options;
use super::zone::in_utc;
use crate::failure::{Failure, Result};
use crate::target::Target;

/// The delimiter, and the text for null. A value that equals it is quoted.
#[derive(Debug, Clone, Copy)]
pub(super) struct CsvOptions<'a> {
    pub(super) delimiter: u8,
    pub(super) null: &'a str,
}

/// Rows as CSV (RFC 4180, with lines that end in a line feed alone).
pub(super) struct CsvSink {
    target: Target,
    options: EncoderOptions,
    delimiter: char,
    null: String,
}

impl CsvSink {
    pub(super) fn new(target: Target, schema: &Schema, form: CsvOptions<'_>) -> Result<Self> {
        let delimiter = char::from(form.delimiter);
        let mut rows = Self { target, options: encoder_options(), delimiter, null: form.null.to_owned() };
        let mut line = String::new();
        for (index, field) in schema.fields().iter().enumerate() {
            if index > 0 {
                line.push(delimiter);
            }
            push_quoted(field.name(), delimiter, "", &mut line);
        }
        line.push('\n');
        rows.write_text(&line)?;
        Ok(rows)
    }

    fn write_text(&mut self, text: &str) -> Result<()> {
        self.target.write_all(text.as_bytes()).map_err(|error| Failure::writing(self.target.name(), &error))
    }
}

impl RowSink for CsvSink {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let name = self.target.name().to_owned();
        let failed = |error| Failure::encoding(&name, error);
        let options = self.options.clone();
        let batch = in_utc(batch).map_err(failed)?;
        let schema = batch.schema();
        let fields_and_columns = schema.fields().iter().zip(batch.columns());
        let mut formatters: Vec<_> = fields_and_columns
            .map(|(field, column)| CellFormatter::new(field, column, &options).map_err(failed))
            .collect::<Result<_>>()?;
        let mut lines = String::new();
        let mut value = String::new();
        for row in 0..batch.num_rows() {
            for (index, formatter) in formatters.iter_mut().enumerate() {
                if index > 0 {
                    lines.push(self.delimiter);
                }
                value.clear();
                if formatter.write(row, &mut value).map_err(failed)? {
                    push_quoted(&value, self.delimiter, &self.null, &mut lines);
                } else if self.null.is_empty() && batch.num_columns() == 1 && !can_be_empty(batch.column(0).data_type())
                {
                    // The line would be empty, and many readers of CSV skip empty lines. `""` is the empty text.
                    lines.push_str("\"\"");
                } else {
                    lines.push_str(&self.null);
                }
            }
            lines.push('\n');
            if lines.len() > 32 << 10 {
                self.write_text(&lines)?;
                lines.clear();
            }
        }
        self.write_text(&lines)
    }

    fn finish(self: Box<Self>) -> Result<Option<WriteSummary>> {
        self.target.finish()?;
        Ok(None)
    }
}

/// Whether a value can have no characters.
fn can_be_empty(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => can_be_empty(values),
        other => other.is_string() || other.is_binary(),
    }
}

fn push_quoted(value: &str, delimiter: char, null: &str, out: &mut String) {
    if !value.is_empty() && value != null && !value.contains([delimiter, '"', '\n', '\r']) {
        out.push_str(value);
        return;
    }
    out.push('"');
    for part in value.split_inclusive('"') {
        out.push_str(part);
        if part.ends_with('"') {
            out.push('"');
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_quoted_only_where_needed() {
        for (value, expected) in [
            ("a b", "a b"),
            ("", "\"\""),
            ("a,b", "\"a,b\""),
            ("say \"hi\"", "\"say \"\"hi\"\"\""),
            ("a\nb", "\"a\nb\""),
        ] {
            let mut out = String::new();
            push_quoted(value, ',', "", &mut out);
            assert_eq!(out, expected);
        }
        let mut out = String::new();
        for value in ["a,b", "a;b", "NA"] {
            push_quoted(value, ';', "NA", &mut out);
        }
        assert_eq!(out, "a,b\"a;b\"\"NA\"");
    }
}
