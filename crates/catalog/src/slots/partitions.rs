//! Reads the partition columns of a catalog.

use lath_parquet::PartitionColumn;
use lath_store::{RecordReader, Tree};

use crate::error::Result;
use crate::records::{PARTITIONS_KEY, ipc};

/// A partition column, and the number of its planning column.
#[derive(Debug)]
pub(crate) struct CatalogPartition {
    pub(crate) id: u32,
    pub(crate) column: PartitionColumn,
}

/// The partition columns of a catalog.
pub(crate) fn read(meta: Tree<'_>) -> Result<Vec<CatalogPartition>> {
    let Some(bytes) = meta.get(PARTITIONS_KEY)? else { return Ok(Vec::new()) };
    let mut record = RecordReader::new("the partition columns", bytes)?;
    let count = record.u32()?;
    let mut column = || {
        let id = record.u32()?;
        let (field, values) = ipc::array_from_bytes(record.bytes()?)?;
        Ok(CatalogPartition { id, column: PartitionColumn::new(field, values) })
    };
    (0..count).map(|_| column()).collect()
}
