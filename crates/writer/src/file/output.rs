//! Counts the bytes written to a sink.

use std::io::{self, BufWriter, Write};
use std::sync::Arc;

use lath_format::IndexLocation;
use lath_parquet::{Error, Result};

/// Pages of a wide schema are small; larger ones bypass the buffer.
const BUFFER_BYTES: usize = 256 << 10;

/// A file's sink, with the number of bytes written.
#[derive(Debug)]
pub(crate) struct Output<W: Write> {
    sink: BufWriter<W>,
    position: u64,
    name: Option<Arc<str>>,
}

impl<W: Write> Output<W> {
    pub(crate) fn new(sink: W, name: Option<Arc<str>>) -> Self {
        Self { sink: BufWriter::with_capacity(BUFFER_BYTES, sink), position: 0, name }
    }

    /// Bytes written so far.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.sink.write_all(bytes).map_err(|error| failed(error, self.position, self.name.as_ref()))?;
        self.position += bytes.len() as u64;
        Ok(())
    }

    /// Writes bytes and returns their location, for the footer.
    pub(crate) fn place(&mut self, bytes: &[u8]) -> Result<IndexLocation> {
        let offset = signed(self.position)?;
        let len = i32::try_from(bytes.len()).map_err(|_| too_long())?;
        self.write(bytes)?;
        Ok(IndexLocation { offset, len: Some(len) })
    }

    /// The sink, after writing the buffer to it.
    pub(crate) fn into_sink(self) -> Result<W> {
        let Self { sink, position, name } = self;
        let mut sink = sink.into_inner().map_err(|error| failed(error.into_error(), position, name.as_ref()))?;
        sink.flush().map_err(|error| failed(error, position, name.as_ref()))?;
        Ok(sink)
    }
}

fn failed(error: io::Error, position: u64, name: Option<&Arc<str>>) -> Error {
    Error::io("write", error).locate(|at| {
        at.file = name.cloned();
        at.offset = Some(position);
    })
}

pub(crate) fn signed(position: u64) -> Result<i64> {
    i64::try_from(position).map_err(|_| too_long())
}

pub(crate) fn too_long() -> Error {
    Error::invalid("the file would be longer than its metadata can say")
}
