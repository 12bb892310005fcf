//! The table of Delta Lake or Iceberg whose files a catalog has.

use arrow_schema::SchemaRef;
use lath_parquet::{FileVersion, FolderFormat};
#[cfg(feature = "lake")]
use lath_store::RecordWriter;
use lath_store::{RecordReader, Tree};

use super::trees::TABLE_KEY;
use super::{ipc, version};
use crate::error::{Error, Result};

/// The version of a table that a catalog has read.
#[derive(Debug, Clone)]
#[cfg_attr(not(feature = "lake"), allow(dead_code, reason = "a build without lakes only refuses tables"))]
pub(crate) struct TableRecord {
    pub(crate) format: FolderFormat,
    /// The identity of the table.
    pub(crate) id: String,
    pub(crate) version: i64,
    /// The newest file of the log: its name below the table's folder, and its state.
    pub(crate) log: Option<(String, FileVersion)>,
    pub(crate) schema: SchemaRef,
    /// How columns are found in files, as JSON.
    pub(crate) columns: String,
}

const DELTA_LAKE: u32 = 1;
const ICEBERG: u32 = 2;

impl TableRecord {
    /// The record in `meta`; `None` for a catalog of plain files.
    pub(crate) fn read(meta: Option<Tree<'_>>) -> Result<Option<Self>> {
        let Some(bytes) = meta.map(|meta| meta.get(TABLE_KEY)).transpose()?.flatten() else { return Ok(None) };
        let mut record = RecordReader::new("the table", bytes)?;
        let format = match record.u32()? {
            DELTA_LAKE => FolderFormat::DeltaLake,
            ICEBERG => FolderFormat::Iceberg,
            other => return Err(Error::corrupt(format!("the table: expected format 1 or 2, found {other}"))),
        };
        let (id, version) = (record.text()?.to_owned(), record.u64()? as i64);
        let log = match record.u32()? {
            0 => None,
            _ => Some((record.text()?.to_owned(), version::read(&mut record)?)),
        };
        let schema = ipc::schema_from_bytes(record.bytes()?)?;
        Ok(Some(Self { format, id, version, log, schema, columns: record.text()?.to_owned() }))
    }

    #[cfg(feature = "lake")]
    pub(crate) fn to_record(&self) -> Result<Vec<u8>> {
        let mut record = RecordWriter::default();
        record.u32(if self.format == FolderFormat::DeltaLake { DELTA_LAKE } else { ICEBERG });
        record.bytes(self.id.as_bytes()).u64(self.version as u64).u32(u32::from(self.log.is_some()));
        if let Some((name, state)) = &self.log {
            record.bytes(name.as_bytes());
            version::write(state, &mut record);
        }
        record.bytes(&ipc::schema_to_bytes(&self.schema)?).bytes(self.columns.as_bytes());
        Ok(record.finish())
    }
}
