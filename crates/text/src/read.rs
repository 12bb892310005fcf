//! Reads files by their formats.

use arrow_schema::SchemaRef;

use crate::error::Result;
use crate::file::{TextFile, TextRows};
use crate::format::TextFormat;
use crate::options::TextOptions;
use crate::{csv, json};

impl TextFile {
    /// Reads the rows in batches of `batch_rows`. Columns that `types` has are of its types: it is the schema of the first of several
    /// files.
    ///
    /// # Errors
    /// If the file is not of the format, or does not fit the options. The batches have errors too.
    pub fn read(
        self,
        format: TextFormat,
        options: &TextOptions,
        batch_rows: usize,
        types: Option<&SchemaRef>,
    ) -> Result<TextRows> {
        match format {
            TextFormat::Csv => csv::read(self, options, batch_rows, types),
            TextFormat::JsonLines => json::read(self, options, batch_rows, types),
        }
    }
}
