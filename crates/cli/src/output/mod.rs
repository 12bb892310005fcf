//! Where rows go, and in which form.

mod arrow;
mod cell;
mod csv;
mod extension;
mod json;
pub(crate) mod layout;
mod parquet;
mod table;
pub(crate) mod target;
mod zone;

use std::io::{self, IsTerminal};
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use lath_parquet::Strings;

pub(crate) use cell::CellFormatter;
pub(crate) use extension::is_uuid;
pub(crate) use json::encoder_options;
use target::Target;
pub(crate) use zone::UTC;

use crate::args::{Format, OutputArgs, StringLayout};
use crate::failure::{Failure, Result};
use crate::terminal::Terminal;

/// Something that takes rows of one schema.
pub(crate) trait Rows {
    /// Writes a batch.
    fn write(&mut self, batch: &RecordBatch) -> Result<()>;

    /// Writes what remains, and puts an output file in its place.
    fn finish(self: Box<Self>) -> Result<()>;
}

/// The form and the destination that were asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output<'a> {
    format: Format,
    path: Option<&'a Path>,
}

impl<'a> Output<'a> {
    /// Settles the form by option, by file name, or by what standard output is.
    pub(crate) fn new(args: &'a OutputArgs) -> Result<Self> {
        Self::settle(args.format, args.output.as_deref())
    }

    /// The same of a format and a path, each of which may be missing.
    pub(crate) fn settle(format: Option<Format>, path: Option<&'a Path>) -> Result<Self> {
        let path = path.filter(|path| *path != Path::new("-"));
        let format = match (format, path) {
            (Some(format), _) => format,
            (None, Some(path)) => format_of(path)?,
            (None, None) if io::stdout().is_terminal() => Format::Table,
            (None, None) => Format::Jsonl,
        };
        if path.is_none() && format == Format::Parquet && io::stdout().is_terminal() {
            return Err(Failure::Usage("Parquet is not for a terminal; add -o FILE, or a pipe".to_owned()));
        }
        if path.is_none() && format == Format::Arrow && io::stdout().is_terminal() {
            return Err(Failure::Usage("Arrow IPC is not for a terminal; add -o FILE, or a pipe".to_owned()));
        }
        Ok(Self { format, path })
    }

    /// The file that is written, if it is not standard output.
    pub(crate) fn path(&self) -> Option<&'a Path> {
        self.path
    }

    /// How strings are best read for this form.
    pub(crate) fn strings(&self, wish: Option<StringLayout>) -> Strings {
        match wish {
            Some(StringLayout::Views) => Strings::Views,
            Some(StringLayout::Offsets) => Strings::Offsets,
            // Each IPC message would carry whole pages for the few views that it holds.
            None if self.format == Format::Arrow => Strings::Offsets,
            None => Strings::Views,
        }
    }

    /// Whether rows appear on the terminal, where a progress bar would disturb them.
    pub(crate) fn is_terminal(&self) -> bool {
        self.path.is_none() && io::stdout().is_terminal()
    }

    /// Creates the output for rows of `schema`.
    pub(crate) fn open(&self, schema: &SchemaRef) -> Result<Box<dyn Rows>> {
        let target = match self.path {
            Some(path) => Target::file(path)?,
            None => Target::stdout()?,
        };
        let terminal = if self.path.is_some() { Terminal::PLAIN } else { Terminal::stdout() };
        Ok(match self.format {
            Format::Table => Box::new(table::TableRows::new(target, schema.clone(), terminal)),
            Format::Csv => Box::new(csv::CsvRows::new(target, schema)?),
            Format::Json => Box::new(json::array(target)),
            Format::Jsonl => Box::new(json::lines(target)),
            Format::Arrow if self.is_ipc_file() => Box::new(arrow::FileRows::new(target, schema)?),
            Format::Arrow => Box::new(arrow::StreamRows::new(target, schema)?),
            Format::Parquet => Box::new(parquet::ParquetRows::new(target, schema.clone())?),
        })
    }

    /// Whether Arrow output can be a file with its index at the end; by convention `.arrows` names a stream.
    fn is_ipc_file(&self) -> bool {
        self.path.is_some_and(|path| path.extension().is_none_or(|extension| extension != "arrows"))
    }
}

fn format_of(path: &Path) -> Result<Format> {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    match extension.to_ascii_lowercase().as_str() {
        "parquet" => Ok(Format::Parquet),
        "csv" => Ok(Format::Csv),
        "json" => Ok(Format::Json),
        "jsonl" | "ndjson" => Ok(Format::Jsonl),
        "arrow" | "arrows" | "feather" | "ipc" => Ok(Format::Arrow),
        "txt" => Ok(Format::Table),
        _ => Err(Failure::Usage(format!(
            "{}: the name does not tell the format; add --format table, csv, json, jsonl, arrow or parquet",
            path.display()
        ))),
    }
}
