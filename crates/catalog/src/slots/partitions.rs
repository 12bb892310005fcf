//! The partition columns that a catalog has.

use lath_parquet::PartitionColumn;
use lath_store::{RecordReader, Tree};

use crate::error::Result;
use crate::records::{PARTITIONS_KEY, ipc};

/// A partition column, and its number among the columns.
#[derive(Debug)]
pub(crate) struct KnownPartition {
    pub(crate) id: u32,
    pub(crate) column: PartitionColumn,
}

/// The partition columns that a catalog has.
pub(crate) fn read(meta: Tree<'_>) -> Result<Vec<KnownPartition>> {
    let Some(bytes) = meta.get(PARTITIONS_KEY)? else { return Ok(Vec::new()) };
    let mut record = RecordReader::new("the partition columns", bytes)?;
    let count = record.u32()?;
    let mut column = || {
        let id = record.u32()?;
        let (field, values) = ipc::array_from_bytes(record.bytes()?)?;
        Ok(KnownPartition { id, column: PartitionColumn::new(field, values) })
    };
    (0..count).map(|_| column()).collect()
}
