//! Rows from files of the formats that Arrow reads, as one stream of batches.

mod compression;
mod csv;
mod hexadecimal;
mod ipc;
mod json;
mod model;
mod opened;
mod text;
mod type_name;

use std::io::BufRead;
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use crate::args::{FileFormat, TextArgs};
use crate::failure::Result;
pub(crate) use csv::MomentFormat;
pub(crate) use opened::Opened;
pub(crate) use text::TextOptions;
pub(crate) use type_name::parse_type;

/// Bytes from a file or from standard input.
pub(crate) type Bytes = Box<dyn BufRead + Send>;

/// Batches of one schema.
pub(crate) struct Source {
    pub(crate) schema: SchemaRef,
    pub(crate) batches: Box<dyn Iterator<Item = Result<RecordBatch>> + Send>,
}

impl Opened {
    /// Starts to read it as `format`, which is not Parquet. A schema given is that of the files before this one.
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

/// The format that the name of a file tells; endings of compressed files are passed over.
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
    /// What the command line says of text files.
    pub(crate) fn of(args: &TextArgs) -> Result<Self> {
        text::options(args)
    }
}
