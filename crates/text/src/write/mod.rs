//! Writes Arrow batches as CSV and JSON lines, compressed or not.

mod cell;
mod compression;
mod csv;
mod extension;
mod json;
mod variant;
mod zone;

use std::fmt;
use std::io::Write;

use arrow_array::RecordBatch;
use arrow_json::Writer;
use arrow_json::writer::LineDelimited;
use arrow_schema::{ArrowError, Schema};

use self::compression::CompressingWriter;
use self::csv::CsvWriter;
use self::json::check_numbers;
use crate::format::{Compression, TextFormat};

pub use self::cell::CellFormatter;
pub use self::csv::CsvWriteOptions;
pub use self::extension::is_uuid;
pub use self::json::{encoder_options, json_writer};
pub use self::variant::{is_variant, variant_texts};
pub use self::zone::{UTC, in_utc};

/// How text is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextWriteOptions {
    /// The format.
    pub format: TextFormat,
    /// How the whole file is compressed.
    pub compression: Option<Compression>,
    /// Options of CSV.
    pub csv: CsvWriteOptions,
}

impl TextWriteOptions {
    /// The options of a format.
    pub fn new(format: TextFormat) -> Self {
        Self { format, compression: None, csv: CsvWriteOptions::default() }
    }

    /// The extensions of a file, such as `csv.gz`.
    pub fn extension(&self) -> String {
        let format = match self.format {
            TextFormat::Csv => "csv",
            TextFormat::JsonLines => "jsonl",
        };
        match self.compression {
            None => format.to_owned(),
            Some(Compression::Gzip) => format!("{format}.gz"),
            Some(Compression::Zstd) => format!("{format}.zst"),
        }
    }
}

/// Writes rows as text, which [`TextFile`](crate::TextFile) reads back.
///
/// ```
/// use std::sync::Arc;
///
/// use arrow_array::{ArrayRef, RecordBatch, StringArray};
/// use lath_text::{TextFormat, TextWriteOptions, TextWriter};
///
/// let texts: ArrayRef = Arc::new(StringArray::from(vec![Some("a,b"), Some(""), None]));
/// let batch = RecordBatch::try_from_iter([("text", Arc::clone(&texts)), ("more", texts)])?;
/// let mut writer = TextWriter::new(Vec::new(), &batch.schema(), &TextWriteOptions::new(TextFormat::Csv))?;
/// writer.write(&batch)?;
/// assert_eq!(writer.finish()?, b"text,more\n\"a,b\",\"a,b\"\n\"\",\"\"\n,\n");
/// # Ok::<(), arrow_schema::ArrowError>(())
/// ```
pub struct TextWriter<W: Write> {
    rows: Rows<W>,
}

enum Rows<W: Write> {
    Csv(Box<CsvWriter<CompressingWriter<W>>>),
    Json(Box<Writer<CompressingWriter<W>, LineDelimited>>),
}

impl<W: Write> fmt::Debug for TextWriter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TextWriter").finish_non_exhaustive()
    }
}

impl<W: Write> TextWriter<W> {
    /// Begins a file.
    ///
    /// # Errors
    /// [`ArrowError::IoError`] if `target` fails; another if the options contradict each other.
    pub fn new(target: W, schema: &Schema, options: &TextWriteOptions) -> Result<Self, ArrowError> {
        let target = CompressingWriter::new(target, options.compression)?;
        let rows = match options.format {
            TextFormat::Csv => Rows::Csv(Box::new(CsvWriter::new(target, schema, &options.csv)?)),
            TextFormat::JsonLines => Rows::Json(Box::new(json_writer(target))),
        };
        Ok(Self { rows })
    }

    /// Writes rows.
    ///
    /// # Errors
    /// [`ArrowError::IoError`] if the destination fails; another if a value cannot be written so that it is read back.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        match &mut self.rows {
            Rows::Csv(writer) => writer.write(batch),
            Rows::Json(writer) => {
                for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
                    check_numbers(field.name(), column)?;
                }
                writer.write(&in_utc(batch)?)
            }
        }
    }

    /// The destination.
    pub fn target(&self) -> &W {
        match &self.rows {
            Rows::Csv(writer) => writer.target().target(),
            Rows::Json(writer) => writer.get_ref().target(),
        }
    }

    /// Ends the file, and returns its destination.
    ///
    /// # Errors
    /// [`ArrowError::IoError`] if the destination fails.
    pub fn finish(self) -> Result<W, ArrowError> {
        let target = match self.rows {
            Rows::Csv(writer) => writer.finish(),
            Rows::Json(mut writer) => {
                writer.finish()?;
                writer.into_inner()
            }
        };
        Ok(target.finish()?)
    }
}
