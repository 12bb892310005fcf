//! Rows from CSV, JSON lines and Arrow IPC files, as one stream of batches.

mod compression;
mod csv;
mod hexadecimal;
mod input_file;
mod ipc;
mod json;
mod schema_of;
mod text;

use std::io::BufRead;
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use crate::args::{FileFormat, TextArgs};
use crate::failure::Result;
pub(crate) use input_file::InputFile;
pub(crate) use text::TextOptions;

/// Bytes from a file or from standard input.
pub(crate) type Bytes = Box<dyn BufRead + Send>;

/// Batches of one schema.
pub(crate) struct Source {
    pub(crate) schema: SchemaRef,
    pub(crate) batches: Box<dyn Iterator<Item = Result<RecordBatch>> + Send>,
}

impl InputFile {
    /// Reads the input as `format`, which is not Parquet. `before` is the schema of the previous inputs.
    pub(crate) fn read(
        self,
        format: FileFormat,
        options: &TextOptions,
        batch_rows: usize,
        schema: Option<&SchemaRef>,
    ) -> Result<Source> {
        match format {
            FileFormat::Csv => csv::read(self, options, batch_rows, schema),
            FileFormat::Jsonl => json::read(self, options, batch_rows, schema),
            FileFormat::Arrow | FileFormat::Parquet => ipc::read(self),
        }
    }
}

/// The format by the file's extension, without the extension of a compressed file.
pub(crate) fn format_of(path: &Path) -> Option<FileFormat> {
    let extension = path.extension()?.to_str()?.to_ascii_lowercase();
    match extension.as_str() {
        "gz" | "zst" | "zstd" => format_of(&path.with_extension("")),
        "parquet" => Some(FileFormat::Parquet),
        "csv" | "tsv" => Some(FileFormat::Csv),
        "jsonl" | "ndjson" | "json" => Some(FileFormat::Jsonl),
        "arrow" | "arrows" | "feather" | "ipc" => Some(FileFormat::Arrow),
        _ => None,
    }
}

impl TextOptions {
    /// The command line's options for text files.
    pub(crate) fn of(args: &TextArgs) -> Result<Self> {
        text::options(args)
    }
}
