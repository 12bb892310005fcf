//! The first key of every block of rows, for files in key order.

use lath_store::{RecordReader, RecordWriter};

use crate::error::{Error, Result};
use crate::row::ByteList;

/// Rows of a block: what is read of the key columns to find one key. Pages of key columns have as many rows.
pub(crate) const BLOCK_ROWS: u64 = 1024;

/// The first keys of the blocks of a file, in ascending order.
#[derive(Debug, Default, Clone)]
pub(crate) struct BlockIndex {
    keys: ByteList,
}

impl BlockIndex {
    /// Adds the first key of the next block.
    ///
    /// # Errors
    /// If keys take more than 4 GiB, which files are too short for.
    pub(crate) fn push(&mut self, key: &[u8]) -> Result<()> {
        self.keys.push(key);
        match u32::try_from(self.keys.bytes().len()) {
            Ok(_) => Ok(()),
            Err(_) => Err(Error::internal("the first keys of a file are too long")),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    pub(crate) fn key(&self, block: usize) -> &[u8] {
        self.keys.get(block)
    }

    /// The block that has `key` if any has: the last that does not begin behind it.
    pub(crate) fn find_block(&self, key: &[u8]) -> Option<usize> {
        self.keys.partition_point(|first| first <= key).checked_sub(1)
    }

    /// For each of these keys, which are in ascending order, the block that has it if any has.
    pub(crate) fn find_blocks<'k>(
        &self,
        keys: impl IntoIterator<Item = &'k [u8]>,
    ) -> impl Iterator<Item = Option<usize>> {
        // The number of blocks that do not begin behind the key before.
        let mut end = 0;
        keys.into_iter().map(move |key| {
            let mut step = 1;
            while end + step <= self.len() && self.key(end + step - 1) <= key {
                end += step;
                step *= 2;
            }
            end = self.keys.partition_point_in(end..self.len().min(end + step), |first| first <= key);
            end.checked_sub(1)
        })
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        keys_to_bytes(&self.keys)
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Ok(Self { keys: keys_from_bytes(bytes)? })
    }
}

/// Keys as a record of the store.
pub(crate) fn keys_to_bytes(keys: &ByteList) -> Vec<u8> {
    let mut record = RecordWriter::default();
    record.u32(keys.len() as u32);
    for &end in keys.ends() {
        record.u32(end as u32);
    }
    record.bytes(keys.bytes()).finish()
}

pub(crate) fn keys_from_bytes(bytes: &[u8]) -> Result<ByteList> {
    let mut record = RecordReader::new("the keys of a file's blocks", bytes)?;
    let count = record.u32()?;
    let ends = (0..count).map(|_| record.u32()).collect::<Result<Vec<_>, _>>()?;
    let bytes = record.bytes()?;
    let out_of_order = || Error::corrupt("the keys of a file's blocks are out of order");
    let (mut keys, mut start) = (ByteList::default(), 0);
    for end in ends.into_iter().map(|end| end as usize) {
        keys.push(bytes.get(start..end).ok_or_else(out_of_order)?);
        start = end;
    }
    if start == bytes.len() { Ok(keys) } else { Err(out_of_order()) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[test]
    fn the_block_of_a_key_is_the_last_that_does_not_begin_behind_it() {
        let mut fences = BlockIndex::default();
        for key in ["b", "bb", "d"] {
            fences.push(key.as_bytes()).unwrap();
        }
        let fences = BlockIndex::from_bytes(&fences.to_bytes()).unwrap();
        let blocks = ["a", "b", "ba", "bb", "c", "d", "e"].map(|key| fences.find_block(key.as_bytes()));
        assert_eq!(blocks, [None, Some(0), Some(0), Some(1), Some(1), Some(2), Some(2)]);
        let many: BlockIndex = BlockIndex { keys: (0..500_u32).map(|key| (key * 3).to_be_bytes()).collect() };
        for step in [1, 2, 7, 100, 999] {
            let keys: Vec<[u8; 4]> = (0..1600_u32).step_by(step).map(u32::to_be_bytes).collect();
            let single = keys.iter().map(|key| many.find_block(key));
            assert!(many.find_blocks(keys.iter().map(|key| &key[..])).eq(single), "{step}");
        }
    }
}
