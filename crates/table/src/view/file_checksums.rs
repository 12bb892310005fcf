//! Checksums of the blocks of a file, which are in the store. Reads of the file are verified by them.

use std::sync::Arc;

use lath_parquet::BlockChecksums;
use lath_store::{RecordReader, RecordWriter};

use super::View;
use super::engine::Engine;
use crate::error::{Error, Result};
use crate::records::{FileEntry, TreeName, file_key};

/// The length of the file, how many blocks it has, and the checksum of each.
pub(crate) fn checksums_to_bytes(checksums: &BlockChecksums) -> Vec<u8> {
    let mut record = RecordWriter::default();
    record.u64(checksums.file_len()).u32(checksums.checksums().len() as u32);
    for &checksum in checksums.checksums() {
        record.u32(checksum);
    }
    record.finish()
}

fn checksums_from_bytes(bytes: &[u8]) -> Result<Option<BlockChecksums>> {
    let mut record = RecordReader::new("the checksums of a file's blocks", bytes)?;
    let (len, count) = (record.u64()?, record.u32()?);
    let checksums = (0..count).map(|_| record.u32()).collect::<Result<Vec<_>, _>>()?;
    Ok(BlockChecksums::new(len, checksums))
}

impl Engine {
    /// The checksums of a file that a view has; `None` for a file that was written before tables kept them.
    pub(crate) fn checksums(&self, view: &mut dyn View, entry: &FileEntry) -> Result<Option<Arc<BlockChecksums>>> {
        if !entry.is_checksummed {
            return Ok(None);
        }
        let stored = match view.tree(TreeName::Checksums)? {
            Some(tree) => tree.get(&file_key(entry.number))?.map(checksums_from_bytes).transpose()?.flatten(),
            None => None,
        };
        match stored.filter(|checksums| checksums.file_len() == entry.bytes) {
            Some(checksums) => Ok(Some(Arc::new(checksums))),
            None => Err(Error::corrupt(format!("the checksums of the blocks of {} are missing", entry.name))),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[test]
    fn checksums_are_read_as_they_were_written() {
        let checksums = BlockChecksums::new(20_000, vec![7, 8, u32::MAX]).unwrap();
        let bytes = checksums_to_bytes(&checksums);
        assert_eq!(checksums_from_bytes(&bytes).unwrap(), Some(checksums));
        assert!(checksums_from_bytes(&bytes[1..]).is_err());
    }
}
