//! Finds and reads single rows of a file. For a file in key order:
//!
//! | step | reads, unless cached |
//! | --- | --- |
//! | rule a key out | the Bloom filters of the row group that the block index gives |
//! | find the row of a key | the key columns of one block |
//! | read a column of a row | one block of the column |

use std::sync::Arc;

use arrow_array::ArrayRef;

use super::block_cache::BlockCache;
use super::data_file::DataFile;
use crate::error::{Error, Result};
use crate::records::{BLOCK_ROWS, BlockIndex, BlockKeys};
use crate::row::ByteList;

/// A key that a file may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KeyInBlock {
    /// Its place among the keys of the lookup.
    pub(crate) at: usize,
    pub(crate) block: usize,
}

impl DataFile {
    /// The row with a key, which has these key columns.
    pub(crate) fn find_row(&self, cache: &BlockCache, key: &[u8], key_columns: &[ArrayRef]) -> Result<Option<u64>> {
        match self.keys() {
            BlockKeys::First(fences) => match self.probe(fences, cache, &[key], key_columns)?[..] {
                [KeyInBlock { block, .. }] => self.row_in_block(cache, block, key),
                _ => Ok(None),
            },
            BlockKeys::Bounds(bounds) => self.row_of_unsorted(bounds, cache, key, key_columns),
        }
    }

    /// Drops the keys that Bloom filters rule out. Keys are in ascending order and have these key columns. Each remaining key comes with
    /// the only block that can have it.
    pub(crate) fn probe(
        &self,
        fences: &BlockIndex,
        cache: &BlockCache,
        keys: &[&[u8]],
        key_columns: &[ArrayRef],
    ) -> Result<Vec<KeyInBlock>> {
        let mut probe = self.blocks()?.probe(key_columns);
        let mut left = Vec::new();
        for (at, block) in fences.find_blocks(keys.iter().copied()).enumerate() {
            let Some(block) = block else { continue };
            if probe.may_have(cache, at, &self.block_rows(block))? {
                left.push(KeyInBlock { at, block });
            }
        }
        Ok(left)
    }

    /// The row of a block that has this key, in a file that is in the order of its keys.
    pub(crate) fn row_in_block(&self, cache: &BlockCache, block: usize, key: &[u8]) -> Result<Option<u64>> {
        let keys = self.keys_of_block(cache, block)?;
        let at = keys.partition_point(|other| other < key);
        let is_it = at < keys.len() && keys.get(at) == key;
        Ok(is_it.then_some(block as u64 * BLOCK_ROWS + at as u64))
    }

    /// The encoded keys of a block, in the order of its rows.
    pub(crate) fn keys_of_block(&self, cache: &BlockCache, block: usize) -> Result<Arc<ByteList>> {
        let blocks = self.blocks()?;
        let encode = || {
            let codec = self.schema().key();
            let columns = codec.columns().iter().map(|&column| {
                let place = self.upgrade().place(column);
                let place = place.ok_or_else(|| Error::corrupt("a file lacks a key column"))?;
                let rows = self.block_rows(block);
                let row_count = (rows.end - rows.start) as usize;
                self.upgrade().column(column, Some(blocks.read(place, rows)?), row_count)
            });
            Ok(codec.encode(&columns.collect::<Result<Vec<_>>>()?)?.iter().collect())
        };
        blocks.keys(cache, block, encode)
    }

    /// A column of a block, by its place in the file's own schema.
    pub(crate) fn column_of_block(&self, cache: &BlockCache, column: usize, block: usize) -> Result<ArrayRef> {
        self.blocks()?.column(cache, column, block, self.block_rows(block))
    }
}
