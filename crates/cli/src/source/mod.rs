//! Rows from CSV, JSON lines and Arrow IPC files, as one stream of batches.

mod file_schema;
mod ipc;
mod text;

use std::path::Path;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use lath_text::{Compression, TextFile, TextFormat, TextOptions};

use crate::args::FileFormat;
use crate::failure::Result;
pub(crate) use text::{text_failure, text_options};

/// Bytes by which the format is detected.
const MAGIC_BYTES: usize = 4 << 10;

/// Batches of one schema.
pub(crate) struct Source {
    pub(crate) schema: SchemaRef,
    pub(crate) batches: Box<dyn Iterator<Item = Result<RecordBatch>> + Send>,
}

/// Opens a file, or standard input if there is no path.
pub(crate) fn open(path: Option<&Path>, name: &str) -> Result<TextFile> {
    path.map_or_else(|| TextFile::stdin(name), TextFile::open).map_err(text_failure)
}

/// Reads a file as `format`, which is not Parquet. `first` is the schema of the first input.
pub(crate) fn read(
    file: TextFile,
    format: FileFormat,
    options: &TextOptions,
    batch_rows: usize,
    first: Option<&SchemaRef>,
) -> Result<Source> {
    match format {
        FileFormat::Csv => text::read(file, TextFormat::Csv, options, batch_rows, first),
        FileFormat::Jsonl => text::read(file, TextFormat::JsonLines, options, batch_rows, first),
        FileFormat::Arrow | FileFormat::Parquet => ipc::read(file),
    }
}

/// The format that the first bytes of a file indicate.
pub(crate) fn sniff(file: &mut TextFile) -> Result<Option<FileFormat>> {
    Ok(match file.peek(MAGIC_BYTES).map_err(text_failure)? {
        [b'P', b'A', b'R', b'1' | b'E', ..] => Some(FileFormat::Parquet),
        [b'A', b'R', b'R', b'O', b'W', b'1', ..] | [0xff, 0xff, 0xff, 0xff, ..] => Some(FileFormat::Arrow),
        other if other.trim_ascii_start().first() == Some(&b'{') => Some(FileFormat::Jsonl),
        _ => None,
    })
}

/// The format by the file's extension; a compressed file has one before the last.
pub(crate) fn file_format(path: &Path) -> Option<FileFormat> {
    match TextFormat::from_name(path) {
        Some(TextFormat::Csv) => return Some(FileFormat::Csv),
        Some(TextFormat::JsonLines) => return Some(FileFormat::Jsonl),
        None => {}
    }
    let extension = path.extension()?.to_str()?.to_ascii_lowercase();
    match extension.as_str() {
        "parquet" => Some(FileFormat::Parquet),
        "arrow" | "arrows" | "feather" | "ipc" => Some(FileFormat::Arrow),
        compressed if Compression::from_extension(compressed).is_some() => file_format(&path.with_extension("")),
        _ => None,
    }
}
