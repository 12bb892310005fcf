//! Copies row groups byte for byte.

use lath_format::schema::is_at_or_below;
use lath_parquet::{Error, ParquetFile, Projection};
use lath_writer::{ParquetWriter, WriteOptions, WriteSummary};

use super::footer_keys::{self, KeptContent, Outcome};
use crate::failure::{Failure, Result};
use crate::target::Target;

/// A Parquet file that is assembled from row groups of other files.
pub(crate) struct CopiedFile {
    writer: ParquetWriter<Target>,
    name: String,
}

impl CopiedFile {
    /// Starts a file with `columns` of `file` (all if `None`) and its key-value metadata, as far as they are true of the copy:
    /// `keeps_rows` says whether it gets all rows of the file and no others.
    pub(crate) fn like(
        target: Target,
        file: &ParquetFile,
        columns: Option<&[String]>,
        keeps_rows: bool,
    ) -> Result<Self> {
        let name = target.name().to_owned();
        let projection = columns.map(|columns| Projection::from_paths(columns.iter().cloned()));
        let options = adapted_keys(WriteOptions::default().threads(1), file, columns, keeps_rows);
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

/// Sets the options for keys of `file` that do not hold for the copy.
fn adapted_keys(
    options: WriteOptions,
    file: &ParquetFile,
    columns: Option<&[String]>,
    keeps_rows: bool,
) -> WriteOptions {
    let is_chosen =
        |name: &String| columns.is_none_or(|columns| columns.iter().any(|column| is_at_or_below(column, name)));
    let names = || file.schema().fields().iter().map(|field| field.name().clone());
    let kept_names: Vec<String> = names().filter(is_chosen).collect();
    let lacks_columns = kept_names.len() < names().count();
    let kept = KeptContent { columns: &kept_names, lacks_columns, has_same_rows: keeps_rows, keeps_range: false };
    let keys = file.metadata().key_value_metadata().into_iter();
    keys.filter_map(|pair| Some((footer_keys::adapt(&pair.key, pair.value.as_deref()?, kept)?, pair.key))).fold(
        options,
        |options, ((outcome, note), key)| {
            footer_keys::say(note);
            let without = options.without_key_value_metadata(key.as_str());
            match outcome {
                Outcome::Changed(value) => without.key_value_metadata(key, value),
                Outcome::Dropped => without,
            }
        },
    )
}

/// Whether row groups of all files can be in one file, which takes the same Parquet schema, and pages that can be read without the
/// name of their writer.
pub(crate) fn are_copyable(files: &[ParquetFile]) -> Result<bool> {
    let root = |file: &ParquetFile| file.metadata().schema_descr().root_schema_ptr();
    let are_alike = files.windows(2).all(|pair| root(&pair[0]).as_ref() == root(&pair[1]).as_ref());
    for file in files.iter().filter(|_| are_alike) {
        if lath_writer::needs_writer_name(file).map_err(|error| Failure::reading("the input", error))? {
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
