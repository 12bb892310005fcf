//! CSV and compressed JSON lines as tables of the SQL engine, read as `lath convert` reads them.

use std::path::Path;

use arrow_schema::SchemaRef;
use lath_sql::{FileRows, ReadError, RowReader};

use crate::args::FileFormat;
use crate::failure::Failure;
use crate::source::{InputFile, TextOptions, format_of};

/// Reads files by their extensions, with the options of `lath convert` that are not given.
#[derive(Debug)]
pub(super) struct TextFiles;

impl RowReader for TextFiles {
    fn reads(&self, path: &Path) -> bool {
        let is_compressed = path.extension().is_some_and(|extension| {
            ["gz", "zst", "zstd"].iter().any(|compressed| extension.eq_ignore_ascii_case(compressed))
        });
        match format_of(path) {
            Some(FileFormat::Csv) => true,
            Some(FileFormat::Jsonl) => is_compressed,
            _ => false,
        }
    }

    fn open(&self, path: &Path, types: Option<&SchemaRef>, batch_rows: usize) -> Result<FileRows, ReadError> {
        let name = path.display().to_string();
        let format = format_of(path).unwrap_or(FileFormat::Csv);
        let failed = |failure: Failure| ReadError::from(failure.to_string());
        let input = InputFile::open(Some(path), name).map_err(failed)?;
        let source = input.read(format, &TextOptions::default(), batch_rows, types).map_err(failed)?;
        let batches = source.batches.map(move |batch| batch.map_err(failed));
        Ok(FileRows { schema: source.schema, batches: Box::new(batches) })
    }
}
