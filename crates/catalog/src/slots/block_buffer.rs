//! Buffers changes of arrays over slots.

use std::collections::BTreeMap;
use std::collections::btree_map;

use lath_store::Transaction;

use super::bounds;
use super::bounds::{BOUNDS_LEN, Bounds};
use crate::error::Result;
use crate::records::{BLOCK_SLOTS, BLOCKS, BlockKey, BlockKind};

/// Maximum bytes of changed blocks in memory.
const MAX_BYTES: usize = 64 << 20;

/// Blocks grow by this many slots at a time.
const SLOTS_AT_A_TIME: usize = 64;

/// Changed blocks of arrays over slots.
#[derive(Debug, Default)]
pub(crate) struct BlockBuffer {
    blocks: BTreeMap<BlockKey, Vec<u8>>,
    bytes: usize,
}

impl BlockBuffer {
    pub(crate) fn set_bounds(
        &mut self,
        transaction: &mut Transaction,
        column: u32,
        slot: u32,
        bounds: Bounds,
    ) -> Result<()> {
        self.set(transaction, BlockKind::Bounds, column, slot, &bounds::to_bytes(bounds))
    }

    pub(crate) fn set_partition(
        &mut self,
        transaction: &mut Transaction,
        column: u32,
        slot: u32,
        row: u32,
    ) -> Result<()> {
        self.set(transaction, BlockKind::Partition, column, slot, &row.to_le_bytes())
    }

    pub(crate) fn set_bit(
        &mut self,
        transaction: &mut Transaction,
        kind: BlockKind,
        column: u32,
        slot: u32,
        bit: bool,
    ) -> Result<()> {
        let within = (slot % BLOCK_SLOTS) as usize;
        let block = self.block(transaction, kind, column, slot)?;
        grow(block, within / 8 + 1, SLOTS_AT_A_TIME / 8, &[0]);
        let mask = 1 << (within % 8);
        if bit {
            block[within / 8] |= mask;
        } else {
            block[within / 8] &= !mask;
        }
        Ok(())
    }

    fn set(
        &mut self,
        transaction: &mut Transaction,
        kind: BlockKind,
        column: u32,
        slot: u32,
        value: &[u8],
    ) -> Result<()> {
        let within = (slot % BLOCK_SLOTS) as usize;
        let block = self.block(transaction, kind, column, slot)?;
        let unknown = match kind {
            BlockKind::Bounds => &bounds::to_bytes(Bounds::UNKNOWN)[..],
            _ => &[0; BOUNDS_LEN][..value.len()],
        };
        grow(block, (within + 1) * value.len(), SLOTS_AT_A_TIME * value.len(), unknown);
        block[within * value.len()..][..value.len()].copy_from_slice(value);
        Ok(())
    }

    fn block(
        &mut self,
        transaction: &mut Transaction,
        kind: BlockKind,
        column: u32,
        slot: u32,
    ) -> Result<&mut Vec<u8>> {
        if self.bytes > MAX_BYTES {
            self.write(transaction)?;
        }
        let key = BlockKey { kind, column, block: slot / BLOCK_SLOTS };
        match self.blocks.entry(key) {
            btree_map::Entry::Occupied(entry) => Ok(entry.into_mut()),
            btree_map::Entry::Vacant(entry) => {
                let block = transaction.tree(BLOCKS)?.get(&key.to_bytes())?.map_or_else(Vec::new, <[u8]>::to_vec);
                self.bytes += BLOCK_SLOTS as usize * BOUNDS_LEN;
                Ok(entry.insert(block))
            }
        }
    }

    /// Writes all changes.
    pub(crate) fn write(&mut self, transaction: &mut Transaction) -> Result<()> {
        let mut tree = transaction.tree(BLOCKS)?;
        for (key, block) in std::mem::take(&mut self.blocks) {
            tree.put(&key.to_bytes(), &block)?;
        }
        self.bytes = 0;
        Ok(())
    }
}

/// Extends a block to at least `len` bytes, a multiple of `step`, by repeating `filling`.
fn grow(block: &mut Vec<u8>, len: usize, step: usize, filling: &[u8]) {
    while block.len() < len.next_multiple_of(step) {
        block.extend_from_slice(filling);
    }
}
