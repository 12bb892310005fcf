//! Reads CSV records into columns, with the line number of each row.

use std::io::{ErrorKind, Read};

use arrow_array::{Array, StringArray};
use csv_core::ReadFieldResult;

use super::dialect::Dialect;
use super::fields::{Fields, Nulls};
use crate::compression::Bytes;
use crate::error::{Error, Result, Setting};

const BUFFER_BYTES: usize = 256 << 10;
const MAX_COLUMNS: usize = 100_000;
/// Maximum size of a batch.
const MAX_BATCH_BYTES: usize = 256 << 20;
/// A longer value is considered a missing closing quote.
const MAX_VALUE_BYTES: usize = 256 << 20;

/// A reader of records that have the same number of fields.
pub(super) struct Records {
    name: String,
    bytes: Bytes,
    buffer: Vec<u8>,
    /// The part of the buffer that has not been read.
    unread: std::ops::Range<usize>,
    parser: csv_core::Reader,
    dialect: Dialect,
    nulls: Nulls,
    /// Line feeds between records, which the parser does not see.
    skipped_lines: u64,
    /// The last byte before the unread ones.
    last_byte: u8,
    /// Bytes of values in the current batch.
    batch_bytes: usize,
    columns: Vec<Fields>,
    names: Vec<String>,
    /// The first record, if it is a row.
    first_row: Option<FirstRecord>,
}

struct FirstRecord {
    fields: Vec<(Vec<u8>, bool)>,
    line: u64,
}

/// Rows as text.
pub(super) struct Texts {
    pub(super) columns: Vec<StringArray>,
    /// The line on which each row starts, from 1.
    pub(super) lines: Vec<u64>,
}

impl Texts {
    /// The line on which the value of `column` in `row` starts.
    pub(super) fn line(&self, row: usize, column: usize) -> u64 {
        let before = self.columns[..column].iter().filter(|column| column.is_valid(row));
        let line_feeds = before.map(|column| memchr::memchr_iter(b'\n', column.value(row).as_bytes()).count());
        self.lines[row] + line_feeds.sum::<usize>() as u64
    }
}

struct Field {
    is_quoted: bool,
    is_last: bool,
}

/// The number of quotes that no escape character stands before. `is_escaped` says it of the first byte, and then of the byte that follows.
fn count_unescaped(quote: u8, escape: u8, bytes: &[u8], is_escaped: &mut bool) -> usize {
    let mut count = 0;
    for &byte in bytes {
        match *is_escaped {
            true => *is_escaped = false,
            false if byte == escape => *is_escaped = true,
            false => count += usize::from(byte == quote),
        }
    }
    count
}

impl Records {
    /// Starts reading behind `lines_before` lines. With `header`, the first record has the names of the columns.
    pub(super) fn new(
        bytes: Bytes,
        name: &str,
        dialect: Dialect,
        header: bool,
        nulls: Nulls,
        lines_before: u64,
    ) -> Result<Self> {
        let mut records = Self {
            name: name.to_owned(),
            bytes,
            buffer: vec![0; BUFFER_BYTES],
            unread: 0..0,
            parser: dialect.parser(),
            dialect,
            nulls,
            skipped_lines: lines_before,
            last_byte: 0,
            batch_bytes: 0,
            columns: Vec::new(),
            names: Vec::new(),
            first_row: None,
        };
        let first = records.first_record()?;
        if header {
            let names = first.fields.into_iter().map(|(name, _)| String::from_utf8(name)).collect::<Result<_, _>>();
            records.names = names.map_err(|_| records.malformed(first.line, "the names of columns are not UTF-8"))?;
        } else {
            records.names = (1..=first.fields.len()).map(|number| format!("column_{number}")).collect();
            records.first_row = Some(first).filter(|first| !first.fields.is_empty());
        }
        records.columns = records.names.iter().map(|_| Fields::default()).collect();
        Ok(records)
    }

