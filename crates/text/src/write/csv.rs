//! CSV: a header line, nulls as empty fields or as a token, empty strings as `""`, nested values as JSON.

use std::io::Write;

use arrow_array::RecordBatch;
use arrow_json::EncoderOptions;
use arrow_schema::{ArrowError, DataType, Field, Schema};

use super::cell::CellFormatter;
use super::json::encoder_options;
use super::zone::in_utc;
use crate::csv::DELIMITERS;

/// Bytes of lines that are written at once.
const LINES_BYTES: usize = 32 << 10;

/// Options for writing CSV.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CsvWriteOptions {
    /// The delimiter.
    pub delimiter: u8,
    /// The quote character, if there is one. Without it, values that need quotes are errors.
    pub quote: Option<u8>,
    /// The character that is written before itself within quotes, because readers take the character after it as it is.
    pub escape: Option<u8>,
    /// Whether the first line has the names of the columns.
    pub header: bool,
    /// The text of null. Text that equals it is quoted.
    pub null: String,
    /// The decimal separator of floats and decimals.
    pub decimal_point: u8,
}

impl Default for CsvWriteOptions {
    fn default() -> Self {
        Self {
            delimiter: b',',
            quote: Some(b'"'),
            escape: None,
            header: true,
            null: String::new(),
            decimal_point: b'.',
        }
    }
}

/// Rows as CSV (RFC 4180, with lines that end in a line feed alone).
pub(super) struct CsvWriter<W> {
    target: W,
    encoder: EncoderOptions,
    dialect: Dialect,
    lines: String,
    /// Whether the next line is the first, by which readers detect the delimiter.
    is_first_line: bool,
}

/// The characters and the text of null.
struct Dialect {
    delimiter: char,
    quote: Option<char>,
    escape: Option<char>,
    null: String,
    decimal_point: u8,
    header: bool,
}

impl<W: Write> CsvWriter<W> {
    /// Begins with the header, if there is one.
    pub(super) fn new(target: W, schema: &Schema, options: &CsvWriteOptions) -> Result<Self, ArrowError> {
        let dialect = Dialect {
            delimiter: char::from(options.delimiter),
            quote: options.quote.map(char::from),
            escape: options.escape.filter(|&escape| Some(escape) != options.quote).map(char::from),
            null: options.null.clone(),
            decimal_point: options.decimal_point,
            header: options.header,
        };
        dialect.check()?;
        let mut writer =
            Self { target, encoder: encoder_options(), dialect, lines: String::new(), is_first_line: true };
        if options.header {
            for (index, field) in schema.fields().iter().enumerate() {
                if index > 0 {
                    writer.lines.push(writer.dialect.delimiter);
                }
                writer.dialect.push(field.name(), true, &mut writer.lines)?;
            }
            writer.lines.push('\n');
            writer.is_first_line = false;
            writer.write_lines()?;
        }
        Ok(writer)
    }

    /// Writes rows.
    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        let encoder = self.encoder.clone();
        let batch = in_utc(batch)?;
        let schema = batch.schema();
        let fields_and_columns = schema.fields().iter().zip(batch.columns());
        let mut formatters = fields_and_columns
            .map(|(field, column)| CellFormatter::new(field, column, &encoder))
            .collect::<Result<Vec<_>, _>>()?;
        let mut value = String::new();
        for row in 0..batch.num_rows() {
            for (index, formatter) in formatters.iter_mut().enumerate() {
                if index > 0 {
                    self.lines.push(self.dialect.delimiter);
                }
                value.clear();
                let field = schema.field(index);
                let written = if formatter.write(row, &mut value)? {
                    self.dialect.push_value(&mut value, field, self.is_first_line, &mut self.lines)
                } else {
                    self.dialect.push_null(field, batch.num_columns() == 1, &mut self.lines)
                };
                written.map_err(|error| in_column(error, field))?;
            }
            self.lines.push('\n');
            self.is_first_line = false;
            if self.lines.len() > LINES_BYTES {
                self.write_lines()?;
            }
        }
        self.write_lines()
    }

    fn write_lines(&mut self) -> Result<(), ArrowError> {
        let written = self.target.write_all(self.lines.as_bytes());
        self.lines.clear();
        Ok(written?)
    }

    /// The destination.
    pub(super) fn target(&self) -> &W {
        &self.target
    }

    /// Ends the rows.
    pub(super) fn finish(self) -> W {
        self.target
    }
}

/// An error with the name of the column.
fn in_column(error: ArrowError, field: &Field) -> ArrowError {
    match error {
        ArrowError::CsvError(what) => ArrowError::CsvError(format!("column {}: {what}", field.name())),
        other => other,
    }
}

fn refused<T>(what: String) -> Result<T, ArrowError> {
    Err(ArrowError::CsvError(what))
}

