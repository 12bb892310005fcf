//! Copies row groups byte for byte.

use lath_format::schema::is_at_or_below;
use lath_parquet::{Error, ParquetFile, ParquetWriter, Projection, WriteOptions, WriteSummary};

use crate::failure::{Failure, Result};
use crate::target::Target;

/// A Parquet file that is assembled from row groups of other files.
pub(crate) struct CopiedFile {
    writer: ParquetWriter<Target>,
    name: String,
}

impl CopiedFile {
    /// Starts a file with `columns` of `file` (all if `None`) and its key-value metadata.
    pub(crate) fn like(target: Target, file: &ParquetFile, columns: Option<&[String]>) -> Result<Self> {
        let name = target.name().to_owned();
        let projection = columns.map(|columns| Projection::from_paths(columns.iter().cloned()));
        let options = WriteOptions::default().threads(1);
        match ParquetWriter::new_like(target, file, projection.as_ref(), options) {
            Ok(writer) => Ok(Self { writer, name }),
            Err(error) => Err(Failure::writing_file(&name, error)),
        }
    }

    /// Copies a row group of the file named `name`.
    pub(crate) fn row_group(&mut self, file: &ParquetFile, name: &str, index: usize) -> Result<()> {
        self.writer.copy_row_group(file, index).map_err(|error| match error {
            Error::Io { op: "write", .. } => Failure::writing_file(&self.name, error),
            other => Failure::reading(name, other),
        })
    }

    /// Writes the footer, and gives the file its final name.
    pub(crate) fn finish(self) -> Result<WriteSummary> {
        let Self { writer, name } = self;
        let (target, summary) = writer.finish_into().map_err(|error| Failure::writing_file(&name, error))?;
        target.finish()?;
        Ok(summary)
    }
}

/// Whether row groups of all files can be in one file, which takes the same Parquet schema, and pages that can be read without the
/// name of their writer.
pub(crate) fn are_copyable(files: &[ParquetFile]) -> Result<bool> {
    let root = |file: &ParquetFile| file.metadata().schema_descr().root_schema_ptr();
    let are_alike = files.windows(2).all(|pair| root(&pair[0]).as_ref() == root(&pair[1]).as_ref());
    for file in files.iter().filter(|_| are_alike) {
        if file.needs_writer_name().map_err(|error| Failure::reading("the input", error))? {
            return Ok(false);
        }
    }
    Ok(are_alike)
}

/// Whether `columns` are in the order of the file, which a copy keeps.
pub(crate) fn are_in_file_order(columns: &[String], file: &ParquetFile) -> bool {
    let place = |column: &String| {
        let fields = file.schema().fields();
        fields.iter().position(|field| is_at_or_below(column, field.name()))
    };
    columns.iter().map(place).is_sorted()
}
