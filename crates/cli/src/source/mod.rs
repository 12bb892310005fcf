//! Rows from files of the formats that Arrow reads, as one stream of batches.

mod csv;
mod hexadecimal;
mod ipc;
mod json;
mod text;

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use crate::args::{FileFormat, TextArgs};
use crate::failure::{Failure, Result};
pub(crate) use text::{TextOptions, parse_type};

/// Bytes from a file or from standard input.
pub(crate) type Bytes = Box<dyn BufRead + Send>;

/// Batches of one schema.
pub(crate) struct Source {
    pub(crate) schema: SchemaRef,
    pub(crate) batches: Box<dyn Iterator<Item = Result<RecordBatch>> + Send>,
}

/// A file that has been opened, and what is known of it before its first row is read.
pub(crate) struct Opened {
    bytes: Bytes,
    name: String,
    /// The file again, for formats that are read at any place.
    file: Option<File>,
    position: Arc<AtomicU64>,
}

impl Opened {
    /// The file at `path`, or standard input.
    pub(crate) fn open(path: Option<&Path>, name: String) -> Result<Self> {
        let position = Arc::new(AtomicU64::new(0));
        let (reader, file): (Box<dyn Read + Send>, _) = match path {
            None => (Box::new(io::stdin()), None),
            Some(path) => {
                let failed = |error: io::Error| Failure::reaching(path, &error);
                let file = File::open(path).map_err(failed)?;
                let again = file.metadata().map_err(failed)?.is_file().then(|| File::open(path)).transpose();
                (Box::new(file), again.map_err(failed)?)
            }
        };
        let counted = Counted { reader, position: Arc::clone(&position) };
        Ok(Self { bytes: Box::new(BufReader::with_capacity(256 << 10, counted)), name, file, position })
    }

    /// How many bytes have been read of it.
    pub(crate) fn position(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.position)
    }

    /// What its first bytes say that it is.
    pub(crate) fn sniff(&mut self) -> Result<Option<FileFormat>> {
        let head =
            self.bytes.fill_buf().map_err(|error| Failure::Io(format!("{}: cannot read: {error}", self.name)))?;
        Ok(match head {
            [b'P', b'A', b'R', b'1' | b'E', ..] => Some(FileFormat::Parquet),
            [b'A', b'R', b'R', b'O', b'W', b'1', ..] | [0xff, 0xff, 0xff, 0xff, ..] => Some(FileFormat::Arrow),
            other if other.trim_ascii_start().first() == Some(&b'{') => Some(FileFormat::Jsonl),
            _ => None,
        })
    }

    /// Starts to read it as `format`, which is not Parquet. A schema given is that of the files before this one.
    pub(crate) fn read(
        self,
        format: FileFormat,
        options: &TextOptions,
        batch_rows: usize,
        schema: Option<&SchemaRef>,
    ) -> Result<Source> {
        match format {
            FileFormat::Csv => csv::read(self.bytes, self.name, options, batch_rows, schema),
            FileFormat::Jsonl => json::read(self.bytes, self.name, options, batch_rows, schema),
            FileFormat::Arrow | FileFormat::Parquet => ipc::read(self.bytes, self.name, self.file),
        }
    }
}

/// The format that the name of a file tells.
pub(crate) fn format_of(path: &Path) -> Option<FileFormat> {
    let extension = path.extension()?.to_str()?.to_ascii_lowercase();
    match extension.as_str() {
        "parquet" => Some(FileFormat::Parquet),
        "csv" | "tsv" => Some(FileFormat::Csv),
        "jsonl" | "ndjson" | "json" => Some(FileFormat::Jsonl),
        "arrow" | "arrows" | "feather" | "ipc" => Some(FileFormat::Arrow),
        _ => None,
    }
}

/// A reader that tells how far it is.
struct Counted<R> {
    reader: R,
    position: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        self.position.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

impl TextOptions {
    /// What the command line says of text files.
    pub(crate) fn of(args: &TextArgs) -> Result<Self> {
        text::options(args)
    }
}
