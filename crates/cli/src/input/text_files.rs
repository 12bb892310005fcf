//! Files of CSV, JSON lines and Arrow IPC where Parquet is read: their rows are written to a temporary Parquet file, which has all that
//! commands ask of a file.

use std::path::Path;
use std::sync::Arc;

use arrow_schema::SchemaRef;
use lath_parquet::{LocalFile, OpenOptions, ParquetFile};
use lath_text::TextOptions;
use lath_writer::{Codec, ParquetWriter, WriteOptions};

use crate::args::{FileFormat, TextArgs};
use crate::failure::{Failure, Result};
use crate::source::{self, Source, file_format, text_options};

const BATCH_ROWS: usize = 8192;

/// How files are read that are not Parquet.
#[derive(Debug)]
pub(super) struct TextReading {
    options: TextOptions,
    /// The number of rows that are needed of each file.
    max_rows: u64,
    /// Columns of the first file, whose types later text files must have.
    first: Option<SchemaRef>,
}

impl TextReading {
    pub(super) fn new(args: &TextArgs, max_rows: Option<u64>) -> Result<Self> {
        Ok(Self { options: text_options(args)?, max_rows: max_rows.unwrap_or(u64::MAX), first: None })
    }

    /// A Parquet file with the first rows of the file at `path`.
    pub(super) fn read(&mut self, path: &Path, name: &str, options: OpenOptions) -> Result<ParquetFile> {
        let file = source::open(Some(path), name)?;
        let format = file_format(path).unwrap_or(FileFormat::Csv);
        let Source { schema, batches } = source::read(file, format, &self.options, BATCH_ROWS, self.first.as_ref())?;
        self.first.get_or_insert_with(|| Arc::clone(&schema));
        let failed = |error| Failure::writing_file(name, error);
        let temporary = tempfile::tempfile().map_err(|error| Failure::writing("a temporary file", &error))?;
        let written = temporary.try_clone().map_err(|error| Failure::writing("a temporary file", &error))?;
        let write = WriteOptions::default().codec(Codec::Uncompressed).dictionary(false);
        let mut writer = ParquetWriter::new(written, &schema, write).map_err(failed)?;
        let mut left = self.max_rows;
        for batch in batches {
            if left == 0 {
                break;
            }
            let batch = batch?;
            let rows = usize::try_from(left).map_or(batch.num_rows(), |left| left.min(batch.num_rows()));
            writer.write(&batch.slice(0, rows)).map_err(failed)?;
            left -= rows as u64;
        }
        writer.finish_into().map_err(failed)?;
        let source = LocalFile::new(temporary).map_err(|error| Failure::writing("a temporary file", &error))?;
        options.from_source(Arc::new(source)).map_err(|error| Failure::reading(name, error))
    }
}

/// Whether the file at `path` is not Parquet, but has another format that is read.
pub(super) fn is_text_file(path: &Path) -> bool {
    let known = file_format(path).is_some_and(|format| format != FileFormat::Parquet);
    // Names may be wrong.
    known
        && source::open(Some(path), "")
            .and_then(|mut file| source::sniff(&mut file))
            .is_ok_and(|format| format != Some(FileFormat::Parquet))
}
