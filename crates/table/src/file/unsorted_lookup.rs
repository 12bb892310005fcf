//! Finds rows by key in files that are not in key order.
//!
//! | step | by |
//! | --- | --- |
//! | prune row groups | Bloom filters |
//! | prune their blocks | the smallest and the largest key of each block, from the store |
//! | find the rows of the keys | the key columns of these blocks |

use arrow_array::ArrayRef;
use xxhash_rust::xxh3::xxh3_64;

use super::block_cache::BlockCache;
use super::data_file::DataFile;
use super::locate::{KeyLocation, MAX_CACHED_BLOCKS, MAX_PROBED_KEYS, block_ranges};
use crate::error::Result;
use crate::records::{BLOCK_ROWS, KeyBounds};

/// If more keys than this pass the filters of a row group, no more keys are probed: most blocks are read anyway.
const MAX_PASSING_KEYS: usize = 64;

impl DataFile {
    /// The row with a key, which has these key columns.
    pub(crate) fn row_of_unsorted(
        &self,
        bounds: &KeyBounds,
        cache: &BlockCache,
        key: &[u8],
        key_columns: &[ArrayRef],
    ) -> Result<Option<u64>> {
        for block in self.blocks_with(bounds, cache, &[key], Some(key_columns))? {
            if let Some(at) = self.keys_of_block(cache, block)?.iter().position(|other| other == key) {
                return Ok(Some(block as u64 * BLOCK_ROWS + at as u64));
            }
        }
        Ok(None)
    }

    /// The rows that have one of `keys`, which are in ascending order and distinct, in ascending order of rows.
    pub(crate) fn locate_unsorted(
        &self,
        bounds: &KeyBounds,
        cache: &BlockCache,
        keys: &[&[u8]],
    ) -> Result<Vec<KeyLocation>> {
        let codec = self.schema().key();
        let is_probed = keys.len() <= MAX_PROBED_KEYS;
        let key_columns = if is_probed { Some(codec.decode(keys.iter().copied())?) } else { None };
        let blocks = self.blocks_with(bounds, cache, keys, key_columns.as_deref())?;
        let mut found = Vec::new();
        if blocks.len() <= MAX_CACHED_BLOCKS {
            for block in blocks {
                for (at, key) in self.keys_of_block(cache, block)?.iter().enumerate() {
                    if let Ok(place) = keys.binary_search(&key) {
                        found.push((place, block as u64 * BLOCK_ROWS + at as u64));
                    }
                }
                if found.len() == keys.len() {
                    break;
                }
            }
            return Ok(found);
        }
        let scan = self.scan(codec.columns())?.rows(block_ranges(self, blocks.into_iter()));
        let places = Places::of(keys);
        for batch in self.numbered(scan, codec.columns())? {
            let (columns, rows) = batch?;
            for (key, row) in codec.encode(&columns)?.iter().zip(rows) {
                if let Some(place) = places.place(key.data()) {
                    found.push((place, row));
                }
            }
            if found.len() == keys.len() {
                break;
            }
        }
        Ok(found)
    }

    /// The blocks that may have one of `keys`, which are in ascending order. Without key columns, filters are not
    /// probed.
    fn blocks_with(
        &self,
        bounds: &KeyBounds,
        cache: &BlockCache,
        keys: &[&[u8]],
        key_columns: Option<&[ArrayRef]>,
    ) -> Result<Vec<usize>> {
        let blocks = self.blocks()?;
        let mut probe = key_columns.map(|columns| blocks.probe(columns));
        // The row groups of the last block, and the keys that pass their filters.
        let mut row_groups = 0..0;
        let mut passing: Vec<&[u8]> = keys.to_vec();
        let mut found = Vec::new();
        for block in 0..bounds.len() {
            let bounds = bounds.block(block);
            if !has_any_within(keys, bounds) {
                continue;
            }
            let rows = self.block_rows(block);
            if let Some(probe) = &mut probe
                && row_groups != blocks.row_groups_with(&rows)
            {
                row_groups = blocks.row_groups_with(&rows);
                passing.clear();
                for (at, &key) in keys.iter().enumerate() {
                    if probe.may_have(cache, at, &rows)? {
                        passing.push(key);
                    }
                    if passing.len() > MAX_PASSING_KEYS {
                        passing = keys.to_vec();
                        break;
                    }
                }
            }
            if has_any_within(&passing, bounds) {
                found.push(block);
            }
        }
        Ok(found)
    }
}

/// The places of keys, by their hashes.
struct Places<'k> {
    keys: &'k [&'k [u8]],
    /// One more than the place of a key, or 0; a power of two of slots, at least twice as many as keys.
    slots: Vec<usize>,
}

impl<'k> Places<'k> {
    fn of(keys: &'k [&'k [u8]]) -> Self {
        let mut places = Self { keys, slots: vec![0; (keys.len() * 2).next_power_of_two()] };
        for (place, key) in keys.iter().enumerate() {
            let free = places.probe_slots(key).find(|slot| places.slots[*slot] == 0);
            if let Some(free) = free {
                places.slots[free] = place + 1;
            }
        }
        places
    }

    fn place(&self, key: &[u8]) -> Option<usize> {
        let slots = self.probe_slots(key).map(|slot| self.slots[slot]).take_while(|place| *place > 0);
        slots.map(|place| place - 1).find(|place| self.keys[*place] == key)
    }

    /// The possible slots of a key: each once, beginning with the slot of its hash.
    fn probe_slots(&self, key: &[u8]) -> impl Iterator<Item = usize> + use<> {
        let (hash, mask) = (xxh3_64(key) as usize, self.slots.len() - 1);
        (0..=mask).map(move |step| hash.wrapping_add(step) & mask)
    }
}

/// Whether one of `keys`, which are in ascending order, lies between these two or is one of them.
fn has_any_within(keys: &[&[u8]], (least, greatest): (&[u8], &[u8])) -> bool {
    let first = keys.partition_point(|key| *key < least);
    keys.get(first).is_some_and(|key| *key <= greatest)
}
