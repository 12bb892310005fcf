//! Exports a table as plain Parquet files.

mod files;

use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{FieldRef, Schema, SchemaRef};
use lath_writer::{AtomicFiles, ParquetWriter, UncommittedFiles};

use crate::computed::IDENTITY_KEY;
use crate::error::{Error, Result};
use crate::file::entries;
use crate::read::{RangeScan, Snapshot};
use crate::row::GENERATED_KEY;
use crate::row::key::KeyRange;

pub use self::files::ExportedWithDeletes;

/// The metadata key of the column with the numbers of rows, in a table without a primary key. Exports leave the column out: the numbers have a
/// meaning within the table only.
pub const ROW_NUMBERS_KEY: &str = "lath:row_number";

/// The places of the columns that are exported, and these columns.
fn exported_columns(schema: &SchemaRef) -> Result<(Vec<usize>, SchemaRef)> {
    let fields = schema.fields().iter().enumerate();
    let places: Vec<usize> =
        fields.filter(|(_, field)| !field.metadata().contains_key(ROW_NUMBERS_KEY)).map(|(place, _)| place).collect();
    let Schema { fields, metadata } = schema.project(&places)?;
    let plain = |field: &FieldRef| {
        let mut metadata = field.metadata().clone();
        metadata.retain(|key, _| key != GENERATED_KEY && key != IDENTITY_KEY);
        field.as_ref().clone().with_metadata(metadata)
    };
    let fields = fields.iter().map(plain).collect::<Vec<_>>();
    Ok((places, Arc::new(Schema::new_with_metadata(fields, metadata))))
}

/// Counts of [`Snapshot::export`].
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ExportReport {
    /// Number of rows.
    pub rows: u64,
    /// Number of files.
    pub files: usize,
}

impl Snapshot {
    /// Writes all rows in key order to plain Parquet files in `folder`, which is created if it does not exist. The files are named
    /// `part-00000.parquet` and so on, have at most as many rows as files of the table, and appear together. A table without rows becomes
    /// one file without rows. The numbers of rows of a table without a primary key are left out. [`export_with_deletes`](Self::export_with_deletes) exports the table's own files instead.
    ///
    /// # Errors
    /// [`Error::NotEmpty`] if the folder has anything in it, because its rows would be taken for rows of the table; and any error of
    /// reading or writing.
    pub fn export(&self, folder: impl AsRef<Path>) -> Result<ExportReport> {
        let folder = folder.as_ref();
        assert_empty(folder)?;
        let (engine, pinned) = self.parts();
        let mut exported = ExportReport::default();
        let mut files = AtomicFiles::create_with(folder, "part", &UncommittedFiles::new())?;
        let mut writer = None;
        let mut room = 0;
        let scan = RangeScan::new(Arc::clone(engine), Ok(Box::new(Arc::clone(pinned))), KeyRange::default());
        // Other libraries look for it in the footer: pandas's index is there.
        let (places, schema) = exported_columns(self.schema())?;
        let mut metadata: Vec<_> = schema.metadata().iter().collect();
        metadata.sort_unstable();
        let options = metadata
            .into_iter()
            .fold(engine.options.write.clone(), |options, (key, value)| options.key_value_metadata(key, value.clone()));
        let mut start = |exported: &mut ExportReport| {
            let path = files.path(format!("part-{:05}.parquet", exported.files))?;
            exported.files += 1;
            ParquetWriter::create(path, &schema, options.clone())
        };
        for batch in scan.build()? {
            let batch = batch?;
            let columns = places.iter().map(|&place| Arc::clone(batch.column(place))).collect();
            let batch = RecordBatch::try_new(Arc::clone(&schema), columns)?;
            let mut at = 0;
            while at < batch.num_rows() {
                if room == 0 {
                    if let Some(full) = writer.take() {
                        ParquetWriter::finish(full)?;
                    }
                    writer = Some(start(&mut exported)?);
                    room = usize::try_from(engine.options.file_rows).unwrap_or(usize::MAX);
                }
                let len = room.min(batch.num_rows() - at);
                if let Some(writer) = &mut writer {
                    writer.write(&batch.slice(at, len))?;
                }
                (at, room) = (at + len, room - len);
                exported.rows += len as u64;
            }
        }
        let writer = match writer {
            Some(writer) => writer,
            None => start(&mut exported)?,
        };
        writer.finish()?;
        files.commit()?;
        Ok(exported)
    }
}

/// Whether files of this name are written before they are whole.
fn is_partial(name: &str) -> bool {
    let rest = name.strip_prefix('.').and_then(|name| name.strip_suffix(".partial"));
    let number = rest.and_then(|rest| rest.rsplit_once(".lath-")).map(|(_, number)| number);
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// An error if the folder has anything in it; it need not be there.
pub(crate) fn assert_empty(folder: &Path) -> Result<()> {
    for entry in entries(folder)?.into_iter().flatten() {
        // The next export removes the files of one that was killed.
        if !is_partial(&entry?.file_name().to_string_lossy()) {
            return Err(Error::NotEmpty { folder: folder.to_owned() });
        }
    }
    Ok(())
}
