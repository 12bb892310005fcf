//! Planning columns: the columns by which files are ruled out.

use arrow_schema::{Schema, SchemaRef};
use lath_store::{RecordReader, RecordWriter, Tree};

use super::ipc;
use super::trees::number_in;
use crate::error::{Error, Result};

/// A column, or several that are looked up together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PlanningColumn {
    pub(crate) id: u32,
    pub(crate) kind: ColumnKind,
    /// Names and types: one field, or one for each column of a key.
    pub(crate) schema: SchemaRef,
}

/// The source of the values of a planning column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ColumnKind {
    /// A column of the files.
    File = 1,
    /// A Hive partition: the names of directories.
    Partition = 2,
    /// One or several columns of files, for which the catalog has made filters. These columns have no bounds.
    Made = 3,
}

impl PlanningColumn {
    /// All columns in a tree, in the order of their numbers.
    pub(crate) fn read_all(tree: Tree<'_>) -> Result<Vec<Self>> {
        let column = |entry: lath_store::Result<lath_store::Entry<'_>>| {
            let (key, value) = entry?;
            let id = number_in(&key).ok_or_else(|| Error::corrupt("a column without a number"))?;
            Self::from_record(id, value)
        };
        tree.iter().map(column).collect()
    }

    /// The name of the only column.
    pub(crate) fn name(&self) -> &str {
        self.schema.fields().first().map_or("", |field| field.name())
    }

    /// Whether the column has this kind, and the names and types of the fields of `schema`.
    pub(crate) fn is_like(&self, kind: ColumnKind, schema: &Schema) -> bool {
        let same = |(one, other): (&arrow_schema::FieldRef, &arrow_schema::FieldRef)| {
            one.name() == other.name() && one.data_type() == other.data_type()
        };
        let (own, other) = (self.schema.fields(), schema.fields());
        self.kind == kind && own.len() == other.len() && own.iter().zip(other).all(same)
    }

    pub(crate) fn to_record(&self) -> Result<Vec<u8>> {
        Ok(RecordWriter::default().u32(self.kind as u32).bytes(&ipc::schema_to_bytes(&self.schema)?).finish())
    }

    pub(crate) fn from_record(id: u32, bytes: &[u8]) -> Result<Self> {
        let mut record = RecordReader::new("a column", bytes)?;
        let kind = match record.u32()? {
            1 => ColumnKind::File,
            2 => ColumnKind::Partition,
            3 => ColumnKind::Made,
            other => return Err(Error::corrupt(format!("column {id}: expected kind 1, 2 or 3, found {other}"))),
        };
        Ok(Self { id, kind, schema: ipc::schema_from_bytes(record.bytes()?)? })
    }
}