    /// The names of the columns.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// Sets the columns in which quoted fields are never null.
    pub(super) fn keep_quoted(&mut self, is_text: impl Iterator<Item = bool>) {
        for (column, is_text) in self.columns.iter_mut().zip(is_text) {
            column.keep_quoted(is_text);
        }
    }

    /// Reads up to `max_rows` rows; `None` at the end.
    pub(super) fn read(&mut self, max_rows: usize) -> Result<Option<Texts>> {
        let mut columns = std::mem::take(&mut self.columns);
        let mut lines = Vec::new();
        if let Some(first) = self.first_row.take() {
            for (column, (value, is_quoted)) in columns.iter_mut().zip(first.fields) {
                column.push(&value);
                column.end_value(is_quoted, &self.nulls);
            }
            lines.push(first.line);
        }
        self.batch_bytes = 0;
        while lines.len() < max_rows
            && self.batch_bytes < MAX_BATCH_BYTES
            && self.read_record(&mut columns, &mut lines)?
        {}
        if lines.is_empty() {
            return Ok(None);
        }
        let texts = columns.iter_mut().enumerate().map(|(index, column)| {
            let invalid = |row: usize| {
                let what = "a value is not UTF-8; convert the file first, for example with iconv -f LATIN1 -t UTF-8";
                self.malformed(lines[row], &format!("column {}: {what}", self.names[index]))
            };
            column.take().map_err(invalid)
        });
        let texts = texts.collect::<Result<Vec<_>>>()?;
        self.columns = columns;
        Ok(Some(Texts { columns: texts, lines }))
    }

    /// Reads a record into `columns`; `false` at the end.
    fn read_record(&mut self, columns: &mut [Fields], lines: &mut Vec<u64>) -> Result<bool> {
        if let [column] = columns
            && self.skip_blank_line()?
        {
            column.end_value(false, &self.nulls);
            lines.push(self.line().saturating_sub(1));
            return Ok(true);
        }
        if !self.skip_line_ends()? {
            return Ok(false);
        }
        let line = self.line();
        let count = columns.len();
        for (index, column) in columns.iter_mut().enumerate() {
            let Some(field) = self.read_field(column, line)? else { return Ok(false) };
            column.end_value(field.is_quoted, &self.nulls);
            if field.is_last != (index + 1 == count) {
                let fields = if field.is_last { index + 1 } else { count + self.count_rest(line)? };
                return Err(self.wrong_field_count(line, fields));
            }
        }
        lines.push(line);
        Ok(true)
    }

    /// The fields of the first record, and whether they are in quotes.
    fn first_record(&mut self) -> Result<FirstRecord> {
        let mut fields = Vec::new();
        let mut is_last = !self.skip_line_ends()?;
        let line = self.line();
        while !is_last {
            let mut column = Fields::default();
            let Some(field) = self.read_field(&mut column, line)? else { break };
            fields.push((column.into_bytes(), field.is_quoted));
            if fields.len() > MAX_COLUMNS {
                return Err(self.malformed(line, &format!("there are more than {MAX_COLUMNS} columns; is this CSV?")));
            }
            is_last = field.is_last;
        }
        Ok(FirstRecord { fields, line })
    }

    /// Counts the remaining fields of a record that has too many.
    fn count_rest(&mut self, line: u64) -> Result<usize> {
        let mut count = 0;
        while let Some(field) = self.read_field(&mut Fields::default(), line)? {
            count += 1;
            if field.is_last {
                break;
            }
        }
        Ok(count)
    }

