//! The schemas of files.

use arrow_schema::SchemaRef;
use lath_store::{RecordReader, RecordWriter, Tree};

use super::ipc;
use super::trees::number_in;
use crate::error::{Error, Result};

/// The record of a schema.
#[derive(Debug)]
pub(crate) struct StoredSchema {
    pub(crate) id: u32,
    /// The number of files with this schema.
    pub(crate) files: u32,
    pub(crate) schema: SchemaRef,
}

impl StoredSchema {
    /// All schemas in a tree, in the order of their numbers.
    pub(crate) fn read_all(tree: Tree<'_>) -> Result<Vec<Self>> {
        let schema = |entry: lath_store::Result<lath_store::Entry<'_>>| {
            let (key, value) = entry?;
            let id = number_in(&key).ok_or_else(|| Error::corrupt("a schema without a number"))?;
            let mut record = RecordReader::new("a schema", value)?;
            Ok(Self { id, files: record.u32()?, schema: ipc::schema_from_bytes(record.bytes()?)? })
        };
        tree.iter().map(schema).collect()
    }

    pub(crate) fn to_record(&self) -> Result<Vec<u8>> {
        Ok(RecordWriter::default().u32(self.files).bytes(&ipc::schema_to_bytes(&self.schema)?).finish())
    }
}
