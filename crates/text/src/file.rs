//! A file of text that is open.

use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use crate::compression::{Bytes, decompressed, unsupported_format};
use crate::error::{Error, Result};
use crate::format::Compression;
use crate::origin::InferRows;

/// The rows of a file.
pub struct TextRows {
    /// The columns.
    pub schema: SchemaRef,
    /// Batches with these columns.
    pub batches: Box<dyn Iterator<Item = Result<RecordBatch>> + Send>,
}

impl fmt::Debug for TextRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TextRows").field("schema", &self.schema).finish_non_exhaustive()
    }
}

/// Types are inferred from all rows of a regular file of up to this size: that takes a fraction of a second.
const WHOLE_FILE_BYTES: u64 = 32 << 20;
/// Types are inferred from this many rows of larger files, and of inputs that are not regular files.
const SAMPLE_ROWS: usize = 20_000;

/// A file that is open, or standard input; decompressed if it is compressed with gzip or Zstandard. Its first bytes can be inspected
/// before its rows are read.
pub struct TextFile {
    /// Bytes that were read from the front of `rest` to inspect them.
    head: Vec<u8>,
    rest: Bytes,
    name: String,
    /// The path of a regular file.
    path: Option<PathBuf>,
    compression: Option<Compression>,
    position: Arc<AtomicU64>,
}

impl fmt::Debug for TextFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TextFile").field("name", &self.name).finish_non_exhaustive()
    }
}

impl TextFile {
    /// Opens a file.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let file = opened(path)?;
        let is_regular = file.metadata().map_err(|error| not_opened(path, error))?.is_file();
        Self::new(Box::new(file), path.display().to_string(), is_regular.then(|| path.to_owned()))
    }

    /// Reads standard input, which messages call `name`.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn stdin(name: &str) -> Result<Self> {
        Self::new(Box::new(io::stdin()), name.to_owned(), None)
    }

    fn new(reader: Box<dyn Read + Send>, name: String, path: Option<PathBuf>) -> Result<Self> {
        let position = Arc::new(AtomicU64::new(0));
        let counted = CountingReader { reader, position: Arc::clone(&position) };
        let (rest, compression) = decompressed(Box::new(counted)).map_err(|error| Error::reading(&name, error))?;
        Ok(Self { head: Vec::new(), rest, name, path, compression, position })
    }

    /// Its name, for messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its compression, if it has one.
    pub fn compression(&self) -> Option<Compression> {
        self.compression
    }

    /// The number of bytes that have been read of the file.
    pub fn position(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.position)
    }

    /// The first `len` bytes, fewer if the file is shorter.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn peek(&mut self, len: usize) -> Result<&[u8]> {
        let missing = len.saturating_sub(self.head.len()) as u64;
        let taken = self.rest.by_ref().take(missing).read_to_end(&mut self.head);
        taken.map_err(|error| Error::reading(&self.name, error))?;
        Ok(&self.head[..self.head.len().min(len)])
    }

    /// The first `len` bytes; an error if they are not text.
    pub(crate) fn peek_text(&mut self, len: usize) -> Result<&[u8]> {
        self.peek(len)?;
        match unsupported_format(&self.head) {
            Some(what) => Err(Error::malformed(&self.name, what)),
            None => Ok(&self.head[..self.head.len().min(len)]),
        }
    }

    /// The rows from which types are inferred.
    pub(crate) fn sample(&self, request: Option<InferRows>) -> InferRows {
        match request {
            Some(rows) => rows,
            None if self.byte_len().is_some_and(|len| len <= WHOLE_FILE_BYTES) => InferRows::All,
            None => InferRows::First(SAMPLE_ROWS),
        }
    }

    /// The size of a regular file that is not compressed.
    fn byte_len(&self) -> Option<u64> {
        let path = self.path.as_ref().filter(|_| self.compression.is_none())?;
        path.metadata().map(|metadata| metadata.len()).ok()
    }

    /// The file, if it is a regular one that is not compressed.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn regular_file(&self) -> Result<Option<File>> {
        let Some(path) = self.path.as_ref().filter(|_| self.compression.is_none()) else { return Ok(None) };
        opened(path).map(Some)
    }

    /// All bytes from the start.
    pub fn into_bytes(self) -> Bytes {
        if self.head.is_empty() {
            return self.rest;
        }
        Box::new(BufReader::with_capacity(256 << 10, Cursor::new(self.head).chain(self.rest)))
    }

    /// Calls `inspect` with the input, and returns its result and the whole input from the start. A regular file is opened twice;
    /// for other inputs the inspected bytes are kept in memory.
    pub(crate) fn inspect<T>(self, inspect: impl FnOnce(Bytes) -> Result<T>) -> Result<(T, Bytes)> {
        if let Some(path) = &self.path {
            let (bytes, _) =
                decompressed(Box::new(opened(path)?)).map_err(|error| Error::reading(&self.name, error))?;
            let seen = inspect(bytes)?;
            return Ok((seen, self.into_bytes()));
        }
        let recording =
            RecordingReader(Arc::new(Mutex::new(Recording { reader: self.into_bytes(), seen: Vec::new() })));
        let seen = inspect(Box::new(BufReader::with_capacity(64 << 10, recording.clone())))?;
        let mut recorded = recording.lock();
        let start = Cursor::new(std::mem::take(&mut recorded.seen));
        let rest: Bytes = std::mem::replace(&mut recorded.reader, Box::new(io::empty()));
        Ok((seen, Box::new(BufReader::with_capacity(256 << 10, start.chain(rest)))))
    }
}

fn opened(path: &Path) -> Result<File> {
    File::open(path).map_err(|error| not_opened(path, error))
}

fn not_opened(path: &Path, source: io::Error) -> Error {
    Error::Io { file: path.display().to_string(), op: "open", source }
}

/// A reader that keeps the bytes that it has read.
#[derive(Clone)]
struct RecordingReader(Arc<Mutex<Recording>>);

struct Recording {
    reader: Bytes,
    seen: Vec<u8>,
}

impl RecordingReader {
    fn lock(&self) -> MutexGuard<'_, Recording> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Read for RecordingReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut recorded = self.lock();
        let count = recorded.reader.read(buffer)?;
        recorded.seen.extend_from_slice(&buffer[..count]);
        Ok(count)
    }
}

/// A reader that counts bytes.
struct CountingReader<R> {
    reader: R,
    position: Arc<AtomicU64>,
}

impl<R: Read> Read for CountingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        self.position.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_looked_at_is_read_again() {
        let input = TextFile {
            head: b"ab".to_vec(),
            rest: Box::new(Cursor::new(b"cdefgh".to_vec())),
            name: "test".to_owned(),
            path: None,
            compression: None,
            position: Arc::default(),
        };
        let (seen, mut rest) = input
            .inspect(|mut bytes| {
                let mut three = [0; 3];
                bytes.read_exact(&mut three).unwrap();
                Ok(three)
            })
            .unwrap();
        let mut all = Vec::new();
        rest.read_to_end(&mut all).unwrap();
        assert_eq!((&seen, all.as_slice()), (b"abc", &b"abcdefgh"[..]));
    }
}
