//! An open input, whose first bytes can be inspected before its rows are read.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Bytes;
use super::compression::{decompressed, unsupported_format};
use super::text::Sample;
use crate::args::{FileFormat, InferRows};
use crate::failure::{Failure, Result};

/// Types are inferred from all rows of a regular file of up to this size: that takes a fraction of a second.
const WHOLE_FILE_BYTES: u64 = 32 << 20;
/// Types are inferred from this many rows of larger files, and of inputs that are not regular files.
const SAMPLE_ROWS: usize = 20_000;
/// Bytes by which the format is detected.
const MAGIC_BYTES: usize = 4 << 10;

/// An open file, or standard input; decompressed if it is compressed.
pub(crate) struct InputFile {
    /// Bytes that were read from the front of `rest` to inspect them.
    head: Vec<u8>,
    rest: Bytes,
    name: String,
    /// The path of a regular file.
    path: Option<PathBuf>,
    is_compressed: bool,
    position: Arc<AtomicU64>,
}

impl InputFile {
    /// The file at `path`, or standard input.
    pub(crate) fn open(path: Option<&Path>, name: String) -> Result<Self> {
        let position = Arc::new(AtomicU64::new(0));
        let (reader, path): (Box<dyn Read + Send>, _) = match path {
            None => (Box::new(io::stdin()), None),
            Some(path) => {
                let failed = |error: io::Error| Failure::reaching(path, &error);
                let file = File::open(path).map_err(failed)?;
                let is_regular = file.metadata().map_err(failed)?.is_file();
                (Box::new(file), is_regular.then(|| path.to_owned()))
            }
        };
        let counted = CountingReader { reader, position: Arc::clone(&position) };
        let (rest, is_compressed) =
            decompressed(Box::new(counted)).map_err(|error| Failure::Io(format!("{name}: cannot read: {error}")))?;
        Ok(Self { head: Vec::new(), rest, name, path, is_compressed, position })
    }

    /// Its name, for messages.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The number of bytes that have been read.
    pub(crate) fn position(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.position)
    }

    /// The format that the first bytes indicate.
    pub(crate) fn sniff(&mut self) -> Result<Option<FileFormat>> {
        Ok(match self.peek(MAGIC_BYTES)? {
            [b'P', b'A', b'R', b'1' | b'E', ..] => Some(FileFormat::Parquet),
            [b'A', b'R', b'R', b'O', b'W', b'1', ..] | [0xff, 0xff, 0xff, 0xff, ..] => Some(FileFormat::Arrow),
            other if other.trim_ascii_start().first() == Some(&b'{') => Some(FileFormat::Jsonl),
            _ => None,
        })
    }

    /// The first `len` bytes, fewer if the input is shorter.
    pub(super) fn peek(&mut self, len: usize) -> Result<&[u8]> {
        let missing = len.saturating_sub(self.head.len()) as u64;
        let taken = self.rest.by_ref().take(missing).read_to_end(&mut self.head);
        taken.map_err(|error| Failure::Io(format!("{}: cannot read: {error}", self.name)))?;
        Ok(&self.head[..self.head.len().min(len)])
    }

    /// The first `len` bytes; an error if they are not text.
    pub(super) fn peek_text(&mut self, len: usize) -> Result<&[u8]> {
        self.peek(len)?;
        match unsupported_format(&self.head) {
            Some(what) => Err(Failure::Corrupt(format!("{}: {what}", self.name))),
            None => Ok(&self.head[..self.head.len().min(len)]),
        }
    }

    /// The rows from which types are inferred.
    pub(super) fn sample(&self, request: Option<InferRows>) -> Sample {
        match request {
            Some(InferRows::All) => Sample::All,
            Some(InferRows::First(rows)) => Sample::First(rows),
            None if self.byte_len().is_some_and(|len| len <= WHOLE_FILE_BYTES) => Sample::All,
            None => Sample::First(SAMPLE_ROWS),
        }
    }

    /// The size of a regular file that is not compressed.
    fn byte_len(&self) -> Option<u64> {
        let path = self.path.as_ref().filter(|_| !self.is_compressed)?;
        path.metadata().map(|metadata| metadata.len()).ok()
    }

    /// The file, if it is a regular one that is not compressed.
    pub(super) fn regular_file(&self) -> Result<Option<File>> {
        let Some(path) = self.path.as_ref().filter(|_| !self.is_compressed) else { return Ok(None) };
        File::open(path).map(Some).map_err(|error| Failure::reaching(path, &error))
    }

    /// The whole input from the start.
    pub(super) fn into_bytes(self) -> Bytes {
        if self.head.is_empty() {
            return self.rest;
        }
        Box::new(BufReader::with_capacity(256 << 10, Cursor::new(self.head).chain(self.rest)))
    }

    /// Calls `inspect` with the input, and returns its result and the whole input from the start. A regular file is opened twice;
    /// for other inputs the inspected bytes are kept in memory.
    pub(super) fn inspect<T>(self, inspect: impl FnOnce(Bytes) -> Result<T>) -> Result<(T, Bytes)> {
        if let Some(path) = &self.path {
            let failed = |error: io::Error| Failure::reaching(path, &error);
            let file = File::open(path).map_err(failed)?;
            let (bytes, _) = decompressed(Box::new(file)).map_err(failed)?;
            let seen = inspect(bytes)?;
            return Ok((seen, self.into_bytes()));
        }
        let recording = RecordingReader(Arc::new(Mutex::new(Recorded { reader: self.into_bytes(), seen: Vec::new() })));
        let seen = inspect(Box::new(BufReader::with_capacity(64 << 10, recording.clone())))?;
        let mut recorded = recording.lock();
        let start = Cursor::new(std::mem::take(&mut recorded.seen));
        let rest: Bytes = std::mem::replace(&mut recorded.reader, Box::new(io::empty()));
        Ok((seen, Box::new(BufReader::with_capacity(256 << 10, start.chain(rest)))))
    }
}

/// A reader that keeps the bytes that it has read.
#[derive(Clone)]
struct RecordingReader(Arc<Mutex<Recorded>>);

struct Recorded {
    reader: Bytes,
    seen: Vec<u8>,
}

impl RecordingReader {
    fn lock(&self) -> MutexGuard<'_, Recorded> {
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
        let input = InputFile {
            head: b"ab".to_vec(),
            rest: Box::new(Cursor::new(b"cdefgh".to_vec())),
            name: "test".to_owned(),
            path: None,
            is_compressed: false,
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
