//! One file of a format.

use std::io::BufWriter;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, SchemaRef};
use lath_parquet::{Error, Result, SortingColumn};
use lath_text::{TextWriteOptions, TextWriter};
use lath_writer::{AtomicFile, ParquetWriter, WriteOptions};

/// The format of files, and its options.
#[derive(Debug, Clone)]
pub(crate) enum FileFormat {
    Parquet(Box<WriteOptions>),
    Text(TextWriteOptions),
}

impl FileFormat {
    /// The extension of files.
    pub(super) fn extension(&self) -> String {
        match self {
            Self::Parquet(_) => "parquet".to_owned(),
            Self::Text(options) => options.extension(),
        }
    }

    /// The order that rows of a file have to have.
    pub(super) fn sorting(&self) -> &[SortingColumn] {
        match self {
            Self::Parquet(options) => options.sorting(),
            Self::Text(_) => &[],
        }
    }
}

/// A file under construction.
pub(super) enum FileWriter {
    Parquet(Box<ParquetWriter<BufWriter<AtomicFile>>>),
    Text(Box<TextWriter<BufWriter<AtomicFile>>>),
}

impl FileWriter {
    /// Begins a file with `schema`.
    pub(super) fn begin(file: AtomicFile, schema: &SchemaRef, format: &FileFormat) -> Result<Self> {
        let file = BufWriter::new(file);
        Ok(match format {
            FileFormat::Parquet(options) => {
                Self::Parquet(Box::new(ParquetWriter::new(file, schema, options.as_ref().clone())?))
            }
            FileFormat::Text(options) => {
                Self::Text(Box::new(TextWriter::new(file, schema, options).map_err(text_error)?))
            }
        })
    }

    pub(super) fn write(&mut self, rows: &RecordBatch) -> Result<()> {
        match self {
            Self::Parquet(writer) => writer.write(rows),
            Self::Text(writer) => writer.write(rows).map_err(text_error),
        }
    }

    /// Finishes the file and gives it its final name.
    pub(super) fn commit(self) -> Result<()> {
        let file = match self {
            Self::Parquet(writer) => writer.finish_into()?.0,
            Self::Text(writer) => writer.finish().map_err(text_error)?,
        };
        file.into_inner().map_err(|error| write_error(error.into_error()))?.commit()
    }
}

fn text_error(error: ArrowError) -> Error {
    match error {
        ArrowError::IoError(_, source) => write_error(source),
        ArrowError::CsvError(what) | ArrowError::JsonError(what) => Error::Invalid { what },
        other => Error::Invalid { what: other.to_string() },
    }
}

fn write_error(source: std::io::Error) -> Error {
    Error::Io { op: "write", source, at: Box::default() }
}
