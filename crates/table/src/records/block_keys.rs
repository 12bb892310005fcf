//! The keys of the blocks of a file, which are in the store.

use super::block_index::{BLOCK_ROWS, BlockIndex, keys_from_bytes, keys_to_bytes};
use super::layout::FileEntry;
use crate::error::{Error, Result};
use crate::row::ByteList;
use crate::row::key::KeyRange;

/// Keys of each block of a file.
#[derive(Debug, Clone)]
pub(crate) enum BlockKeys {
    /// Rows are in the order of their keys: the first key of each block.
    First(BlockIndex),
    /// Rows are in another order: the smallest and the largest key of each block.
    Bounds(KeyBounds),
}

impl BlockKeys {
    /// No keys yet, of a file that is sorted by its keys or by other columns.
    pub(crate) fn new(is_by_key: bool) -> Self {
        if is_by_key { Self::First(BlockIndex::default()) } else { Self::Bounds(KeyBounds::default()) }
    }

    /// The number of blocks.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::First(fences) => fences.len(),
            Self::Bounds(bounds) => bounds.len(),
        }
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        match self {
            Self::First(fences) => fences.to_bytes(),
            Self::Bounds(bounds) => keys_to_bytes(&bounds.keys),
        }
    }

    /// The keys of a file with this entry.
    pub(crate) fn from_bytes(entry: &FileEntry, bytes: &[u8]) -> Result<Self> {
        if entry.is_by_key() {
            return Ok(Self::First(BlockIndex::from_bytes(bytes)?));
        }
        let keys = keys_from_bytes(bytes)?;
        match keys.len().is_multiple_of(2) {
            true => Ok(Self::Bounds(KeyBounds { keys, ..KeyBounds::default() })),
            false => Err(Error::corrupt(format!("a block of {} lacks its greatest key", entry.name))),
        }
    }
}

/// The smallest and the largest key of each block of a file.
#[derive(Debug, Clone, Default)]
pub(crate) struct KeyBounds {
    /// Alternating: the smallest and the largest key of each block.
    keys: ByteList,
    /// The keys of the current block.
    least: Vec<u8>,
    greatest: Vec<u8>,
    row_count: u64,
}

impl KeyBounds {
    /// Adds the key of the next row.
    ///
    /// # Errors
    /// If keys take more than 4 GiB, which files are too short for.
    pub(crate) fn push(&mut self, key: &[u8]) -> Result<()> {
        if self.row_count == 0 || key < &self.least[..] {
            key.clone_into(&mut self.least);
        }
        if self.row_count == 0 || key > &self.greatest[..] {
            key.clone_into(&mut self.greatest);
        }
        self.row_count += 1;
        if self.row_count == BLOCK_ROWS { self.end_block() } else { Ok(()) }
    }

    /// Completes the last block.
    ///
    /// # Errors
    /// As [`push`](Self::push).
    pub(crate) fn end_block(&mut self) -> Result<()> {
        if self.row_count > 0 {
            self.keys.push(&self.least);
            self.keys.push(&self.greatest);
            self.row_count = 0;
        }
        match u32::try_from(self.keys.bytes().len()) {
            Ok(_) => Ok(()),
            Err(_) => Err(Error::internal("the keys of a file's blocks are too long")),
        }
    }

    /// The number of blocks.
    pub(crate) fn len(&self) -> usize {
        self.keys.len() / 2
    }

    /// The smallest and the largest key of a block.
    pub(crate) fn block(&self, block: usize) -> (&[u8], &[u8]) {
        (self.keys.get(2 * block), self.keys.get(2 * block + 1))
    }

    /// The smallest and the largest key of all blocks; `None` if there are none.
    pub(crate) fn whole_file(&self) -> Option<(&[u8], &[u8])> {
        let blocks = || (0..self.len()).map(|block| self.block(block));
        Some((blocks().map(|(least, _)| least).min()?, blocks().map(|(_, greatest)| greatest).max()?))
    }

    /// The blocks that may have keys of a range.
    pub(crate) fn in_range(&self, range: &KeyRange) -> impl Iterator<Item = usize> {
        (0..self.len()).filter(move |&block| {
            let (least, greatest) = self.block(block);
            range.overlaps(least, greatest)
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[test]
    fn bounds_are_the_least_and_the_greatest_key_of_each_block() {
        let mut bounds = KeyBounds::default();
        let key = |row: u64| (row * 7919 % 5000).to_be_bytes();
        (0..2500).for_each(|row| bounds.push(&key(row)).unwrap());
        bounds.end_block().unwrap();
        assert_eq!(bounds.len(), 3);
        for block in 0..3 {
            let keys = || (block as u64 * BLOCK_ROWS..2500.min((block as u64 + 1) * BLOCK_ROWS)).map(key);
            assert_eq!(bounds.block(block), (&keys().min().unwrap()[..], &keys().max().unwrap()[..]));
        }
        let all = || (0..2500).map(key);
        assert_eq!(bounds.whole_file(), Some((&all().min().unwrap()[..], &all().max().unwrap()[..])));
        let again = keys_from_bytes(&keys_to_bytes(&bounds.keys)).unwrap();
        assert!(again.iter().eq(bounds.keys.iter()));
        let none = KeyRange { low: 5000_u64.to_be_bytes().to_vec(), high: None };
        assert_eq!((bounds.in_range(&KeyRange::default()).count(), bounds.in_range(&none).count()), (3, 0));
    }
}
