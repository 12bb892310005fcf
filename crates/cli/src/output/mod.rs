//! Output of rows: destinations and formats.

mod arrow;
mod csv;
mod json;
pub(crate) mod layout;
mod parquet;
mod sorted;
mod table;
mod vertical;

use std::io::{self, IsTerminal};
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use lath_parquet::{FileVersion, Strings};
use lath_writer::{SortOptions, WriteOptions, WriteSummary};

use crate::args::{CsvArgs, Format, OutputArgs, StringLayout, TextArgs, WriteArgs};
use crate::console::terminal::Terminal;
use crate::failure::{Failure, Result};
use crate::input::scan::cores;
use crate::target::Target;
use crate::write::{ParquetRequest, write_options};

/// A destination of rows of one schema.
pub(crate) trait RowSink {
    /// Writes a batch.
    fn write(&mut self, batch: &RecordBatch) -> Result<()>;

    /// Writes what is buffered, and moves an output file to its final name. Returns a summary of Parquet output.
    fn finish(self: Box<Self>) -> Result<Option<WriteSummary>>;
}

/// The format and the destination of rows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output<'a> {
    format: Format,
    path: Option<&'a Path>,
    parquet: Option<ParquetRequest<'a>>,
    csv: csv::CsvOptions<'a>,
    /// The version of the object that is replaced.
    replaced: Option<&'a FileVersion>,
}

impl<'a> Output<'a> {
    /// Chooses the format by option, by file name, or by whether standard output is a terminal.
    pub(crate) fn new(args: &'a OutputArgs) -> Result<Self> {
        Self::settle(args.format, args.output.as_deref())
    }

    /// As [`new`](Self::new), from a format and a path, each of which may be missing.
    pub(crate) fn settle(format: Option<Format>, path: Option<&'a Path>) -> Result<Self> {
        let path = path.filter(|path| *path != Path::new("-"));
        let format = match (format, path) {
            (Some(format), _) => format,
            (None, Some(path)) => format_by_extension(path)?,
            (None, None) if io::stdout().is_terminal() => Format::Table,
            (None, None) => Format::Jsonl,
        };
        if path.is_none() && format == Format::Parquet && io::stdout().is_terminal() {
            return Err(Failure::Usage("Parquet cannot be shown in a terminal; add -o FILE, or a pipe".to_owned()));
        }
        if path.is_none() && format == Format::Arrow && io::stdout().is_terminal() {
            return Err(Failure::Usage("Arrow IPC cannot be shown in a terminal; add -o FILE, or a pipe".to_owned()));
        }
        let is_tsv = path.is_some_and(|path| has_extension(path, "tsv"));
        let csv = csv::CsvOptions { delimiter: if is_tsv { b'\t' } else { b',' }, null: "" };
        Ok(Self { format, path, parquet: None, csv, replaced: None })
    }

    /// Sets the options of Parquet output; an error if any was given and the output is not Parquet.
    pub(crate) fn with_parquet(self, request: ParquetRequest<'a>) -> Result<Self> {
        if self.format != Format::Parquet && request.write.is_set() {
            return Err(Failure::Usage(
                "the options under \"Parquet\" need Parquet output; add --format parquet, or give -o a name that ends in .parquet"
                    .to_owned(),
            ));
        }
        Ok(Self { parquet: Some(request), ..self })
    }

    /// Sets the options of CSV output. Their defaults are the options of CSV input.
    pub(crate) fn with_csv(mut self, args: &'a CsvArgs, text: &'a TextArgs) -> Result<Self> {
        if self.format != Format::Csv && (args.output_delimiter.is_some() || args.output_null.is_some()) {
            return Err(Failure::Usage(
                "--output-delimiter and --output-null need CSV output; add --format csv, or give -o a name that ends in .csv"
                    .to_owned(),
            ));
        }
        let by_name = Some(self.csv.delimiter).filter(|&delimiter| delimiter != b',');
        self.csv.delimiter = args.output_delimiter.or(by_name).or(text.delimiter).unwrap_or(self.csv.delimiter);
        self.csv.null = args.output_null.as_ref().or(text.nulls.first()).map_or("", String::as_str);
        if self.format == Format::Csv && self.csv.null.contains(['"', '\n', '\r', char::from(self.csv.delimiter)]) {
            return Err(Failure::Usage(format!(
                "null cannot be written as {:?}, which contains a quote, a delimiter or a line ending; choose another --output-null",
                self.csv.null
            )));
        }
        Ok(self)
    }

    /// Replaces the object with a version, and no other; `None` replaces any file.
    pub(crate) fn replacing(self, version: Option<&'a FileVersion>) -> Self {
        Self { replaced: version, ..self }
    }