    /// Reads the next field into `column`; `None` at the end.
    fn read_field(&mut self, column: &mut Fields, record_line: u64) -> Result<Option<Field>> {
        let start = column.len();
        let mut is_first = true;
        let (mut is_quoted, mut quotes, mut is_escaped) = (false, 0, false);
        loop {
            if self.unread.is_empty() {
                self.fill()?;
            }
            let input = &self.buffer[self.unread.clone()];
            if is_first {
                is_quoted = input.first().is_some_and(|&byte| Some(byte) == self.dialect.quote);
                is_first = false;
            }
            let (result, read, written) = self.parser.read_field(input, column.room());
            if let Some(quote) = self.dialect.quote.filter(|_| is_quoted) {
                quotes += match self.dialect.escape {
                    None => memchr::memchr_iter(quote, &input[..read]).count(),
                    Some(escape) => count_unescaped(quote, escape, &input[..read], &mut is_escaped),
                };
            }
            let at_end = input.is_empty();
            self.last_byte = read.checked_sub(1).map_or(self.last_byte, |last| input[last]);
            self.unread.start += read;
            column.grow(written);
            self.batch_bytes += written + size_of::<i32>();
            if column.len() - start > MAX_VALUE_BYTES {
                let what = "a value is too long; is a quote that opens here not closed?";
                return Err(self.wrong_setting(record_line, what.to_owned(), Setting::Quote));
            }
            match result {
                ReadFieldResult::End => return Ok(None),
                ReadFieldResult::Field { .. } if at_end && quotes % 2 == 1 => {
                    let what = "a quote that opens here is not closed".to_owned();
                    return Err(self.wrong_setting(record_line, what, Setting::Quote));
                }
                ReadFieldResult::Field { record_end } => return Ok(Some(Field { is_quoted, is_last: record_end })),
                ReadFieldResult::InputEmpty | ReadFieldResult::OutputFull => {}
            }
        }
    }

    /// Skips one line with nothing on it, which is the null of a single column; `false` where there is none.
    fn skip_blank_line(&mut self) -> Result<bool> {
        if self.next_byte()? == Some(b'\n') && self.last_byte == b'\r' {
            // It belongs to the line before.
            self.skip_byte(b'\n');
        }
        let Some(byte @ (b'\n' | b'\r')) = self.next_byte()? else { return Ok(false) };
        self.skip_byte(byte);
        if byte == b'\r' && self.next_byte()? == Some(b'\n') {
            self.skip_byte(b'\n');
        }
        Ok(true)
    }

    fn next_byte(&mut self) -> Result<Option<u8>> {
        if self.unread.is_empty() && !self.fill()? {
            return Ok(None);
        }
        Ok(self.buffer[self.unread.clone()].first().copied())
    }

    fn skip_byte(&mut self, byte: u8) {
        self.skipped_lines += u64::from(byte == b'\n');
        self.unread.start += 1;
        self.last_byte = byte;
    }

    /// Skips line endings before a record; `false` at the end of the file.
    fn skip_line_ends(&mut self) -> Result<bool> {
        loop {
            let unread = &self.buffer[self.unread.clone()];
            if let Some(&byte) = unread.first() {
                if byte != b'\n' && byte != b'\r' {
                    return Ok(true);
                }
                self.skip_byte(byte);
            } else if !self.fill()? {
                return Ok(false);
            }
        }
    }

    fn fill(&mut self) -> Result<bool> {
        let count = loop {
            match self.bytes.read(&mut self.buffer) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(Error::reading(&self.name, error)),
                Ok(count) => break count,
            }
        };
        self.unread = 0..count;
        Ok(count > 0)
    }

    /// The line of the next byte, from 1.
    fn line(&self) -> u64 {
        self.parser.line() + self.skipped_lines
    }

    fn malformed(&self, line: u64, what: &str) -> Error {
        Error::Malformed { file: self.name.clone(), line: Some(line), what: what.to_owned(), setting: None }
    }

    fn wrong_setting(&self, line: u64, what: String, setting: Setting) -> Error {
        Error::Malformed { file: self.name.clone(), line: Some(line), what, setting: Some(setting) }
    }

    fn wrong_field_count(&self, line: u64, found: usize) -> Error {
        let delimiter = char::from(self.dialect.delimiter);
        let expected = self.names.len();
        let ending = if found == 1 { "" } else { "s" };
        let what =
            format!("{found} field{ending}, where the first record has {expected}; the delimiter is {delimiter:?}");
        self.wrong_setting(line, what, Setting::Delimiter)
    }
}
