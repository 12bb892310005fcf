//! Reads JSON lines in batches.

use std::fmt;
use std::io::{BufRead, ErrorKind, Read};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Field, SchemaRef};

use crate::decoder::Decoder;
use crate::error::{Error, Result};
use crate::exact::plain;
use crate::names::check_names;

const CHUNK_BYTES: u64 = 256 << 10;

/// Batches of the objects of a text, one object after the other.
///
/// A field that is not in the schema, a repeated name, and a value that does not fit are errors; a missing field is null.
pub struct Rows<R> {
    text: R,
    decoder: Decoder,
    schema: SchemaRef,
    keeps_all_digits: Arc<[bool]>,
    convert: Option<Box<Convert>>,
    /// The text of the current batch, and text that has been read after it.
    buffer: Vec<u8>,
    /// The number of bytes of `buffer` that are decoded.
    decoded: usize,
    /// The line at which `buffer` starts.
    line: u64,
}

type Convert = dyn Fn(&RecordBatch) -> std::result::Result<RecordBatch, ArrowError> + Send;

impl<R: BufRead> Rows<R> {
    /// Reads batches of `batch_rows` rows with the columns of `schema`, which are all nullable.
    ///
    /// `keeps_all_digits` tells for each column whether floats must have every digit of their text; otherwise the nearest float is taken.
    /// Integers and decimals always have every digit.
    ///
    /// # Errors
    /// [`Error::Schema`] for types that JSON does not have.
    pub fn new(
        text: R,
        schema: SchemaRef,
        batch_rows: usize,
        keeps_all_digits: impl Fn(&Field) -> bool,
    ) -> Result<Self> {
        let keeps_all_digits: Arc<[bool]> = schema.fields().iter().map(|field| keeps_all_digits(field)).collect();
        let decoder = Decoder::new(&schema, &keeps_all_digits, batch_rows);
        let decoder = decoder.map_err(|error| Error::Schema { what: plain(&error) })?;
        Ok(Self { text, decoder, schema, keeps_all_digits, convert: None, buffer: Vec::new(), decoded: 0, line: 1 })
    }

    /// Applies a function to each batch. Its errors are reported with their line, too.
    #[must_use]
    pub fn converted(
        self,
        convert: impl Fn(&RecordBatch) -> std::result::Result<RecordBatch, ArrowError> + Send + 'static,
    ) -> Self {
        Self { convert: Some(Box::new(convert)), ..self }
    }

    fn read(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if self.decoded == self.buffer.len() && !self.fill()? {
                break;
            }
            match self.decoder.decode(&self.buffer[self.decoded..]) {
                Ok(count) => self.decoded += count,
                Err(error) => return Err(self.explain(&error)),
            }
            if self.decoded < self.buffer.len() {
                break;
            }
        }
        let flushed = self.decoder.flush();
        let batch = self.finished(flushed).map_err(|error| self.explain(&error))?;
        check_names(&self.buffer[..self.decoded], self.line)?;
        self.line += line_feeds(&self.buffer[..self.decoded]);
        self.buffer.drain(..self.decoded);
        self.decoded = 0;
        Ok(batch)
    }

    fn finished(
        &self,
        batch: std::result::Result<Option<RecordBatch>, ArrowError>,
    ) -> std::result::Result<Option<RecordBatch>, ArrowError> {
        match (batch?, &self.convert) {
            (Some(batch), Some(convert)) => convert(&batch).map(Some),
            (batch, _) => Ok(batch),
        }
    }

    fn fill(&mut self) -> Result<bool> {
        loop {
            match self.text.by_ref().take(CHUNK_BYTES).read_to_end(&mut self.buffer) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(Error::Io(error)),
                Ok(count) => return Ok(count > 0),
            }
        }
    }

    /// Decodes the batch again, one object at a time, to find the one that failed.
    fn explain(&self, error: &ArrowError) -> Error {
        let at = |line, error: &ArrowError| Error::Line { line, what: plain(error) };
        let Ok(mut decoder) = Decoder::new(&self.schema, &self.keeps_all_digits, 1) else {
            return at(self.line, error);
        };
        let mut start = 0;
        loop {
            let blank = self.buffer[start..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            let line = self.line + line_feeds(&self.buffer[..start + blank]);
            let decoded = decoder.decode(&self.buffer[start..]);
            let count = decoded.and_then(|count| {
                let flushed = decoder.flush();
                self.finished(flushed).map(|_| count)
            });
            match count {
                // `buffer` may end within an object.
                Err(found) => return at(line, if decoder.has_partial_record() { error } else { &found }),
                Ok(0) => return at(line, error),
                Ok(count) => start += count,
            }
        }
    }
}

impl<R> fmt::Debug for Rows<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rows").field("schema", &self.schema).field("line", &self.line).finish_non_exhaustive()
    }
}

impl<R: BufRead> Iterator for Rows<R> {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}

fn line_feeds(text: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', text).count() as u64
}
