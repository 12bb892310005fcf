//! Writes one file for each value of the partition columns.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, new_null_array};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_ord::partition::partition;
use arrow_schema::{DataType, SchemaRef};
use lath_parquet::{Error, ExactType, Result, partition_directory, text_partition_directory};
use lath_writer::AtomicFiles;

use super::file::{FileFormat, FileWriter};

/// Maximum length of a file name in common file systems.
const MAX_NAME_BYTES: usize = 255;

/// Writes rows that come partition by partition, or one file if there are no partition columns.
pub(super) struct PartitionedFiles {
    place: FilePlace,
    schema: SchemaRef,
    file_schema: SchemaRef,
    of_file: Vec<usize>,
    partition_by: Vec<usize>,
    format: FileFormat,
    open: Option<Open>,
    /// The directories of finished files, and their numbers of rows.
    row_counts: HashMap<PathBuf, u64>,
}

/// The place of files.
pub(super) struct FilePlace {
    pub(super) files: AtomicFiles,
    /// The subfolder of all files.
    pub(super) below: PathBuf,
    /// The name of every file.
    pub(super) name: String,
    /// Whether the folder is new, and needs a file even without rows.
    pub(super) is_new: bool,
}

struct Open {
    directory: PathBuf,
    row_count: u64,
    writer: FileWriter,
}

/// A new name for files of a format.
pub(super) fn new_name(format: &FileFormat) -> String {
    format!("part-{:016x}.{}", fastrand::u64(..), format.extension())
}

impl PartitionedFiles {
    pub(super) fn begin(
        place: FilePlace,
        schema: &SchemaRef,
        partition_by: &[String],
        format: FileFormat,
    ) -> Result<Self> {
        let invalid = |error: arrow_schema::ArrowError| Error::Invalid { what: error.to_string() };
        let partition_by = partition_by.iter().map(|name| schema.index_of(name).map_err(invalid));
        let partition_by = partition_by.collect::<Result<Vec<_>>>()?;
        for &column in &partition_by {
            let field = schema.field(column);
            if field.name().is_empty() {
                return Err(Error::Invalid { what: "a column to partition by needs a name".to_owned() });
            }
            if !is_partition_type(field.data_type()) {
                let what = format!(
                    "cannot partition by column {} of type {}; partition by numbers, dates or text",
                    field.name(),
                    field.data_type()
                );
                return Err(Error::Invalid { what });
            }
        }
        let of_file: Vec<usize> = (0..schema.fields().len()).filter(|at| !partition_by.contains(at)).collect();
        let mut files = Self {
            place,
            schema: Arc::clone(schema),
            file_schema: Arc::new(schema.project(&of_file).map_err(invalid)?),
            of_file,
            partition_by,
            format,
            open: None,
            row_counts: HashMap::new(),
        };
        if files.partition_by.is_empty() {
            files.turn_to(PathBuf::new())?;
        }
        Ok(files)
    }

    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let invalid = |error: arrow_schema::ArrowError| Error::Invalid { what: error.to_string() };
        let rows = batch.project(&self.of_file).map_err(invalid)?;
        if self.partition_by.is_empty() {
            return self.append(&rows);
        }
        let keys: Vec<ArrayRef> = self.partition_by.iter().map(|&at| Arc::clone(batch.column(at))).collect();
        for range in partition(&keys).map_err(invalid)?.ranges() {
            let mut directory = PathBuf::new();
            for (&column, values) in self.partition_by.iter().zip(&keys) {
                directory.push(directory_name(batch.schema_ref().field(column).name(), values, range.start)?);
            }
            self.turn_to(directory)?;
            self.append(&rows.slice(range.start, range.len()))?;
        }
        Ok(())
    }

    /// Finishes all files and gives them their final names.
    pub(super) fn finish(self) -> Result<()> {
        self.finished()?.0.commit()
    }

    /// Finishes all files, and returns the numbers of their rows by their directories.
    pub(super) fn finished(mut self) -> Result<(AtomicFiles, HashMap<PathBuf, u64>)> {
        // Without rows, a file without rows says which columns there would be.
        if self.open.is_none() && self.place.is_new {
            let directory = self.null_directory()?;
            self.turn_to(directory)?;
        }
        self.close()?;
        Ok((self.place.files, self.row_counts))
    }

    /// The directory of rows that are null in all columns to partition by.
    fn null_directory(&self) -> Result<PathBuf> {
        let fields = self.partition_by.iter().map(|&column| self.schema.field(column));
        fields.map(|field| directory_name(field.name(), &new_null_array(field.data_type(), 1), 0)).collect()
    }

    fn append(&mut self, rows: &RecordBatch) -> Result<()> {
        match &mut self.open {
            Some(open) => {
                open.row_count += rows.num_rows() as u64;
                open.writer.write(rows)
            }
            None => Ok(()),
        }
    }

    /// Finishes the open file.
    fn close(&mut self) -> Result<()> {
        if let Some(open) = self.open.take() {
            open.writer.commit()?;
            self.row_counts.insert(open.directory, open.row_count);
        }
        Ok(())
    }

    /// Finishes the open file and begins the file of another partition.
    fn turn_to(&mut self, directory: PathBuf) -> Result<()> {
        if self.open.as_ref().is_some_and(|open| open.directory == directory) {
            return Ok(());
        }
        self.close()?;
        // Rows of one partition come together, so each file is begun once.
        let file = self.place.files.file(self.place.below.join(&directory).join(&self.place.name))?;
        let writer = FileWriter::begin(file, &self.file_schema, &self.format)?;
        self.open = Some(Open { directory, row_count: 0, writer });
        Ok(())
    }
}

fn is_partition_type(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => is_partition_type(values),
        DataType::Timestamp(_, zone) => zone.is_none(),
        decimal if decimal.is_decimal() => ExactType::new(decimal).is_some_and(|exact| exact.width <= 16),
        DataType::Boolean | DataType::Date32 | DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        other => other.is_integer(),
    }
}

fn is_text(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => is_text(values),
        other => other.is_string(),
    }
}

/// The folder name of rows with the value at `row`.
fn directory_name(column: &str, values: &ArrayRef, row: usize) -> Result<String> {
    let invalid = |error: arrow_schema::ArrowError| Error::Invalid { what: error.to_string() };
    let name = match text(values, row).map_err(invalid)? {
        Some(text) if is_text(values.data_type()) => text_partition_directory(column, &text),
        value => partition_directory(column, value.as_deref()),
    };
    if name.len() > MAX_NAME_BYTES {
        let what = format!(
            "column {column}: a value needs a folder name of {} bytes, and the maximum is {MAX_NAME_BYTES}; partition by a column with shorter values",
            name.len()
        );
        return Err(Error::Invalid { what });
    }
    Ok(name)
}

/// A value as text for a folder name; `None` if it is null.
fn text(values: &ArrayRef, row: usize) -> std::result::Result<Option<String>, arrow_schema::ArrowError> {
    if values.is_null(row) {
        return Ok(None);
    }
    let formatter = ArrayFormatter::try_new(values, &FormatOptions::new().with_display_error(false))?;
    formatter.value(row).try_to_string().map(Some)
}