impl Dialect {
    /// Checks that null has a text of its own.
    fn check(&self) -> Result<(), ArrowError> {
        let mut special = vec!['\n', '\r', self.delimiter];
        special.extend(self.quote);
        if self.null.contains(special.as_slice()) {
            return refused(format!(
                "null cannot be written as {:?}, which contains a quote, a delimiter or a line ending; choose another text",
                self.null
            ));
        }
        if self.quote == Some(self.delimiter) {
            return refused("the delimiter and the quote character have to differ".to_owned());
        }
        Ok(())
    }

    fn push_null(&self, field: &Field, is_only: bool, out: &mut String) -> Result<(), ArrowError> {
        if !is_only || !self.null.is_empty() {
            out.push_str(&self.null);
            return Ok(());
        }
        // The line would be empty, and many readers of CSV skip empty lines. `""` is the empty text.
        match self.quote {
            Some(quote) if !can_be_empty(field.data_type()) => out.extend([quote, quote]),
            // A reader does not know of the column before the first line that is not empty.
            _ if !self.header => {
                return refused(
                    "a null alone in a line is an empty line, which readers skip in a file without a header; choose a text for null"
                        .to_owned(),
                );
            }
            _ => {}
        }
        Ok(())
    }

    fn push_value(
        &self,
        value: &mut String,
        field: &Field,
        is_first_line: bool,
        out: &mut String,
    ) -> Result<(), ArrowError> {
        if self.decimal_point != b'.' && has_decimal_point(field.data_type()) {
            *value = value.replacen('.', char::from(self.decimal_point).encode_utf8(&mut [0; 4]), 1);
        }
        // Quotes tell text from null, but in other columns readers take a quoted null for null too.
        if !self.null.is_empty() && *value == self.null && !can_be_empty(field.data_type()) {
            return refused(format!("{value} is a value, and the text for null; choose another text for null"));
        }
        self.push(value, is_first_line, out)
    }

    /// Appends a value, in quotes only where it has to be. On the first line no other character may look like the delimiter.
    fn push(&self, value: &str, is_first_line: bool, out: &mut String) -> Result<(), ArrowError> {
        let is_special = |c: char| c == self.delimiter || Some(c) == self.quote || c == '\n' || c == '\r';
        let looks_special = |c: char| u8::try_from(c).is_ok_and(|byte| DELIMITERS.contains(&byte)) || c == '\u{feff}';
        let has_quotes = value.is_empty()
            || value == self.null
            || value.contains(is_special)
            || is_first_line && value.contains(looks_special);
        if !has_quotes {
            out.push_str(value);
            return Ok(());
        }
        let Some(quote) = self.quote else {
            return refused(format!(
                "{value:?} cannot be told from other text without quotes; choose a quote character"
            ));
        };
        out.push(quote);
        for c in value.chars() {
            if c == quote || Some(c) == self.escape {
                out.push(c);
            }
            out.push(c);
        }
        out.push(quote);
        Ok(())
    }
}

/// Whether a value can have no characters.
fn can_be_empty(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => can_be_empty(values),
        other => other.is_string() || other.is_binary(),
    }
}

/// Whether the text of values has a decimal point.
fn has_decimal_point(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => has_decimal_point(values),
        other => other.is_floating() || other.is_decimal(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quoted(options: &CsvWriteOptions, value: &str) -> Result<String, ArrowError> {
        let writer = CsvWriter::new(Vec::new(), &Schema::empty(), options)?;
        let mut out = String::new();
        writer.dialect.push(value, false, &mut out).map(|()| out)
    }

    #[test]
    fn values_are_quoted_only_where_needed() {
        let options = CsvWriteOptions::default();
        for (value, expected) in [
            ("a b", "a b"),
            ("", "\"\""),
            ("a,b", "\"a,b\""),
            ("say \"hi\"", "\"say \"\"hi\"\"\""),
            ("a\nb", "\"a\nb\""),
        ] {
            assert_eq!(quoted(&options, value).unwrap(), expected);
        }
        let options = CsvWriteOptions { delimiter: b';', null: "NA".to_owned(), ..options };
        for (value, expected) in [("a,b", "a,b"), ("a;b", "\"a;b\""), ("NA", "\"NA\"")] {
            assert_eq!(quoted(&options, value).unwrap(), expected);
        }
        let options = CsvWriteOptions { quote: Some(b'\''), escape: Some(b'\\'), ..options };
        assert_eq!(quoted(&options, "\"it's\" a \\").unwrap(), "'\"it''s\" a \\\\'");
        let options = CsvWriteOptions { quote: None, ..options };
        assert_eq!(quoted(&options, "\"it's\"").unwrap(), "\"it's\"");
        for value in ["", "a;b", "a\nb", "NA"] {
            assert!(quoted(&options, value).is_err(), "{value}");
        }
    }

    #[test]
    fn null_has_a_text_that_nothing_else_has() {
        for null in ["a,b", "\"\"", "a\n"] {
            let options = CsvWriteOptions { null: null.to_owned(), ..CsvWriteOptions::default() };
            assert!(CsvWriter::new(Vec::new(), &Schema::empty(), &options).is_err(), "{null}");
        }
    }
}