    /// The file that is written, if it is not standard output.
    pub(crate) fn path(&self) -> Option<&'a Path> {
        self.path
    }

    /// The string layout that suits the format best.
    pub(crate) fn strings(&self, request: Option<StringLayout>) -> Strings {
        match request {
            Some(StringLayout::Views) => Strings::Views,
            Some(StringLayout::Offsets) => Strings::Offsets,
            // An IPC message with views would carry whole pages, and a Parquet file records the layout of its strings, which
            // not every reader supports as views.
            None if matches!(self.format, Format::Arrow | Format::Parquet) => Strings::Offsets,
            None => Strings::Views,
        }
    }

    /// Whether it is JSON lines on standard output.
    pub(crate) fn is_stream_of_lines(&self) -> bool {
        self.format == Format::Jsonl && self.path.is_none()
    }

    /// Whether rows appear on the terminal, where a progress bar would disturb them.
    pub(crate) fn is_terminal(&self) -> bool {
        self.path.is_none() && io::stdout().is_terminal()
    }

    /// The destination of bytes.
    pub(crate) fn target(&self) -> Result<Target> {
        match (self.path, self.replaced) {
            (Some(path), Some(version)) => Target::replacing(path, version),
            (Some(path), None) => Target::file(path),
            (None, _) => Target::stdout(),
        }
    }

    /// Creates the output for rows of `schema`; they are sorted if `--sort-by` was given.
    pub(crate) fn open(&self, schema: &SchemaRef) -> Result<Box<dyn RowSink>> {
        let rows = self.open_presorted(schema)?;
        let Some(request) = self.parquet.filter(|request| !request.sorted_by.is_empty()) else { return Ok(rows) };
        let mut options = SortOptions::new();
        if let Some(memory) = request.write.memory {
            options = options.memory_budget_bytes(memory / 2);
        }
        // A folder with room for the output has room for temporary files of the same rows.
        if let Some(folder) = self.path.and_then(Path::parent).filter(|folder| folder.is_dir()) {
            options = options.folder(folder);
        }
        Ok(Box::new(sorted::SortingSink::new(rows, schema, request.sorted_by, options)?))
    }

    /// Creates the output for rows of `schema` that are already sorted as requested.
    pub(crate) fn open_presorted(&self, schema: &SchemaRef) -> Result<Box<dyn RowSink>> {
        self.open_on(self.target()?, schema)
    }

    /// As [`open_presorted`](Self::open_presorted), with another destination of bytes.
    pub(crate) fn open_on(&self, target: Target, schema: &SchemaRef) -> Result<Box<dyn RowSink>> {
        let terminal = if self.path.is_some() { Terminal::PLAIN } else { Terminal::stdout() };
        Ok(match self.format {
            Format::Table => Box::new(table::TableSink::new(target, schema.clone(), terminal)),
            Format::Vertical => Box::new(vertical::VerticalSink::new(target, schema, terminal)),
            Format::Csv => Box::new(csv::CsvSink::new(target, schema, self.csv)?),
            Format::Json => Box::new(json::array(target)),
            Format::Jsonl => Box::new(json::lines(target)),
            Format::Arrow if self.is_ipc_file() => Box::new(arrow::FileSink::new(target, schema)?),
            Format::Arrow => Box::new(arrow::StreamSink::new(target, schema)?),
            Format::Parquet => Box::new(parquet::ParquetSink::new(target, schema, self.write_options(schema)?)?),
        })
    }

    fn write_options(&self, schema: &SchemaRef) -> Result<WriteOptions> {
        match &self.parquet {
            Some(request) => write_options(request, schema),
            None => {
                let write = &WriteArgs::default();
                write_options(
                    &ParquetRequest { write, sorted_by: &[], threads: cores(), like: None, keeps_rows: false },
                    schema,
                )
            }
        }
    }

    /// Whether Arrow output is a file rather than a stream; by convention `.arrows` names a stream.
    fn is_ipc_file(&self) -> bool {
        self.path.is_some_and(|path| path.extension().is_none_or(|extension| extension != "arrows"))
    }
}

fn has_extension(path: &Path, wanted: &str) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(wanted))
}

fn format_by_extension(path: &Path) -> Result<Format> {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    match extension.to_ascii_lowercase().as_str() {
        "parquet" => Ok(Format::Parquet),
        "csv" | "tsv" => Ok(Format::Csv),
        "json" => Ok(Format::Json),
        "jsonl" | "ndjson" => Ok(Format::Jsonl),
        "arrow" | "arrows" | "feather" | "ipc" => Ok(Format::Arrow),
        "txt" => Ok(Format::Table),
        _ => Err(Failure::Usage(format!(
            "{}: the format cannot be told from the name; add --format table, vertical, csv, json, jsonl, arrow or parquet",
            path.display()
        ))),
    }
}
