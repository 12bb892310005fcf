//! Cache of the blocks that gets read from files.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::{Array, ArrayRef};
use lath_parquet::StoredFilter;

use crate::row::ByteList;

/// Shards of the cache, each with a lock and an equal share of the space.
const SHARDS: usize = 8;

/// Overhead of an entry, in bytes.
const ENTRY_BYTES: usize = 128;

/// The content of a part of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Part {
    /// The Bloom filters of a row group.
    Filters { row_group: u32 },
    /// The encoded keys of a block.
    Keys { block: u32 },
    /// The values of a column of the file in a block.
    Column { column: u32, block: u32 },
}

/// A part of a file: a number that no other file has, and which part it is.
pub(crate) type PartOfFile = (u64, Part);

/// The Bloom filters of a row group, by key column; `None` for a column without a usable filter.
pub(crate) type RowGroupFilters = Vec<Option<StoredFilter>>;

/// A part of a file, decoded.
#[derive(Debug, Clone)]
pub(crate) enum CacheEntry {
    Filters(Arc<RowGroupFilters>),
    Keys(Arc<ByteList>),
    Column(ArrayRef),
}

impl CacheEntry {
    fn memory_bytes(&self) -> usize {
        let content = match self {
            Self::Filters(filters) => filters.iter().flatten().map(|filter| filter.bytes.len()).sum(),
            Self::Keys(keys) => keys.memory_bytes(),
            Self::Column(array) => array.get_array_memory_size(),
        };
        ENTRY_BYTES + content
    }
}

/// Cache of parts of files, of bounded size. The clock algorithm evicts parts that were not used recently.
#[derive(Debug)]
pub(crate) struct BlockCache {
    shards: Box<[Mutex<Shard>]>,
}

impl BlockCache {
    /// A cache of at most `max_bytes`.
    pub(crate) fn new(max_bytes: u64) -> Self {
        let room = usize::try_from(max_bytes).unwrap_or(usize::MAX) / SHARDS;
        Self { shards: (0..SHARDS).map(|_| Mutex::new(Shard::new(room))).collect() }
    }

    pub(crate) fn get(&self, part: &PartOfFile) -> Option<CacheEntry> {
        self.shard(part).lock().unwrap_or_else(PoisonError::into_inner).get(part)
    }

    /// Caches a part, unless it is larger than a shard.
    pub(crate) fn put(&self, part: PartOfFile, cached: CacheEntry) {
        self.shard(&part).lock().unwrap_or_else(PoisonError::into_inner).put(part, cached);
    }

    fn shard(&self, part: &PartOfFile) -> &Mutex<Shard> {
        let mut hasher = PartHasher::default();
        std::hash::Hash::hash(part, &mut hasher);
        // The map takes other bits.
        &self.shards[(hasher.finish() >> 32) as usize % SHARDS]
    }
}

#[derive(Debug)]
struct Shard {
    room: usize,
    used: usize,
    slots: Vec<Slot>,
    /// The slot of each part.
    places: HashMap<PartOfFile, usize, BuildHasherDefault<PartHasher>>,
    /// The slot that eviction examines next.
    hand: usize,
}

#[derive(Debug)]
struct Slot {
    part: PartOfFile,
    cached: CacheEntry,
    bytes: usize,
    /// Whether it was read since the clock hand last passed it.
    is_used: bool,
}

impl Shard {
    fn new(room: usize) -> Self {
        Self { room, used: 0, slots: Vec::new(), places: HashMap::default(), hand: 0 }
    }

    fn get(&mut self, part: &PartOfFile) -> Option<CacheEntry> {
        let slot = &mut self.slots[*self.places.get(part)?];
        slot.is_used = true;
        Some(slot.cached.clone())
    }

    fn put(&mut self, part: PartOfFile, cached: CacheEntry) {
        let bytes = cached.memory_bytes();
        if bytes > self.room || self.places.contains_key(&part) {
            return;
        }
        while self.used + bytes > self.room {
            self.evict_one();
        }
        self.used += bytes;
        self.places.insert(part, self.slots.len());
        self.slots.push(Slot { part, cached, bytes, is_used: false });
    }

    fn evict_one(&mut self) {
        loop {
            if self.hand >= self.slots.len() {
                self.hand = 0;
            }
            let slot = &mut self.slots[self.hand];
            if !std::mem::take(&mut slot.is_used) {
                break;
            }
            self.hand += 1;
        }
        let evicted = self.slots.swap_remove(self.hand);
        self.places.remove(&evicted.part);
        self.used -= evicted.bytes;
        if let Some(moved) = self.slots.get(self.hand) {
            self.places.insert(moved.part, self.hand);
        }
    }
}

/// Hashes the numbers of a part by multiplication. They come from the table itself, so that no attacker chooses them.
#[derive(Debug, Default, Clone, Copy)]
struct PartHasher(u64);

impl Hasher for PartHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(byte.into()));
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(number.into());
    }

    fn write_isize(&mut self, number: isize) {
        self.write_u64(number as u64);
    }

    fn write_u64(&mut self, number: u64) {
        let product = u128::from(self.0 ^ number.wrapping_add(0x9e37_79b9_7f4a_7c15)) * 0xd1b5_4a32_d192_ed03;
        self.0 = (product >> 64) as u64 ^ product as u64;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::Int64Array;

    use super::*;

    fn column(len: usize) -> CacheEntry {
        CacheEntry::Column(Arc::new(Int64Array::from(vec![7; len])))
    }

    fn part(block: u32) -> PartOfFile {
        (1, Part::Column { column: 2, block })
    }

    #[test]
    fn parts_stay_within_the_room_and_those_in_use_stay_longest() {
        let bytes = column(1000).memory_bytes();
        let mut shard = Shard::new(4 * bytes + bytes / 2);
        for block in 0..4 {
            shard.put(part(block), column(1000));
        }
        for block in 4..100 {
            assert!(shard.get(&part(0)).is_some(), "{block}");
            shard.put(part(block), column(1000));
            assert!(shard.used <= shard.room && shard.slots.len() == 4 && shard.places.len() == 4);
            assert!(shard.slots.iter().enumerate().all(|(at, slot)| shard.places[&slot.part] == at));
            assert!(shard.get(&part(block)).is_some() || block == 4, "{block}");
        }
        assert!(shard.get(&part(1)).is_none());
    }

    #[test]
    fn a_part_that_is_too_large_is_not_kept() {
        let cache = BlockCache::new(SHARDS as u64 * 1000);
        cache.put(part(1), column(1000));
        assert!(cache.get(&part(1)).is_none());
        cache.put(part(2), column(10));
        assert!(matches!(cache.get(&part(2)), Some(CacheEntry::Column(array)) if array.len() == 10));
        assert!(cache.get(&(2, part(2).1)).is_none());
    }
}
